/* SPDX-License-Identifier: Apache-2.0 */
/* Bilinear mapping in plain C. */
#include "decode/kernels/rotate.h"

#include "base/compiler.h"

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

/* Point (x, y) of the image, from the four pixels round it. */
static void mix(const struct fdl_image *in, double x, double y, uint8_t *out,
                size_t out_plane)
{
    x -= 0.5;
    y -= 0.5;
    int32_t left = below(x), top = below(y);
    double dx = x - left, dy = y - top;
    size_t x0 = (size_t)FDL_MAX(left, 0);
    size_t x1 = (size_t)FDL_MIN(left + 1, in->width - 1);
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

static void bilinear_c(const struct fdl_rotate_job *job)
{
    const struct fdl_image *in = job->in;
    const struct fdl_image *out = job->out;
    const double *m = job->matrix;
    for (int32_t y = 0; y < out->height; y++) {
        for (int32_t x = 0; x < out->width; x++) {
            uint8_t *to = fdl_image_row(out, 0, y) + x;
            double px = x + 0.5, py = y + 0.5;
            double from_x = m[0] * px + m[1] * py + m[2];
            double from_y = m[3] * px + m[4] * py + m[5];
            if (from_x >= 0.0 && from_x < in->width && from_y >= 0.0 &&
                from_y < in->height) {
                mix(in, from_x, from_y, to, out->plane);
                continue;
            }
            for (size_t c = 0; c < (size_t)in->channels; c++)
                to[c * out->plane] = job->fill[c];
        }
    }
}

const struct fdl_rotate_kernels fdl_rotate_c = {.bilinear = bilinear_c};
