/* SPDX-License-Identifier: Apache-2.0 */
/* torchvision's RandomHorizontalFlip: mirror left to right, one time in 1/p. */
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"

enum { ROW_P, ROWS };

static const struct fdl_option options[ROWS] = {
    [ROW_P] = FDL_OP_PROBABILITY("0.5", "the image is mirrored"),
};

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    bool flip = fdl_rng_uniform(rng) < fdl_option_double(o, ROW_P);
    fdl_note_bool(plan, "flip", flip);
    if (flip)
        fdl_plan_flip(plan);
    return FEEDLINE_OK;
}

const struct fdl_op fdl_op_horizontal_flip = {
    .name = "horizontal_flip",
    .help = "mirror left to right at random",
    .options = options,
    .n_options = ROWS,
    .plan = plan,
};
