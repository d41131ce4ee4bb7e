/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the time of a read depends on, by least squares:
 *
 *     fixed + byte * its own bytes + ahead * bytes in flight when it was sent
 *
 * One server for all gives `byte` and `ahead` the same value, the inverse of
 * its rate. Where each read has a latency or a rate of its own, none waits for
 * those ahead, and `ahead` is 0. Behind a queue, the sizes of the others are
 * noise to a read's own: it takes both to know either after a few reads.
 */
#ifndef FDL_PROFILER_READ_FIT_H
#define FDL_PROFILER_READ_FIT_H

#include <stdbool.h>

/* One factor of a product: 1, its bytes, those ahead, its time. */
enum {
    FDL_READ_ONE,
    FDL_READ_BYTES,
    FDL_READ_AHEAD,
    FDL_READ_NS,
    FDL_READ_FACTORS
};

/* Sums over reads of x[i] * x[j], i <= j. */
struct fdl_read_products {
    double of[FDL_READ_FACTORS][FDL_READ_FACTORS];
};

#define FDL_FIT_READS  64u
#define FDL_FIT_SPREAD 0.05 /* standard deviation of bytes, of a mean file */
#define FDL_FIT_ERROR  0.20 /* of the mean time */

/* -1: bytes do not vary enough, or the times do not show it. */
struct fdl_read_fit {
    double fixed_ns, byte_ns, ahead_ns;
    double byte_error_ns; /* standard error of byte_ns */
};

/* false: neither slope is known. */
bool fdl_read_fit_of(const struct fdl_read_products *sums,
                     struct fdl_read_fit *out);

#endif
