/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What "busy" was: on a core, waiting for one, held back by the CPU quota, or
 * asleep. Sums only grow, and are exact to the nanosecond.
 *
 * The kernel tells of a wait for a core when it is over. So what looks like
 * sleep now may turn out to have been the run queue a moment later, and the
 * best guess of a sum may fall. fdl_busy_split_advance makes sums that never
 * fall out of such guesses: new time goes to where it is missing, until guess
 * and sum agree.
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

/* sum[] grows by delta[], so that the whole grows to that of guess[]: each kind
 * that lags behind its guess gets a part of the growth as it lags. Nothing
 * changes where the whole of guess[] is not above that of sum[]. */
void fdl_busy_split_advance(int64_t sum[FDL_BUSY_KINDS],
                            const int64_t guess[FDL_BUSY_KINDS],
                            int64_t delta[FDL_BUSY_KINDS]);

/* Adds ns to sum[] in the proportion of weights[], exactly; all to CPU where
 * there are none. */
void fdl_busy_split_add(int64_t sum[FDL_BUSY_KINDS], int64_t ns,
                        const int64_t weights[FDL_BUSY_KINDS]);

/* A thread worked for work ns and was on a core for cpu ns and queued for runq
 * ns of it, as far as that fits; the rest it slept. Nothing is throttled. */
void fdl_busy_split_guess(int64_t work, int64_t cpu, int64_t runq,
                          int64_t guess[FDL_BUSY_KINDS]);

/* Of the run queue time of guess[], up to ns was the quota's doing. */
void fdl_busy_split_throttle(int64_t guess[FDL_BUSY_KINDS], int64_t ns);

#endif
