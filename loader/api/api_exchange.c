/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: batches for other libraries. */
#include "base/lock.h"
#include "loader/api/api.h"
#include "loader/api/dlpack.h"
#include "loader/loader.h"
#include "loader/stream/ring.h"
#include "loader/watch/outside.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static int32_t enter(const feedline_batch *b)
{
    return fdl_api_enter_handle(b, b ? b->ring->fork_generation : 0, "batch");
}

/* ---- Tensors ------------------------------------------------------------ */

int32_t feedline_batch_export(feedline_batch *b, uint32_t part, uint32_t flags,
                              void **out)
{
    int32_t status = fdl_api_enter(out, "out");
    if (status < 0)
        return status;
    *out = NULL;
    status = enter(b);
    if (status < 0)
        return status;
    bool has_targets = b->layout->classes > 0;
    if (part != FEEDLINE_IMAGES && part != FEEDLINE_LABELS &&
        (part != FEEDLINE_TARGETS || !has_targets) &&
        (part < FEEDLINE_VIEW || part - FEEDLINE_VIEW >= b->layout->views))
        return fdl_fail(FEEDLINE_EINVAL,
                        "a batch has no part %" PRIu32 "; it has images (0), "
                        "labels (1), if it is mixed targets (2) and, from %d "
                        "on, its views",
                        part, FEEDLINE_VIEW);
    if (flags & ~FEEDLINE_DLPACK_VERSIONED)
        return fdl_fail(FEEDLINE_EINVAL, "flags 0x%" PRIx32 " are not known",
                        flags);
    return fdl_dlpack_export(b, part, flags & FEEDLINE_DLPACK_VERSIONED, out);
}

/* ---- Capsules ----------------------------------------------------------- */

typedef int is_valid_fn(void *, const char *);
typedef void *get_pointer_fn(void *, const char *);

/* The interpreter's, for as long as the process lives. */
static struct fdl_lock init_lock = FDL_LOCK_INIT(FDL_RANK_EXCHANGE);
static is_valid_fn *_Atomic is_valid; /* written under the lock, once, last */
static get_pointer_fn *get_pointer;   /* the same */

int32_t feedline_capsule_init(int (*valid)(void *, const char *),
                              void *(*pointer)(void *, const char *))
{
    fdl_clear_error();
    if (!valid || !pointer)
        return fdl_fail(FEEDLINE_EINVAL, "a function of capsules is NULL");
    fdl_lock(&init_lock);
    is_valid_fn *had = atomic_load_explicit(&is_valid, memory_order_relaxed);
    if (!had)
        get_pointer = pointer;
    bool same = get_pointer == pointer && (!had || had == valid);
    /* release: pairs with the destructor's acquire. */
    if (!had)
        atomic_store_explicit(&is_valid, valid, memory_order_release);
    fdl_unlock(&init_lock);
    if (!same)
        return fdl_fail(FEEDLINE_ESTATE,
                        "the functions of another interpreter are in use");
    return FEEDLINE_OK;
}

static void *taken_by_nobody(void *capsule, const char *name)
{
    /* acquire: pairs with feedline_capsule_init. */
    is_valid_fn *valid = atomic_load_explicit(&is_valid, memory_order_acquire);
    if (!valid || !valid(capsule, name))
        return NULL;
    return get_pointer(capsule, name);
}

/* Whoever takes a tensor gives its capsule another name. */
void feedline_capsule_destructor(void *capsule)
{
    struct fdl_dl_managed *managed = taken_by_nobody(capsule, "dltensor");
    if (managed) {
        managed->deleter(managed);
        return;
    }
    struct fdl_dl_versioned *versioned =
        taken_by_nobody(capsule, "dltensor_versioned");
    if (versioned)
        versioned->deleter(versioned);
}

/* ---- Looking ahead ------------------------------------------------------ */

static int32_t enter_engine(const feedline_loader *l)
{
    int32_t status =
        fdl_api_enter_handle(l, l ? l->fork_generation : 0, "loader");
    return status >= 0 && l->watch.outside ? fdl_outside_refuse() : status;
}

int32_t feedline_loader_peek(feedline_loader *l, uint32_t ahead,
                             feedline_batch **out)
{
    int32_t status = fdl_api_enter(out, "out");
    if (status < 0)
        return status;
    *out = NULL;
    status = enter_engine(l);
    return status < 0 ? status : fdl_consumer_peek(l->engine, ahead, out);
}

int32_t feedline_loader_deliver(feedline_loader *l, feedline_batch *b)
{
    int32_t status = enter_engine(l);
    if (status >= 0)
        status = enter(b);
    return status < 0 ? status : fdl_consumer_deliver(l->engine, b);
}

/* ---- Lent memory -------------------------------------------------------- */

int32_t feedline_loader_lend(feedline_loader *l, void *images, uint64_t bytes)
{
    int32_t status = enter_engine(l);
    if (status >= 0)
        status = fdl_api_enter(images, "images");
    if (status >= 0)
        status = fdl_consumer_check_run(l->engine);
    return status < 0
               ? status
               : fdl_ring_lend(fdl_engine_ring(l->engine), images, bytes);
}

/* ---- Copies ------------------------------------------------------------- */

static int32_t copy_part(feedline_batch *b, void *to, const void *from,
                         uint64_t bytes, void *stream)
{
    const struct fdl_backend_ops *ops = b->ring->backend_ops;
    if (!to)
        return FEEDLINE_OK;
    if (ops->copy)
        return ops->copy(b->ring->backend, to, from, bytes, stream);
    memcpy(to, from, (size_t)bytes);
    return FEEDLINE_OK;
}

static int32_t copy_images(feedline_batch *b, void *to, void *stream)
{
    const struct fdl_backend_ops *ops = b->ring->backend_ops;
    if (to && b->layout->late)
        return ops->finish(b->ring->backend, &b->transfer, to, stream);
    return copy_part(b, to, fdl_slot_delivered_images(b),
                     fdl_slot_delivered_bytes(b), stream);
}

int32_t feedline_batch_copy(feedline_batch *b, void *images, void *labels,
                            void *stream)
{
    int32_t status = enter(b);
    if (status < 0)
        return status;
    /* From here on the stream is one of those that the slot waits for. */
    status = feedline_batch_wait(b, stream);
    if (status >= 0)
        status = copy_images(b, images, stream);
    if (status >= 0)
        status = copy_part(b, labels, fdl_slot_delivered_labels(b),
                           fdl_slot_images(b) * sizeof(int64_t), stream);
    return status;
}
