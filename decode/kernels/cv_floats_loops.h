/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of cv_floats.c and cv_floats_avx2.c, for the compiler to make
 * vectors of: TARGET says for which processor. */
#ifndef FDL_DECODE_CV_FLOATS_LOOPS_H
#define FDL_DECODE_CV_FLOATS_LOOPS_H

#ifndef TARGET
#  error "TARGET says for which processor these loops are compiled"
#endif

#include "base/compiler.h"
#include "decode/kernels/cv_floats.h"

#include <math.h>
#include <string.h>

#define WHOLE 12582912.0F /* what is added to this is rounded half to even */

TARGET static void across_loop(const uint8_t *in, const float *weight,
                               int32_t taps, size_t n, float *out)
{
    for (size_t i = 0; i < n; i += FDL_CV_BLOCK) {
        float sum[FDL_CV_BLOCK] = {0};
        for (int32_t t = 0; t < taps; t++) {
            const uint8_t *from = in + i + t;
            float w = weight[t];
            for (size_t k = 0; k < FDL_CV_BLOCK; k++)
                sum[k] = fmaf(w, (float)from[k], sum[k]);
        }
        memcpy(out + i, sum, sizeof(sum));
    }
}

TARGET FDL_INLINE void round_block(const float *sum, size_t n, uint8_t *out)
{
    uint8_t bytes[FDL_CV_BLOCK];
    for (size_t k = 0; k < FDL_CV_BLOCK; k++) {
        float v = FDL_MAX(FDL_MIN(sum[k], 255.0F), 0.0F);
        bytes[k] = (uint8_t)(int32_t)((v + WHOLE) - WHOLE);
    }
    memcpy(out, bytes, FDL_MIN(n, sizeof(bytes)));
}

TARGET static void down_loop(const float *const *rows, const float *weight,
                             int32_t taps, size_t n, uint8_t *out)
{
    int32_t middle = taps / 2;
    for (size_t i = 0; i < n; i += FDL_CV_BLOCK) {
        float sum[FDL_CV_BLOCK];
        for (size_t k = 0; k < FDL_CV_BLOCK; k++)
            sum[k] = weight[middle] * rows[middle][i + k];
        for (int32_t t = 1; t <= middle; t++) {
            const float *a = rows[middle + t] + i, *b = rows[middle - t] + i;
            float w = weight[middle + t];
            for (size_t k = 0; k < FDL_CV_BLOCK; k++)
                sum[k] = fmaf(a[k] + b[k], w, sum[k]);
        }
        round_block(sum, n - i, out + i);
    }
}

TARGET static void weigh_loop(uint8_t *bytes, const uint8_t *other, float a,
                              float b, size_t n)
{
    for (size_t i = 0; i < n; i += FDL_CV_BLOCK) {
        float sum[FDL_CV_BLOCK];
        for (size_t k = 0; k < FDL_CV_BLOCK; k++)
            sum[k] = fmaf((float)bytes[i + k], a, b * (float)other[i + k]);
        round_block(sum, n - i, bytes + i);
    }
}

#endif
