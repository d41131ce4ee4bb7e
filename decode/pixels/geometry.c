/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folding crops, one resampling and flips into crop -> resample -> window ->
 * flip. As long as nothing is resampled the window is the whole box, so a crop
 * shrinks the box; after that it can only shrink the window, because the taps
 * of the kept pixels still reach into the rest of the box.
 */
#include "decode/pixels/geometry.h"

#include "base/compiler.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>

#define REACH 3.0 /* of the widest filter, lanczos, in pixels */

void fdl_box_join(struct fdl_box *box, const struct fdl_box *other)
{
    int32_t right = FDL_MAX(box->x + box->width, other->x + other->width);
    int32_t bottom = FDL_MAX(box->y + box->height, other->y + other->height);
    box->x = FDL_MIN(box->x, other->x);
    box->y = FDL_MIN(box->y, other->y);
    box->width = right - box->x;
    box->height = bottom - box->y;
}

void fdl_geometry_init(struct fdl_geometry *g, int32_t width, int32_t height)
{
    *g = (struct fdl_geometry){
        .box = {0, 0, width, height},
        .resize_width = width,
        .resize_height = height,
        .window = {0, 0, width, height},
    };
}

int32_t fdl_geometry_width(const struct fdl_geometry *g)
{
    return g->window.width;
}

int32_t fdl_geometry_height(const struct fdl_geometry *g)
{
    return g->window.height;
}

bool fdl_geometry_is_resampled(const struct fdl_geometry *g)
{
    return g->resize_width != g->box.width ||
           g->resize_height != g->box.height || g->x.size > 0;
}

void fdl_geometry_crop(struct fdl_geometry *g, struct fdl_box box)
{
    fdl_assert(box.x >= 0 && box.width > 0 &&
               box.width <= g->window.width - box.x);
    fdl_assert(box.y >= 0 && box.height > 0 &&
               box.height <= g->window.height - box.y);
    if (g->flip) /* the crop is meant in the mirrored image */
        box.x = g->window.width - box.x - box.width;
    if (g->flip_vertical)
        box.y = g->window.height - box.y - box.height;
    if (fdl_geometry_is_resampled(g)) {
        g->window.x += box.x;
        g->window.y += box.y;
        g->window.width = box.width;
        g->window.height = box.height;
        return;
    }
    g->box.x += g->window.x + box.x;
    g->box.y += g->window.y + box.y;
    g->box.width = g->resize_width = box.width;
    g->box.height = g->resize_height = box.height;
    g->window = (struct fdl_box){0, 0, box.width, box.height};
}

static void resize(struct fdl_geometry *g, int32_t width, int32_t height)
{
    g->resize_width = width;
    g->resize_height = height;
    g->window = (struct fdl_box){0, 0, width, height};
    g->resize_mirrored = g->flip;
    g->resize_mirrored_vertical = g->flip_vertical;
}

int32_t fdl_geometry_resize(struct fdl_geometry *g, int32_t width,
                            int32_t height)
{
    fdl_assert(width > 0 && height > 0);
    if (width == g->window.width && height == g->window.height)
        return FEEDLINE_OK;
    if (fdl_geometry_is_resampled(g))
        return fdl_fail(FEEDLINE_EINVAL,
                        "two resamplings cannot be folded into one pass: "
                        "%" PRId32 "x%" PRId32 " to %" PRId32 "x%" PRId32
                        " and then %" PRId32 "x%" PRId32,
                        g->box.width, g->box.height, g->resize_width,
                        g->resize_height, width, height);
    resize(g, width, height);
    return FEEDLINE_OK;
}

void fdl_geometry_resize_part(struct fdl_geometry *g, int32_t width,
                              int32_t height, const struct fdl_span *x,
                              const struct fdl_span *y)
{
    fdl_assert(x->size > 0 && y->size > 0 && !fdl_geometry_is_resampled(g));
    resize(g, width, height);
    g->x = *x;
    g->y = *y;
}

/* Along one axis of `n` pixels; *at becomes relative to the first of those. */
static int32_t reach(const struct fdl_span *span, int32_t out, bool mirrored,
                     int32_t n, int32_t *at)
{
    if (span->size <= 0)
        return n;
    double around = REACH * FDL_MAX(span->size / out, 1.0) + 1.0;
    double low = floor(span->from - around);
    double high = ceil(span->from + span->size + around);
    int32_t from = (int32_t)FDL_MAX(low, 0.0), end = (int32_t)FDL_MIN(high, n);
    *at += mirrored ? n - end : from;
    return end - from;
}

struct fdl_box fdl_geometry_reach(const struct fdl_geometry *g)
{
    struct fdl_box box = g->box;
    box.width =
        reach(&g->x, g->resize_width, g->resize_mirrored, g->box.width, &box.x);
    box.height = reach(&g->y, g->resize_height, g->resize_mirrored_vertical,
                       g->box.height, &box.y);
    return box;
}

void fdl_geometry_flip(struct fdl_geometry *g)
{
    g->flip = !g->flip;
}

void fdl_geometry_flip_vertical(struct fdl_geometry *g)
{
    g->flip_vertical = !g->flip_vertical;
}
