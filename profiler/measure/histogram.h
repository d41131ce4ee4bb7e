/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log-linear histogram of durations: each power of two is split into 32 equal
 * buckets, so a quantile is at most 1/32 (3.1 %) too high; values below 32 are
 * exact. Adding is one relaxed increment; one writer per histogram, any number
 * of readers, and merging is addition.
 */
#ifndef FDL_PROFILER_HISTOGRAM_H
#define FDL_PROFILER_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

#define FDL_HISTOGRAM_SUB_BITS 5
/* 2^42 ns is 73 minutes; larger values count in the last bucket, whose upper
 * edge is max. Negative ones count as 0. */
#define FDL_HISTOGRAM_MAX_BITS 42
#define FDL_HISTOGRAM_BUCKETS                                                  \
  ((FDL_HISTOGRAM_MAX_BITS - FDL_HISTOGRAM_SUB_BITS + 1)                       \
   << FDL_HISTOGRAM_SUB_BITS)

struct fdl_histogram {
    _Atomic uint32_t count[FDL_HISTOGRAM_BUCKETS];
    _Atomic int64_t max;
};

/* Zeroed memory is an empty histogram. A bucket counts to 2^32 - 1. add and
 * merge (into) are the writer's; total and quantile are for any thread. */
void fdl_histogram_add(struct fdl_histogram *h, int64_t value);
void fdl_histogram_merge(struct fdl_histogram *into,
                         const struct fdl_histogram *from);

/* h -= before, an earlier state of the same histogram, both at rest. The
 * largest value is then known as well as a bucket is. */
void fdl_histogram_subtract(struct fdl_histogram *h,
                            const struct fdl_histogram *before);

uint64_t fdl_histogram_total(const struct fdl_histogram *h);

/* The upper edge of the bucket that holds rank ceil(q * total), never above
 * max; 0 if empty. q in [0, 1]. */
int64_t fdl_histogram_quantile(const struct fdl_histogram *h, double q);

#endif
