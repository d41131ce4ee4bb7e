/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Periods of a series: is something long every k steps? The autocorrelation of
 * the last values. Outliers are what matters, but values are first capped at a
 * multiple of the typical one, so that a single huge value makes no period.
 */
#ifndef FDL_PROFILER_RHYTHM_H
#define FDL_PROFILER_RHYTHM_H

#include <stdint.h>

#define FDL_SERIES_LENGTH 512u

/* The last values, oldest overwritten. Zeroed memory is empty. */
struct fdl_series {
    int64_t values[FDL_SERIES_LENGTH];
    uint64_t n; /* ever added */
};

void fdl_series_add(struct fdl_series *s, int64_t value);

/* Of the last `most` values; 0 if there are none. */
int64_t fdl_series_median(const struct fdl_series *s, uint32_t most);

/* A cached median. Zeroed memory is none. */
struct fdl_median {
    int64_t value;
    uint64_t n; /* of the series when it was taken */
};

/* As fdl_series_median, but up to 64 values old: they share the cost of
 * sorting. new_median takes it anew. */
int64_t fdl_series_recent_median(const struct fdl_series *s, uint32_t most,
                                 struct fdl_median *taken);
int64_t fdl_series_new_median(const struct fdl_series *s, uint32_t most,
                              struct fdl_median *taken);

/* The lag of the highest peak, if it is based on at least three periods and
 * neighbours are less alike; strength: its autocorrelation, 0..1. Lag 0: no
 * period, or too few values to tell. */
uint32_t fdl_series_period(const struct fdl_series *s, double *strength);

#endif
