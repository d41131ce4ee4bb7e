/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do more workers slow the consumer down? Its step times are kept separately by
 * the number of active workers, in powers of two: count, mean and variance, by
 * Welford's method. The fewest and the most seen are compared.
 */
#ifndef FDL_PROFILER_INTERFERENCE_H
#define FDL_PROFILER_INTERFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#define FDL_INTERFERENCE_CLASSES 12u /* up to 2048 workers */
#define FDL_INTERFERENCE_LEAST   16u /* steps of a class before it counts */

struct fdl_interference_class {
    uint64_t n;
    double mean, m2;
};

/* Zeroed memory is empty. */
struct fdl_interference {
    struct fdl_interference_class classes[FDL_INTERFERENCE_CLASSES];
};

/* A step of step_ns while `workers` were active. Steps above 5 times the mean
 * of their class so far, such as checkpoints, are ignored. */
void fdl_interference_add(struct fdl_interference *i, uint32_t workers,
                          int64_t step_ns);

/* growth: of the mean from the fewest workers to the most, 0.05 is 5 %; sigma:
 * that difference in standard errors. false: fewer than two classes count. */
bool fdl_interference_judge(const struct fdl_interference *i, double *growth,
                            double *sigma);

#endif
