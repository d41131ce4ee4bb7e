/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels that are put together of those of other images. */
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "decode/decoder_state.h"
#include "decode/formats/format.h"
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

static void fill_planes(const struct feedline_canvas *canvas,
                        const struct fdl_box *box,
                        const struct fdl_image *image)
{
    for (int32_t c = 0; c < canvas->channels; c++) {
        for (int32_t y = box->y; y < box->y + box->height; y++)
            memset(fdl_image_row(image, c, y) + box->x, canvas->fill[c],
                   (size_t)box->width);
    }
}

/* n pixels of a row, to its place in each plane. */
static void split_row(const uint8_t *from, const uint8_t *mask, size_t n,
                      uint8_t *to, size_t plane)
{
    uint8_t *restrict r = to, *restrict g = to + plane;
    uint8_t *restrict b = to + 2 * plane;
    for (size_t x = 0; x < n; x++, from += 3) {
        if (mask && !mask[x])
            continue;
        r[x] = from[0];
        g[x] = from[1];
        b[x] = from[2];
    }
}

/* What is inside of the box. */
static void paste_planes(const struct feedline_canvas_part *part,
                         const struct fdl_canvas_source *from,
                         const struct fdl_box *box,
                         const struct fdl_image *image)
{
    int32_t left = FDL_MAX(part->left, box->x);
    int32_t top = FDL_MAX(part->top, box->y);
    int32_t right = FDL_MIN(part->left + from->width, box->x + box->width);
    int32_t bottom = FDL_MIN(part->top + from->height, box->y + box->height);
    size_t pixel = (size_t)image->channels, x = (size_t)(left - part->left);
    for (int32_t y = top; y < bottom && left < right; y++) {
        size_t row = (size_t)(y - part->top), n = (size_t)(right - left);
        const uint8_t *pixels = from->pixels + row * from->stride + x * pixel;
        const uint8_t *mask =
            part->mask ? part->mask + row * (size_t)from->width + x : NULL;
        uint8_t *to = fdl_image_row(image, 0, y) + left;
        if (pixel == 1)
            paste_row(to, pixels, mask, n, 1);
        else
            split_row(pixels, mask, n, to, image->plane);
    }
}

void fdl_recorded_compose_planes(const struct feedline_canvas *canvas,
                                 const struct fdl_canvas_source *parts,
                                 const struct fdl_box *box,
                                 const struct fdl_image *image)
{
    if (!is_covered(canvas, parts))
        fill_planes(canvas, box, image);
    for (uint32_t k = 0; k < canvas->n_parts; k++)
        paste_planes(&canvas->parts[k], &parts[k], box, image);
}

/* ---- All of it ----------------------------------------------------------- */

struct planes {
    struct fdl_drawing drawing;
    const struct feedline_canvas *canvas;
    const struct fdl_canvas_source *parts;
};

/* As far as the first step sees it. */
static void draw(const struct fdl_drawing *drawing, const struct fdl_plan *plan,
                 const struct fdl_image *image)
{
    const struct planes *p = drawing->arg;
    struct fdl_box box =
        fdl_cv_warp_reach(&plan->steps[0], image->width, image->height);
    fdl_recorded_compose_planes(p->canvas, p->parts, &box, image);
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
    struct planes planes = {{draw, &planes}, image->canvas, parts};
    int32_t status = fdl_recorded_plan(d, image, &plan);
    if (status)
        return status;
    int64_t begin = fdl_now_ns(), spent = 0;
    if (begins_with_step(d, &plan, image->canvas)) {
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
