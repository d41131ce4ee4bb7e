/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nearest pixel, which Pillow finds in three ways: an affine map walks in
 * fixed point of 16 bits where all corners of the result fit, and it is no mere
 * scaling; else in double by repeated addition; and a perspective computes each
 * pixel for itself. In fixed point the part of a row that comes from inside is
 * known before it is walked.
 */
#include "base/compiler.h"
#include "decode/kernels/map.h"

#include <math.h>
#include <string.h>

/* Part of a row. */
struct span {
    int64_t first, end;
};

#define ONE 65536

static int64_t fixed(double v)
{
    return (int64_t)floor(v * ONE + 0.5);
}

/* Whether every corner of the result lies within 15 bits before the point. */
static bool fits_fixed(const double a[6], int32_t width, int32_t height)
{
    for (int32_t corner = 0; corner < 4; corner++) {
        double x = corner & 1 ? width : 0, y = corner & 2 ? height : 0;
        if (!(fabs(x * a[0] + y * a[1] + a[2]) < 32768.0 &&
              fabs(x * a[3] + y * a[4] + a[5]) < 32768.0))
            return false;
    }
    return true;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return a > 0 ? (a - 1) / b + 1 : a / b;
}

/* Cuts the span to what is within [0, size). */
static void cut(struct span *s, struct fdl_map_walk w, int64_t size)
{
    int64_t low = 0, end = size * ONE; /* low <= start + i * step < end */
    if (w.step == 0) {
        if (w.start < low || w.start >= end)
            s->end = s->first;
        return;
    }
    if (w.step < 0) {
        w = (struct fdl_map_walk){-w.start, -w.step};
        low = 1 - end;
        end = 1;
    }
    int64_t first = divide_up(low - w.start, w.step);
    s->end = FDL_MIN(s->end, divide_up(end - w.start, w.step));
    s->end = FDL_MAX(s->end, s->first);
    s->first = FDL_MIN(FDL_MAX(s->first, first), s->end);
}

static void fill(const struct fdl_map_job *job, uint8_t *row, int64_t first,
                 int64_t end)
{
    for (size_t c = 0; end > first && c < (size_t)job->out->channels; c++)
        memset(row + c * job->out->plane + first, job->fill[c],
               (size_t)(end - first));
}

/* A row that is a row of the image, moved. */
static void copy(const struct fdl_map_job *job, struct fdl_map_walk x,
                 struct fdl_map_walk y, uint8_t *row, struct span s)
{
    int32_t y_at = (int32_t)(y.start >> 16);
    int64_t x_at = (x.start >> 16) + s.first;
    for (int32_t c = 0; c < job->out->channels && s.end > s.first; c++)
        memcpy(row + (size_t)c * job->out->plane + s.first,
               fdl_image_row(job->in, c, y_at) + x_at,
               (size_t)(s.end - s.first));
}

static void fixed_point(const struct fdl_map_kernels *k,
                        const struct fdl_map_job *job)
{
    const double *a = job->a;
    const struct fdl_image *in = job->in, *out = job->out;
    struct fdl_map_walk x = {fixed(a[2] + a[0] * 0.5 + a[1] * 0.5),
                             fixed(a[0])};
    struct fdl_map_walk y = {fixed(a[5] + a[3] * 0.5 + a[4] * 0.5),
                             fixed(a[3])};
    int64_t line_x = fixed(a[1]), line_y = fixed(a[4]);
    bool copies = x.step == ONE && y.step == 0;
    if (k->prepare && !copies)
        k->prepare(job);
    for (int32_t i = 0; i < out->height; i++) {
        uint8_t *row = fdl_image_row(out, 0, i);
        struct span s = {0, out->width};
        cut(&s, x, in->width);
        cut(&s, y, in->height);
        fill(job, row, 0, s.first);
        fill(job, row, s.end, out->width);
        if (copies)
            copy(job, x, y, row, s);
        else
            k->walk(job,
                    (struct fdl_map_walk){x.start + s.first * x.step, x.step},
                    (struct fdl_map_walk){y.start + s.first * y.step, y.step},
                    row + s.first, s.end - s.first);
        x.start += line_x;
        y.start += line_y;
    }
}

/* Only so many columns of a scaling are done together. */
#define COLUMNS 256

/* Columns of all rows, from columns `from` of the image. */
static void pick_columns(const struct fdl_map_kernels *k,
                         const struct fdl_map_job *job, const int32_t *from,
                         int64_t at, int64_t n)
{
    const struct fdl_image *in = job->in;
    struct span s = {0, n};
    double y = job->a[5] + job->a[3] * 0.5 + job->a[4] * 0.5;
    while (s.first < n && from[s.first] < 0)
        s.first++;
    while (s.end > s.first && from[s.end - 1] < 0)
        s.end--;
    for (int32_t i = 0; i < job->out->height; i++, y += job->a[4]) {
        uint8_t *row = fdl_image_row(job->out, 0, i);
        bool inside = y >= 0 && y < in->height;
        fill(job, row, at, at + (inside ? s.first : n));
        fill(job, row, at + s.end, at + n);
        if (inside)
            k->pick(job, (int32_t)y, from + s.first, row + at + s.first,
                    s.end - s.first);
    }
}

static void scale(const struct fdl_map_kernels *k,
                  const struct fdl_map_job *job)
{
    int32_t from[COLUMNS];
    double x = job->a[2] + job->a[1] * 0.5 + job->a[0] * 0.5;
    if (k->prepare)
        k->prepare(job);
    for (int32_t at = 0; at < job->out->width; at += COLUMNS) {
        int32_t n = FDL_MIN(job->out->width - at, COLUMNS);
        for (int32_t i = 0; i < n; i++, x += job->a[0])
            from[i] = x >= 0 && x < job->in->width ? (int32_t)x : -1;
        pick_columns(k, job, from, at, n);
    }
}

static void put(const struct fdl_map_job *job, uint8_t *to, double x, double y)
{
    const struct fdl_image *in = job->in;
    bool inside = x >= 0 && x < in->width && y >= 0 && y < in->height;
    size_t from = inside ? (size_t)y * (size_t)in->width + (size_t)x : 0;
    for (size_t c = 0; c < (size_t)in->channels; c++)
        to[c * job->out->plane] =
            inside ? in->data[c * in->plane + from] : job->fill[c];
}

/* Sides beyond 32768 pixels. */
static void by_addition(const struct fdl_map_job *job)
{
    const double *a = job->a;
    double start_x = a[2] + a[1] * 0.5 + a[0] * 0.5;
    double start_y = a[5] + a[4] * 0.5 + a[3] * 0.5;
    for (int32_t y = 0; y < job->out->height; y++) {
        double x_at = start_x, y_at = start_y;
        uint8_t *to = fdl_image_row(job->out, 0, y);
        for (int32_t x = 0; x < job->out->width; x++, to++) {
            put(job, to, x_at, y_at);
            x_at += a[0];
            y_at += a[3];
        }
        start_x += a[1];
        start_y += a[4];
    }
}

void fdl_map_nearest(const struct fdl_map_kernels *k,
                     const struct fdl_map_job *job)
{
    const double *a = job->a;
    if (job->perspective)
        k->perspective(job);
    else if (a[1] == 0 && a[3] == 0)
        scale(k, job);
    else if (!fits_fixed(a, job->out->width, job->out->height))
        by_addition(job);
    else
        fixed_point(k, job);
}
