/* SPDX-License-Identifier: Apache-2.0 */
/* torchvision's RandomAffine: a turn, a shift by whole pixels, a scale and a
 * shear, each drawn evenly. */
#include "base/status.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"
#include "decode/plan/affine.h"

#include <math.h>

enum {
    ROW_DEGREES,
    ROW_TRANSLATE,
    ROW_SCALE,
    ROW_SHEAR,
    ROW_CENTER,
    ROW_INTERPOLATION,
    ROW_FILL,
    ROWS
};

static int32_t check_translate(const struct fdl_options *o, uint32_t row)
{
    if (fdl_option_value(o, row)->n_doubles == 2)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "random_affine: translate takes two numbers");
}

/* Four numbers are two ranges. */
static int32_t check_shear(const struct fdl_options *o, uint32_t row)
{
    const struct fdl_option_value *v = fdl_option_value(o, row);
    if (v->n_doubles != 4)
        return fdl_op_check_sides(o, row);
    if (v->doubles[0] <= v->doubles[1] && v->doubles[2] <= v->doubles[3])
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "random_affine: shear takes ranges with the smaller number "
                    "first");
}

static const struct fdl_option options[ROWS] = {
    [ROW_DEGREES] = FDL_OP_DEGREES("10"),
    [ROW_TRANSLATE] = FDL_OP_DOUBLES(
        "translate", 0, 1, "0,0", "",
        "largest shift, as a fraction of width and of height", check_translate),
    [ROW_SCALE] =
        FDL_OP_RANGE("scale", 1e-3, 1e3, "1:1", "range of the scale factor"),
    [ROW_SHEAR] = FDL_OP_DOUBLES(
        "shear", -FDL_OP_DEGREES_MAX, FDL_OP_DEGREES_MAX, "0", "degrees",
        "largest angle either way along x, or its range; "
        "or ranges along x and y",
        check_shear),
    [ROW_CENTER] = FDL_OP_CENTER,
    [ROW_INTERPOLATION] = FDL_OP_MAP_FILTER("nearest"),
    [ROW_FILL] = FDL_OPTION_FILL,
};

/* Whole pixels, half to even. */
static double draw_shift(struct fdl_rng *rng, double part, int32_t size)
{
    double most = part * size;
    return rint(fdl_op_draw(rng, -most, most)) + 0.0; /* no -0 */
}

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    int32_t width = fdl_plan_width(plan), height = fdl_plan_height(plan);
    const double *translate = fdl_option_value(o, ROW_TRANSLATE)->doubles;
    const double *scales = fdl_option_value(o, ROW_SCALE)->doubles;
    struct fdl_option_value degrees = fdl_op_sides(o, ROW_DEGREES);
    struct fdl_option_value shears = fdl_op_sides(o, ROW_SHEAR);
    bool along_y = shears.n_doubles == 4;
    double centre[2] = {width * 0.5, height * 0.5}, shift[2], shear[2], a[6];
    double angle = fdl_op_draw(rng, degrees.doubles[0], degrees.doubles[1]);
    shift[0] = draw_shift(rng, translate[0], width);
    shift[1] = draw_shift(rng, translate[1], height);
    double scale = fdl_op_draw(rng, scales[0], scales[1]);
    shear[0] = fdl_op_draw(rng, shears.doubles[0], shears.doubles[1]);
    shear[1] = fdl_op_draw(rng, along_y ? shears.doubles[2] : 0,
                           along_y ? shears.doubles[3] : 0);
    fdl_note_double(plan, "angle", angle);
    fdl_note_double(plan, "translate_x", shift[0]);
    fdl_note_double(plan, "translate_y", shift[1]);
    fdl_note_double(plan, "scale", scale);
    fdl_note_double(plan, "shear_x", shear[0]);
    fdl_note_double(plan, "shear_y", shear[1]);

    uint8_t fill[4];
    fdl_op_center(o, ROW_CENTER, centre);
    fdl_fill_of(o, ROW_FILL, fill);
    fdl_affine_torchvision(a, angle, shift, scale, shear, centre);
    return fdl_plan_affine(
        plan, a, (enum fdl_map_filter)fdl_option_int(o, ROW_INTERPOLATION),
        fill);
}

const struct fdl_op fdl_op_random_affine = {
    .name = "random_affine",
    .help = "rotate, shift, scale and shear at random, keeping the size",
    .pixels = true,
    .maps = true,
    .options = options,
    .n_options = ROWS,
    .plan = plan,
};
