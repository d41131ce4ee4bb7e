/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of cv_colour.c and cv_colour_avx2.c, for the compiler to make
 * vectors of: TARGET says for which processor. Integers in fixed point, and
 * floats whose every rounding counts: both are compiled without contraction.
 */
#ifndef FDL_DECODE_CV_COLOUR_LOOPS_H
#define FDL_DECODE_CV_COLOUR_LOOPS_H

#ifndef TARGET
#  error "TARGET says for which processor these loops are compiled"
#endif

#include "base/compiler.h"
#include "decode/kernels/cv_planes.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define BLOCK 64
#define WHOLE 12582912.0F /* what is added to this is rounded half to even */

/* Pixels that are converted together, in place. */
struct block {
    uint8_t p[3][BLOCK];
};

typedef void block_function(struct block *b);

/* Pixels [from, end). */
TARGET static void in_blocks(const struct fdl_cv_planes *p, int32_t planes_out,
                             block_function *convert, size_t from, size_t end)
{
    struct block b = {{{0}}};
    for (; from + BLOCK <= end; from += BLOCK) {
        for (int32_t c = 0; c < 3; c++)
            memcpy(b.p[c], p->in[c] + from, BLOCK);
        convert(&b);
        for (int32_t c = 0; c < planes_out; c++)
            memcpy(p->out[c] + from, b.p[c], BLOCK);
    }
    if (from == end)
        return;
    for (int32_t c = 0; c < 3; c++)
        memcpy(b.p[c], p->in[c] + from, end - from);
    convert(&b);
    for (int32_t c = 0; c < planes_out; c++)
        memcpy(p->out[c] + from, b.p[c], end - from);
}

/* Of fixed point with so many bits, rounded half up. */
TARGET FDL_INLINE int32_t down(int32_t v, int32_t bits)
{
    return (v + (1 << (bits - 1))) >> bits;
}

TARGET FDL_INLINE uint8_t to_byte(int32_t v)
{
    v = FDL_MAX(v, 0);
    return (uint8_t)FDL_MIN(v, 255);
}

/* Half to even, of numbers below 2^22. */
TARGET FDL_INLINE int32_t round_even(float v)
{
    return (int32_t)((v + WHOLE) - WHOLE);
}

/* Without branches, which compilers make no vectors of. */
TARGET FDL_INLINE int32_t choose(bool first, int32_t a, int32_t b)
{
    int32_t mask = -(int32_t)first;
    return (a & mask) | (b & ~mask);
}

/* ---- Gray, YCrCb -------------------------------------------------------- */

TARGET static void gray_block(struct block *b)
{
    for (size_t i = 0; i < BLOCK; i++) {
        int32_t v = b->p[0][i] * 9798 + b->p[1][i] * 19235 + b->p[2][i] * 3735;
        b->p[0][i] = (uint8_t)down(v, 15);
    }
}

TARGET static void to_gray(const struct fdl_cv_planes *p)
{
    in_blocks(p, 1, gray_block, 0, p->width * p->height);
}

#define LUMA_BITS 14
#define MIDDLE    (128 << LUMA_BITS)

TARGET static void ycrcb_block(struct block *b)
{
    for (size_t i = 0; i < BLOCK; i++) {
        int32_t red = b->p[0][i], blue = b->p[2][i];
        int32_t y =
            down(red * 4899 + b->p[1][i] * 9617 + blue * 1868, LUMA_BITS);
        b->p[0][i] = (uint8_t)y;
        b->p[1][i] = to_byte(down((red - y) * 11682 + MIDDLE, LUMA_BITS));
        b->p[2][i] = to_byte(down((blue - y) * 9241 + MIDDLE, LUMA_BITS));
    }
}

TARGET static void to_ycrcb(const struct fdl_cv_planes *p)
{
    in_blocks(p, 3, ycrcb_block, 0, p->width * p->height);
}

TARGET static void from_ycrcb_block(struct block *b)
{
    for (size_t i = 0; i < BLOCK; i++) {
        int32_t y = b->p[0][i], cr = b->p[1][i] - 128, cb = b->p[2][i] - 128;
        b->p[0][i] = to_byte(y + down(cr * 22987, LUMA_BITS));
        b->p[1][i] = to_byte(y + down(cb * -5636 + cr * -11698, LUMA_BITS));
        b->p[2][i] = to_byte(y + down(cb * 29049, LUMA_BITS));
    }
}

TARGET static void from_ycrcb(const struct fdl_cv_planes *p)
{
    in_blocks(p, 3, from_ycrcb_block, 0, p->width * p->height);
}

/* ---- HSV ---------------------------------------------------------------- */

/* In cv_hsv_loops.h, or cv_hsv_avx512.h; circle: 180 or 256. */
TARGET FDL_INLINE void hsv_pixels(struct block *p, int32_t circle);

TARGET static void hsv_block(struct block *p)
{
    hsv_pixels(p, 180);
}

TARGET static void hsv_full_block(struct block *p)
{
    hsv_pixels(p, 256);
}

TARGET static void to_hsv(const struct fdl_cv_planes *p)
{
    in_blocks(p, 3, hsv_block, 0, p->width * p->height);
}

TARGET static void to_hsv_full(const struct fdl_cv_planes *p)
{
    in_blocks(p, 3, hsv_full_block, 0, p->width * p->height);
}

/* Of the value, without so much of the saturation: between 0 and 1. */
TARGET FDL_INLINE uint8_t shade(float v, float s, float less, bool rounds)
{
    less = FDL_MAX(less, 0.0F);
    less = FDL_MIN(less, 1.0F);
    float colour = v * fmaf(-s, less, 1.0F) * 255.0F;
    return (uint8_t)(rounds ? round_even(colour) : (int32_t)colour);
}

/* The colours take turns: each is the value in two sixths of the circle, falls
 * in one, is the least in two and rises in one. */
TARGET FDL_INLINE void pixels_from_hsv(struct block *b, bool rounds)
{
    for (size_t i = 0; i < BLOCK; i++) {
        float h = (float)b->p[0][i] * (float)(6.0 / 180.0);
        float s = (float)b->p[1][i] * (float)(1.0 / 255.0);
        float v = (float)b->p[2][i] * (float)(1.0 / 255.0);
        h -= h < 6.0F ? 0.0F : 6.0F;
        b->p[0][i] = shade(v, s, FDL_MIN(h - 1.0F, 5.0F - h), rounds);
        b->p[1][i] = shade(v, s, FDL_MAX(h - 3.0F, 1.0F - h), rounds);
        b->p[2][i] = shade(v, s, FDL_MAX(h - 5.0F, 3.0F - h), rounds);
    }
}

TARGET static void from_hsv_block(struct block *b)
{
    pixels_from_hsv(b, false);
}

TARGET static void from_hsv_rest_block(struct block *b)
{
    pixels_from_hsv(b, true);
}

#define VECTOR 32 /* pixels */

TARGET static void from_hsv(const struct fdl_cv_planes *p)
{
    size_t rest = p->width % VECTOR;
    for (size_t y = 0; y < p->height; y++) {
        size_t end = (y + 1) * p->width;
        in_blocks(p, 3, from_hsv_block, y * p->width, end - rest);
        in_blocks(p, 3, from_hsv_rest_block, end - rest, end);
    }
}

#define CV_COLOUR_LOOPS                                                        \
  [FDL_CV_RGB_TO_GRAY] = to_gray, [FDL_CV_RGB_TO_YCRCB] = to_ycrcb,            \
  [FDL_CV_YCRCB_TO_RGB] = from_ycrcb, [FDL_CV_RGB_TO_HSV] = to_hsv,            \
  [FDL_CV_RGB_TO_HSV_FULL] = to_hsv_full, [FDL_CV_HSV_TO_RGB] = from_hsv,      \
  [FDL_CV_RGB_TO_LAB] = to_lab, [FDL_CV_LAB_TO_RGB] = from_lab,                \
  [FDL_CV_RGB_TO_HLS] = to_hls, [FDL_CV_HLS_TO_RGB] = from_hls

#endif
