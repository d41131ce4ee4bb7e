/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A probe of a loader: what the kernel reports about its workers' threads, the
 * control group and the machine, compared with what the threads counted.
 *
 *     timebook of a worker   |-- work --|starved|------- work -------|
 *     kernel                 |cpu|  cpu |       |cpu|runq|cpu|   |cpu|
 *     split of its work        cpu, runq, throttle, sleep    (busy_split.h)
 *
 * The ledger's time for PREP and WORKER_WAIT since the previous probe is split
 * in the same proportion: in that fraction of a second, the consumer waited for
 * workers that were running, queueing, throttled or asleep.
 */
#ifndef FDL_LOADER_LOOK_H
#define FDL_LOADER_LOOK_H

#include "profiler/measure/busy_split.h"
#include "profiler/system/signals.h"

#include <feedline/feedline.h>

#include <stdbool.h>
#include <stdint.h>

struct fdl_books;
struct fdl_engine;
struct fdl_worker_books;

/* Results since the last reset. */
struct fdl_watched {
    /* The workers' busy time, see enum fdl_busy; without what has not been
     * probed yet. */
    int64_t work[FDL_BUSY_KINDS];
    int64_t prep[FDL_BUSY_KINDS], worker_wait[FDL_BUSY_KINDS]; /* ledger */
    uint64_t voluntary, involuntary; /* context switches of the workers */
    bool has_runq;                   /* the kernel counts run queue delays */

    int64_t span_ns;                  /* from the reset to the last probe */
    int64_t seconds_ns;               /* the same for the following, which is
                                         probed once a second */
    int64_t foreign_ns, consumer_ns;  /* CPU time of threads, see verdict.h */
    char foreign_name[16];            /* the busiest of the last second */
    struct fdl_system_signals system; /* now */
    struct fdl_system_signals zero;   /* at the reset */
    struct fdl_foreign_thread foreign[FDL_FOREIGN_MAX]; /* now */
    uint32_t n_foreign;
    /* Child processes, for a watch only: CPU time, time that their main threads
     * queued for a core, and the most there were at once. */
    int64_t children_ns, children_queued_ns;
    uint32_t n_children;
    double consumer_queued; /* fraction of the last second; -1 */

    int64_t gap_throttled_ns; /* of the consumer's gaps, caused by the quota */

    /* Of reads; see read_history.h. Not touched by a reset. */
    double read_rate_now; /* 0: not known */
    bool has_growth;
    double rate_by_depth, latency_by_depth;
};

struct fdl_look;

/* workers: their books, [FDL_MAX_WORKERS]; those of workers that exist are
 * there. All three outlive it. */
int32_t fdl_look_create(const struct fdl_engine *engine,
                        struct fdl_books *books,
                        struct fdl_worker_books *const *workers,
                        struct fdl_look **out);
void fdl_look_destroy(struct fdl_look *k);

/* One thread at a time for all of these; now: from fdl_now_ns. Foreign threads
 * are enumerated once a second at most. */
void fdl_look_now(struct fdl_look *k, int64_t now);
const struct fdl_watched *fdl_look_watched(const struct fdl_look *k);

/* Resets everything, including the ledger's split. */
void fdl_look_reset(struct fdl_look *k, int64_t now);

#endif
