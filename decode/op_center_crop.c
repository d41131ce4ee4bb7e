/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's CenterCrop, with its rounding: halves go to the even number.
 * Where torchvision pads a smaller image with zeros, this refuses it.
 */
#include "decode/op.h"

#include "base/status.h"

#include <inttypes.h>
#include <math.h>

enum { ROW_WIDTH, ROW_HEIGHT, ROWS };

static const struct fdl_option options[ROWS] = {
    [ROW_WIDTH] = {.name = "width",
                   .type = FEEDLINE_T_INT,
                   .min = 1,
                   .max = FDL_OP_SIZE_MAX,
                   .default_text = "224",
                   .unit = "pixels",
                   .help = "width of the crop"},
    [ROW_HEIGHT] = {.name = "height",
                    .type = FEEDLINE_T_INT,
                    .min = 1,
                    .max = FDL_OP_SIZE_MAX,
                    .default_text = "224",
                    .unit = "pixels",
                    .help = "height of the crop"},
};

static int32_t margin(int32_t whole, int32_t part)
{
    return (int32_t)nearbyint((whole - part) / 2.0);
}

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    (void)rng;
    int32_t width = fdl_plan_width(plan), height = fdl_plan_height(plan);
    struct fdl_box box = {
        .width = (int32_t)fdl_option_int(o, ROW_WIDTH),
        .height = (int32_t)fdl_option_int(o, ROW_HEIGHT),
    };
    if (box.width > width || box.height > height)
        return fdl_fail(FEEDLINE_EINVAL,
                        "center_crop: %" PRId32 "x%" PRId32
                        " does not fit into an image of %" PRId32 "x%" PRId32
                        "; put a resize before it",
                        box.width, box.height, width, height);
    box.x = margin(width, box.width);
    box.y = margin(height, box.height);
    fdl_note_box(plan, &box);
    fdl_plan_crop(plan, box);
    return FEEDLINE_OK;
}

static void output_size(const struct fdl_options *o, int32_t *width,
                        int32_t *height)
{
    *width = (int32_t)fdl_option_int(o, ROW_WIDTH);
    *height = (int32_t)fdl_option_int(o, ROW_HEIGHT);
}

const struct fdl_op fdl_op_center_crop = {
    .name = "center_crop",
    .help = "keep the middle",
    .options = options,
    .n_options = ROWS,
    .plan = plan,
    .output_size = output_size,
};
