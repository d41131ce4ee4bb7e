/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's CenterCrop and timm's CenterCropOrPad, with their rounding:
 * halves of what is cut off go to the even number, halves of the border of a
 * smaller image down.
 */
#include "decode/ops/op.h"

#include "decode/ops/shared_options.h"

#include <math.h>

enum { ROW_WIDTH, ROW_HEIGHT, ROW_FILL, ROW_MODE, ROWS };

static const struct fdl_option options[ROWS] = {
    [ROW_WIDTH] = FDL_OP_WIDTH("the crop"),
    [ROW_HEIGHT] = FDL_OP_HEIGHT("the crop"),
    [ROW_FILL] = FDL_OPTION_FILL,
    [ROW_MODE] = FDL_OPTION_PADDING_MODE,
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
    uint8_t fill[4];
    struct fdl_box box;
    fdl_op_fixed_size(o, &box.width, &box.height);
    box.x = margin(fdl_plan_width(plan), box.width);
    box.y = margin(fdl_plan_height(plan), box.height);
    fdl_note_box(plan, &box);
    fdl_fill_of(o, ROW_FILL, fill);
    return fdl_plan_window(plan, box,
                           (enum fdl_padding)fdl_option_int(o, ROW_MODE), fill);
}

const struct fdl_op fdl_op_center_crop = {
    .name = "center_crop",
    .help = "crop the centre; a smaller image is padded",
    .options = options,
    .n_options = ROWS,
    .plan = plan,
    .output_size = fdl_op_fixed_size,
};
