/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/sweep/spread.h"

#include <math.h>

/* Student's t, 95 % to both sides. */
static double student(double freedom)
{
    static const double at[] = {12.706, 4.303, 3.182, 2.776, 2.571,
                                2.447,  2.365, 2.306, 2.262, 2.228};
    size_t n = sizeof(at) / sizeof(*at);
    if (freedom < 1)
        return at[0];
    if (freedom < (double)n + 1)
        return at[(size_t)(freedom + 1e-9) - 1];
    return 1.96 + 2.68 / freedom; /* within 1 % of the table from 11 on */
}

static double mean_of(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return n ? sum / (double)n : (double)NAN;
}

/* Of the mean. */
static double variance_of(const double *x, size_t n)
{
    double mean = mean_of(x, n), sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return n > 1 ? sum / (double)(n - 1) / (double)n : (double)NAN;
}

void spread_difference(const double *a, size_t n_a, const double *b, size_t n_b,
                       double *below, double *error)
{
    double va = variance_of(a, n_a), vb = variance_of(b, n_b);
    double mean = mean_of(b, n_b);
    *below = mean > 0 ? 1 - mean_of(a, n_a) / mean : (double)NAN;
    *error = NAN;
    if (isnan(va) || isnan(vb) || !(mean > 0))
        return;
    double v = va + vb;
    double spread = va * va / (double)(n_a - 1) + vb * vb / (double)(n_b - 1);
    double freedom = spread > 0 ? v * v / spread : (double)(n_a + n_b - 2);
    *error = student(freedom) * sqrt(v) / mean;
}

bool spread_is_worse(double below, double error, double tolerated)
{
    return below > tolerated && (isnan(error) || below > error);
}
