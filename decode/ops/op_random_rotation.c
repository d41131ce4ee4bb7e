/* SPDX-License-Identifier: Apache-2.0 */
/* torchvision's RandomRotation without expand: Pillow's rotate, the angle drawn
 * evenly, counter-clockwise. */
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"
#include "decode/plan/affine.h"

enum { ROW_DEGREES, ROW_INTERPOLATION, ROW_FILL, ROW_CENTER, ROWS };

static const struct fdl_option options[ROWS] = {
    [ROW_DEGREES] = FDL_OP_DEGREES("10"),
    [ROW_INTERPOLATION] = FDL_OP_MAP_FILTER("nearest"),
    [ROW_FILL] = FDL_OPTION_FILL,
    [ROW_CENTER] = FDL_OP_CENTER,
};

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    struct fdl_option_value v = fdl_op_sides(o, ROW_DEGREES);
    double angle = fdl_op_draw(rng, v.doubles[0], v.doubles[1]), point[2];
    fdl_note_double(plan, "angle", angle);
    enum fdl_map_filter filter =
        (enum fdl_map_filter)fdl_option_int(o, ROW_INTERPOLATION);
    uint8_t fill[4];
    fdl_fill_of(o, ROW_FILL, fill);
    if (fdl_op_center(o, ROW_CENTER, point))
        return fdl_plan_rotate_about(plan, angle, point, filter, fill);
    return fdl_plan_rotate(plan, angle, filter, fill);
}

const struct fdl_op fdl_op_random_rotation = {
    .name = "random_rotation",
    .help = "rotate by a random angle, keeping the size",
    .pixels = true,
    .maps = true,
    .options = options,
    .n_options = ROWS,
    .plan = plan,
};
