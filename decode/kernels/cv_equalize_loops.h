/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of CLAHE, for the compiler to make vectors of: TARGET says for
 * which processor. Floats whose every rounding counts: they are compiled
 * without contraction.
 */
#ifndef FDL_DECODE_CV_EQUALIZE_LOOPS_H
#define FDL_DECODE_CV_EQUALIZE_LOOPS_H

#ifndef TARGET
#  error "TARGET says for which processor these loops are compiled"
#endif

#include "base/compiler.h"
#include "decode/kernels/cv_equalize.h"

#include <string.h>

#define BLOCK 64
#define WHOLE 12582912.0F /* what is added to this is rounded half to even */

TARGET static void join_loop(const uint8_t *const table[4],
                             uint32_t joined[FDL_CV_VALUES])
{
    for (size_t v = 0; v < FDL_CV_VALUES; v++)
        joined[v] = table[0][v] | (uint32_t)table[1][v] << 8 |
                    (uint32_t)table[2][v] << 16 | (uint32_t)table[3][v] << 24;
}

TARGET FDL_INLINE float byte_of(uint32_t four, int32_t which)
{
    return (float)(int32_t)(four >> (8 * which) & 255);
}

TARGET FDL_INLINE float mix_2(float before, float behind, float part)
{
    return before * (1.0F - part) + behind * part;
}

/* Looking up comes first: no vectors are made of that. */
TARGET static void mix_loop(const uint32_t joined[FDL_CV_VALUES],
                            const float *part_x, float part_y, size_t n,
                            uint8_t *on)
{
    for (size_t i = 0; i < n; i += BLOCK) {
        uint32_t four[BLOCK] = {0};
        float x[BLOCK] = {0};
        uint8_t bytes[BLOCK];
        size_t left = FDL_MIN(n - i, (size_t)BLOCK);
        for (size_t k = 0; k < left; k++)
            four[k] = joined[on[i + k]];
        memcpy(x, part_x + i, left * sizeof(*x));
        for (size_t k = 0; k < BLOCK; k++) {
            float above = mix_2(byte_of(four[k], 0), byte_of(four[k], 1), x[k]);
            float below = mix_2(byte_of(four[k], 2), byte_of(four[k], 3), x[k]);
            float v = mix_2(above, below, part_y);
            bytes[k] = (uint8_t)(int32_t)((v + WHOLE) - WHOLE);
        }
        memcpy(on + i, bytes, left);
    }
}

#endif
