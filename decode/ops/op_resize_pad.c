/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resize to fit, then pad to a fixed size with the image in the middle: what
 * Pillow's ImageOps.pad does, with its rounding (halves to even). Known as
 * letterbox.
 */
#include "base/compiler.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"

#include <math.h>

enum { ROW_WIDTH, ROW_HEIGHT, ROW_FILL, ROW_INTERPOLATION, ROWS };

static const struct fdl_option options[ROWS] = {
    [ROW_WIDTH] = FDL_OP_WIDTH("the result"),
    [ROW_HEIGHT] = FDL_OP_HEIGHT("the result"),
    [ROW_FILL] = FDL_OPTION_FILL,
    [ROW_INTERPOLATION] = FDL_OP_INTERPOLATION,
};

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    (void)rng;
    uint8_t fill[4];
    int32_t width, height;
    fdl_op_fixed_size(o, &width, &height);
    double w = fdl_plan_width(plan), h = fdl_plan_height(plan);
    double shape = w / h, wanted = (double)width / height;
    struct fdl_box box = {0, 0, width, height};
    int32_t inner_width = width, inner_height = height;
    if (shape > wanted)
        inner_height = (int32_t)FDL_MAX(nearbyint(h / w * width), 1);
    else if (shape < wanted)
        inner_width = (int32_t)FDL_MAX(nearbyint(w / h * height), 1);
    fdl_plan_resize(plan, inner_width, inner_height,
                    (enum fdl_filter)fdl_option_int(o, ROW_INTERPOLATION));
    box.x = -(int32_t)nearbyint((width - inner_width) * 0.5);
    box.y = -(int32_t)nearbyint((height - inner_height) * 0.5);
    fdl_fill_of(o, ROW_FILL, fill);
    return fdl_plan_window(plan, box, FDL_PAD_CONSTANT, fill);
}

const struct fdl_op fdl_op_resize_pad = {
    .name = "resize_pad",
    .help = "resample to fit a size, keeping the aspect ratio, and pad to that "
            "size",
    .resamples = true,
    .pixels = true,
    .options = options,
    .n_options = ROWS,
    .plan = plan,
    .output_size = fdl_op_fixed_size,
};
