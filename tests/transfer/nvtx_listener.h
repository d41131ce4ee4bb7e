/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profiler's part of NVTX: a library that is loaded where
 * NVTX_INJECTION64_PATH names it, as nsys does, and counts what it is told. The
 * test links it too, and asks.
 */
#ifndef FDL_TESTS_TRANSFER_NVTX_LISTENER_H
#define FDL_TESTS_TRANSFER_NVTX_LISTENER_H

#include <stdint.h>

#define NVTX_LISTENER_THREADS 64

struct nvtx_listener_range {
    char name[32];
    uint64_t pushes, pops; /* on one thread */
    uint64_t starts, ends; /* over threads */
    uint64_t batches_end;  /* largest batch and one */
    uint64_t samples;      /* sum */
};

struct nvtx_listener {
    uint32_t domains, n_ranges, n_threads;
    char domain[32];
    struct nvtx_listener_range ranges[16];
    char threads[NVTX_LISTENER_THREADS][32];
    uint64_t fields; /* events whose payload has fields */
    uint64_t faults; /* pops of nothing, ends of what is not under way, events
                        of another domain or without a registered name */
};

/* NVTX_LISTENER=plain: does not know payloads with fields. */
void nvtx_listener_get(struct nvtx_listener *out);

#endif
