/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfer backends own the memory of batch slots and bring a finished batch to
 * where the consumer wants it.
 *
 *   host   plain memory; handing over is a pointer
 *   cuda   pinned memory, one asynchronous copy per batch
 *
 * A batch is one slab (images, labels, indices), so that moving it is one copy.
 *
 *            submit        done                      release
 *   filled ---------> o ---------> consumer has it ---------> o
 *                     |                                       | both: the slab
 *                     +------------------------> landed ----> o may be filled
 *                                                               again
 *
 * `done` means that the consumer may have the batch, `landed` that the host
 * memory may be written again and that every time of the transfer is known. On
 * the host the two coincide. A GPU's stream itself waits for the copy (`wait`),
 * so there `done` comes as soon as the copy is queued.
 *
 * If the device makes the images, what it makes them of crosses the bus in
 * their place:
 *
 *   host --copy--> device --kernels--> made (--kernel--> finished)
 *
 * If the device finishes batches, the bytes that crossed the bus are kept in
 * addition to the result, or the result is nowhere but in the consumer's own
 * memory:
 *
 *   host --copy--> device --kernel--> finished
 *   host --copy--> device --kernel, on the consumer's stream--> its memory
 */
#ifndef FDL_TRANSFER_BACKEND_H
#define FDL_TRANSFER_BACKEND_H

#include "base/cpu_set.h"
#include "transfer/image_mix.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What a device makes of the bytes that crossed the bus. The images are u8,
 * NHWC, of one size. */
struct fdl_finish {
    uint64_t bytes;     /* of the finished images of a full batch; 0: slabs have
                           no room for them, `finish` takes them elsewhere */
    uint64_t images_at; /* in the slab */
    int32_t width, height;
    int32_t channels; /* 0: there is nothing to finish */
    int32_t dtype;    /* FEEDLINE_F32, F16 or BF16 */
    bool nhwc;
    uint64_t mixes_at; /* of a struct fdl_image_mix of each image, in the slab;
                          0: none is mixed */
    uint32_t table[4][256]; /* what each byte of a channel becomes: the bits, as
                               they are stored */
};

/* How a device makes images of what crossed the bus: kernels that another room
 * has written, one launch each, in this order. A grid has a row of blocks for
 * each image. */
struct fdl_maker {
    const char *kernel;
    uint32_t pass; /* of struct fdl_maker_args */
};

/* The parameter of each launch, by value. */
struct fdl_maker_args {
    void *records; /* in the slab */
    const void *slab;
    void *scratch, *out;
    uint32_t pass;
};

#define FDL_MAKERS_MAX  8u
#define FDL_RECORD_MOST 1024u /* bytes */

struct fdl_makers {
    const char *ptx; /* of these kernels; lives as long as the process */
    struct fdl_maker at[FDL_MAKERS_MAX];
    uint32_t n;       /* 0: images themselves cross the bus */
    uint32_t threads; /* of a block */
    uint32_t images;  /* of a full batch */

    /* Of each image, in the slab. What kernels write there is in the host's
     * memory before `landed`. A record of zeros makes no image. */
    uint64_t records_at, record_bytes;
    uint64_t image_bytes;   /* u8, NHWC, of one size */
    uint64_t scratch_bytes; /* which all batches share */
};

struct fdl_slab {
    void *host;     /* workers write here */
    void *device;   /* the consumer reads here; == host for the host backend */
    void *made;     /* images that the device made; NULL: it does not */
    void *finished; /* images that the device finished; NULL: it does not */
    uint64_t bytes; /* of host, and of device */
    void *own;      /* the backend's */
};

/* What happened to one batch on the device, on the host's clock; ns. */
struct fdl_device_times {
    uint64_t ticket;
    int64_t queued;     /* first copy submitted */
    int64_t start, end; /* first copy begun, last one done */
    int64_t ready;      /* finished: == end where nothing is */
    int64_t entered;    /* from here on a stream had nothing else left to do
                           than to wait for this batch, until `ready`; 0: no
                           stream waited for it */
    int64_t copying;    /* of end - start, copies under way */
    uint64_t bytes;
    uint32_t copies;
    int64_t make_start, make_end; /* kernels that made it; 0: there are none */
    bool finished;                /* by the device, or to be */
    bool resumes; /* the first batch of an epoch that a stream waited for */
};

/* Batches that may be ahead of their consumer, at most. */
#define FDL_BACKEND_DEPTH 1024u

/* How a call of next() follows the one before it. */
enum fdl_ask {
    FDL_ASK_ANEW, /* first of an epoch or a run: what the program did until now
                     is its own affair */
    FDL_ASK_ON,   /* that one delivered a batch */
    FDL_ASK_AGAIN /* that one returned without a batch: the same wait goes on */
};

/* A transfer of one batch; lives in the ticket until landed was called. */
struct fdl_transfer {
    const struct fdl_slab *slab;
    uint64_t bytes;  /* of the slab that move, from its start on */
    uint32_t images; /* in it */
    uint64_t ticket; /* of the batch, for people */

    /* Of each image, until landed and released; below 0: finished, it is
     * zeros. NULL: none failed. */
    const int32_t *status;

    /* Called once per successful submit, on any thread, also from within
     * submit. status < 0: the batch did not arrive; reason is one line. */
    void (*done)(struct fdl_transfer *t, int32_t status, const char *reason);

    /* Called once after each done, on any thread, also from within done's
     * caller; the last that the backend does with t. */
    void (*landed)(struct fdl_transfer *t);
    void *user;

    /* Stamps by the backend, ns, written before done is called: when the bytes
     * began to move, and when they had arrived. A waiting thread may look
     * earlier. */
    _Atomic int64_t start_ns, done_ns;
};

/* What the backend owns now. */
struct fdl_backend_stats {
    uint64_t pinned_bytes, device_bytes;
};

/* Where host memory is to lie; no CPU: where it is touched first. */
struct fdl_backend_place {
    int32_t node;            /* NUMA; -1: not known */
    struct fdl_cpu_set cpus; /* on that node, and usable */
};

struct fdl_backend_config {
    uint32_t device; /* its number */
    struct fdl_backend_place place;
    struct fdl_finish finish;
    struct fdl_makers makers;

    /* Called on a thread of the backend, in the order of their copies, with
     * what is known of a batch, later than its landed; NULL: nobody asks. */
    void (*observe)(void *user, const struct fdl_device_times *times);
    void *observer;

    const void *script; /* of the backends of tests */
};

struct fdl_backend_ops {
    const char *name;
    int32_t device; /* enum feedline_device of what the consumer sees */

    /* config is copied. No device memory is taken before slab_alloc. */
    int32_t (*create)(const struct fdl_backend_config *config, void **backend);

    /* No transfer is under way. NULL is accepted. */
    void (*destroy)(void *backend);

    /* A run begins, and no transfer is under way: an error that ended the run
     * before is forgotten, and found again if it is there still. NULL: none
     * outlives its batch. */
    void (*begin)(void *backend);

    /* Zeroed or not; host memory aligned to 4096, a GPU's to 256. ENOMEM. */
    int32_t (*slab_alloc)(void *backend, uint64_t bytes, struct fdl_slab *out);
    void (*slab_free)(void *backend, struct fdl_slab *slab);

    /* Any thread. An error means that neither done nor landed will be called.
     */
    int32_t (*submit)(void *backend, struct fdl_transfer *t);

    /* The following are NULL if consumers need not wait. */

    /* Before submit: bytes [at, at + bytes) of the slab are final and may be
     * moved at once. Any thread. */
    void (*part)(void *backend, struct fdl_transfer *t, uint64_t at,
                 uint64_t bytes);

    /* The consumer computes on `stream`, which lives until another one is set
     * or the backend is destroyed. One thread at a time, as is `ask`. */
    void (*set_stream)(void *backend, void *stream);

    /* next() was called, at `now`. */
    void (*ask)(void *backend, int64_t now, enum fdl_ask how);

    /* After done: `stream` waits for the batch. Any thread. ERANGE, EDEVICE;
     * ESTATE for a stream that is being captured into a graph. */
    int32_t (*wait)(void *backend, struct fdl_transfer *t, void *stream);

    /* After wait for that stream: `bytes` of the slab, at `from`, are copied to
     * memory of the device, which is done when `stream` comes to it. Any
     * thread. EDEVICE, ESTATE as wait. NULL: memcpy will do. */
    int32_t (*copy)(void *backend, void *to, const void *from, uint64_t bytes,
                    void *stream);

    /* After wait for that stream: the images are finished to memory of the
     * device, where slabs have no room for that; otherwise as copy. */
    int32_t (*finish)(void *backend, struct fdl_transfer *t, void *to,
                      void *stream);

    /* Between done and release: the slab is overwritten only after the work
     * that is queued now on `stream`, too, which need not have waited. Any
     * thread. */
    void (*use)(void *backend, struct fdl_transfer *t, void *stream);

    /* The batch was released: its slab is overwritten only after the work that
     * is queued now on every stream that waited. Any thread. */
    void (*release)(void *backend, struct fdl_transfer *t);

    void (*stats)(void *backend, struct fdl_backend_stats *out);

    /* Device memory that a slab of this size takes, and what the device has
     * left for everybody; that creates its context. EDEVICE. Any thread. NULL:
     * there is no such memory. */
    uint64_t (*device_bytes)(void *backend, uint64_t slab_bytes);
    int32_t (*device_free)(void *backend, uint64_t *bytes);
};

extern const struct fdl_backend_ops fdl_backend_host;
extern const struct fdl_backend_ops fdl_backend_cuda;

/* "host" -> fdl_backend_host; "cuda", "cuda:N" -> fdl_backend_cuda and the
 * number; anything else EINVAL. */
int32_t fdl_backend_find(const char *device, const struct fdl_backend_ops **out,
                         uint32_t *number);

#endif
