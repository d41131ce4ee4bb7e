/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gaps: steps in which the consumer itself took far longer than it mostly does,
 * more than 5 times its median and 10 ms longer. No loader can help; what can
 * be told is how long and how often.
 *
 * The rhythm is that of the distances between gaps, where most of the last ones
 * agree: it is seen also where a period is longer than the series is. Otherwise
 * it is that of the series of steps (rhythm.h), where two rhythms lie over each
 * other.
 *
 * A step of up to 10 ms is no gap whatever the median is, so that is asked for
 * after longer steps only. It takes some 15 us to sort 256 values: one that
 * is up to 64 steps old tells of most steps that they are none, and only where
 * half of it would not is it taken anew.
 */
#ifndef FDL_PROFILER_GAPS_H
#define FDL_PROFILER_GAPS_H

#include "profiler/measure/rhythm.h"

#include <stdbool.h>
#include <stdint.h>

#define FDL_GAP_FACTOR    5
#define FDL_GAP_LONGER_NS INT64_C(10000000)
#define FDL_GAP_WINDOW    256u /* steps that the median is of */
#define FDL_GAP_KNOWN     8u   /* steps before one can stick out */
#define FDL_GAP_DISTANCES 16u

/* Zeroed memory is empty. */
struct fdl_gaps {
    struct fdl_series steps;
    struct fdl_median median;
    uint64_t count;
    int64_t total_ns; /* beyond the median */
    int64_t longest_ns;
    uint64_t last;                        /* step of the last gap */
    uint64_t distance[FDL_GAP_DISTANCES]; /* between two; oldest goes */
    uint64_t n_distances;
};

/* true: the step was a gap. */
bool fdl_gaps_add(struct fdl_gaps *g, int64_t step_ns);

/* How much of the gaps was the quota's: looks at the time that the group was
 * throttled (over all cores) and at the sum of gaps, a few times a second. Of
 * what gaps grew by since the look before, as large a part counts as the group
 * was throttled over the time that they took. Zeroed memory is empty. */
#define FDL_GAP_LOOKS 32u

struct fdl_gap_throttle {
    struct {
        int64_t time_ns;
        uint64_t throttled_ns;
    } looks[FDL_GAP_LOOKS]; /* oldest overwritten */
    uint64_t n;
    int64_t gap_ns;   /* at the last look */
    int64_t quota_ns; /* of the gaps, ever */
};

/* gap_ns: total_ns of the gaps; less than before: they were reset. */
void fdl_gap_throttle_look(struct fdl_gap_throttle *t, int64_t now_ns,
                           uint64_t throttled_ns, int64_t gap_ns);

/* Steps from gap to gap; 0: there is no rhythm. */
uint32_t fdl_gaps_period(const struct fdl_gaps *g);

#endif
