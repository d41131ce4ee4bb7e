/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of a box blur, as those of cv_blur_loops.h. */
#ifndef FDL_DECODE_CV_BOX_LOOPS_H
#define FDL_DECODE_CV_BOX_LOOPS_H

#ifndef TARGET
#  error "TARGET says for which processor these loops are compiled"
#endif

#include "base/compiler.h"
#include "decode/kernels/cv_blur_sizes.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BOX_BLOCK  FDL_CV_BOX_BLOCK
#define FLOAT_AREA 4096

/* Of an odd number of neighbours: one, and sums of 2, 4, 8 and so on. */
TARGET FDL_INLINE void sum_neighbours(const uint16_t *in, int32_t taps,
                                      uint32_t sum[BOX_BLOCK])
{
    uint32_t part[BOX_BLOCK + FDL_CV_KERNEL_MAX];
    int32_t done = 1, n = BOX_BLOCK + taps - 2;
    for (int32_t k = 0; k < BOX_BLOCK; k++)
        sum[k] = in[k];
    for (int32_t k = 0; k < n; k++)
        part[k] = (uint32_t)in[k] + in[k + 1];
    for (int32_t wide = 2; wide <= taps; wide *= 2) {
        if (taps & wide) {
            for (int32_t k = 0; k < BOX_BLOCK; k++)
                sum[k] += part[k + done];
            done += wide;
        }
        n -= wide;
        for (int32_t k = 0; 2 * wide <= taps && k < n; k++)
            part[k] += part[k + wide];
    }
}

TARGET FDL_INLINE void sum_three(const uint16_t *in, uint32_t sum[BOX_BLOCK])
{
    for (size_t k = 0; k < BOX_BLOCK; k++)
        sum[k] = (uint32_t)in[k] + in[k + 1] + in[k + 2];
}

/* area is odd, so means are so far from halves that floats see it, unless it is
 * very large. */
TARGET FDL_INLINE void means(const uint32_t *sum, int32_t area, uint8_t *out)
{
    float part = 1.0F / (float)area;
    for (size_t k = 0; k < BOX_BLOCK; k++)
        out[k] = (uint8_t)(int32_t)((float)(int32_t)sum[k] * part + 0.5F);
}

TARGET FDL_INLINE void exact_means(const uint32_t *sum, int32_t area,
                                   uint8_t *out)
{
    double part = 1.0 / area;
    for (size_t k = 0; k < BOX_BLOCK; k++)
        out[k] = (uint8_t)(int32_t)(sum[k] * part + 0.5);
}

TARGET static void box_loop(const uint16_t *in, int32_t taps, int32_t area,
                            size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i += BOX_BLOCK) {
        uint32_t sum[BOX_BLOCK];
        uint8_t bytes[BOX_BLOCK];
        if (taps == 3)
            sum_three(in + i, sum);
        else
            sum_neighbours(in + i, taps, sum);
        if (area < FLOAT_AREA)
            means(sum, area, bytes);
        else
            exact_means(sum, area, bytes);
        if (n - i >= BOX_BLOCK)
            memcpy(out + i, bytes, BOX_BLOCK);
        else
            memcpy(out + i, bytes, n - i);
    }
}

TARGET static void slide_loop(uint16_t *sums, const uint8_t *add,
                              const uint8_t *drop, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sums[i] = (uint16_t)(sums[i] + add[i] - drop[i]);
}

#endif
