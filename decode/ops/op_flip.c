/* SPDX-License-Identifier: Apache-2.0 */
/* torchvision's RandomHorizontalFlip and RandomVerticalFlip: the image is
 * mirrored, one time in 1/p. */
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"

enum { ROW_P, ROWS };

static const struct fdl_option options[ROWS] = {
    [ROW_P] = FDL_OP_PROBABILITY("0.5", "the image is mirrored"),
};

static void flip_at_random(const struct fdl_options *o, struct fdl_rng *rng,
                           struct fdl_plan *plan,
                           void (*flip)(struct fdl_plan *plan))
{
    bool flips = fdl_rng_uniform(rng) < fdl_option_double(o, ROW_P);
    fdl_note_bool(plan, "flip", flips);
    if (flips)
        flip(plan);
}

static int32_t plan_horizontal(const struct fdl_options *o, struct fdl_rng *rng,
                               struct fdl_plan *plan)
{
    flip_at_random(o, rng, plan, fdl_plan_flip);
    return FEEDLINE_OK;
}

static int32_t plan_vertical(const struct fdl_options *o, struct fdl_rng *rng,
                             struct fdl_plan *plan)
{
    flip_at_random(o, rng, plan, fdl_plan_flip_vertical);
    return FEEDLINE_OK;
}

const struct fdl_op fdl_op_horizontal_flip = {
    .name = "horizontal_flip",
    .help = "mirror left to right at random",
    .options = options,
    .n_options = ROWS,
    .plan = plan_horizontal,
};

const struct fdl_op fdl_op_vertical_flip = {
    .name = "vertical_flip",
    .help = "mirror top to bottom at random",
    .options = options,
    .n_options = ROWS,
    .plan = plan_vertical,
};
