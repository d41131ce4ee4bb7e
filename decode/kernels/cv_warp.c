/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First the points of a row are found, with their weights, then each channel is
 * taken from there. The order of operations is OpenCV's, as the last bit of one
 * moves pixels: this file is compiled without contraction, and what OpenCV
 * fuses is fused by fmaf.
 */
#include "decode/kernels/cv_warp.h"

#include "base/compiler.h"

#include <math.h>

#define VECTOR 16 /* pixels, of version 5 */

/* Of a row: the pixel at or before each point, and how far behind it that is
 * along x and y, in 32nds or as floats. */
struct points {
    int32_t *x, *y;
    union {
        int32_t *whole;
        float *real;
    } part_x, part_y;
};

size_t fdl_cv_warp_scratch(int32_t width)
{
    return 4 * sizeof(int32_t) * (size_t)width;
}

static struct points points_in(const struct fdl_cv_warp_job *job)
{
    size_t n = (size_t)job->out->width;
    int32_t *memory = (int32_t *)(void *)job->scratch;
    struct points p = {.x = memory, .y = memory + n};
    p.part_x.whole = memory + 2 * n;
    p.part_y.whole = memory + 3 * n;
    if (job->floats) {
        p.part_x.real = (float *)(void *)(memory + 2 * n);
        p.part_y.real = (float *)(void *)(memory + 3 * n);
    }
    return p;
}

void fdl_cv_invert(double m[6])
{
    double d = m[0] * m[4] - m[1] * m[3];
    d = d != 0 ? 1 / d : 0;
    double a = m[4] * d, e = m[0] * d, b = m[1] * -d, c = m[3] * -d;
    double x = -a * m[2] - b * m[5], y = -c * m[2] - e * m[5];
    m[0] = a;
    m[1] = b;
    m[2] = x;
    m[3] = c;
    m[4] = e;
    m[5] = y;
}

/* ---- Version 4 ---------------------------------------------------------- */

#define POINT_BITS 10
#define PART_BITS  5
#define PARTS      (1 << PART_BITS)

/* In 1024ths; what does not fit is the last that does. */
static int32_t fixed(double v)
{
    double whole = rint(v * (1 << POINT_BITS));
    return (int32_t)FDL_MAX(FDL_MIN(whole, INT32_MAX), INT32_MIN);
}

static int32_t within_16_bits(int32_t v)
{
    return FDL_MAX(FDL_MIN(v, INT16_MAX), INT16_MIN);
}

/* One coordinate of a row: `start`, and `step` for each pixel. */
static void find_fixed(const struct fdl_cv_warp_job *job, double step,
                       double start, int32_t *at, int32_t *part)
{
    int32_t half =
        job->linear ? 1 << (POINT_BITS - PART_BITS - 1) : 1 << (POINT_BITS - 1);
    uint32_t first = (uint32_t)fixed(start) + (uint32_t)half;
    for (int32_t i = 0; i < job->out->width; i++) {
        int32_t v = (int32_t)(first + (uint32_t)fixed(step * i));
        at[i] = within_16_bits(v >> POINT_BITS);
        part[i] = (v >> (POINT_BITS - PART_BITS)) & (PARTS - 1);
    }
}

/* ---- Version 5 ---------------------------------------------------------- */

static void find_float(const struct fdl_cv_warp_job *job, const double m[3],
                       int32_t y, int32_t *at, float *part)
{
    float step = (float)m[0], by_row = (float)m[1], start = (float)m[2];
    float row = by_row * (float)y, first = row + start;
    int32_t vectors = job->out->width / VECTOR * VECTOR;
    for (int32_t i = 0; i < job->out->width; i++) {
        float v = i < vectors ? fmaf(step, (float)i, first)
                              : fmaf(step, (float)i, row) + start;
        v = FDL_MAX(FDL_MIN(v, 1e9F), -1e9F);
        float whole = job->linear ? floorf(v) : rintf(v);
        at[i] = (int32_t)whole;
        part[i] = v - whole;
    }
}

/* ---- Both --------------------------------------------------------------- */

static void find(const struct fdl_cv_warp_job *job, int32_t y,
                 const struct points *p)
{
    const double *m = job->m;
    if (job->floats) {
        find_float(job, m, y, p->x, p->part_x.real);
        find_float(job, m + 3, y, p->y, p->part_y.real);
    } else {
        find_fixed(job, m[0], m[1] * y + m[2], p->x, p->part_x.whole);
        find_fixed(job, m[3], m[4] * y + m[5], p->y, p->part_y.whole);
    }
}

static uint8_t pixel(const struct fdl_cv_warp_job *job, int32_t c, int32_t x,
                     int32_t y)
{
    int32_t from_x = fdl_cv_source(job->border, x, job->in->width);
    int32_t from_y = fdl_cv_source(job->border, y, job->in->height);
    if (from_x < 0 || from_y < 0)
        return job->fill[c];
    return fdl_image_row(job->in, c, from_y)[from_x];
}

/* The four pixels round a point. */
static void take(const struct fdl_cv_warp_job *job, int32_t c, int32_t x,
                 int32_t y, uint8_t v[4])
{
    if (x >= 0 && y >= 0 && x < job->in->width - 1 && y < job->in->height - 1) {
        const uint8_t *above = fdl_image_row(job->in, c, y) + x;
        const uint8_t *below = above + job->in->width;
        v[0] = above[0];
        v[1] = above[1];
        v[2] = below[0];
        v[3] = below[1];
        return;
    }
    for (int32_t i = 0; i < 4; i++)
        v[i] = pixel(job, c, x + i % 2, y + i / 2);
}

static uint8_t mix_fixed(const uint8_t v[4], int32_t x, int32_t y)
{
    int32_t above = v[0] * (PARTS - x) + v[1] * x;
    int32_t below = v[2] * (PARTS - x) + v[3] * x;
    int32_t sum = above * (PARTS - y) + below * y;
    return (uint8_t)((sum + (1 << (2 * PART_BITS - 1))) >> (2 * PART_BITS));
}

static uint8_t mix_float(const uint8_t v[4], float x, float y)
{
    float above = fmaf((float)(v[1] - v[0]), x, (float)v[0]);
    float below = fmaf((float)(v[3] - v[2]), x, (float)v[2]);
    return (uint8_t)lrintf(fmaf(below - above, y, above));
}

static void make_row(const struct fdl_cv_warp_job *job, const struct points *p,
                     int32_t c, uint8_t *to)
{
    for (int32_t i = 0; i < job->out->width; i++) {
        uint8_t v[4];
        if (!job->linear) {
            to[i] = pixel(job, c, p->x[i], p->y[i]);
            continue;
        }
        take(job, c, p->x[i], p->y[i], v);
        to[i] = job->floats
                    ? mix_float(v, p->part_x.real[i], p->part_y.real[i])
                    : mix_fixed(v, p->part_x.whole[i], p->part_y.whole[i]);
    }
}

void fdl_cv_warp(const struct fdl_cv_warp_job *job)
{
    struct points p = points_in(job);
    for (int32_t y = 0; y < job->out->height; y++) {
        find(job, y, &p);
        for (int32_t c = 0; c < job->in->channels; c++)
            make_row(job, &p, c, fdl_image_row(job->out, c, y));
    }
}
