/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfer backends: who owns the memory of batch slots and brings a finished
 * batch to where the consumer wants it.
 *
 *   host   plain memory; handing over is a pointer
 *   fake   scripted latency, order and failure, for tests
 *   cuda   pinned memory, one asynchronous copy per batch (its files are the
 *          only ones that may see a CUDA header)
 *
 * A batch is one slab (images, labels, indices), so that moving it is one copy.
 */
#ifndef FDL_TRANSFER_BACKEND_H
#define FDL_TRANSFER_BACKEND_H

#include <stdint.h>

struct fdl_slab {
    void *host;   /* workers write here */
    void *device; /* the consumer reads here; == host for the host backend */
    uint64_t bytes;
};

/* One batch on its way; lives in the ticket until done was called. */
struct fdl_transfer {
    const struct fdl_slab *slab;
    uint64_t bytes; /* used part of the slab */

    /* Called once per successful submit, on any thread, also from within
     * submit. status < 0: the batch did not arrive; reason is one line. */
    void (*done)(struct fdl_transfer *t, int32_t status, const char *reason);
    void *user;

    /* Stamps of the backend, set before done is called; ns. */
    int64_t start_ns, done_ns;
};

struct fdl_backend_ops {
    const char *name;
    int32_t device; /* enum feedline_device of what the consumer sees */

    int32_t (*create)(void *config, void **backend);

    /* No transfer is under way. NULL is accepted. */
    void (*destroy)(void *backend);

    /* Zeroed or not, aligned to 4096. ENOMEM. */
    int32_t (*slab_alloc)(void *backend, uint64_t bytes, struct fdl_slab *out);
    void (*slab_free)(void *backend, struct fdl_slab *slab);

    /* Any thread. An error means that done will not be called. */
    int32_t (*submit)(void *backend, struct fdl_transfer *t);
};

extern const struct fdl_backend_ops fdl_backend_host;
extern const struct fdl_backend_ops fdl_backend_fake;

/* Config of the fake backend: what happens to the n-th submit (the last row
 * repeats). The arrays are borrowed. */
struct fdl_fake_step {
    int64_t latency_ns;    /* until done is called, on the backend's thread */
    int32_t status;        /* given to done */
    int32_t submit_status; /* returned by submit; < 0: no done */
};

struct fdl_fake_config {
    const struct fdl_fake_step *steps;
    uint32_t n_steps;
};

/* "host" -> fdl_backend_host; "cuda:0" -> ENOSYS: this build has no CUDA
 * transfer; anything else EINVAL. */
int32_t fdl_backend_find(const char *device,
                         const struct fdl_backend_ops **out);

#endif
