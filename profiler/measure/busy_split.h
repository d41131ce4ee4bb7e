/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides busy time: on a core, waiting for one, throttled by the CPU quota,
 * asleep. Sums only grow, and are exact to the nanosecond. The kernel reports a
 * wait for a core only when it ends, so what looks like sleep now may turn out
 * to have been the run queue, and the best estimate of a sum may fall.
 * fdl_busy_split_advance turns such estimates into sums that never fall: new
 * time goes where it is missing, until estimate and sum agree.
 */
#ifndef FDL_PROFILER_BUSY_SPLIT_H
#define FDL_PROFILER_BUSY_SPLIT_H

#include <stdint.h>

enum fdl_busy {
    FDL_BUSY_CPU = 0,
    FDL_BUSY_RUNQ,
    FDL_BUSY_THROTTLE,
    FDL_BUSY_SLEEP,
    FDL_BUSY_KINDS
};

/* sum[] grows by delta[] until its total is that of guess[]: each kind that
 * lags behind its guess gets growth in proportion to its lag. Nothing changes
 * if the total of guess[] does not exceed that of sum[]. */
void fdl_busy_split_advance(int64_t sum[FDL_BUSY_KINDS],
                            const int64_t guess[FDL_BUSY_KINDS],
                            int64_t delta[FDL_BUSY_KINDS]);

/* Adds ns to sum[] in proportion to weights[], exactly; all to CPU if they are
 * all 0. */
void fdl_busy_split_add(int64_t sum[FDL_BUSY_KINDS], int64_t ns,
                        const int64_t weights[FDL_BUSY_KINDS]);

/* A thread worked for work ns, of which it was on a core for cpu ns and queued
 * for runq ns, as far as they fit; the rest it slept. Nothing is throttled. */
void fdl_busy_split_guess(int64_t work, int64_t cpu, int64_t runq,
                          int64_t guess[FDL_BUSY_KINDS]);

/* Up to ns of the run queue time of guess[] was caused by the quota. */
void fdl_busy_split_throttle(int64_t guess[FDL_BUSY_KINDS], int64_t ns);

#endif
