/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory; cuda_memory.h has the idea. */
#include "transfer/cuda/cuda_memory.h"

#include <stddef.h>

static bool has_pools(const struct fdl_cuda_device *d)
{
    int handle, value = 0;
    return d->cuda->has_pools &&
           d->cuda->DeviceGet(&handle, d->number) == FDL_CUDA_SUCCESS &&
           d->cuda->DeviceGetAttribute(&value, FDL_CUDA_ATTR_POOLS, handle) ==
               FDL_CUDA_SUCCESS &&
           value != 0;
}

void fdl_cuda_memory_fini(struct fdl_cuda_memory *m)
{
    if (m->pool)
        m->device->cuda->MemPoolDestroy(m->pool);
    m->pool = NULL;
}

/* Its threshold is above all that it will ever hold: otherwise whoever waits
 * for a stream of the device would be held up by looking for memory to return.
 */
void fdl_cuda_memory_init(struct fdl_cuda_memory *m,
                          const struct fdl_cuda_device *d)
{
    const struct fdl_cuda_pool_props props = {
        .type = FDL_CUDA_POOL_PINNED,
        .location_type = FDL_CUDA_POOL_ON_DEVICE,
        .location = d->number,
    };
    uint64_t threshold = UINT64_MAX;
    *m = (struct fdl_cuda_memory){.device = d};
    if (!has_pools(d) ||
        d->cuda->MemPoolCreate(&m->pool, &props) != FDL_CUDA_SUCCESS)
        m->pool = NULL;
    else if (d->cuda->MemPoolSetAttribute(m->pool, FDL_CUDA_POOL_THRESHOLD,
                                          &threshold) != FDL_CUDA_SUCCESS)
        fdl_cuda_memory_fini(m);
}

int fdl_cuda_memory_alloc(const struct fdl_cuda_memory *m,
                          fdl_cuda_stream stream, size_t bytes, void **out)
{
    const struct fdl_cuda_api *cuda = m->device->cuda;
    return m->pool ? cuda->MemAllocFromPoolAsync(out, bytes, m->pool, stream)
                   : cuda->MemAlloc(out, bytes);
}

void fdl_cuda_memory_free(const struct fdl_cuda_memory *m,
                          fdl_cuda_stream stream, void *one, void *other)
{
    const struct fdl_cuda_api *cuda = m->device->cuda;
    void *both[] = {one, other};
    for (int i = 0; m->pool && i < 2; i++)
        if (both[i])
            cuda->MemFreeAsync(both[i], stream);
    fdl_cuda_wait_stream(cuda, stream);
    for (int i = 0; !m->pool && i < 2; i++)
        if (both[i])
            cuda->MemFree(both[i]);
    if (m->pool)
        cuda->MemPoolTrimTo(m->pool, 0);
}
