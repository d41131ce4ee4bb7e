/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops of cv_resize.c and cv_resize_avx2.c, for the compiler to make vectors
 * of: TARGET says for which processor. Floats whose every rounding counts: both
 * are compiled without contraction.
 */
#ifndef FDL_DECODE_CV_RESIZE_LOOPS_H
#define FDL_DECODE_CV_RESIZE_LOOPS_H

#ifndef TARGET
#  error "TARGET says for which processor these loops are compiled"
#endif

#include "base/compiler.h"
#include "decode/kernels/cv_resize.h"

#include <string.h>

#define BLOCK FDL_CV_AREA_BLOCK
#define WHOLE 12582912.0F /* what is added to this is rounded half to even */

/* Of eight rows, rounded half up. */
TARGET static void down_8(const int32_t *const *rows, const int16_t *weight,
                          size_t n, uint8_t *out)
{
    const int32_t *row[FDL_CV_TAPS_MAX];
    int32_t w[FDL_CV_TAPS_MAX];
    for (int32_t t = 0; t < FDL_CV_TAPS_MAX; t++) {
        row[t] = rows[t];
        w[t] = weight[t];
    }
    for (size_t i = 0; i < n; i++) {
        int32_t sum = FDL_CV_ONE * FDL_CV_ONE / 2;
        for (int32_t t = 0; t < FDL_CV_TAPS_MAX; t++)
            sum += row[t][i] * w[t];
        sum = FDL_MAX(sum >> 22, 0);
        out[i] = (uint8_t)FDL_MIN(sum, 255);
    }
}

/* ---- Areas -------------------------------------------------------------- */

/* Four pixels, which compilers read at once. */
TARGET FDL_INLINE uint32_t four_of(const uint8_t *from)
{
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

TARGET FDL_INLINE float add_byte(float total, uint32_t four, int32_t which,
                                 float weight)
{
    float product = (float)(int32_t)(four >> (8 * which) & 255) * weight;
    return total + product;
}

/* Of pixels that are covered, the next four are added, in their order. */
TARGET FDL_INLINE void add_four(const uint8_t *in, const int32_t *at,
                                size_t left, const float *weight, size_t pitch,
                                float total[BLOCK])
{
    uint32_t four[BLOCK] = {0};
    for (size_t k = 0; k < left; k++)
        four[k] = four_of(in + at[k]);
    for (size_t k = 0; k < BLOCK; k++) {
        const float *w = weight + k;
        float sum = add_byte(total[k], four[k], 0, w[0]);
        sum = add_byte(sum, four[k], 1, w[pitch]);
        sum = add_byte(sum, four[k], 2, w[2 * pitch]);
        total[k] = add_byte(sum, four[k], 3, w[3 * pitch]);
    }
}

TARGET static void cover_loop(const uint8_t *in, const struct fdl_cv_axis *x,
                              float *out)
{
    size_t n = (size_t)x->count, pitch = x->pitch;
    for (size_t i = 0; i < n; i += BLOCK) {
        float total[BLOCK] = {0};
        size_t left = FDL_MIN(n - i, (size_t)BLOCK);
        for (int32_t t = 0; t < x->most; t += 4)
            add_four(in + t, x->at + i, left, x->area + (size_t)t * pitch + i,
                     pitch, total);
        memcpy(out + i, total, left * sizeof(*total));
    }
}

TARGET static void add_loop(const float *line, float weight, size_t n,
                            float *total)
{
    for (size_t i = 0; i < n; i++) {
        float product = line[i] * weight;
        total[i] += product;
    }
}

TARGET static void round_loop(const float *total, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i++) {
        float v = FDL_MIN(total[i], 255.0F);
        out[i] = (uint8_t)(int32_t)((v + WHOLE) - WHOLE);
    }
}

/* Of whole pixels. */
TARGET static void count_loop(const uint8_t *in, size_t n, int32_t *sums)
{
    for (size_t i = 0; i < n; i++)
        sums[i] += in[i];
}

#define CV_COVER_LOOPS                                                         \
  .cover = cover_loop, .add = add_loop, .round = round_loop, .count = count_loop

#endif
