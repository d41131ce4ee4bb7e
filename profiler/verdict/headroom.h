/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would be gained if one thing were better: pure functions of evidence.
 * Upper bounds, since what is second now may be first then. With T = the time
 * of the clock that counts (wall; with a device its span), S the stall in it,
 * and the parts of S by cause as in verdict.h:
 *
 *   fed          T / (T - S) - 1           an infinitely fast loader
 *   two_workers  T / max(T - prep, T n / (n + k)) - 1
 *                                          n workers work T; n + k do the same
 *                                          in T n / (n + k), and no more than
 *                                          the waits for prep can go. k is 2,
 *                                          or as many as are of use: 0 where
 *                                          no core is free, where more were
 *                                          tried in vain, or where verdicts
 *                                          ask for fewer
 *   storage      T / (T - fetch / 2) - 1   each read takes half as long
 *   transfer     T / (T - transfer / 2) - 1
 *
 * and no gain is above 99 (a hundred times as fast), which a ledger that has
 * nothing but waits would have without bound.
 */
#ifndef FDL_PROFILER_HEADROOM_H
#define FDL_PROFILER_HEADROOM_H

#include "profiler/verdict/verdict.h"

struct fdl_headroom {
    double batches_per_second;
    double fed, two_workers, storage, transfer; /* fractions, >= 0 */
};

void fdl_headroom_judge(const struct fdl_evidence *e, struct fdl_headroom *out);

#endif
