/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gaps: steps in which the consumer itself took far longer than usual, more
 * than 3 times its median and 10 ms longer. No loader can help; it can only
 * report how long and how often.
 *
 * The period is the distance between gaps, if most of the recent ones agree; so
 * it is also found if it is longer than the series. Otherwise it is that of the
 * series of steps (rhythm.h), for two periods on top of each other.
 *
 * A step of up to 10 ms is no gap whatever the median, so the median is needed
 * after longer steps only. Sorting 256 values takes some 15 us. A median of up
 * to 64 steps ago rules out most steps; only a step that exceeds the limit by
 * half of it is worth a new one.
 */
#ifndef FDL_PROFILER_GAPS_H
#define FDL_PROFILER_GAPS_H

#include "profiler/measure/rhythm.h"

#include <stdbool.h>
#include <stdint.h>

#define FDL_GAP_FACTOR    3
#define FDL_GAP_LONGER_NS INT64_C(10000000)
#define FDL_GAP_WINDOW    256u /* steps that the median is of */
#define FDL_GAP_KNOWN     8u   /* steps before there can be a gap */
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

/* How much of the gaps the quota caused: probes the group's throttled time
 * (over all cores) and the sum of gaps, a few times a second. Of the growth of
 * the gaps since the previous probe, the fraction counts for which the group
 * was throttled. Zeroed memory is empty. */
#define FDL_GAP_LOOKS 32u

struct fdl_gap_throttle {
    struct {
        int64_t time_ns;
        uint64_t throttled_ns;
    } looks[FDL_GAP_LOOKS]; /* oldest overwritten */
    uint64_t n;
    int64_t gap_ns;   /* at the last probe */
    int64_t quota_ns; /* of the gaps, ever */
};

/* gap_ns: total_ns of the gaps; less than before: it was reset. */
void fdl_gap_throttle_look(struct fdl_gap_throttle *t, int64_t now_ns,
                           uint64_t throttled_ns, int64_t gap_ns);

/* Steps from gap to gap; 0: irregular. */
uint32_t fdl_gaps_period(const struct fdl_gaps *g);

#endif
