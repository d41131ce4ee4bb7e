/* SPDX-License-Identifier: Apache-2.0 */
/* The line through copy times; see copy_fit.h. */
#include "profiler/measure/copy_fit.h"

#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

/* 1e9 bytes/s are 1e3 bytes/us. */
#define BYTES_PER_US 1e3

static int32_t check(const uint64_t *bytes, const double *us, uint32_t n)
{
    bool two = false;
    for (uint32_t i = 0; i < n; i++) {
        if (!isfinite(us[i]) || us[i] <= 0)
            return fdl_fail(FEEDLINE_EINVAL,
                            "the copy of %" PRIu64 " bytes took %g us: times "
                            "have to be above 0",
                            bytes[i], us[i]);
        two = two || bytes[i] != bytes[0];
    }
    if (!two)
        return fdl_fail(FEEDLINE_EINVAL,
                        "a line needs copies of two sizes; there is %s",
                        n ? "one" : "none");
    return FEEDLINE_OK;
}

/* us = at[0] + at[1] * bytes, the best one. Sums are taken around the mean, so
 * that large sizes do not cancel. */
static void fit_line(const uint64_t *bytes, const double *us, uint32_t n,
                     double at[2])
{
    double weights = 0, x_mean = 0, y_mean = 0, xx = 0, xy = 0;
    for (uint32_t i = 0; i < n; i++) {
        double w = 1 / (us[i] * us[i]);
        weights += w;
        x_mean += w * (double)bytes[i];
        y_mean += w * us[i];
    }
    x_mean /= weights;
    y_mean /= weights;
    for (uint32_t i = 0; i < n; i++) {
        double w = 1 / (us[i] * us[i]);
        double x = (double)bytes[i] - x_mean;
        xx += w * x * x;
        xy += w * x * (us[i] - y_mean);
    }
    at[1] = xy / xx;
    at[0] = y_mean - at[1] * x_mean;
}

/* The best one with at[0] = 0. */
static void fit_ray(const uint64_t *bytes, const double *us, uint32_t n,
                    double at[2])
{
    double rr = 0, r = 0;
    for (uint32_t i = 0; i < n; i++) {
        double speed = (double)bytes[i] / us[i];
        r += speed;
        rr += speed * speed;
    }
    at[0] = 0;
    at[1] = r / rr;
}

static double worst_error(const uint64_t *bytes, const double *us, uint32_t n,
                          const double at[2])
{
    double worst = 0;
    for (uint32_t i = 0; i < n; i++) {
        double line = at[0] + at[1] * (double)bytes[i];
        worst = fmax(worst, fabs(line - us[i]) / us[i]);
    }
    return worst;
}

int32_t fdl_copy_fit(const uint64_t *bytes, const double *us, uint32_t n,
                     struct fdl_copy_fit *out)
{
    double at[2];
    int32_t status = check(bytes, us, n);
    if (status < 0)
        return status;
    fit_line(bytes, us, n, at);
    if (!(at[1] > 0))
        return fdl_fail(FEEDLINE_EINVAL,
                        "the times of %" PRIu32 " copies do not grow with "
                        "their sizes: measure larger copies, or more often",
                        n);
    if (at[0] < 0)
        fit_ray(bytes, us, n, at);
    *out = (struct fdl_copy_fit){
        .latency_us = at[0],
        .gigabytes_per_second = 1 / (at[1] * BYTES_PER_US),
        .half_bytes = at[0] / at[1],
        .worst_error = worst_error(bytes, us, n, at),
    };
    return FEEDLINE_OK;
}

const char *fdl_copy_regime(double latency_us, double gigabytes_per_second,
                            uint64_t bytes)
{
    if (!(gigabytes_per_second > 0))
        return "";
    double half = latency_us * gigabytes_per_second * BYTES_PER_US;
    return (double)bytes > half ? "bandwidth" : "latency";
}
