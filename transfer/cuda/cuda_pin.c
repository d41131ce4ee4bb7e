/* SPDX-License-Identifier: Apache-2.0 */
/* Pinned memory; cuda_pin.h says why so. */
#include "transfer/cuda/cuda_pin.h"

#include "base/compiler.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"

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

/* Where there is no such node or no such call, pages lie where they are
 * touched first, which is no error. */
static void prefer_node(void *memory, uint64_t bytes, int node)
{
    unsigned long mask[4] = {0};
    const int bits = (int)(8 * sizeof(*mask));
    if (node < 0 || node >= (int)FDL_COUNT_OF(mask) * bits)
        return;
    mask[node / bits] = 1ul << (node % bits);
    syscall(SYS_mbind, memory, bytes, MPOL_PREFERRED, mask,
            (unsigned long)(FDL_COUNT_OF(mask) * (size_t)bits + 1), 0u);
}

static void touch_all(void *memory, uint64_t bytes)
{
    struct toucher touchers[MAX_TOUCHERS];
    uint64_t n = FDL_MIN(bytes / TOUCHER_BYTES + 1, (uint64_t)MAX_TOUCHERS);
    uint64_t part = (bytes / n + PAGE - 1) / PAGE * PAGE;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = FDL_MIN(i * part, bytes);
        touchers[i] = (struct toucher){.begin = (volatile uint8_t *)memory + at,
                                       .bytes = FDL_MIN(part, bytes - at)};
        /* What has no thread is done here. */
        if (i + 1 == n || fdl_thread_start(&touchers[i].thread, "feedline-pin",
                                           touch, &touchers[i]) < 0)
            touch(&touchers[i]);
    }
    for (uint64_t i = 0; i < n; i++)
        fdl_thread_join(&touchers[i].thread);
}

int32_t fdl_cuda_pin(const struct fdl_cuda_device *d, uint64_t bytes,
                     void **out)
{
    void *memory = bytes <= SIZE_MAX ? fdl_pages_alloc((size_t)bytes) : NULL;
    if (!memory)
        return fdl_fail_memory(bytes, "a batch");
    prefer_node(memory, bytes, d->numa_node);
    touch_all(memory, bytes);
    int error = d->cuda->MemHostRegister(memory, (size_t)bytes, 0);
    if (error != FDL_CUDA_SUCCESS) {
        fdl_pages_free(memory, (size_t)bytes);
        return fdl_cuda_fail(d->cuda, error, "pinned memory for a batch");
    }
    *out = memory;
    return FEEDLINE_OK;
}

void fdl_cuda_unpin(const struct fdl_cuda_device *d, void *memory,
                    uint64_t bytes)
{
    if (!memory)
        return;
    d->cuda->MemHostUnregister(memory); /* if it fails the pages go anyway */
    fdl_pages_free(memory, (size_t)bytes);
}
