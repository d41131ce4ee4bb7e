/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision v2's RandomZoomOut: a larger canvas of one colour with the image
 * at a random place. Sizes are computed in float32 as torch does.
 */
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"

enum { ROW_FILL, ROW_SIDES, ROW_P, ROWS };

static const struct fdl_option options[ROWS] = {
    [ROW_FILL] = FDL_OPTION_FILL,
    [ROW_SIDES] =
        FDL_OP_RANGE("side_range", 1, 100, "1:4",
                     "range of the canvas's side, in sides of the image"),
    [ROW_P] = FDL_OP_PROBABILITY("0.5", "the operation is applied"),
};

static int32_t draw_margin(struct fdl_rng *rng, int32_t side, int32_t canvas)
{
    return (int32_t)((float)(canvas - side) * (float)fdl_rng_uniform(rng));
}

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    uint8_t fill[4];
    const double *sides = fdl_option_value(o, ROW_SIDES)->doubles;
    bool done = fdl_rng_uniform(rng) < fdl_option_double(o, ROW_P);
    fdl_note_bool(plan, "done", done);
    if (!done)
        return FEEDLINE_OK;
    int32_t w = fdl_plan_width(plan), h = fdl_plan_height(plan);
    float by = (float)fdl_op_draw(rng, sides[0], sides[1]);
    struct fdl_box box = {.width = (int32_t)((float)w * by),
                          .height = (int32_t)((float)h * by)};
    box.x = -draw_margin(rng, w, box.width);
    box.y = -draw_margin(rng, h, box.height);
    fdl_note_box(plan, &box);
    fdl_fill_of(o, ROW_FILL, fill);
    return fdl_plan_window(plan, box, FDL_PAD_CONSTANT, fill);
}

const struct fdl_op fdl_op_random_zoom_out = {
    .name = "random_zoom_out",
    .help = "place the image at random on a larger canvas",
    .pixels = true,
    .options = options,
    .n_options = ROWS,
    .plan = plan,
    .output_size = fdl_op_any_size,
};
