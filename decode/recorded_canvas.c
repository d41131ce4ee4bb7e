/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels that are put together of those of other images. */
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "decode/decoder_state.h"
#include "decode/formats/format.h"
#include "decode/kernels/levels.h"
#include "decode/plan/cv_warp_step.h"
#include "decode/plan/plan.h"
#include "decode/recorded_image.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Pasting ------------------------------------------------------------- */

static void fill_canvas(const struct feedline_canvas *canvas, uint8_t *out)
{
    const uint8_t *fill = canvas->fill;
    size_t pixels = (size_t)canvas->width * (size_t)canvas->height;
    if (canvas->channels == 1 || (fill[0] == fill[1] && fill[0] == fill[2])) {
        memset(out, fill[0], pixels * (size_t)canvas->channels);
        return;
    }
    for (size_t i = 0; i < pixels; i++)
        memcpy(out + 3 * i, fill, 3);
}

static void paste_row(uint8_t *to, const uint8_t *from, const uint8_t *mask,
                      size_t width, size_t pixel)
{
    if (!mask) {
        memcpy(to, from, width * pixel);
        return;
    }
    for (size_t x = 0; x < width; x++) {
        if (mask[x])
            memcpy(to + x * pixel, from + x * pixel, pixel);
    }
}

static void paste(const struct feedline_canvas *canvas,
                  const struct feedline_canvas_part *part,
                  const struct fdl_canvas_source *from, uint8_t *out)
{
    size_t pixel = (size_t)canvas->channels, width = (size_t)from->width;
    size_t stride = (size_t)canvas->width * pixel;
    uint8_t *to = out + (size_t)part->top * stride + (size_t)part->left * pixel;
    for (size_t y = 0; y < (size_t)from->height; y++)
        paste_row(to + y * stride, from->pixels + y * from->stride,
                  part->mask ? part->mask + y * width : NULL, width, pixel);
}

/* Whether its parts leave nothing of the fill. */
static bool is_covered(const struct feedline_canvas *canvas,
                       const struct fdl_canvas_source *parts)
{
    for (uint32_t k = 0; k < canvas->n_parts; k++) {
        if (!canvas->parts[k].mask && parts[k].width == canvas->width &&
            parts[k].height == canvas->height)
            return true;
    }
    return false;
}

static void paste_all(const struct feedline_canvas *canvas,
                      const struct fdl_canvas_source *parts, uint8_t *out)
{
    if (!is_covered(canvas, parts))
        fill_canvas(canvas, out);
    for (uint32_t k = 0; k < canvas->n_parts; k++)
        paste(canvas, &canvas->parts[k], &parts[k], out);
}

/* ---- Sums ---------------------------------------------------------------- */

/* Bytes of a sum that are worked on at once, in the first-level cache. */
#define RUN 512

static uint8_t cut_off(double value)
{
    return value > 0 ? (uint8_t)FDL_MIN(value, 255.0) : 0;
}

static void sum_doubles(const struct feedline_canvas *canvas,
                        const struct fdl_canvas_source *parts, size_t at,
                        size_t n, uint8_t *out)
{
    double sum[RUN];
    for (uint32_t k = 0; k < canvas->n_parts; k++) {
        const uint8_t *from = parts[k].pixels + at;
        double weight = canvas->parts[k].weight;
        for (size_t i = 0; i < n; i++) {
            double value = from[i] * weight;
            sum[i] = k == 0 ? value : sum[i] + value;
        }
    }
    for (size_t i = 0; i < n; i++)
        out[at + i] = cut_off(sum[i]);
}

static void sum_floats(const struct feedline_canvas *canvas,
                       const struct fdl_canvas_source *parts, size_t at,
                       size_t n, uint8_t *out)
{
    float sum[RUN];
    for (uint32_t k = 0; k < canvas->n_parts; k++) {
        const uint8_t *from = parts[k].pixels + at;
        float weight = (float)canvas->parts[k].weight;
        for (size_t i = 0; i < n; i++) {
            float value = (float)from[i] * weight;
            sum[i] = k == 0 ? value : sum[i] + value;
        }
    }
    for (size_t i = 0; i < n; i++)
        out[at + i] = cut_off((double)sum[i]);
}

void fdl_recorded_compose(const struct feedline_canvas *canvas,
                          const struct fdl_canvas_source *parts, uint8_t *out)
{
    size_t bytes = (size_t)canvas->width * (size_t)canvas->height *
                   (size_t)canvas->channels;
    if (canvas->how == FEEDLINE_CANVAS_PASTE) {
        paste_all(canvas, parts, out);
        return;
    }
    for (size_t at = 0; at < bytes; at += RUN) {
        size_t n = FDL_MIN(bytes - at, (size_t)RUN);
        if (canvas->how == FEEDLINE_CANVAS_SUM_F64)
            sum_doubles(canvas, parts, at, n, out);
        else
            sum_floats(canvas, parts, at, n, out);
    }
}

/* ---- Planes -------------------------------------------------------------- */

struct planes {
    struct fdl_drawing drawing;
    const struct feedline_canvas *canvas;
    const struct fdl_canvas_source *parts;
    const struct fdl_finish_kernels *kernels;
    struct fdl_cv_lines lines;
    bool covered;
};

/* n pixels of a row, to their places in each plane. */
static void split_row(const struct planes *p, const uint8_t *from,
                      const uint8_t *mask, size_t n, uint8_t *const to[])
{
    if (!mask) {
        p->kernels->split(from, n, to);
        return;
    }
    for (size_t x = 0; x < n; x++, from += 3) {
        for (size_t c = 0; c < 3 && mask[x]; c++)
            to[c][x] = from[c];
    }
}

/* What pixels [x, x + n) of row y have of a part. */
static void paste_line(const struct planes *p, uint32_t k, int32_t y, int32_t x,
                       int32_t n, uint8_t *const to[])
{
    const struct feedline_canvas_part *part = &p->canvas->parts[k];
    const struct fdl_canvas_source *from = &p->parts[k];
    size_t channels = (size_t)p->canvas->channels;
    int32_t begin = FDL_MAX(part->left, x);
    int32_t end = FDL_MIN(part->left + from->width, x + n);
    if (y < part->top || y >= part->top + from->height || begin >= end)
        return;
    size_t row = (size_t)(y - part->top), skip = (size_t)(begin - part->left);
    const uint8_t *pixels = from->pixels + row * from->stride + skip * channels;
    const uint8_t *mask =
        part->mask ? part->mask + row * (size_t)from->width + skip : NULL;
    uint8_t *places[3] = {NULL};
    for (size_t c = 0; c < channels; c++)
        places[c] = to[c] + (begin - x);
    if (channels == 1)
        paste_row(places[0], pixels, mask, (size_t)(end - begin), 1);
    else
        split_row(p, pixels, mask, (size_t)(end - begin), places);
}

static void compose_line(const struct planes *p, int32_t y, int32_t x,
                         int32_t n, uint8_t *const to[])
{
    const struct feedline_canvas *canvas = p->canvas;
    for (int32_t c = 0; c < canvas->channels && !p->covered; c++)
        memset(to[c], canvas->fill[c], (size_t)n);
    for (uint32_t k = 0; k < canvas->n_parts; k++)
        paste_line(p, k, y, x, n, to);
}

static void get_line(const struct fdl_cv_lines *lines, int32_t y, int32_t x,
                     int32_t n, uint8_t *const to[])
{
    compose_line(lines->arg, y, x, n, to);
}

static void compose_box(const struct planes *p, const struct fdl_box *box,
                        const struct fdl_image *image)
{
    for (int32_t y = box->y; y < box->y + box->height; y++) {
        uint8_t *to[3] = {NULL};
        for (int32_t c = 0; c < image->channels; c++)
            to[c] = fdl_image_row(image, c, y) + box->x;
        compose_line(p, y, box->x, box->width, to);
    }
}

static void begin_planes(struct planes *p, const struct feedline_canvas *canvas,
                         const struct fdl_canvas_source *parts)
{
    *p = (struct planes){.canvas = canvas,
                         .parts = parts,
                         .kernels = fdl_kernels[fdl_cpu_level()].finish,
                         .covered = is_covered(canvas, parts)};
    p->lines = (struct fdl_cv_lines){.get = get_line,
                                     .width = canvas->width,
                                     .height = canvas->height,
                                     .channels = canvas->channels,
                                     .arg = p};
}

/* ---- All of it ----------------------------------------------------------- */

/* As far as the first step sees it. */
static void draw(const struct fdl_drawing *drawing, const struct fdl_plan *plan,
                 struct fdl_canvas *canvas)
{
    const struct planes *p = drawing->arg;
    const struct fdl_image *image = &canvas->image;
    if (fdl_cv_warp_takes_lines(&plan->steps[0])) {
        canvas->lines = &p->lines;
        return;
    }
    struct fdl_box box =
        fdl_cv_warp_reach(&plan->steps[0], image->width, image->height);
    compose_box(p, &box, image);
}

/* Whether the first step works on the canvas as it is. */
static bool begins_with_step(const struct fdl_decoder *d,
                             const struct fdl_plan *plan,
                             const struct feedline_canvas *canvas)
{
    const struct fdl_geometry *g = &plan->geometry;
    return plan->n_pixel_steps > 0 && canvas->how == FEEDLINE_CANVAS_PASTE &&
           plan->channels == canvas->channels && d->info.orientation == 1 &&
           !g->flip && !g->flip_vertical && !fdl_geometry_is_resampled(g) &&
           g->box.x == 0 && g->box.y == 0 && g->box.width == canvas->width &&
           g->box.height == canvas->height &&
           g->window.width == canvas->width &&
           g->window.height == canvas->height;
}

static struct fdl_encoded as_bytes(const struct feedline_canvas *canvas,
                                   const uint8_t *pixels)
{
    uint64_t bytes = (uint64_t)canvas->width * (uint64_t)canvas->height *
                     (uint64_t)canvas->channels;
    return (struct fdl_encoded){.data = pixels,
                                .size = bytes,
                                .readable = bytes,
                                .format = &fdl_format_raw,
                                .raw_width = canvas->width,
                                .raw_height = canvas->height,
                                .raw_channels = canvas->channels};
}

static int32_t render_open(struct fdl_decoder *d,
                           const struct feedline_recorded_image *image,
                           const struct fdl_canvas_source *parts,
                           uint8_t *pixels, struct fdl_render_cost *cost)
{
    struct fdl_plan plan;
    struct planes planes;
    int32_t status = fdl_recorded_plan(d, image, &plan);
    if (status)
        return status;
    int64_t begin = fdl_now_ns(), spent = 0;
    if (begins_with_step(d, &plan, image->canvas)) {
        begin_planes(&planes, image->canvas, parts);
        planes.drawing = (struct fdl_drawing){draw, &planes};
        d->drawing = &planes.drawing;
    } else {
        fdl_recorded_compose(image->canvas, parts, pixels);
        spent = fdl_now_ns() - begin;
    }
    status = fdl_recorded_render_plan(d, image, &plan, cost);
    d->drawing = NULL;
    cost->augment_ns += spent;
    return status;
}

int32_t fdl_recorded_render_canvas(struct fdl_decoder *d,
                                   const struct feedline_recorded_image *image,
                                   const struct fdl_canvas_source *parts,
                                   uint8_t *pixels, struct fdl_image_info *info,
                                   struct fdl_render_cost *cost)
{
    struct fdl_encoded bytes = as_bytes(image->canvas, pixels);
    int32_t status = fdl_recorded_open(d, &bytes, image, info);
    if (status)
        return status;
    status = render_open(d, image, parts, pixels, cost);
    fdl_decoder_abort(d);
    return status;
}
