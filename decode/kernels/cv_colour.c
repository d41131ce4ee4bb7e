/* SPDX-License-Identifier: Apache-2.0 */
/* Integers in fixed point, and floats whose every rounding counts: this file is
 * compiled without contraction. */
#include "decode/kernels/cv_colour.h"

#include "base/compiler.h"
#include "decode/kernels/cv_lab.h"

#include <math.h>
#include <stdbool.h>

/* Of fixed point with so many bits, rounded half up. */
static int32_t down(int32_t v, int32_t bits)
{
    return (v + (1 << (bits - 1))) >> bits;
}

static uint8_t to_byte(int32_t v)
{
    return (uint8_t)FDL_MAX(FDL_MIN(v, 255), 0);
}

/* ---- Gray, YCrCb -------------------------------------------------------- */

static void to_gray(uint8_t *const p[3], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int32_t v = p[0][i] * 9798 + p[1][i] * 19235 + p[2][i] * 3735;
        p[0][i] = (uint8_t)down(v, 15);
    }
}

#define LUMA_BITS 14
#define MIDDLE    (128 << LUMA_BITS)

static void to_ycrcb(uint8_t *const p[3], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int32_t r = p[0][i], b = p[2][i];
        int32_t y = down(r * 4899 + p[1][i] * 9617 + b * 1868, LUMA_BITS);
        p[0][i] = to_byte(y);
        p[1][i] = to_byte(down((r - y) * 11682 + MIDDLE, LUMA_BITS));
        p[2][i] = to_byte(down((b - y) * 9241 + MIDDLE, LUMA_BITS));
    }
}

static void from_ycrcb(uint8_t *const p[3], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int32_t y = p[0][i], cr = p[1][i] - 128, cb = p[2][i] - 128;
        p[0][i] = to_byte(y + down(cr * 22987, LUMA_BITS));
        p[1][i] = to_byte(y + down(cb * -5636 + cr * -11698, LUMA_BITS));
        p[2][i] = to_byte(y + down(cb * 29049, LUMA_BITS));
    }
}

/* ---- HSV ---------------------------------------------------------------- */

#define DIVIDE_BITS 12

/* part[i] = whole / i. */
static void divide_table(int32_t whole, double by, int32_t part[256])
{
    part[0] = 0;
    for (int32_t i = 1; i < 256; i++)
        part[i] = (int32_t)lrint((whole << DIVIDE_BITS) / (by * i));
}

/* In sixths of the circle, times d. */
static int32_t hue_of(int32_t r, int32_t g, int32_t b, int32_t v, int32_t d)
{
    if (v == r)
        return g - b;
    if (v == g)
        return b - r + 2 * d;
    return r - g + 4 * d;
}

static void to_hsv(uint8_t *const p[3], size_t n, int32_t circle)
{
    int32_t by_value[256], by_range[256];
    divide_table(255, 1, by_value);
    divide_table(circle, 6, by_range);
    for (size_t i = 0; i < n; i++) {
        int32_t r = p[0][i], g = p[1][i], b = p[2][i];
        int32_t v = FDL_MAX(FDL_MAX(r, g), b);
        int32_t d = v - FDL_MIN(FDL_MIN(r, g), b);
        int32_t h = down(hue_of(r, g, b, v, d) * by_range[d], DIVIDE_BITS);
        h += h < 0 ? circle : 0;
        p[0][i] = to_byte(h);
        p[1][i] = (uint8_t)down(d * by_value[v], DIVIDE_BITS);
        p[2][i] = (uint8_t)v;
    }
}

/* What a pixel's colours can be, 0 to 255: the value, and that without all, or
 * a falling or rising part, of its saturation. */
static void shades_of(float sixth, float s, float v, float shade[4])
{
    float part = sixth - floorf(sixth);
    shade[0] = v * 255.0F;
    shade[1] = v * (1.0F - s) * 255.0F;
    shade[2] = v * fmaf(-s, part, 1.0F) * 255.0F;
    shade[3] = v * fmaf(-s, 1.0F - part, 1.0F) * 255.0F;
}

/* Which of these red, green and blue are, in each sixth of the circle. */
static const uint8_t shade_of[6][3] = {{0, 3, 1}, {2, 0, 1}, {1, 0, 3},
                                       {1, 2, 0}, {3, 1, 0}, {0, 1, 2}};

/* Pixels [from, end). */
static void from_hsv(uint8_t *const p[3], size_t from, size_t end, bool rounds)
{
    for (size_t i = from; i < end; i++) {
        float sixth = (float)p[0][i] * (float)(6.0 / 180.0), shade[4];
        shades_of(sixth, (float)p[1][i] * (float)(1.0 / 255.0),
                  (float)p[2][i] * (float)(1.0 / 255.0), shade);
        const uint8_t *which = shade_of[(int32_t)sixth % 6];
        for (int32_t c = 0; c < 3; c++) {
            float v = shade[which[c]];
            p[c][i] = (uint8_t)(rounds ? lrintf(v) : (int32_t)v);
        }
    }
}

#define VECTOR 32 /* pixels */

static void rows_from_hsv(uint8_t *const p[3], size_t width, size_t height)
{
    size_t rest = width % VECTOR;
    for (size_t y = 0; y < height; y++) {
        size_t end = (y + 1) * width;
        from_hsv(p, y * width, end - rest, false);
        from_hsv(p, end - rest, end, true);
    }
}

void fdl_cv_colour(enum fdl_cv_colour how, uint8_t *const plane[3],
                   size_t width, size_t height)
{
    size_t n = width * height;
    switch (how) {
    case FDL_CV_RGB_TO_GRAY:
        to_gray(plane, n);
        break;
    case FDL_CV_RGB_TO_YCRCB:
        to_ycrcb(plane, n);
        break;
    case FDL_CV_YCRCB_TO_RGB:
        from_ycrcb(plane, n);
        break;
    case FDL_CV_RGB_TO_HSV:
        to_hsv(plane, n, 180);
        break;
    case FDL_CV_RGB_TO_HSV_FULL:
        to_hsv(plane, n, 256);
        break;
    case FDL_CV_HSV_TO_RGB:
        rows_from_hsv(plane, width, height);
        break;
    case FDL_CV_RGB_TO_LAB:
        fdl_cv_to_lab(plane, n);
        break;
    case FDL_CV_LAB_TO_RGB:
        fdl_cv_from_lab(plane, n);
        break;
    }
}
