/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of cv_blur.c and cv_blur_avx2.c, for the compiler to make vectors
 * of: TARGET says for which processor. */
#ifndef FDL_DECODE_CV_BLUR_LOOPS_H
#define FDL_DECODE_CV_BLUR_LOOPS_H

#ifndef TARGET
#  error "TARGET says for which processor these loops are compiled"
#endif

#include "base/compiler.h"
#include "decode/kernels/cv_blur.h"

#include <math.h>
#include <string.h>

#define LANES 32          /* pixels of a median */
#define WHOLE 12582912.0F /* what is added to this is rounded half to even */

TARGET static void columns_loop(const uint8_t *const *rows,
                                const uint16_t *weight, int32_t taps, size_t n,
                                uint16_t *out)
{
    for (size_t i = 0; i < n; i += FDL_CV_BLOCK) {
        uint16_t sum[FDL_CV_BLOCK] = {0};
        for (int32_t t = 0; t < taps; t++) {
            const uint8_t *from = rows[t] + i;
            for (size_t k = 0; k < FDL_CV_BLOCK; k++)
                sum[k] = (uint16_t)(sum[k] + weight[t] * from[k]);
        }
        memcpy(out + i, sum, sizeof(sum));
    }
}

TARGET static void row_loop(const uint16_t *in, const uint16_t *weight,
                            int32_t taps, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i += FDL_CV_BLOCK) {
        uint32_t sum[FDL_CV_BLOCK];
        uint8_t bytes[FDL_CV_BLOCK];
        for (size_t k = 0; k < FDL_CV_BLOCK; k++)
            sum[k] = 1U << 15;
        for (int32_t t = 0; t < taps; t++) {
            const uint16_t *from = in + i + t;
            uint32_t w = weight[t];
            for (size_t k = 0; k < FDL_CV_BLOCK; k++)
                sum[k] += w * from[k];
        }
        for (size_t k = 0; k < FDL_CV_BLOCK; k++)
            bytes[k] = (uint8_t)(sum[k] >> 16);
        memcpy(out + i, bytes, FDL_MIN(n - i, sizeof(bytes)));
    }
}

TARGET static void filter_loop(const uint8_t *const *taps, const float *weight,
                               int32_t n_taps, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i += FDL_CV_BLOCK) {
        float sum[FDL_CV_BLOCK] = {0};
        uint8_t bytes[FDL_CV_BLOCK];
        for (int32_t t = 0; t < n_taps; t++) {
            const uint8_t *from = taps[t] + i;
            for (size_t k = 0; k < FDL_CV_BLOCK; k++)
                sum[k] = fmaf(weight[t], (float)from[k], sum[k]);
        }
        for (size_t k = 0; k < FDL_CV_BLOCK; k++) {
            float v = FDL_MAX(FDL_MIN(sum[k], 255.0F), 0.0F);
            bytes[k] = (uint8_t)(int32_t)((v + WHOLE) - WHOLE);
        }
        memcpy(out + i, bytes, FDL_MIN(n - i, sizeof(bytes)));
    }
}

typedef uint8_t lane_block[LANES];

/* a gets the smaller ones. */
TARGET FDL_INLINE void order(uint8_t *a, uint8_t *b)
{
    for (size_t k = 0; k < LANES; k++) {
        uint8_t low = a[k] < b[k] ? a[k] : b[k];
        uint8_t high = a[k] < b[k] ? b[k] : a[k];
        a[k] = low;
        b[k] = high;
    }
}

/* Moves the least of v[0, n) to the front and the greatest to the end. */
TARGET FDL_INLINE void ends_out(lane_block *v, int32_t n)
{
    for (int32_t i = 0; i < n / 2; i++)
        order(v[i], v[n - 1 - i]);
    for (int32_t i = 1; i < (n + 1) / 2; i++)
        order(v[0], v[i]);
    for (int32_t i = n / 2; i < n - 1; i++)
        order(v[i], v[n - 1]);
}

/* Of more than half of all pixels the least and the greatest are not the
 * middle: one more comes in their place, until three are left. */
TARGET static void median_loop(const uint8_t *const *rows, int32_t side,
                               size_t n, uint8_t *out)
{
    int32_t all = side * side, first = all / 2 + 2;
    for (size_t i = 0; i < n; i += LANES) {
        lane_block v[FDL_CV_CHOICE_MAX * FDL_CV_CHOICE_MAX / 2 + 2];
        for (int32_t p = 0; p < first; p++)
            memcpy(v[p], rows[p / side] + i + p % side, LANES);
        int32_t count = first;
        for (int32_t p = first; p < all; p++, count--) {
            ends_out(v, count);
            memcpy(v[0], rows[p / side] + i + p % side, LANES);
        }
        ends_out(v, count);
        memcpy(out + i, v[1], FDL_MIN(n - i, (size_t)LANES));
    }
}

#endif
