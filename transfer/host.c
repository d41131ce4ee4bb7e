/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host backend: the consumer reads where the workers wrote, so handing a
 * batch over takes no time and there is nothing to wait for. It has no state:
 * its handle is NULL.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "transfer/backend.h"

#include <stddef.h>

static int32_t create(const struct fdl_backend_config *config, void **backend)
{
    (void)config;
    *backend = NULL;
    return FEEDLINE_OK;
}

static void destroy(void *backend)
{
    (void)backend;
}

static int32_t slab_alloc(void *backend, uint64_t bytes, struct fdl_slab *out)
{
    (void)backend;
    void *memory = bytes <= SIZE_MAX ? fdl_pages_alloc((size_t)bytes) : NULL;
    if (!memory)
        return fdl_fail_memory(bytes, "a batch");
    *out = (struct fdl_slab){.host = memory, .device = memory, .bytes = bytes};
    return FEEDLINE_OK;
}

static void slab_free(void *backend, struct fdl_slab *slab)
{
    (void)backend;
    fdl_pages_free(slab->host, (size_t)slab->bytes);
    *slab = (struct fdl_slab){.host = NULL};
}

static int32_t submit(void *backend, struct fdl_transfer *t)
{
    (void)backend;
    int64_t now = fdl_now_ns();
    atomic_store_explicit(&t->done_ns, now, memory_order_relaxed);
    atomic_store_explicit(&t->start_ns, now, memory_order_relaxed);
    t->done(t, FEEDLINE_OK, "");
    t->landed(t);
    return FEEDLINE_OK;
}

const struct fdl_backend_ops fdl_backend_host = {
    .name = "host",
    .device = FEEDLINE_CPU,
    .create = create,
    .destroy = destroy,
    .slab_alloc = slab_alloc,
    .slab_free = slab_free,
    .submit = submit,
};
