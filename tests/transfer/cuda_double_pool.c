/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory pools of the double. An allocation and a free are operations of their
 * stream that write the memory, so whoever uses it before the one or after the
 * other, and does not wait, is seen. What was freed takes device memory until
 * its pool is trimmed or destroyed.
 */
#include "cuda_double_own.h"

#include <stdlib.h>

static struct double_pool *pool_locked(const void *handle, const char *caller)
{
    for (struct double_pool *p = double_world.pools; p; p = p->next)
        if (p->handle == (uintptr_t)handle)
            return p;
    double_fault_locked("%s: %p is no pool, or one that was destroyed", caller,
                        handle);
    return NULL;
}

static void trim_locked(const struct double_pool *p)
{
    struct double_allocation *next;
    for (struct double_allocation *a = double_world.allocations; a; a = next) {
        next = a->next;
        if (a->pool == p && a->freed)
            double_allocation_free_locked(a);
    }
}

static bool is_touched_locked(const struct double_allocation *a)
{
    const struct double_op *op = double_world.oldest;
    for (; op; op = op->later)
        for (int i = 0; i < DOUBLE_RANGES; i++)
            if (op->running && op->allocation != a &&
                op->ranges[i].begin >= a->device &&
                op->ranges[i].begin < a->device + a->bytes)
                return true;
    return false;
}

/* Whoever still uses it ends first, which has been reported. */
void double_pool_freed_locked(struct double_allocation *a)
{
    while (is_touched_locked(a))
        double_wait_locked();
    a->freed = true;
    if (!a->pool)
        double_allocation_free_locked(a);
}

void double_pool_forget_locked(struct double_pool *p)
{
    struct double_pool **at = &double_world.pools;
    trim_locked(p);
    for (struct double_allocation *a = double_world.allocations; a; a = a->next)
        if (a->pool == p)
            a->pool = NULL;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    free(p);
}

int cuMemPoolCreate(void **pool, const struct fdl_cuda_pool_props *props)
{
    struct double_world *w = &double_world;
    int error = double_enter(FN_cuMemPoolCreate);
    if (!error && !w->set.pools)
        error = DOUBLE_ERROR_NOT_SUPPORTED;
    if (!error && (!pool || !props || props->type != FDL_CUDA_POOL_PINNED ||
                   props->location_type != FDL_CUDA_POOL_ON_DEVICE ||
                   props->location < 0 || props->location >= w->set.devices))
        error = DOUBLE_ERROR_INVALID;
    struct double_pool *p = error ? NULL : calloc(1, sizeof(*p));
    if (!error && !p)
        error = FDL_CUDA_ERROR_MEMORY;
    if (p) {
        p->handle = ++w->last_handle;
        p->of_device = props->location;
        p->next = w->pools;
        w->pools = p;
        *pool = (void *)(uintptr_t)p->handle;
    }
    return double_leave(error);
}

int cuMemPoolDestroy(void *pool)
{
    int error = double_enter(FN_cuMemPoolDestroy);
    struct double_pool *p = pool_locked(pool, "cuMemPoolDestroy");
    if (p)
        double_pool_forget_locked(p);
    return double_leave(error ? error : p ? 0 : DOUBLE_ERROR_INVALID);
}

int cuMemPoolSetAttribute(void *pool, int attribute, void *value)
{
    int error = double_enter(FN_cuMemPoolSetAttribute);
    struct double_pool *p = pool_locked(pool, "cuMemPoolSetAttribute");
    if (!error && (!p || attribute != FDL_CUDA_POOL_THRESHOLD))
        error = DOUBLE_ERROR_INVALID;
    if (!error)
        p->threshold = *(uint64_t *)value;
    return double_leave(error);
}

int cuMemPoolTrimTo(void *pool, size_t keep)
{
    int error = double_enter(FN_cuMemPoolTrimTo);
    struct double_pool *p = pool_locked(pool, "cuMemPoolTrimTo");
    if (p && keep == 0)
        trim_locked(p);
    return double_leave(error ? error : p ? 0 : DOUBLE_ERROR_INVALID);
}

/* All of `a` is written, as far as order goes. */
static int queue_locked(enum double_op_kind kind, struct double_allocation *a,
                        fdl_cuda_stream stream, const char *caller)
{
    struct double_stream *s = double_stream_locked(stream, caller);
    struct double_op op = {
        .kind = kind,
        .allocation = a,
        .ranges[0] = {a->device, a->bytes, true},
    };
    return s ? double_queue_locked(s, &op) : DOUBLE_ERROR_HANDLE;
}

/* Without a threshold, whoever waits for the device would give memory back. */
int cuMemAllocFromPoolAsync(void **memory, size_t bytes, void *pool,
                            fdl_cuda_stream stream)
{
    int error = double_enter(FN_cuMemAllocFromPoolAsync);
    struct double_pool *p = pool_locked(pool, "cuMemAllocFromPoolAsync");
    if (!error && (!p || !memory || bytes == 0))
        error = DOUBLE_ERROR_INVALID;
    if (!error && p->threshold == 0)
        double_fault_locked("cuMemAllocFromPoolAsync: the pool's release "
                            "threshold is 0");
    if (!error)
        error = double_allocate_locked(memory, bytes);
    if (!error) {
        struct double_allocation *a = double_world.allocations;
        a->pool = p;
        error = queue_locked(OP_ALLOC, a, stream, "cuMemAllocFromPoolAsync");
        if (error)
            double_allocation_free_locked(a);
    }
    return double_leave(error);
}

int cuMemFreeAsync(void *memory, fdl_cuda_stream stream)
{
    int error = double_enter(FN_cuMemFreeAsync);
    struct double_allocation *a = double_allocation_at_locked(memory, 0);
    if (!a || a->device != memory || !a->pool) {
        double_fault_locked("cuMemFreeAsync: %p is no memory of a pool, or was "
                            "freed before",
                            memory);
        return double_leave(error ? error : DOUBLE_ERROR_INVALID);
    }
    a->freeing = true;
    int lost = queue_locked(OP_FREE, a, stream, "cuMemFreeAsync");
    if (lost)
        double_pool_freed_locked(a);
    return double_leave(error ? error : lost);
}
