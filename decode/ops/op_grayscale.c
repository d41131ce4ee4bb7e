/* SPDX-License-Identifier: Apache-2.0 */
/* torchvision's Grayscale with as many channels as before, and RandomGrayscale:
 * every channel becomes Pillow's luma. */
#include "base/compiler.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"
#include "decode/plan/channels.h"

enum { ROW_PIXELS, ROW_P };

static const struct fdl_option always_options[] = {
    [ROW_PIXELS] = FDL_OP_PIXELS,
};

static const struct fdl_option options[] = {
    [ROW_PIXELS] = FDL_OP_PIXELS,
    [ROW_P] = FDL_OP_PROBABILITY("0.1", "the image is converted to gray"),
};

static void add(const struct fdl_options *o, struct fdl_plan *plan)
{
    fdl_plan_gray(plan, fdl_option_int(o, ROW_PIXELS) != 0);
}

static int32_t always(const struct fdl_options *o, struct fdl_rng *rng,
                      struct fdl_plan *plan)
{
    (void)rng;
    add(o, plan);
    return FEEDLINE_OK;
}

static int32_t sometimes(const struct fdl_options *o, struct fdl_rng *rng,
                         struct fdl_plan *plan)
{
    bool gray = fdl_rng_uniform(rng) < fdl_option_double(o, ROW_P);
    fdl_note_bool(plan, "gray", gray);
    if (gray)
        add(o, plan);
    return FEEDLINE_OK;
}

const struct fdl_op fdl_op_grayscale = {
    .name = "grayscale",
    .help = "convert to gray, keeping the channels",
    .pixels = true,
    .options = always_options,
    .n_options = FDL_COUNT_OF(always_options),
    .check_channels = fdl_op_refuse_alpha,
    .plan = always,
};

const struct fdl_op fdl_op_random_grayscale = {
    .name = "random_grayscale",
    .help = "convert to gray at random",
    .pixels = true,
    .options = options,
    .n_options = FDL_COUNT_OF(options),
    .check_channels = fdl_op_refuse_alpha,
    .plan = sometimes,
};
