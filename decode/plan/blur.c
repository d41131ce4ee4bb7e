/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pillow approximates a Gaussian by boxes. All of them round to bytes, so each
 * is a pass of its own: three along a row while it is in the first-level cache,
 * then three over the rows of a plane. Boxes up to FDL_BOX_NEAR, which is every
 * standard deviation that recipes draw, have kernels; wider ones run along
 * columns that are copied to a line first.
 *
 * torchvision convolves in float, in an order that is its library's business.
 * Here columns are summed to one line of floats, and that line to bytes.
 */
#include "decode/plan/blur.h"

#include "base/compiler.h"
#include "base/status.h"
#include "decode/kernels/levels.h"
#include "decode/plan/frame.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Boxes -------------------------------------------------------------- */

#define PASSES 3

/* In float where Pillow has floats: the weights depend on the last bit. */
static struct fdl_box_weights box_of(double sigma)
{
    float s = (float)sigma, variance = s * s / PASSES;
    float length = (float)sqrt(12.0 * variance + 1.0);
    float whole = (float)floor((length - 1.0) / 2.0);
    float next = (whole + 1) * (whole + 1);
    float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance);
    part /= 6 * (variance - next);
    float radius = whole + part;
    struct fdl_box_weights box = {.radius = (uint32_t)radius};
    box.whole = (uint32_t)((float)(1 << 24) / (radius * 2 + 1));
    box.part = ((1U << 24) - (box.radius * 2 + 1) * box.whole) / 2;
    return box;
}

/* Along rows and along columns. */
struct boxes {
    bool along_x, along_y;
    struct fdl_box_weights x, y;
};

/* Two lines in turn, with room for what is beyond their ends. */
struct box_run {
    struct fdl_box_weights box;
    const struct fdl_gauss_kernels *kernels;
    size_t margin; /* of a line */
    uint8_t *line[2];
};

static void repeat_ends(uint8_t *line, size_t n, size_t margin)
{
    memset(line - margin, line[0], margin);
    memset(line + n, line[n - 1], margin);
}

/* One pass along a line whose ends are repeated. */
static void pass(const struct box_run *r, const uint8_t *in, size_t n,
                 uint8_t *out)
{
    if (r->box.radius > FDL_BOX_NEAR) {
        fdl_box_line(in, n, &r->box, out);
        return;
    }
    const uint8_t *lines[FDL_BOX_LINES] = {in - 2, in - 1, in, in + 1, in + 2};
    r->kernels->near(lines, n, &r->box, out);
}

/* All passes along line[0]. */
static void blur_line(const struct box_run *r, size_t n, uint8_t *out)
{
    for (uint32_t i = 0; i < PASSES; i++) {
        uint8_t *in = r->line[i % 2];
        repeat_ends(in, n, r->margin);
        pass(r, in, n, i == PASSES - 1 ? out : r->line[(i + 1) % 2]);
    }
}

/* One pass over all rows. */
static void pass_rows(const struct box_run *r, const struct fdl_image *image,
                      const uint8_t *in, uint8_t *out)
{
    int32_t last = image->height - 1;
    size_t width = (size_t)image->width;
    for (int32_t y = 0; y <= last; y++) {
        const uint8_t *rows[FDL_BOX_LINES];
        for (int32_t i = 0; i < FDL_BOX_LINES; i++) {
            int32_t at = FDL_MIN(FDL_MAX(y + i - 2, 0), last);
            rows[i] = in + (size_t)at * width;
        }
        r->kernels->near(rows, width, &r->box, out + (size_t)y * width);
    }
}

static void blur_columns(const struct box_run *r, const struct fdl_image *image,
                         const uint8_t *in, uint8_t *out)
{
    size_t width = (size_t)image->width, height = (size_t)image->height;
    for (size_t x = 0; x < width; x++) {
        for (size_t y = 0; y < height; y++)
            r->line[0][y] = in[y * width + x];
        uint8_t *column = r->line[1];
        blur_line(r, height, column);
        for (size_t y = 0; y < height; y++)
            out[y * width + x] = column[y];
    }
}

static void along_rows(const struct box_run *r, const struct fdl_image *image,
                       const uint8_t *in, uint8_t *out)
{
    size_t width = (size_t)image->width;
    for (size_t at = 0; at < image->plane; at += width) {
        memcpy(r->line[0], in + at, width);
        blur_line(r, width, out + at);
    }
}

/* The content of `in` is lost. */
static void along_columns(const struct box_run *r,
                          const struct fdl_image *image, uint8_t *in,
                          uint8_t *out)
{
    if (r->box.radius > FDL_BOX_NEAR) {
        blur_columns(r, image, in, out);
        return;
    }
    pass_rows(r, image, in, out);
    pass_rows(r, image, out, in);
    pass_rows(r, image, in, out);
}

/* Through `spare`, as large as the plane. */
static void blur_plane(struct box_run *r, const struct boxes *boxes,
                       const struct fdl_image *image, uint8_t *plane,
                       uint8_t *spare)
{
    r->box = boxes->x;
    if (boxes->along_x)
        along_rows(r, image, plane, spare);
    else
        memcpy(spare, plane, image->plane);
    r->box = boxes->y;
    if (boxes->along_y)
        along_columns(r, image, spare, plane);
    else
        memcpy(plane, spare, image->plane);
}

static int32_t run_box(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct box_run r = {.kernels = fdl_kernels[fdl_cpu_level()].gauss};
    struct fdl_image *image = &c->image, spare;
    struct boxes boxes;
    fdl_step_values(step, &boxes, sizeof(boxes));
    r.margin = FDL_MAX(boxes.x.radius, boxes.y.radius);
    r.margin = FDL_MAX(r.margin, FDL_BOX_NEAR) + 1;

    size_t longest = (size_t)FDL_MAX(image->width, image->height);
    size_t pitch = longest + 2 * r.margin + FDL_PLANE_ALIGN;
    uint8_t *lines;
    int32_t status = fdl_canvas_scratch(c, FDL_SCRATCH_STEP, 2 * pitch, &lines);
    if (!status)
        status = fdl_canvas_spare(c, image->width, image->height, &spare);
    if (status)
        return status;
    r.line[0] = lines + r.margin;
    r.line[1] = lines + pitch + r.margin;
    for (int32_t i = 0; i < image->channels; i++)
        blur_plane(&r, &boxes, image, fdl_image_row(image, i, 0),
                   fdl_image_row(&spare, i, 0));
    return FEEDLINE_OK;
}

/* Every pass is the same from both sides. */
static const struct fdl_step_kind box_kind = {
    .commutes = FDL_WITH_FLIP,
    .run = run_box,
};

void fdl_plan_blur_box(struct fdl_plan *plan, double sigma_x, double sigma_y)
{
    struct boxes boxes = {.along_x = (float)sigma_x != 0,
                          .along_y = (float)sigma_y != 0};
    if (boxes.along_x)
        boxes.x = box_of(sigma_x);
    if (boxes.along_y)
        boxes.y = box_of(sigma_y);
    if (boxes.along_x || boxes.along_y)
        fdl_plan_add(plan, &box_kind, &boxes, sizeof(boxes));
}

/* ---- Taps --------------------------------------------------------------- */

#define TAPS_MAX (FDL_BLUR_SIZE_MAX / 2 + 1)

/* Taps that weigh less change no pixel; with a small standard deviation that is
 * most of them. */
#define WEIGHT_MIN 0x1p-27

struct gauss {
    int32_t width, height; /* of the kernel */
    double sigma_x, sigma_y;
};

/* One side of a kernel of `size`, from its middle. */
static struct fdl_taps taps_of(int32_t size, double sigma,
                               float weight[TAPS_MAX])
{
    double sum = 0, tap[TAPS_MAX];
    for (int32_t d = 0; d <= size / 2; d++) {
        double x = d / sigma;
        tap[d] = exp(-0.5 * x * x);
        sum += d > 0 ? 2 * tap[d] : tap[d];
    }
    struct fdl_taps t = {.weight = weight};
    for (; t.n <= size / 2 && tap[t.n] >= WEIGHT_MIN * sum; t.n++)
        weight[t.n] = (float)(tap[t.n] / sum);
    return t;
}

static void reflect_ends(float *line, int32_t n, int32_t margin)
{
    for (int32_t d = 1; d <= margin; d++) {
        line[-d] = line[d];
        line[n - 1 + d] = line[n - 1 - d];
    }
}

static void convolve(const struct fdl_image *in, const struct fdl_image *out,
                     int32_t channel, const struct fdl_taps t[2], float *line)
{
    const struct fdl_gauss_kernels *k = fdl_kernels[fdl_cpu_level()].gauss;
    size_t width = (size_t)in->width;
    for (int32_t y = 0; y < in->height; y++) {
        const uint8_t *rows[2 * TAPS_MAX - 1];
        for (int32_t i = 0; i < 2 * t[1].n - 1; i++) {
            int32_t at = fdl_padding_source(FDL_PAD_REFLECT, y + i - t[1].n + 1,
                                            in->height);
            rows[i] = fdl_image_row(in, channel, at);
        }
        k->columns(rows, &t[1], width, line);
        reflect_ends(line, in->width, t[0].n - 1);
        k->row(line, &t[0], width, fdl_image_row(out, channel, y));
    }
}

static int32_t run_gauss(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct gauss g;
    fdl_step_values(step, &g, sizeof(g));
    float weights[2][TAPS_MAX];
    struct fdl_taps t[2] = {taps_of(g.width, g.sigma_x, weights[0]),
                            taps_of(g.height, g.sigma_y, weights[1])};

    struct fdl_image *image = &c->image, spare;
    size_t floats = (size_t)image->width + 2 * TAPS_MAX + FDL_PLANE_ALIGN;
    uint8_t *line;
    int32_t status =
        fdl_canvas_scratch(c, FDL_SCRATCH_STEP, floats * sizeof(float), &line);
    if (!status)
        status = fdl_canvas_spare(c, image->width, image->height, &spare);
    if (status)
        return status;
    for (int32_t i = 0; i < image->channels; i++)
        convolve(image, &spare, i, t, (float *)(void *)line + TAPS_MAX);
    fdl_canvas_swap(c, &spare);
    return FEEDLINE_OK;
}

static const struct fdl_step_kind gauss_kind = {
    .commutes = FDL_WITH_FLIP,
    .run = run_gauss,
};

int32_t fdl_plan_blur_gauss(struct fdl_plan *plan, int32_t kernel_width,
                            int32_t kernel_height, double sigma_x,
                            double sigma_y)
{
    int32_t width = fdl_plan_width(plan), height = fdl_plan_height(plan);
    if (width <= kernel_width / 2 || height <= kernel_height / 2)
        return fdl_fail(FEEDLINE_EINVAL,
                        "an image of %" PRId32 "x%" PRId32
                        " is too small to be reflected for a blur by a kernel "
                        "of %" PRId32 "x%" PRId32,
                        width, height, kernel_width, kernel_height);
    struct gauss g = {kernel_width, kernel_height, sigma_x, sigma_y};
    fdl_plan_add(plan, &gauss_kind, &g, sizeof(g));
    return FEEDLINE_OK;
}
