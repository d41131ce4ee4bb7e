/* SPDX-License-Identifier: Apache-2.0 */
/* Where the pixels of a row come from: the loops of cv_warp.c and
 * cv_warp_avx2.c, for the compiler to make vectors of. TARGET says for which
 * processor. */
#ifndef FDL_DECODE_CV_WARP_POINTS_H
#define FDL_DECODE_CV_WARP_POINTS_H

#ifndef TARGET
#  error "TARGET says for which processor these loops are compiled"
#endif

#include "base/compiler.h"
#include "decode/kernels/cv_warp_job.h"

#include <math.h>
#include <string.h>

#define VECTOR     16 /* pixels, of version 5 */
#define BLOCK_SIDE 32 /* pixels, of version 4 */

/* ---- Version 4 ---------------------------------------------------------- */

/* Of coordinate v, with so many bits behind the point. */
TARGET FDL_INLINE void put_fixed(int32_t v, int32_t bits, int32_t *at,
                                 int32_t *part)
{
    int32_t whole = v >> bits;
    *at = FDL_MAX(FDL_MIN(whole, INT16_MAX), INT16_MIN);
    *part = (v >> FDL_MAX(bits - FDL_CV_PART_BITS, 0)) & (FDL_CV_PARTS - 1);
}

/* One coordinate of a row. */
TARGET static void affine_fixed(const struct fdl_cv_warp *w, double start,
                                const int32_t *step, int32_t *at, int32_t *part)
{
    uint32_t half = w->between == FDL_CV_PICK
                        ? 1U << (FDL_CV_POINT_BITS - 1)
                        : 1U << (FDL_CV_POINT_BITS - FDL_CV_PART_BITS - 1);
    uint32_t first =
        (uint32_t)fdl_cv_round(start * (1 << FDL_CV_POINT_BITS)) + half;
    int32_t width = w->width;
    for (int32_t i = 0; i < width; i++)
        put_fixed((int32_t)(first + (uint32_t)step[i]), FDL_CV_POINT_BITS,
                  &at[i], &part[i]);
}

/* Columns that are counted from one of them, as OpenCV goes block by block. */
static int32_t block_width(const struct fdl_cv_warp *w)
{
    int32_t rows = FDL_MIN(BLOCK_SIDE / 2, w->height);
    return FDL_MIN(BLOCK_SIDE * BLOCK_SIDE / rows, w->width);
}

TARGET FDL_INLINE int32_t over(double v, double part)
{
    return fdl_cv_round(FDL_MIN(FDL_MAX(v * part, INT32_MIN), INT32_MAX));
}

TARGET static void perspective_fixed(const struct fdl_cv_warp *w, int32_t y,
                                     const struct fdl_cv_points *p)
{
    const double *m = w->m;
    double parts = w->between == FDL_CV_PICK ? 1 : FDL_CV_PARTS;
    int32_t block = block_width(w);
    int32_t bits = w->between == FDL_CV_PICK ? 0 : FDL_CV_PART_BITS;
    for (int32_t first = 0; first < w->width; first += block) {
        double x_at = m[0] * first + m[1] * y + m[2];
        double y_at = m[3] * first + m[4] * y + m[5];
        double z_at = m[6] * first + m[7] * y + m[8];
        for (int32_t i = first; i < FDL_MIN(first + block, w->width); i++) {
            double more = i - first, z = z_at + m[6] * more;
            double part = z != 0 ? parts / z : 0;
            put_fixed(over(x_at + m[0] * more, part), bits, &p->x[i],
                      &p->part_x.whole[i]);
            put_fixed(over(y_at + m[3] * more, part), bits, &p->y[i],
                      &p->part_y.whole[i]);
        }
    }
}

TARGET static void map_fixed(const struct fdl_cv_warp *w, const float *map,
                             int32_t *at, int32_t *part)
{
    bool picks = w->between == FDL_CV_PICK;
    float unit = picks ? 1.0F : (float)FDL_CV_PARTS;
    for (int32_t i = 0; i < w->width; i++)
        put_fixed(fdl_cv_round((double)(map[i] * unit)),
                  picks ? 0 : FDL_CV_PART_BITS, &at[i], &part[i]);
}

/* ---- Version 5 ---------------------------------------------------------- */

/* m0 x + m1 y + m2 of a row. */
TARGET static void linear(const struct fdl_cv_warp *w, const double m[3],
                          int32_t y, float *out)
{
    float step = (float)m[0], row = (float)m[1] * (float)y;
    float start = (float)m[2], first = row + start;
    int32_t vectors = w->width / VECTOR * VECTOR, width = w->width;
    for (int32_t i = 0; i < vectors; i++)
        out[i] = fmaf(step, (float)i, first);
    for (int32_t i = vectors; i < width; i++)
        out[i] = fmaf(step, (float)i, row) + start;
}

/* The whole number at or below v; floorf() is no loop of vectors. */
TARGET FDL_INLINE int32_t floor_of(float v)
{
    int32_t whole = (int32_t)v;
    return whole - ((float)whole > v);
}

/* Points that are in `part`, to pixels and parts. */
TARGET static void split(const struct fdl_cv_warp *w, int32_t *at, float *part)
{
    const float far = 1e9F;
    bool picks = w->between == FDL_CV_PICK;
    int32_t width = w->width;
    for (int32_t i = 0; i < width; i++) {
        float v = part[i];
        v = v >= -far ? v : -far;
        v = v <= far ? v : far;
        int32_t whole = picks ? (int32_t)rintf(v) : floor_of(v);
        at[i] = whole;
        part[i] = v - (float)whole;
    }
}

TARGET static void find_float(const struct fdl_cv_warp *w, int32_t y,
                              const struct fdl_cv_points *p)
{
    float *x_at = p->part_x.real, *y_at = p->part_y.real;
    linear(w, w->m, y, x_at);
    linear(w, w->m + 3, y, y_at);
    if (w->kind == FDL_CV_PERSPECTIVE) {
        float *z_at = (float *)(void *)p->at;
        linear(w, w->m + 6, y, z_at);
        for (int32_t i = 0; i < w->width; i++) {
            x_at[i] /= z_at[i];
            y_at[i] /= z_at[i];
        }
    }
    split(w, p->x, x_at);
    split(w, p->y, y_at);
}

/* ---- Both --------------------------------------------------------------- */

TARGET static void find_in_maps(const struct fdl_cv_warp *w, int32_t y,
                                const struct fdl_cv_points *p)
{
    size_t n = (size_t)w->width;
    const float *x_map = w->maps + (size_t)y * n;
    const float *y_map = x_map + n * (size_t)w->height;
    if (w->floats) {
        memcpy(p->part_x.real, x_map, n * sizeof(*x_map));
        memcpy(p->part_y.real, y_map, n * sizeof(*y_map));
        split(w, p->x, p->part_x.real);
        split(w, p->y, p->part_y.real);
    } else {
        map_fixed(w, x_map, p->x, p->part_x.whole);
        map_fixed(w, y_map, p->y, p->part_y.whole);
    }
}

/* A place in a plane, or -1; without a branch, so that loops become vectors. */
TARGET FDL_INLINE int32_t place_or_none(uint32_t place, bool inside)
{
    return (int32_t)(place | ((uint32_t)inside - 1));
}

/* Which are inside: with so many pixels more to the right and below. Returns
 * whether all are. */
TARGET static bool place(const struct fdl_cv_warp_job *j, int32_t more)
{
    const int32_t *x = j->p.x, *y = j->p.y;
    int32_t *at = j->p.at, n = j->w->width, width = j->in->width, any = 0;
    uint32_t end_x = (uint32_t)FDL_MAX(width - more, 0);
    uint32_t end_y = (uint32_t)FDL_MAX(j->in->height - more, 0);
    for (int32_t i = 0; i < n; i++) {
        bool inside = ((uint32_t)x[i] < end_x) & ((uint32_t)y[i] < end_y);
        uint32_t offset = (uint32_t)y[i] * (uint32_t)width + (uint32_t)x[i];
        at[i] = place_or_none(offset, inside);
        any |= at[i];
    }
    return any >= 0;
}

/* Of all pixels of a row, those `right` and `below` of the first. */
TARGET static void corners_in_border(const struct fdl_cv_warp_job *j,
                                     int32_t right, int32_t below, int32_t *to)
{
    const int32_t *x_at = j->p.x, *y_at = j->p.y;
    int32_t n = j->w->width;
    uint32_t width = (uint32_t)j->in->width, height = (uint32_t)j->in->height;
    for (int32_t i = 0; i < n; i++) {
        uint32_t x = (uint32_t)x_at[i] + (uint32_t)right;
        uint32_t y = (uint32_t)y_at[i] + (uint32_t)below;
        bool inside = (x < width) & (y < height);
        to[i] = place_or_none(y * width + x, inside);
    }
}

/* Where the border brings those that are outside. */
TARGET static void corners_elsewhere(const struct fdl_cv_warp_job *j,
                                     int32_t more)
{
    const struct fdl_cv_points *p = &j->p;
    enum fdl_cv_border border = j->w->border;
    int32_t width = j->in->width, height = j->in->height;
    for (int32_t i = 0; i < j->w->width; i++) {
        int32_t x[2], y[2];
        for (int32_t t = 0; t <= more; t++) {
            x[t] = fdl_cv_source(border, p->x[i] + t, width);
            y[t] = fdl_cv_source(border, p->y[i] + t, height) * width;
        }
        for (int32_t t = 0; t < (more ? 4 : 1); t++)
            p->corners[t][i] = y[t / 2] + x[t % 2];
    }
}

/* more: 1 where four are mixed. */
TARGET static void find_corners(const struct fdl_cv_warp_job *j, int32_t more)
{
    if (j->w->border != FDL_CV_CONSTANT) {
        corners_elsewhere(j, more);
        return;
    }
    for (int32_t t = 0; t < (more ? 4 : 1); t++)
        corners_in_border(j, t % 2, t / 2, j->p.corners[t]);
}

TARGET static void find_points(const struct fdl_cv_warp_job *j, int32_t y)
{
    const struct fdl_cv_warp *w = j->w;
    const struct fdl_cv_points *p = &j->p;
    const double *m = w->m;
    if (w->kind == FDL_CV_REMAP) {
        find_in_maps(w, y, p);
    } else if (w->floats) {
        find_float(w, y, p);
    } else if (w->kind == FDL_CV_PERSPECTIVE) {
        perspective_fixed(w, y, p);
    } else {
        affine_fixed(w, m[1] * y + m[2], j->step_x, p->x, p->part_x.whole);
        affine_fixed(w, m[4] * y + m[5], j->step_y, p->y, p->part_y.whole);
    }
    int32_t more = w->between == FDL_CV_PICK ? 0 : 1;
    if (!place(j, more) && w->between != FDL_CV_MIX_16)
        find_corners(j, more);
}

#endif
