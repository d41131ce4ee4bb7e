/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upper quantiles of recent durations: a log-linear histogram of 32 buckets to
 * the power of two, like profiler/measure/histogram.h, in two generations. When
 * the younger is full it becomes the elder, and a new one begins.
 */
#ifndef SIM_TAIL_H
#define SIM_TAIL_H

#include <stdint.h>

#define SIM_TAIL_BUCKETS 1344u /* 2^-28 s to 2^14 s */

struct sim_tail {
    uint32_t per_generation;
    uint32_t total[2];
    uint32_t top[2]; /* highest bucket in use */
    uint32_t count[2][SIM_TAIL_BUCKETS];
};

/* Zeroed memory with per_generation set is empty. */
void sim_tail_add(struct sim_tail *t, double seconds);

/* The upper edge of the bucket above which a fraction 1 - q is; 0: empty. */
double sim_tail_quantile(const struct sim_tail *t, double q);

#endif
