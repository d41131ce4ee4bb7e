/* SPDX-License-Identifier: Apache-2.0 */
/* Pinned memory; cuda_pin.h says why so. */
#include "transfer/cuda/cuda_pin.h"

#include "base/compiler.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE          4096u
#define MAX_TOUCHERS  8u
#define TOUCHER_BYTES (UINT64_C(8) << 20) /* below, a thread is not worth it */

/* linux/mempolicy.h, which not every system has for programs. */
#define MPOL_PREFERRED 1

struct toucher {
    struct fdl_thread thread;
    volatile uint8_t *begin;
    uint64_t bytes;
};

static void *touch(void *arg)
{
    struct toucher *t = arg;
    for (uint64_t at = 0; at < t->bytes; at += PAGE)
        t->begin[at] = 0;
    return NULL;
}

/* false: it is not allowed. Where there is no such node or no such call, pages
 * lie where they are touched first, which is no error. */
static bool prefer_node(void *memory, uint64_t bytes, int32_t node)
{
    unsigned long mask[4] = {0};
    const int bits = (int)(8 * sizeof(*mask));
    if (node < 0 || node >= (int)FDL_COUNT_OF(mask) * bits)
        return true;
    mask[node / bits] = 1ul << (node % bits);
    return syscall(SYS_mbind, memory, bytes, MPOL_PREFERRED, mask,
                   (unsigned long)(FDL_COUNT_OF(mask) * (size_t)bits + 1),
                   0u) == 0 ||
           errno != EPERM;
}

static void tell_refusal(int32_t node)
{
    static _Atomic bool told;
    if (!atomic_exchange_explicit(&told, true, memory_order_relaxed))
        fdl_log(FDL_LOG_WARNING,
                "pinned memory may lie far from the GPU, which is on NUMA node "
                "%" PRId32 ": no CPU there can be used, and mbind is not "
                "permitted (a container needs CAP_SYS_NICE)",
                node);
}

/* cpus: NULL: any; then the last part is touched here. */
static void touch_all(void *memory, uint64_t bytes,
                      const struct fdl_cpu_set *cpus)
{
    struct toucher touchers[MAX_TOUCHERS];
    uint64_t n = FDL_MIN(bytes / TOUCHER_BYTES + 1, (uint64_t)MAX_TOUCHERS);
    uint64_t part = (bytes / n + PAGE - 1) / PAGE * PAGE;
    for (uint64_t i = 0; i < n; i++) {
        struct toucher *t = &touchers[i];
        uint64_t at = FDL_MIN(i * part, bytes);
        *t = (struct toucher){.begin = (volatile uint8_t *)memory + at,
                              .bytes = FDL_MIN(part, bytes - at)};
        /* What has no thread is done here. */
        if ((i + 1 == n && !cpus) ||
            fdl_thread_start_on(&t->thread, cpus, "feedline-pin", touch, t) < 0)
            touch(t);
    }
    for (uint64_t i = 0; i < n; i++)
        fdl_thread_join(&touchers[i].thread);
}

static void place_pages(void *memory, uint64_t bytes,
                        const struct fdl_backend_place *place)
{
    bool near = fdl_cpu_set_count(&place->cpus) > 0;
    if (!prefer_node(memory, bytes, place->node) && !near)
        tell_refusal(place->node);
    touch_all(memory, bytes, near ? &place->cpus : NULL);
}

static int32_t fail_pin(const struct fdl_cuda_device *d, int error)
{
    return fdl_cuda_fail(d->cuda, error, "pinned memory for a batch");
}

static int32_t alloc_by_driver(const struct fdl_cuda_device *d, uint64_t bytes,
                               struct fdl_cuda_pinned *out)
{
    void *memory = NULL;
    int error = bytes <= SIZE_MAX
                    ? d->cuda->MemHostAlloc(&memory, (size_t)bytes, 0)
                    : FDL_CUDA_ERROR_MEMORY;
    if (error != FDL_CUDA_SUCCESS)
        return fail_pin(d, error);
    *out = (struct fdl_cuda_pinned){memory, bytes, true};
    return FEEDLINE_OK;
}

int32_t fdl_cuda_pin(const struct fdl_cuda_device *d,
                     const struct fdl_backend_place *place, uint64_t bytes,
                     struct fdl_cuda_pinned *out)
{
    if (!d->registers_memory)
        return alloc_by_driver(d, bytes, out);
    void *memory = bytes <= SIZE_MAX ? fdl_pages_alloc((size_t)bytes) : NULL;
    if (!memory)
        return fdl_fail_memory(bytes, "a batch");
    /* A fork would make the pages copy-on-write, and our next write would then
     * move us to another page while the GPU goes on reading this one. */
    madvise(memory, (size_t)bytes, MADV_DONTFORK);
    place_pages(memory, bytes, place);
    int error = d->cuda->MemHostRegister(memory, (size_t)bytes, 0);
    if (error != FDL_CUDA_SUCCESS) {
        fdl_pages_free(memory, (size_t)bytes);
        return error == FDL_CUDA_ERROR_NOT_SUPPORTED
                   ? alloc_by_driver(d, bytes, out)
                   : fail_pin(d, error);
    }
    *out = (struct fdl_cuda_pinned){memory, bytes, false};
    return FEEDLINE_OK;
}

void fdl_cuda_unpin(const struct fdl_cuda_device *d,
                    const struct fdl_cuda_pinned *p)
{
    if (!p->memory)
        return;
    if (p->of_driver) {
        d->cuda->MemFreeHost(p->memory);
        return;
    }
    d->cuda->MemHostUnregister(p->memory); /* if it fails the pages go anyway */
    fdl_pages_free(p->memory, (size_t)p->bytes);
}
