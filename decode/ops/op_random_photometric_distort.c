/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's RandomPhotometricDistort, and RandomChannelPermutation, which
 * it ends with: brightness, contrast, saturation, hue and the permutation are
 * drawn each for itself; contrast comes second or last but one.
 */
#include "base/status.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"
#include "decode/plan/adjust.h"

#include <string.h>

enum { ROW_P = FDL_ADJUSTS, ROW_PIXELS, ROWS };

#define COLOURS 3

#define RANGE(key, low, high, text)                                            \
  FDL_OP_RANGE(key, low, high, text, "range of its factor")

static const struct fdl_option options[ROWS] = {
    [FDL_ADJUST_BRIGHTNESS] =
        RANGE("brightness", 0, FDL_FACTOR_MAX, "0.875:1.125"),
    [FDL_ADJUST_CONTRAST] = RANGE("contrast", 0, FDL_FACTOR_MAX, "0.5:1.5"),
    [FDL_ADJUST_SATURATION] = RANGE("saturation", 0, FDL_FACTOR_MAX, "0.5:1.5"),
    [FDL_ADJUST_HUE] = RANGE("hue", -0.5, 0.5, "-0.05:0.05"),
    [ROW_P] = FDL_OP_PROBABILITY("0.5", "each of them is applied"),
    [ROW_PIXELS] = FDL_OP_PIXELS,
};

/* ---- Permutation -------------------------------------------------------- */

static int32_t permute(const struct fdl_step *step, struct fdl_canvas *c)
{
    uint32_t order[COLOURS];
    struct fdl_image out;
    fdl_step_values(step, order, sizeof(order));
    if (c->image.channels == 1)
        return FEEDLINE_OK;
    int32_t status = fdl_canvas_spare(c, c->image.width, c->image.height, &out);
    if (status)
        return status;
    for (uint32_t i = 0; i < COLOURS; i++)
        memcpy(out.data + i * out.plane, c->image.data + order[i] * out.plane,
               out.plane);
    fdl_canvas_swap(c, &out);
    return FEEDLINE_OK;
}

static const struct fdl_step_kind permutation = {
    .commutes = FDL_WITH_FLIP | FDL_WITH_CROP,
    .run = permute,
};

/* Channel i becomes the one that was channel order[i]. */
static void add_permutation(struct fdl_rng *rng, struct fdl_plan *plan)
{
    uint32_t order[COLOURS];
    fdl_op_draw_order(rng, COLOURS, order);
    fdl_note_list(plan, "permutation");
    for (uint32_t i = 0; i < COLOURS; i++)
        fdl_note_int(plan, NULL, order[i]);
    fdl_note_list_end(plan);
    fdl_plan_add(plan, &permutation, order, sizeof(order));
}

/* ---- Operations --------------------------------------------------------- */

static bool draw(const struct fdl_options *o, struct fdl_rng *rng)
{
    return fdl_rng_uniform(rng) < fdl_option_double(o, ROW_P);
}

static int32_t plan_distort(const struct fdl_options *o, struct fdl_rng *rng,
                            struct fdl_plan *plan)
{
    struct fdl_adjust_step a = {.tensor = fdl_option_int(o, ROW_PIXELS) != 0};
    bool done[FDL_ADJUSTS];
    for (uint32_t i = 0; i < FDL_ADJUSTS; i++) {
        const double *range = fdl_option_value(o, i)->doubles;
        done[i] = draw(o, rng);
        a.factor[i] = fdl_op_draw(rng, range[0], range[1]);
    }
    bool late = fdl_rng_uniform(rng) >= 0.5; /* contrast */
    static const uint32_t orders[2][FDL_ADJUSTS] = {
        {FDL_ADJUST_BRIGHTNESS, FDL_ADJUST_CONTRAST, FDL_ADJUST_SATURATION,
         FDL_ADJUST_HUE},
        {FDL_ADJUST_BRIGHTNESS, FDL_ADJUST_SATURATION, FDL_ADJUST_HUE,
         FDL_ADJUST_CONTRAST}};
    for (uint32_t i = 0; i < FDL_ADJUSTS; i++) {
        if (done[orders[late][i]])
            a.order[a.n++] = orders[late][i];
    }
    fdl_note_adjust(plan, &a);
    fdl_plan_adjust(plan, &a);
    if (draw(o, rng))
        add_permutation(rng, plan);
    return FEEDLINE_OK;
}

static uint32_t steps_of_distort(const struct fdl_options *o)
{
    (void)o;
    return 2;
}

static int32_t plan_permutation(const struct fdl_options *o,
                                struct fdl_rng *rng, struct fdl_plan *plan)
{
    (void)o;
    add_permutation(rng, plan);
    return FEEDLINE_OK;
}

const struct fdl_op fdl_op_random_photometric_distort = {
    .name = "random_photometric_distort",
    .help = "change brightness, contrast, saturation, hue and the order of "
            "channels, each at random",
    .pixels = true,
    .options = options,
    .n_options = ROWS,
    .check_channels = fdl_op_refuse_alpha,
    .plan = plan_distort,
    .steps = steps_of_distort,
};

const struct fdl_op fdl_op_random_channel_permutation = {
    .name = "random_channel_permutation",
    .help = "put the channels in a random order",
    .pixels = true,
    .check_channels = fdl_op_refuse_alpha,
    .plan = plan_permutation,
};
