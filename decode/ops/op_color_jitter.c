/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's ColorJitter: up to four adjustments by drawn factors, in an
 * order that is drawn too. One number d means 1 - d to 1 + d, not below 0; for
 * hue -d to d. Two numbers are the range itself.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"
#include "decode/plan/adjust.h"

enum { ROW_PIXELS = FDL_ADJUSTS, ROWS };

#define FACTOR(key)                                                            \
  FDL_OP_DOUBLES(key, 0, FDL_FACTOR_MAX, "0", "",                              \
                 "largest distance of the factor from 1, or its range", NULL)

static const struct fdl_option options[ROWS] = {
    [FDL_ADJUST_BRIGHTNESS] = FACTOR("brightness"),
    [FDL_ADJUST_CONTRAST] = FACTOR("contrast"),
    [FDL_ADJUST_SATURATION] = FACTOR("saturation"),
    [FDL_ADJUST_HUE] = FDL_OP_DOUBLES(
        "hue", -0.5, 0.5, "0", "",
        "largest rotation of the hue, in turns, or its range", NULL),
    [ROW_PIXELS] = FDL_OP_PIXELS,
};

struct range {
    double low, high;
};

static struct range range_of(const struct fdl_options *o, uint32_t row)
{
    const struct fdl_option_value *v = fdl_option_value(o, row);
    double centre = row == FDL_ADJUST_HUE ? 0 : 1, d = v->doubles[0];
    if (v->n_doubles > 1)
        return (struct range){d, v->doubles[1]};
    struct range r = {centre - d, centre + d};
    if (row != FDL_ADJUST_HUE)
        r.low = FDL_MAX(r.low, 0);
    return r;
}

static bool changes(struct range r, uint32_t row)
{
    double centre = row == FDL_ADJUST_HUE ? 0 : 1;
    return r.low < centre || r.high > centre;
}

static int32_t check(const struct fdl_options *o)
{
    for (uint32_t row = 0; row < FDL_ADJUSTS; row++) {
        uint32_t n = fdl_option_value(o, row)->n_doubles;
        struct range r = range_of(o, row);
        if (n > 2 || r.low > r.high)
            return fdl_fail(FEEDLINE_EINVAL,
                            "color_jitter: %s takes one number that is not "
                            "negative, or two, the smaller one first",
                            options[row].name);
    }
    return FEEDLINE_OK;
}

static int32_t check_channels(const struct fdl_options *o, int32_t channels)
{
    if (changes(range_of(o, FDL_ADJUST_HUE), FDL_ADJUST_HUE))
        return fdl_op_refuse_alpha(o, channels);
    return FEEDLINE_OK;
}

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    uint32_t order[FDL_ADJUSTS];
    fdl_op_draw_order(rng, FDL_ADJUSTS, order);
    struct fdl_adjust_step a = {.tensor = fdl_option_int(o, ROW_PIXELS) != 0};
    for (uint32_t row = 0; row < FDL_ADJUSTS; row++) {
        struct range r = range_of(o, row);
        a.factor[row] = FDL_MIN(fdl_op_draw(rng, r.low, r.high), r.high);
    }
    for (uint32_t i = 0; i < FDL_ADJUSTS; i++) {
        if (changes(range_of(o, order[i]), order[i]))
            a.order[a.n++] = order[i];
    }
    fdl_note_adjust(plan, &a);
    fdl_plan_adjust(plan, &a);
    return FEEDLINE_OK;
}

const struct fdl_op fdl_op_color_jitter = {
    .name = "color_jitter",
    .help = "brightness, contrast, saturation and hue at random, in a random "
            "order",
    .pixels = true,
    .options = options,
    .n_options = ROWS,
    .check = check,
    .check_channels = check_channels,
    .plan = plan,
};
