/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments that several operations have, checked and read. */
#include "decode/ops/shared_options.h"

#include "base/compiler.h"
#include "base/status.h"
#include "decode/kernels/alpha.h"
#include "decode/pixels/image.h"
#include "decode/plan/plan.h"

#include <inttypes.h>
#include <string.h>

void fdl_op_fixed_size(const struct fdl_options *o, int32_t *width,
                       int32_t *height)
{
    *width = (int32_t)fdl_option_int(o, 0);
    *height = (int32_t)fdl_option_int(o, 1);
}

void fdl_op_any_size(const struct fdl_options *o, int32_t *width,
                     int32_t *height)
{
    (void)o;
    *width = *height = 0;
}

int32_t fdl_op_check_pixels(const struct fdl_options *o, uint32_t row)
{
    uint32_t filter = 0;
    while (filter < o->n && strcmp(o->table[filter].name, "interpolation") != 0)
        filter++;
    if (filter == o->n || !fdl_option_int(o, row))
        return FEEDLINE_OK;
    switch (fdl_option_int(o, filter)) {
    case FDL_FILTER_NEAREST:
    case FDL_FILTER_BOX:
    case FDL_FILTER_HAMMING:
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: pixels=tensor takes interpolation=bilinear, "
                        "bicubic or lanczos",
                        o->scope);
    default:
        return FEEDLINE_OK;
    }
}

int32_t fdl_op_refuse_alpha(const struct fdl_options *o, int32_t channels)
{
    if (!FDL_HAS_ALPHA(channels))
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "%s is for images without alpha, and channels=%" PRId32
                    " has it; use 1 or 3",
                    o->scope, channels);
}

int32_t fdl_op_check_numbers(const struct fdl_options *o, int32_t channels)
{
    for (uint32_t row = 0; row < o->n; row++) {
        int32_t n = (int32_t)fdl_option_value(o, row)->n_doubles;
        if (!o->table[row].per_channel || n == 1 || n == channels ||
            (n == 3 && channels == 1))
            continue;
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: %s has %" PRId32 " numbers, but channels=%" PRId32
                        "; give 1 or %" PRId32,
                        o->scope, o->table[row].name, n, channels, channels);
    }
    return FEEDLINE_OK;
}

int32_t fdl_op_check_range(const struct fdl_options *o, uint32_t row)
{
    const struct fdl_option_value *v = fdl_option_value(o, row);
    if (v->n_doubles != 2 || v->doubles[0] > v->doubles[1])
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: %s takes two numbers, the smaller one first",
                        o->scope, o->table[row].name);
    return FEEDLINE_OK;
}

struct fdl_option_value fdl_op_sides(const struct fdl_options *o, uint32_t row)
{
    struct fdl_option_value v = *fdl_option_value(o, row);
    if (v.n_doubles == 1) {
        v.doubles[1] = v.doubles[0];
        v.doubles[0] = -v.doubles[0];
    }
    return v;
}

int32_t fdl_op_check_sides(const struct fdl_options *o, uint32_t row)
{
    struct fdl_option_value v = fdl_op_sides(o, row);
    if (v.n_doubles > 2 || v.doubles[0] > v.doubles[1])
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: %s takes one number that is not negative, or two, "
                        "the smaller one first",
                        o->scope, o->table[row].name);
    return FEEDLINE_OK;
}

int32_t fdl_op_check_center(const struct fdl_options *o, uint32_t row)
{
    const struct fdl_option_value *v = fdl_option_value(o, row);
    if (v->n_doubles == 2 || (v->n_doubles == 1 && v->doubles[0] == -1))
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "%s: %s takes x and y, or -1 for the middle", o->scope,
                    o->table[row].name);
}

bool fdl_op_center(const struct fdl_options *o, uint32_t row, double point[2])
{
    const struct fdl_option_value *v = fdl_option_value(o, row);
    if (v->n_doubles < 2)
        return false;
    point[0] = v->doubles[0];
    point[1] = v->doubles[1];
    return true;
}

int32_t fdl_op_check_count(const struct fdl_options *o, uint32_t row)
{
    uint32_t n = fdl_option_value(o, row)->n_doubles;
    if (n > FDL_CHANNELS_MAX)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: %s has %" PRIu32 " numbers; it takes 1 to %d",
                        o->scope, o->table[row].name, n, FDL_CHANNELS_MAX);
    return FEEDLINE_OK;
}

double fdl_op_number(const struct fdl_options *o, uint32_t row,
                     uint32_t channel)
{
    const struct fdl_option_value *v = fdl_option_value(o, row);
    return v->doubles[FDL_MIN(channel, v->n_doubles - 1)];
}

/* ---- Resampling --------------------------------------------------------- */

void fdl_op_shorter_side(int64_t size, int32_t w, int32_t h, int64_t *width,
                         int64_t *height)
{
    *width = w <= h ? size : (int64_t)((double)(size * w) / h);
    *height = w <= h ? (int64_t)((double)(size * h) / w) : size;
}

enum fdl_filter fdl_op_draw_filter(const struct fdl_options *o, uint32_t row,
                                   struct fdl_rng *rng,
                                   const struct fdl_plan *plan)
{
    int64_t choice = fdl_option_int(o, row);
    if (choice < FDL_FILTERS)
        return (enum fdl_filter)choice;
    bool cubic = fdl_rng_below(rng, 2) == 1;
    fdl_note_string(plan, "interpolation", cubic ? "bicubic" : "bilinear");
    return cubic ? FDL_FILTER_BICUBIC : FDL_FILTER_BILINEAR;
}

int32_t fdl_op_resample(const struct fdl_options *o, uint32_t row,
                        struct fdl_rng *rng, struct fdl_plan *plan,
                        int64_t width, int64_t height)
{
    if (FDL_MAX(width, height) > FDL_OP_SIDE_MAX)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: %" PRId32 "x%" PRId32 " would become %" PRId64
                        "x%" PRId64 ", above the limit of %d for a side",
                        o->scope, fdl_plan_width(plan), fdl_plan_height(plan),
                        width, height, FDL_OP_SIDE_MAX);
    fdl_plan_resize(plan, FDL_MAX((int32_t)width, 1),
                    FDL_MAX((int32_t)height, 1),
                    fdl_op_draw_filter(o, row, rng, plan));
    return FEEDLINE_OK;
}

/* ---- Draws -------------------------------------------------------------- */

double fdl_op_draw(struct fdl_rng *rng, double low, double high)
{
    return low + (high - low) * fdl_rng_uniform(rng);
}

void fdl_op_draw_order(struct fdl_rng *rng, uint32_t n, uint32_t *order)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = fdl_rng_below(rng, i + 1);
        order[i] = order[k];
        order[k] = i;
    }
}

void fdl_op_draw_place(struct fdl_rng *rng, int32_t width, int32_t height,
                       struct fdl_box *box)
{
    box->y = (int32_t)fdl_rng_below(rng, (uint32_t)(height - box->height + 1));
    box->x = (int32_t)fdl_rng_below(rng, (uint32_t)(width - box->width + 1));
}

/* ---- Borders ------------------------------------------------------------ */

bool fdl_op_are_whole(const struct fdl_option_value *v)
{
    for (uint32_t i = 0; i < v->n_doubles; i++) {
        if (v->doubles[i] != (double)(int32_t)v->doubles[i])
            return false;
    }
    return true;
}

int32_t fdl_padding_check(const struct fdl_options *o, uint32_t row)
{
    const struct fdl_option_value *v = fdl_option_value(o, row);
    bool known = v->n_doubles <= 2 || v->n_doubles == 4;
    if (!known || !fdl_op_are_whole(v))
        return fdl_fail(FEEDLINE_EINVAL, "%s: %s takes 1, 2 or 4 whole numbers",
                        o->scope, o->table[row].name);
    return FEEDLINE_OK;
}

int32_t fdl_fill_check(const struct fdl_options *o, uint32_t row)
{
    const struct fdl_option_value *v = fdl_option_value(o, row);
    if (v->n_doubles > 4 || !fdl_op_are_whole(v))
        return fdl_fail(FEEDLINE_EINVAL, "%s: %s takes 1 to 4 whole numbers",
                        o->scope, o->table[row].name);
    return FEEDLINE_OK;
}

struct fdl_margins fdl_padding_margins(const struct fdl_options *o,
                                       uint32_t row)
{
    const struct fdl_option_value *v = fdl_option_value(o, row);
    int32_t side[4];
    for (uint32_t i = 0; i < 4; i++)
        side[i] = (int32_t)v->doubles[i % v->n_doubles];
    return (struct fdl_margins){side[0], side[1], side[2], side[3]};
}

void fdl_padding_grow(const struct fdl_margins *m, struct fdl_box *box)
{
    box->x -= m->left;
    box->y -= m->top;
    box->width += m->left + m->right;
    box->height += m->top + m->bottom;
}

void fdl_fill_of(const struct fdl_options *o, uint32_t row, uint8_t fill[4])
{
    for (uint32_t c = 0; c < FDL_CHANNELS_MAX; c++)
        fill[c] = (uint8_t)fdl_op_number(o, row, c);
}
