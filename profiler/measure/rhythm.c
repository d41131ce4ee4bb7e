/* SPDX-License-Identifier: Apache-2.0 */
/* Periods of a series; see rhythm.h. */
#include "profiler/measure/rhythm.h"

#include "base/compiler.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Values are capped at this multiple of the typical one, so that a huge one
 * weighs no more than an outlier. The typical value is the median or, for waits
 * that are mostly 0, the mean; without the two largest, which are fewer than a
 * period needs. */
#define CUT      8
#define OUTLIERS 2u
#define PERIODS  3u /* that must have been seen */
#define RECENT   64u
#define LEAST    50u /* values: among fewer, chance makes a period */
#define VARIES   0.1 /* of the mean: less is no long wait */

FDL_HOT void fdl_series_add(struct fdl_series *s, int64_t value)
{
    s->values[s->n++ % FDL_SERIES_LENGTH] = value;
}

/* The last `most` values, the oldest first; returns how many. */
static uint32_t copy_last(const struct fdl_series *s, uint32_t most,
                          int64_t out[FDL_SERIES_LENGTH])
{
    uint64_t kept = FDL_MIN(s->n, (uint64_t)FDL_SERIES_LENGTH);
    uint32_t n = (uint32_t)FDL_MIN(kept, (uint64_t)most);
    for (uint32_t i = 0; i < n; i++)
        out[i] = s->values[(s->n - n + i) % FDL_SERIES_LENGTH];
    return n;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t fdl_series_median(const struct fdl_series *s, uint32_t most)
{
    int64_t sorted[FDL_SERIES_LENGTH];
    uint32_t n = copy_last(s, most, sorted);
    if (n == 0)
        return 0;
    qsort(sorted, n, sizeof(*sorted), ascending);
    return sorted[n / 2];
}

int64_t fdl_series_new_median(const struct fdl_series *s, uint32_t most,
                              struct fdl_median *taken)
{
    *taken = (struct fdl_median){fdl_series_median(s, most), s->n};
    return taken->value;
}

FDL_HOT int64_t fdl_series_recent_median(const struct fdl_series *s,
                                         uint32_t most,
                                         struct fdl_median *taken)
{
    if (taken->n == 0 || s->n - taken->n >= RECENT)
        return fdl_series_new_median(s, most, taken);
    return taken->value;
}

/* Mean product of x and x shifted by lag. Four sums, because each addition
 * waits for the one before it. */
static double product(const double *x, uint32_t n, uint32_t lag)
{
    double sum[4] = {0};
    uint32_t i = lag;
    for (; i + 4 <= n; i += 4)
        for (uint32_t k = 0; k < 4; k++)
            sum[k] += x[i + k] * x[i + k - lag];
    for (; i < n; i++)
        sum[0] += x[i] * x[i - lag];
    return (sum[0] + sum[1] + sum[2] + sum[3]) / (n - lag);
}

static double cut_of(const int64_t *values, uint32_t n)
{
    int64_t sorted[FDL_SERIES_LENGTH];
    double mean = 0;
    memcpy(sorted, values, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), ascending);
    for (uint32_t i = 0; i < n - OUTLIERS; i++)
        mean += (double)sorted[i] / (n - OUTLIERS);
    double median = (double)sorted[n / 2];
    return CUT * FDL_MAX(FDL_MAX(median, mean), 1.0);
}

/* The series cut and centred; false: it hardly varies. */
static bool centre(const struct fdl_series *s, double x[FDL_SERIES_LENGTH],
                   uint32_t *n)
{
    int64_t values[FDL_SERIES_LENGTH];
    double mean = 0;
    *n = copy_last(s, FDL_SERIES_LENGTH, values);
    if (*n < LEAST)
        return false;
    double cut = cut_of(values, *n);
    for (uint32_t i = 0; i < *n; i++) {
        x[i] = FDL_MIN((double)values[i], cut);
        mean += x[i] / *n;
    }
    for (uint32_t i = 0; i < *n; i++)
        x[i] -= mean;
    return product(x, *n, 0) > VARIES * mean * VARIES * mean;
}

uint32_t fdl_series_period(const struct fdl_series *s, double *strength)
{
    double x[FDL_SERIES_LENGTH];
    double best = 0;
    uint32_t n, lag = 0;
    *strength = 0;
    if (!centre(s, x, &n))
        return 0;
    double power = product(x, n, 0);
    for (uint32_t k = 1; k <= n / PERIODS; k++) {
        double here = product(x, n, k) / power;
        /* The multiples of a period peak as high: take the first. */
        if (here > best + 0.05) {
            best = here;
            lag = k;
        }
    }
    if (lag < 2) /* a trend: neighbours are alike, and nothing more so */
        return 0;
    *strength = FDL_MIN(best, 1.0);
    return lag;
}
