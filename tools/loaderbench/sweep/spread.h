/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two settings that were measured a few times each: how far apart they are, and
 * how sure that is. Numbers only.
 */
#ifndef LOADERBENCH_SPREAD_H
#define LOADERBENCH_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

/* How much less a is than b, as a part of b, and half the width of the
 * interval that holds it with 95 %; of means, by Welch's t. NAN: not known, as
 * with one value each. */
void spread_difference(const double *a, size_t n_a, const double *b, size_t n_b,
                       double *below, double *error);

/* Below by more than is tolerated, and than the error if that is known. */
bool spread_is_worse(double below, double error, double tolerated);

#endif
