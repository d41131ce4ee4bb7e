/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HSV of floats, hue in degrees, for the levels of cv_colour.h: as OpenCV has
 * it where it has AVX2. Whole vectors of a row fuse products and sums; of what
 * is left of it the compiler fused some, and others are rounded in between.
 */
#ifndef FDL_DECODE_CV_HSV_FLOAT_LOOPS_H
#define FDL_DECODE_CV_HSV_FLOAT_LOOPS_H

#include "decode/kernels/cv_colour_loops.h"

#include <float.h>

#define FLOAT_VECTOR 8 /* pixels */

struct float_block {
    float p[3][BLOCK];
};

typedef void float_function(struct float_block *b, size_t n);

/* Pixels [from, end), counted from the first one. */
TARGET static void floats_in_blocks(const struct fdl_cv_float_rows *f,
                                    float_function *convert, size_t from,
                                    size_t end)
{
    struct float_block b = {{{0}}};
    for (; from < end; from += BLOCK) {
        size_t n = FDL_MIN(end - from, (size_t)BLOCK);
        for (int32_t c = 0; c < 3; c++)
            for (size_t i = 0; i < n; i++)
                b.p[c][i] = f->in[c][(from + i) * f->step];
        convert(&b, n);
        for (int32_t c = 0; c < 3; c++)
            for (size_t i = 0; i < n; i++)
                f->out[c][(from + i) * f->step] = b.p[c][i];
    }
}

TARGET FDL_INLINE void in_float_rows(const struct fdl_cv_float_rows *f,
                                     float_function *convert,
                                     float_function *convert_rest)
{
    size_t rest = f->width % FLOAT_VECTOR;
    for (size_t y = 0; y < f->height; y++) {
        size_t end = (y + 1) * f->width;
        floats_in_blocks(f, convert, y * f->width, end - rest);
        floats_in_blocks(f, convert_rest, end - rest, end);
    }
}

/* Both operands are equal where one is -0. */
TARGET FDL_INLINE float more_of(float a, float b)
{
    return a > b ? a : b;
}

TARGET FDL_INLINE float less_of(float a, float b)
{
    return a < b ? a : b;
}

/* by: degrees of a difference of colours. */
TARGET FDL_INLINE float float_hue(float r, float g, float b, float most,
                                  float by, bool rest)
{
    bool red = most == r, green = most == g;
    float way = red ? g - b : green ? b - r : r - g;
    float from = green ? 120.0F : 240.0F;
    float behind = g < b ? 360.0F : 0.0F;
    if (!rest)
        return fmaf(way, by, red ? behind : from);
    float hue = red ? way * by : fmaf(way, by, from);
    return hue < 0 ? hue + 360.0F : hue;
}

TARGET FDL_INLINE void float_hsv_pixels(struct float_block *p, size_t n,
                                        bool rest)
{
    for (size_t i = 0; i < n; i++) {
        float r = p->p[0][i], g = p->p[1][i], b = p->p[2][i];
        float most =
            rest ? more_of(b, more_of(g, r)) : more_of(more_of(r, g), b);
        float range = most - less_of(less_of(r, g), b);
        float some = range + FLT_EPSILON;
        float by = rest ? (float)(60.0 / (double)some) : 60.0F / some;
        p->p[0][i] = float_hue(r, g, b, most, by, rest);
        p->p[1][i] = range / (fabsf(most) + FLT_EPSILON);
        p->p[2][i] = most;
    }
}

TARGET static void float_hsv_block(struct float_block *p, size_t n)
{
    float_hsv_pixels(p, n, false);
}

TARGET static void float_hsv_rest(struct float_block *p, size_t n)
{
    float_hsv_pixels(p, n, true);
}

TARGET static void floats_to_hsv(const struct fdl_cv_float_rows *f)
{
    in_float_rows(f, float_hsv_block, float_hsv_rest);
}

/* Which sixth of the circle, and how far into it: in vectors anything below 0
 * is in the first one. */
TARGET FDL_INLINE float sixth_of(float hue, bool rest, float *part)
{
    float turned = hue * (6.0F / 360.0F);
    if (rest)
        turned = fmodf(turned, 6.0F);
    float whole = rest ? floorf(turned) : truncf(turned);
    bool inside = whole >= 0 && whole < 6;
    *part = rest && !inside ? 0.0F : turned - whole;
    if (rest)
        return inside ? whole : 0.0F;
    return whole - truncf(whole * (1.0F / 6.0F)) * 6.0F;
}

TARGET FDL_INLINE void pixels_from_float_hsv(struct float_block *b, size_t n,
                                             bool rest)
{
    for (size_t i = 0; i < n; i++) {
        float part, sixth = sixth_of(b->p[0][i], rest, &part);
        float s = b->p[1][i], v = b->p[2][i];
        float low = v * (1.0F - s);
        float falls = v * fmaf(-s, part, 1.0F);
        float rises = v * fmaf(-s, 1.0F - part, 1.0F);
        float red = sixth < 2 ? falls : sixth < 4 ? low : rises;
        float green = sixth < 3 ? v : sixth < 4 ? falls : low;
        float blue = sixth < 3 ? rises : sixth < 5 ? v : falls;
        b->p[0][i] = sixth < 1 || sixth >= 5 ? v : red;
        b->p[1][i] = sixth < 1 ? rises : green;
        b->p[2][i] = sixth < 2 ? low : blue;
    }
}

TARGET static void from_float_hsv_block(struct float_block *b, size_t n)
{
    pixels_from_float_hsv(b, n, false);
}

TARGET static void from_float_hsv_rest(struct float_block *b, size_t n)
{
    pixels_from_float_hsv(b, n, true);
}

TARGET static void floats_from_hsv(const struct fdl_cv_float_rows *f)
{
    in_float_rows(f, from_float_hsv_block, from_float_hsv_rest);
}

#endif
