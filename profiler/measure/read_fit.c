/* SPDX-License-Identifier: Apache-2.0 */
/* Two slopes at once; see read_fit.h. */
#include "profiler/measure/read_fit.h"

#include <math.h>

#define B FDL_READ_BYTES
#define A FDL_READ_AHEAD
#define T FDL_READ_NS

#define SAME_LINE 1e-6 /* one goes with the other: neither is known */

/* Bytes that hardly vary have no slope: nothing goes with them. */
static bool drop_if_constant(struct fdl_read_products *covariances, int factor,
                             double mean_file)
{
    double(*v)[FDL_READ_FACTORS] = covariances->of;
    if (sqrt(fmax(v[factor][factor], 0)) > FDL_FIT_SPREAD * mean_file)
        return false;
    v[factor][factor] = 1;
    v[B][A] = v[factor][T] = 0;
    return true;
}

bool fdl_read_fit_of(const struct fdl_read_products *sums,
                     struct fdl_read_fit *out)
{
    double n = sums->of[FDL_READ_ONE][FDL_READ_ONE], mean[FDL_READ_FACTORS];
    struct fdl_read_products covariances;
    double(*v)[FDL_READ_FACTORS] = covariances.of;
    *out = (struct fdl_read_fit){-1, -1, -1, -1};
    if (n < FDL_FIT_READS)
        return false;
    for (int i = 0; i < FDL_READ_FACTORS; i++)
        mean[i] = sums->of[FDL_READ_ONE][i] / n;
    for (int i = B; i <= T; i++)
        for (int j = i; j <= T; j++)
            v[i][j] = sums->of[i][j] / n - mean[i] * mean[j];
    bool same_bytes = drop_if_constant(&covariances, B, mean[B]);
    bool same_ahead = drop_if_constant(&covariances, A, mean[B]);
    double det = v[B][B] * v[A][A] - v[B][A] * v[B][A];
    if (!(det > SAME_LINE * v[B][B] * v[A][A]))
        return false;
    double byte = (v[B][T] * v[A][A] - v[A][T] * v[B][A]) / det;
    double ahead = (v[A][T] * v[B][B] - v[B][T] * v[B][A]) / det;
    double rest = fmax(v[T][T] - byte * v[B][T] - ahead * v[A][T], 0);
    double byte_error = sqrt(rest * v[A][A] / det / (n - 3));
    double ahead_error = sqrt(rest * v[B][B] / det / (n - 3));
    /* Of the part that they explain; by Little's law that is all of the time
     * for a server whose rate is the inverse of `ahead`. */
    double most = FDL_FIT_ERROR * mean[T];
    if (!same_ahead && ahead_error * (mean[A] + mean[B]) <= most)
        out->ahead_ns = fmax(ahead, 0);
    if (!same_bytes && byte_error * mean[B] <= most) {
        double waited = fmax(out->ahead_ns, 0) * mean[A];
        out->byte_ns = fmin(fmax(byte, 0), mean[T] / mean[B]);
        out->byte_error_ns = byte_error;
        out->fixed_ns = fmax(mean[T] - out->byte_ns * mean[B] - waited, 0);
    }
    return out->byte_ns >= 0 || out->ahead_ns >= 0;
}
