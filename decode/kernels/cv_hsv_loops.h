/* SPDX-License-Identifier: Apache-2.0 */
/* RGB to HSV, as cv_colour_loops.h has the other conversions. */
#ifndef FDL_DECODE_CV_HSV_LOOPS_H
#define FDL_DECODE_CV_HSV_LOOPS_H

#include "decode/kernels/cv_colour_loops.h"

#define DIVIDE_BITS 12

/* OpenCV has a table of what its doubles round to: these floats do, too. */
TARGET FDL_INLINE int32_t part_of(int32_t whole, int32_t by, int32_t v)
{
    return round_even((float)(whole << DIVIDE_BITS) /
                      ((float)by * (float)FDL_MAX(v, 1)));
}

/* In sixths of the circle, times d. */
TARGET FDL_INLINE int32_t hue_of(int32_t r, int32_t g, int32_t b, int32_t v,
                                 int32_t d)
{
    int32_t other = choose(v == g, b - r + 2 * d, r - g + 4 * d);
    return choose(v == r, g - b, other);
}

TARGET FDL_INLINE void hsv_pixels(struct block *p, int32_t circle)
{
    for (size_t i = 0; i < BLOCK; i++) {
        int32_t r = p->p[0][i], g = p->p[1][i], b = p->p[2][i];
        int32_t most = FDL_MAX(r, g), least = FDL_MIN(r, g);
        int32_t v = FDL_MAX(most, b), d = v - FDL_MIN(least, b);
        int32_t h =
            down(hue_of(r, g, b, v, d) * part_of(circle, 6, d), DIVIDE_BITS);
        h = h + ((h >> 31) & circle);
        p->p[0][i] = to_byte(h);
        p->p[1][i] = (uint8_t)down(d * part_of(255, 1, v), DIVIDE_BITS);
        p->p[2][i] = (uint8_t)v;
    }
}

#endif
