/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of cv_blur.c and cv_blur_avx2.c, for the compiler to make vectors
 * of: TARGET says for which processor. */
#ifndef FDL_DECODE_CV_BLUR_LOOPS_H
#define FDL_DECODE_CV_BLUR_LOOPS_H

#ifndef TARGET
#  error "TARGET says for which processor these loops are compiled"
#endif

#include "base/compiler.h"
#include "decode/kernels/cv_blur_sizes.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Loops over blocks, and over what is added to one, have two loops over pixels
 * inside of them: of one alone GCC would do two turns at once, and without
 * vectors. */
#define FILTER_TAPS 4 /* in registers */

#define WHOLE 12582912.0F /* what is added to this is rounded half to even */

/* Up to `left` pixels of a block; one of known size is a few stores. */
TARGET FDL_INLINE void put(uint8_t *to, const uint8_t *block, size_t left)
{
    if (left >= FDL_CV_BLOCK)
        memcpy(to, block, FDL_CV_BLOCK);
    else
        memcpy(to, block, left);
}

/*
 * Weights are the same from both sides, so two pixels are added before they are
 * weighed: `half` pairs and the pixel between them. The pair next to that comes
 * with it, the others by twos, so that sums stay in registers for a while.
 */

/* Two pairs, of which `one` has only the first. */
TARGET FDL_INLINE void add_rows(const uint8_t *const *rows,
                                const uint16_t *weight, int32_t last, size_t i,
                                int32_t p, bool one, uint16_t *sum)
{
    int32_t q = one ? p : p + 1;
    const uint8_t *a = rows[p] + i, *b = rows[last - p] + i;
    const uint8_t *c = rows[q] + i, *d = rows[last - q] + i;
    uint32_t w = weight[p], v = one ? 0 : weight[q];
    for (size_t k = 0; k < FDL_CV_BLOCK; k++) {
        uint32_t first = (uint16_t)(a[k] + b[k]);
        uint32_t second = one ? 0 : (uint16_t)(c[k] + d[k]);
        sum[k] = (uint16_t)(sum[k] + w * first + v * second);
    }
}

TARGET static void columns_loop(const uint8_t *const *rows,
                                const uint16_t *weight, int32_t taps, size_t n,
                                uint16_t *out)
{
    int32_t half = taps / 2, p = FDL_MAX(half - 1, 0);
    uint32_t w = weight[half], next = half > 0 ? weight[p] : 0;
    for (size_t i = 0; i < n; i += FDL_CV_BLOCK) {
        uint16_t sum[FDL_CV_BLOCK];
        const uint8_t *middle = rows[half] + i;
        const uint8_t *a = rows[p] + i, *b = rows[taps - 1 - p] + i;
        for (size_t k = 0; k < FDL_CV_BLOCK; k++)
            sum[k] = (uint16_t)(w * middle[k] + next * (uint16_t)(a[k] + b[k]));
        for (int32_t t = 0; t < p; t += 2) {
            if (t + 1 < p)
                add_rows(rows, weight, taps - 1, i, t, false, sum);
            else
                add_rows(rows, weight, taps - 1, i, t, true, sum);
        }
        memcpy(out + i, sum, sizeof(sum));
    }
}

TARGET FDL_INLINE void add_neighbours(const uint16_t *in,
                                      const uint16_t *weight, int32_t last,
                                      int32_t p, bool one, uint32_t *sum)
{
    int32_t q = one ? p : p + 1;
    const uint16_t *a = in + p, *b = in + last - p;
    const uint16_t *c = in + q, *d = in + last - q;
    uint32_t w = weight[p], v = one ? 0 : weight[q];
    for (size_t k = 0; k < FDL_CV_BLOCK; k++) {
        uint32_t first = (uint32_t)a[k] + b[k];
        uint32_t second = one ? 0 : (uint32_t)c[k] + d[k];
        sum[k] += w * first + v * second;
    }
}

TARGET static void row_loop(const uint16_t *in, const uint16_t *weight,
                            int32_t taps, size_t n, uint8_t *out)
{
    int32_t half = taps / 2, p = FDL_MAX(half - 1, 0);
    uint32_t w = weight[half], next = half > 0 ? weight[p] : 0;
    for (size_t i = 0; i < n; i += FDL_CV_BLOCK, in += FDL_CV_BLOCK) {
        uint32_t sum[FDL_CV_BLOCK];
        uint8_t bytes[FDL_CV_BLOCK];
        const uint16_t *middle = in + half, *a = in + p, *b = in + taps - 1 - p;
        for (size_t k = 0; k < FDL_CV_BLOCK; k++)
            sum[k] =
                (1U << 15) + w * middle[k] + next * ((uint32_t)a[k] + b[k]);
        for (int32_t t = 0; t < p; t += 2) {
            if (t + 1 < p)
                add_neighbours(in, weight, taps - 1, t, false, sum);
            else
                add_neighbours(in, weight, taps - 1, t, true, sum);
        }
        for (size_t k = 0; k < FDL_CV_BLOCK; k++)
            bytes[k] = (uint8_t)(sum[k] >> 16);
        put(out + i, bytes, n - i);
    }
}

/* Products of `group` taps, 1 or FILTER_TAPS, added one by one. */
TARGET FDL_INLINE void add_taps(const uint8_t *const *taps, const float *weight,
                                int32_t group, size_t i,
                                float sum[FDL_CV_BLOCK])
{
    const uint8_t *a = taps[0] + i, *b = taps[1 % group] + i;
    const uint8_t *c = taps[2 % group] + i, *d = taps[3 % group] + i;
    float w = weight[0], v = weight[1 % group];
    float u = weight[2 % group], t = weight[3 % group];
    for (size_t k = 0; k < FDL_CV_BLOCK; k++) {
        float total = fmaf(w, (float)a[k], sum[k]);
        if (group > 1) {
            total = fmaf(v, (float)b[k], total);
            total = fmaf(u, (float)c[k], total);
            total = fmaf(t, (float)d[k], total);
        }
        sum[k] = total;
    }
}

/* One thing at a time: compilers make branches of both limits in one loop. */
TARGET FDL_INLINE void round_sums(float sum[FDL_CV_BLOCK],
                                  uint8_t bytes[FDL_CV_BLOCK])
{
    for (size_t k = 0; k < FDL_CV_BLOCK; k++)
        sum[k] = FDL_MAX(sum[k], 0.0F);
    for (size_t k = 0; k < FDL_CV_BLOCK; k++) {
        float v = FDL_MIN(sum[k], 255.0F);
        bytes[k] = (uint8_t)(int32_t)((v + WHOLE) - WHOLE);
    }
}

TARGET static void filter_loop(const uint8_t *const *taps, const float *weight,
                               int32_t n_taps, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i += FDL_CV_BLOCK) {
        float sum[FDL_CV_BLOCK] = {0};
        uint8_t bytes[FDL_CV_BLOCK];
        for (int32_t t = 0; t < n_taps;) {
            bool several = t + FILTER_TAPS <= n_taps;
            if (several)
                add_taps(taps + t, weight + t, FILTER_TAPS, i, sum);
            else
                add_taps(taps + t, weight + t, 1, i, sum);
            t += several ? FILTER_TAPS : 1;
        }
        round_sums(sum, bytes);
        put(out + i, bytes, n - i);
    }
}

#endif
