/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer's books: what is kept of its calls of next(). Plain data and the
 * lock that guards it; account.h, notable.h and notes.h keep them.
 */
#ifndef FDL_LOADER_BOOKS_H
#define FDL_LOADER_BOOKS_H

#include "base/lock.h"
#include "loader/watch/zero.h"
#include "profiler/measure/gaps.h"
#include "profiler/measure/ledger.h"
#include "profiler/measure/outliers.h"
#include "profiler/measure/pace.h"
#include "profiler/measure/phase.h"
#include "profiler/measure/slow.h"
#include "profiler/measure/stage.h"
#include "profiler/trace/trace.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fdl_engine;

/* See notable.h. */
struct fdl_notable {
    struct fdl_phases phases;
    struct fdl_gaps gaps;
    struct fdl_outliers outliers;
    struct fdl_ledger before; /* at the last delivery */
    int64_t step_ns;          /* user time since then */
    int64_t alone_ns;         /* waited since then for one sample alone */
    uint32_t alone;           /* place of that one */
    bool begun; /* nothing was delivered since the start or reset: the current
                   step and wait are incomplete */
};

/* See notes.h. The consumer's thread only. */
struct fdl_notes {
    struct fdl_trace_ring *ring; /* NULL: there was no memory */
    bool has_step; /* a batch was delivered since the last call of next */
    uint64_t step_ticket;
    uint64_t delivered; /* batches, over all runs */
    int64_t counted_ns; /* of the last counters */
};

struct fdl_books {
    const struct fdl_engine *engine; /* whose batches these are */
    struct fdl_slow slow;            /* has its own lock */
    struct fdl_notes notes;

    /* The consumer's thread writes these. */
    int64_t returned_ns; /* end of the last next() or start() */
    struct {             /* since the last batch, in calls without one */
        int64_t user_ns, wait_ns, wall_ns, fetch_ns;
    } turn;
    int64_t started_ns;
    _Atomic uintptr_t thread; /* account.c; 0: not known yet */
    _Atomic int32_t tid;      /* of the thread that called next last */
    _Atomic uint32_t inside;  /* 1: it is in next() now */

    struct fdl_lock lock; /* guards the rest */
    struct fdl_ledger ledger;
    struct fdl_ledger_scratch *scratch;
    int64_t user_ns, api_ns;
    int64_t handover_ns; /* of api_ns, behind next() */
    char handover[64];   /* what took that; "": nobody has said */
    bool handed_over;    /* the last batch was, or there was none */
    int64_t booked_ns;   /* user_ns includes time up to here, at least to
                          returned_ns */
    int64_t reset_ns;    /* of the statistics; earlier time does not count */
    struct fdl_notable notable;
    struct fdl_pace pace;
    int64_t first_batch_ns;
    uint64_t batches, samples;
    uint64_t ledger_ns; /* cost of attribution */
    uint64_t clock_reads;
    struct fdl_stage consume, transfer;
    struct fdl_stats_zero *zero; /* the valid one of zeros, which a reset
                                    exchanges for the other */
    struct fdl_stats_zero zeros[2];
    uint32_t resets; /* of the statistics, ever */
    struct {         /* until the last of them */
        uint64_t batches;
        int64_t user_ns, api_ns, wait_ns, ns[FDL_BUCKETS];
    } past;
};

#endif
