/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's CenterCrop, with its rounding: halves of what is cut off go to
 * the even number, halves of the black border of a smaller image down.
 */
#include "decode/ops/op.h"

#include "decode/ops/shared_options.h"

#include <math.h>

enum { ROW_WIDTH, ROW_HEIGHT, ROWS };

static const struct fdl_option options[ROWS] = {
    [ROW_WIDTH] = FDL_OP_WIDTH("the crop"),
    [ROW_HEIGHT] = FDL_OP_HEIGHT("the crop"),
};

static int32_t margin(int32_t whole, int32_t part)
{
    if (part > whole)
        return -((part - whole) / 2);
    return (int32_t)nearbyint((whole - part) / 2.0);
}

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    (void)rng;
    static const uint8_t black[4];
    struct fdl_box box;
    fdl_op_fixed_size(o, &box.width, &box.height);
    box.x = margin(fdl_plan_width(plan), box.width);
    box.y = margin(fdl_plan_height(plan), box.height);
    fdl_note_box(plan, &box);
    return fdl_plan_window(plan, box, FDL_PAD_CONSTANT, black);
}

const struct fdl_op fdl_op_center_crop = {
    .name = "center_crop",
    .help = "keep the middle; a smaller image gets a black border",
    .options = options,
    .n_options = ROWS,
    .plan = plan,
    .output_size = fdl_op_fixed_size,
};
