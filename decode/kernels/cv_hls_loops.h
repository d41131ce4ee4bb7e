/* SPDX-License-Identifier: Apache-2.0 */
/* HLS, hue below 180, for cv_colour_loops.h: floats whose every rounding
 * counts. */
#ifndef FDL_DECODE_CV_HLS_LOOPS_H
#define FDL_DECODE_CV_HLS_LOOPS_H

#include "decode/kernels/cv_colour_loops.h"

#define HLS_VECTOR 8 /* pixels */
#define UNIT_OF    (1.0F / 255.0F)

/* In degrees, of a circle that begins with red; d: above 0. */
TARGET FDL_INLINE float degrees(float r, float g, float b, float most, float d,
                                bool rest)
{
    bool red = most == r, green = most == g;
    float by = 60.0F / d;
    float way = red ? g - b : green ? b - r : r - g;
    float from = green ? 120.0F : 240.0F;
    float behind = g < b ? 360.0F : 0.0F;
    if (rest && red) { /* rounded before it comes to 360 */
        float part = way * by;
        return part + behind;
    }
    return fmaf(way, by, red ? behind : from);
}

/* rest: of what is left of OpenCV's vectors. */
TARGET FDL_INLINE void hls_pixels(struct block *p, bool rest)
{
    for (size_t i = 0; i < BLOCK; i++) {
        float r = (float)p->p[0][i] * UNIT_OF, g = (float)p->p[1][i] * UNIT_OF;
        float b = (float)p->p[2][i] * UNIT_OF;
        float most = FDL_MAX(FDL_MAX(r, g), b);
        float least = FDL_MIN(FDL_MIN(r, g), b);
        float d = most - least, sum = most + least, l = sum * 0.5F;
        float above = rest ? 2.0F - most - least : 2.0F - sum;
        float by = d > 0 ? d : 1.0F;
        float range = d > 0 ? (l < 0.5F ? sum : above) : 1.0F;
        float h = degrees(r, g, b, most, by, rest) * (180.0F / 360.0F);
        p->p[0][i] = (uint8_t)round_even(d > 0 ? h : 0.0F);
        p->p[1][i] = (uint8_t)round_even(l * 255.0F);
        p->p[2][i] = (uint8_t)round_even(FDL_MIN(d / range, 1.0F) * 255.0F);
    }
}

TARGET static void hls_block(struct block *p)
{
    hls_pixels(p, false);
}

TARGET static void hls_rest_block(struct block *p)
{
    hls_pixels(p, true);
}

TARGET static void to_hls(const struct fdl_cv_planes *p)
{
    size_t rest = p->width % HLS_VECTOR;
    for (size_t y = 0; y < p->height; y++) {
        size_t end = (y + 1) * p->width;
        in_blocks(p, 3, hls_block, y * p->width, end - rest);
        in_blocks(p, 3, hls_rest_block, end - rest, end);
    }
}

/* A colour is the most in sixths 5 and 0 behind its own, falls in the first,
 * is the least in two, and rises in the fourth. */
TARGET FDL_INLINE uint8_t colour_of(int32_t sixth, float l, float e, float part)
{
    float high = l + e, low = l - e;
    float falls = high - part, rises = low + part;
    float v = sixth == 1 ? falls : sixth == 4 ? rises : low;
    v = sixth == 0 || sixth == 5 ? high : v;
    v = FDL_MAX(v * 255.0F, 0.0F);
    return (uint8_t)round_even(FDL_MIN(v, 255.0F));
}

TARGET FDL_INLINE int32_t turned(int32_t sixth, int32_t by)
{
    int32_t sum = sixth + by;
    return sum < 6 ? sum : sum - 6;
}

TARGET static void from_hls_block(struct block *b)
{
    for (size_t i = 0; i < BLOCK; i++) {
        float raw = (float)b->p[0][i] * (6.0F / 180.0F);
        float l = (float)b->p[1][i] * UNIT_OF, s = (float)b->p[2][i] * UNIT_OF;
        float ls = l * s, e = l <= 0.5F ? ls : s - ls;
        int32_t sixth = (int32_t)raw;
        float part = (raw - (float)sixth) * 2.0F * e;
        sixth = turned(sixth, 0);
        b->p[0][i] = colour_of(sixth, l, e, part);
        b->p[1][i] = colour_of(turned(sixth, 4), l, e, part);
        b->p[2][i] = colour_of(turned(sixth, 2), l, e, part);
    }
}

TARGET static void from_hls(const struct fdl_cv_planes *p)
{
    in_blocks(p, 3, from_hls_block, 0, p->width * p->height);
}

#endif
