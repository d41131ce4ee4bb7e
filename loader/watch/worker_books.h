/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics of each worker's samples: times, pixels, and notes for the
 * trace. Written by the worker's thread alone, one record per sample; read by
 * any thread.
 */
#ifndef FDL_LOADER_WORKER_BOOKS_H
#define FDL_LOADER_WORKER_BOOKS_H

#include "loader/stream/observer.h"
#include "profiler/measure/histogram.h"
#include "profiler/measure/slow.h"
#include "profiler/measure/stage.h"
#include "profiler/trace/trace.h"

#include <stdatomic.h>
#include <stdint.h>

/* A custom operation. */
struct fdl_custom_stage {
    struct fdl_stage stage;
    _Atomic uint64_t cpu_ns;     /* of its busy time */
    _Atomic uint64_t lock_ns;    /* of its busy time, as it reported */
    _Atomic uint64_t lock_waits; /* items with a long wait */
};

/* Of samples whose image was opened. */
struct fdl_worker_pixels {
    _Atomic uint64_t samples, source, output;
    _Atomic uint64_t mcus, mcus_jumped, on_device;
};

struct fdl_worker_books {
    struct fdl_stage decode, augment, mix;
    struct fdl_histogram whole;       /* times at work on a sample */
    struct fdl_custom_stage *customs; /* [n_customs]; NULL: there are none */
    uint32_t n_customs;
    int64_t customs_ns; /* in earlier attempts at the sample under way */
    struct fdl_worker_pixels pixels;
    _Atomic uint64_t truncated; /* samples used though their file ends early */
    struct fdl_trace_ring *notes; /* NULL: there was no memory */
    struct fdl_slow *slow;        /* of all workers */
};

/* ENOMEM. */
int32_t fdl_worker_books_create(uint32_t n_customs, struct fdl_slow *slow,
                                struct fdl_worker_books **out);
void fdl_worker_books_destroy(struct fdl_worker_books *b);

/* Hooks of struct fdl_observer. */
void fdl_worker_books_sample(void *books, const struct fdl_sample_record *r);
void fdl_worker_books_attempt(void *books, const struct fdl_render_cost *cost);
void fdl_worker_books_waited(void *books, int64_t ns, bool starved);

#endif
