/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last seconds of reading, for questions that sums cannot answer: how fast
 * is it now, and did it help when the I/O depth was raised? And from the
 * histogram of read times: are there two kinds of reads, some as slow as a
 * device while others are as fast as memory?
 */
#ifndef FDL_PROFILER_READ_HISTORY_H
#define FDL_PROFILER_READ_HISTORY_H

#include "profiler/measure/histogram.h"

#include <stdbool.h>
#include <stdint.h>

#define FDL_READ_SECONDS 64u
#define FDL_READ_AROUND  5u /* seconds before and after that are compared */

/* Sums at one moment. */
struct fdl_read_sums {
    int64_t time_ns;
    uint64_t bytes, items;
    uint64_t busy_ns; /* of all reads, each on its own */
    uint32_t depth;
};

/* Zeroed memory is empty. One thread at a time. */
struct fdl_read_history {
    struct fdl_read_sums seconds[FDL_READ_SECONDS]; /* oldest overwritten */
    uint64_t n;
    double rate_now; /* bytes per second, over the last FDL_READ_AROUND
                        seconds; 0: not known yet */
};

/* About once a second. */
void fdl_read_history_add(struct fdl_read_history *h,
                          const struct fdl_read_sums *now);

/* Growth of bytes per second, and of the mean time of a read, since the depth
 * was last raised: 0.05 is 5 %. false: that is not known. */
bool fdl_read_history_growth(const struct fdl_read_history *h, double *rate,
                             double *latency);

/* The part of reads in the slow one of two kinds; -1: there is one kind, or too
 * few reads. */
double fdl_cold_fraction(const struct fdl_histogram *times);

#endif
