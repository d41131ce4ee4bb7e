/* SPDX-License-Identifier: Apache-2.0 */
/* Maps in plain C. */
#include "decode/kernels/map.h"

#include "base/compiler.h"

/* Four pixels in a line, or of four lines. */
static double cubic(double a, double b, double c, double d, double part)
{
    double p2 = -a + c;
    double p3 = 2 * (a - b) + c - d;
    double p4 = -a + b - c + d;
    return b + part * (p2 + part * (p3 + part * p4));
}

static double between(double a, double b, double part)
{
    double whole = (b - a) * part;
    return a + whole;
}

/* floor, without a call for processors that have no instruction for it. */
static int32_t below(double v)
{
    int32_t whole = (int32_t)v;
    return whole - (v < whole);
}

/* The nearest of [0, n). */
static size_t clamp(int32_t v, int32_t n)
{
    return (size_t)FDL_MAX(FDL_MIN(v, n - 1), 0);
}

typedef void mix_fn(const struct fdl_image *in, double x, double y,
                    uint8_t *out, size_t out_plane);

/* The pixel that point (x, y) of the image is in. */
static void take_1(const struct fdl_image *in, double x, double y, uint8_t *out,
                   size_t out_plane)
{
    for (int32_t c = 0; c < in->channels; c++)
        out[(size_t)c * out_plane] =
            fdl_image_row(in, c, (int32_t)y)[(int32_t)x];
}

/* The point from the four pixels round it. */
static void mix_4(const struct fdl_image *in, double x, double y, uint8_t *out,
                  size_t out_plane)
{
    x -= 0.5;
    y -= 0.5;
    int32_t left = below(x), top = below(y);
    double dx = x - left, dy = y - top;
    size_t x0 = clamp(left, in->width), x1 = clamp(left + 1, in->width);
    for (int32_t c = 0; c < in->channels; c++) {
        const uint8_t *row = fdl_image_row(in, c, FDL_MAX(top, 0));
        double v = between(row[x0], row[x1], dx), next = v;
        if (top + 1 < in->height) {
            row = fdl_image_row(in, c, top + 1);
            next = between(row[x0], row[x1], dx);
        }
        out[(size_t)c * out_plane] = (uint8_t)between(v, next, dy);
    }
}

/* From sixteen. */
static void mix_16(const struct fdl_image *in, double x, double y, uint8_t *out,
                   size_t out_plane)
{
    x -= 0.5;
    y -= 0.5;
    int32_t left = below(x) - 1, top = below(y) - 1;
    double dx = x - (left + 1), dy = y - (top + 1);
    size_t at[4];
    for (int32_t i = 0; i < 4; i++)
        at[i] = clamp(left + i, in->width);
    for (int32_t c = 0; c < in->channels; c++) {
        double line[4];
        for (int32_t i = 0; i < 4; i++) {
            size_t y_at = clamp(top + i, in->height);
            const uint8_t *row = fdl_image_row(in, c, (int32_t)y_at);
            line[i] = cubic(row[at[0]], row[at[1]], row[at[2]], row[at[3]], dx);
        }
        double v = cubic(line[0], line[1], line[2], line[3], dy);
        out[(size_t)c * out_plane] =
            v <= 0.0 ? 0 : (v >= 255.0 ? 255 : (uint8_t)v);
    }
}

/* Where pixel (x, y) of the result comes from. */
static void find(const struct fdl_map_job *job, int32_t x, int32_t y,
                 double from[2])
{
    const double *a = job->a;
    double px = x + 0.5, py = y + 0.5;
    from[0] = a[0] * px + a[1] * py + a[2];
    from[1] = a[3] * px + a[4] * py + a[5];
    if (job->perspective) {
        double over = a[6] * px + a[7] * py + 1;
        from[0] /= over;
        from[1] /= over;
    }
}

static bool is_inside(const struct fdl_image *in, const double from[2])
{
    return from[0] >= 0.0 && from[0] < in->width && from[1] >= 0.0 &&
           from[1] < in->height;
}

static void map(const struct fdl_map_job *job, mix_fn *mix)
{
    const struct fdl_image *in = job->in, *out = job->out;
    for (int32_t y = 0; y < out->height; y++) {
        uint8_t *to = fdl_image_row(out, 0, y);
        for (int32_t x = 0; x < out->width; x++, to++) {
            double from[2];
            find(job, x, y, from);
            if (is_inside(in, from)) {
                mix(in, from[0], from[1], to, out->plane);
                continue;
            }
            for (size_t c = 0; c < (size_t)in->channels; c++)
                to[c * out->plane] = job->fill[c];
        }
    }
}

static void bilinear_c(const struct fdl_map_job *job)
{
    map(job, mix_4);
}

static void bicubic_c(const struct fdl_map_job *job)
{
    map(job, mix_16);
}

/* What is the same for all pixels is in variables of its own, as bytes that are
 * written could be anything. */
static void walk_c(const struct fdl_map_job *job, struct fdl_map_walk x,
                   struct fdl_map_walk y, uint8_t *to, int64_t n)
{
    const struct fdl_image *in = job->in;
    const uint8_t *from = in->data;
    size_t plane = in->plane, out_plane = job->out->plane;
    int64_t width = in->width;
    for (int32_t c = in->channels; c > 0; c -= 3) {
        size_t b = c > 1 ? plane : 0, r = c > 2 ? 2 * plane : b;
        size_t to_b = c > 1 ? out_plane : 0,
               to_r = c > 2 ? 2 * out_plane : to_b;
        struct fdl_map_walk x_at = x, y_at = y;
        for (int64_t i = 0; i < n; i++) {
            const uint8_t *at =
                from + (y_at.start >> 16) * width + (x_at.start >> 16);
            to[i] = at[0];
            to[to_b + (size_t)i] = at[b];
            to[to_r + (size_t)i] = at[r];
            x_at.start += x.step;
            y_at.start += y.step;
        }
        from += 3 * plane;
        to += 3 * out_plane;
    }
}

static void pick_c(const struct fdl_map_job *job, int32_t y,
                   const int32_t *from, uint8_t *to, int64_t n)
{
    for (int32_t c = 0; c < job->in->channels; c++, to += job->out->plane) {
        const uint8_t *row = fdl_image_row(job->in, c, y);
        for (int64_t i = 0; i < n; i++)
            to[i] = row[from[i]];
    }
}

static void perspective_c(const struct fdl_map_job *job)
{
    map(job, take_1);
}

const struct fdl_map_kernels fdl_map_c = {
    .bilinear = bilinear_c,
    .bicubic = bicubic_c,
    .walk = walk_c,
    .pick = pick_c,
    .perspective = perspective_c,
};
