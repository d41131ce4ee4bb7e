/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's RandomResizedCrop: a box of random area and shape, resampled to
 * a fixed size. Ten tries to find one that fits, then the largest centred box
 * of a permitted shape. Rounding is torchvision's (halves to even); the random
 * numbers are our own, drawn in the same order.
 */
#include "decode/ops/op.h"

#include "base/compiler.h"
#include "base/status.h"
#include "decode/ops/shared_options.h"

#include <math.h>

enum {
    ROW_WIDTH,
    ROW_HEIGHT,
    ROW_SCALE,
    ROW_RATIO,
    ROW_INTERPOLATION,
    ROW_PIXELS,
    ROWS
};

static const struct fdl_option options[ROWS] = {
    [ROW_WIDTH] = FDL_OP_WIDTH("the result"),
    [ROW_HEIGHT] = FDL_OP_HEIGHT("the result"),
    [ROW_SCALE] = FDL_OP_RANGE("scale", 1e-6, 1, "0.08:1",
                               "range of the box's share of the image"),
    [ROW_RATIO] = FDL_OP_RANGE("ratio", 1e-3, 1e3, "0.75:1.3333333333333333",
                               "range of the box's width / height"),
    [ROW_INTERPOLATION] = FDL_OP_INTERPOLATION_DRAWN,
    [ROW_PIXELS] = FDL_OP_PIXELS,
};

static struct fdl_box fallback(int32_t width, int32_t height,
                               const double ratio[2])
{
    struct fdl_box box = {.width = width, .height = height};
    double shape = (double)width / height;
    if (shape < ratio[0])
        box.height = (int32_t)nearbyint(width / ratio[0]);
    else if (shape > ratio[1])
        box.width = (int32_t)nearbyint(height * ratio[1]);
    box.width = FDL_MAX(box.width, 1);
    box.height = FDL_MAX(box.height, 1);
    box.x = (width - box.width) / 2;
    box.y = (height - box.height) / 2;
    return box;
}

static struct fdl_box draw(const struct fdl_options *o, struct fdl_rng *rng,
                           int32_t width, int32_t height)
{
    const double *scale = fdl_option_value(o, ROW_SCALE)->doubles;
    const double *ratio = fdl_option_value(o, ROW_RATIO)->doubles;
    double area = (double)width * height;
    double low = log(ratio[0]), high = log(ratio[1]);

    for (int attempt = 0; attempt < 10; attempt++) {
        double target = area * fdl_op_draw(rng, scale[0], scale[1]);
        double shape = exp(fdl_op_draw(rng, low, high));
        double w = nearbyint(sqrt(target * shape));
        double h = nearbyint(sqrt(target / shape));
        if (w < 1 || w > width || h < 1 || h > height)
            continue;
        struct fdl_box box = {.width = (int32_t)w, .height = (int32_t)h};
        fdl_op_draw_place(rng, width, height, &box);
        return box;
    }
    return fallback(width, height, ratio);
}

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    int32_t width, height;
    struct fdl_box box =
        draw(o, rng, fdl_plan_width(plan), fdl_plan_height(plan));
    fdl_note_box(plan, &box);
    fdl_plan_crop(plan, box);
    enum fdl_filter filter =
        fdl_op_draw_filter(o, ROW_INTERPOLATION, rng, plan);
    plan->tensor = fdl_option_int(o, ROW_PIXELS) != 0;
    fdl_op_fixed_size(o, &width, &height);
    fdl_plan_resize(plan, width, height, filter);
    return FEEDLINE_OK;
}

const struct fdl_op fdl_op_random_resized_crop = {
    .name = "random_resized_crop",
    .help = "a crop of random place, area and shape, resampled to a size",
    .resamples = true,
    .options = options,
    .n_options = ROWS,
    .plan = plan,
    .output_size = fdl_op_fixed_size,
};
