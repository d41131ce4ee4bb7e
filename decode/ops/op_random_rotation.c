/* SPDX-License-Identifier: Apache-2.0 */
/* torchvision's RandomRotation without expand: Pillow's rotate, the angle drawn
 * evenly, counter-clockwise. */
#include "base/status.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"
#include "decode/plan/affine.h"

enum { ROW_DEGREES, ROW_INTERPOLATION, ROW_FILL, ROWS };

#define DEGREES_MAX 1e6

static const struct fdl_option options[ROWS] = {
    [ROW_DEGREES] = {.name = "degrees",
                     .type = FEEDLINE_T_DOUBLES,
                     .double_min = -DEGREES_MAX,
                     .double_max = DEGREES_MAX,
                     .default_text = "10",
                     .unit = "degrees",
                     .help = "largest angle to both sides, or the range"},
    [ROW_INTERPOLATION] = FDL_OP_MAP_FILTER("nearest"),
    [ROW_FILL] = FDL_OPTION_FILL,
};

static struct fdl_option_value range_of(const struct fdl_options *o)
{
    struct fdl_option_value v = *fdl_option_value(o, ROW_DEGREES);
    if (v.n_doubles == 1) {
        v.doubles[1] = v.doubles[0];
        v.doubles[0] = -v.doubles[0];
    }
    return v;
}

static int32_t check(const struct fdl_options *o)
{
    struct fdl_option_value v = range_of(o);
    if (v.n_doubles > 2 || v.doubles[0] > v.doubles[1])
        return fdl_fail(FEEDLINE_EINVAL,
                        "random_rotation: degrees takes one number that is not "
                        "negative, or two, the smaller one first");
    return fdl_fill_check(o, ROW_FILL);
}

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    struct fdl_option_value v = range_of(o);
    double angle = fdl_op_draw(rng, v.doubles[0], v.doubles[1]);
    fdl_note_double(plan, "angle", angle);
    uint8_t fill[4];
    fdl_fill_of(o, ROW_FILL, fill);
    return fdl_plan_rotate(
        plan, angle, (enum fdl_map_filter)fdl_option_int(o, ROW_INTERPOLATION),
        fill);
}

const struct fdl_op fdl_op_random_rotation = {
    .name = "random_rotation",
    .help = "turn about the centre by a random angle, the size stays",
    .pixels = true,
    .options = options,
    .n_options = ROWS,
    .check = check,
    .check_channels = fdl_fill_check_channels,
    .plan = plan,
};
