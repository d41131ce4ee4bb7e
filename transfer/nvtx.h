/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the loader does, on the timeline of a profiler: nsys and every other
 * tool that speaks NVTX show these ranges beside the kernels of the program,
 * in a domain "feedline" and on threads with names.
 *
 * Without a tool a range costs a load and a branch, with or without NVTX in the
 * build.
 */
#ifndef FDL_TRANSFER_NVTX_H
#define FDL_TRANSFER_NVTX_H

#include "base/compiler.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum fdl_nvtx_range {
    FDL_NVTX_RUN = 0, /* "run": from the first thread of a run to its last */
    FDL_NVTX_READ,    /* "read": of one sample */
    FDL_NVTX_DECODE,  /* "decode": and augment, one sample */
    FDL_NVTX_COPY,    /* "copy": a batch is queued to the device */
    FDL_NVTX_NEXT,    /* "next": in the consumer's call */
    FDL_NVTX_RELEASE, /* "release" */
    FDL_NVTX_RANGES
};

/* Looks for a tool, once in a process. Threads that fdl_thread_start starts
 * from then on show their names. */
void fdl_nvtx_init(void);

/* A tool listens; set once. */
extern _Atomic bool fdl_nvtx_on;

void fdl_nvtx_push_now(enum fdl_nvtx_range range, uint64_t batch,
                       uint32_t samples);
void fdl_nvtx_pop_now(void);
uint64_t fdl_nvtx_start_now(enum fdl_nvtx_range range, uint64_t batch,
                            uint32_t samples);
void fdl_nvtx_end_now(uint64_t id);

static inline bool fdl_nvtx_is_on(void)
{
    /* acquire: pairs with the release in fdl_nvtx_init. */
    return FDL_UNLIKELY(
        atomic_load_explicit(&fdl_nvtx_on, memory_order_acquire));
}

/* On one thread, nested. batch: its ticket; samples: that the range is about.
 */
static inline void fdl_nvtx_push(enum fdl_nvtx_range range, uint64_t batch,
                                 uint32_t samples)
{
    if (fdl_nvtx_is_on())
        fdl_nvtx_push_now(range, batch, samples);
}

static inline void fdl_nvtx_pop(void)
{
    if (fdl_nvtx_is_on())
        fdl_nvtx_pop_now();
}

/* May overlap, and end on another thread. 0: nobody listens. */
static inline uint64_t fdl_nvtx_start(enum fdl_nvtx_range range, uint64_t batch,
                                      uint32_t samples)
{
    return fdl_nvtx_is_on() ? fdl_nvtx_start_now(range, batch, samples) : 0;
}

static inline void fdl_nvtx_end(uint64_t id)
{
    if (FDL_UNLIKELY(id != 0))
        fdl_nvtx_end_now(id);
}

#endif
