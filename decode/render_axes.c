/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on sizes, once for each image. */
#include "decode/render_axes.h"

#include "base/compiler.h"

/* How much detail need not be decoded: the box stays at least as large as the
 * result. Nearest picks single pixels, which must exist. */
static int32_t choose_shift(const struct fdl_decoder *d,
                            const struct fdl_geometry *g)
{
    if (!d->limits.fast || !d->source->shrink || !d->info.format->shrink ||
        d->info.unscaled || g->x.size > 0 || g->filter == FDL_FILTER_NEAREST)
        return 0;
    int32_t shift = FDL_SHRINK_MAX;
    while (shift > 0 && (g->box.width >> shift < g->resize_width ||
                         g->box.height >> shift < g->resize_height))
        shift--;
    return shift;
}

/* Pillow 13 begins with the columns where they become much shorter. Nearest
 * picks pixels, so the order makes no difference. */
static bool columns_first(const struct fdl_decoder *d,
                          const struct fdl_geometry *g,
                          const struct fdl_box *stored)
{
    int64_t width = d->turn.transposed ? stored->height : stored->width;
    int64_t height = d->turn.transposed ? stored->width : stored->height;
    return d->limits.columns_first && g->filter != FDL_FILTER_NEAREST &&
           !g->tensor &&
           fdl_columns_first(width, height, g->resize_width, g->resize_height);
}

/* A span of the stored image becomes the whole pixels of the smaller one that
 * it touches; that it may begin and end inside of them goes to the key. */
static void shrink_span(struct fdl_axis_key *key, int32_t shift, int32_t *at,
                        int32_t *size)
{
    int32_t pixel = 1 << shift;
    int32_t low = *at / pixel, high = (*at + *size - 1) / pixel + 1;
    int32_t before = *at - low * pixel, behind = high * pixel - *at - *size;
    if (before > 0 || behind > 0) {
        key->from = (double)(key->reverse ? behind : before) / pixel;
        key->span = (double)*size / pixel;
    }
    *at = low;
    *size = key->in = high - low;
}

/* Along one upright axis. The samples of a mirrored box lie in memory from the
 * last to the first, and its outputs come in the opposite order too. */
static struct fdl_axis_key upright_key(const struct fdl_geometry *g,
                                       const struct fdl_span *part,
                                       bool mirrored, int32_t out,
                                       int32_t first, int32_t count)
{
    return (struct fdl_axis_key){
        .out = out,
        .first = mirrored ? out - first - count : first,
        .count = count,
        .reverse = mirrored,
        .mirror = mirrored,
        .filter = g->filter,
        .nearest = g->nearest,
        .tensor = g->tensor,
        .from = part->from,
        .span = part->size,
    };
}

/* Along the columns outputs come in the order in which their rows do. */
void fdl_render_axes(const struct fdl_decoder *d, const struct fdl_geometry *g,
                     struct fdl_render_axes *out)
{
    const struct fdl_turn *turn = &d->turn;
    struct fdl_axis_key x =
        upright_key(g, &g->x, g->resize_mirrored, g->resize_width, g->window.x,
                    g->window.width);
    struct fdl_axis_key y =
        upright_key(g, &g->y, g->resize_mirrored_vertical, g->resize_height,
                    g->window.y, g->window.height);
    struct fdl_axis_key *horizontal = &out->horizontal;
    struct fdl_axis_key *vertical = &out->vertical;
    *horizontal = turn->transposed ? y : x;
    *vertical = turn->transposed ? x : y;
    bool flip = turn->transposed ? g->flip_vertical : g->flip;
    horizontal->mirror = horizontal->mirror != flip;
    horizontal->reverse = horizontal->reverse != turn->reverse_x;
    vertical->reverse = vertical->reverse != turn->reverse_y;
    vertical->mirror = vertical->reverse;

    bool mirror = turn->transposed ? g->flip : g->flip_vertical;
    out->backwards = turn->reverse_y != mirror;
    out->shift = choose_shift(d, g);
    out->box = fdl_turn_box(turn, &g->box, d->info.width, d->info.height);
    shrink_span(horizontal, out->shift, &out->box.x, &out->box.width);
    shrink_span(vertical, out->shift, &out->box.y, &out->box.height);
    out->columns_first = columns_first(d, g, &out->box);
}
