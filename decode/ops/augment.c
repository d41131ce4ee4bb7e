/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's _apply_op and timm's NAME_TO_OP differ in what a magnitude is:
 * a factor less 1 or a factor; a shear as a slope, passed through an angle, or
 * as a slope; content that moves right by whole pixels, or left by fractions.
 */
#include "decode/ops/augment.h"

#include "base/compiler.h"
#include "base/status.h"
#include "decode/plan/adjust.h"
#include "decode/plan/blur.h"
#include "decode/plan/point.h"
#include "decode/plan/sharpness.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

static bool maps(enum fdl_augment op)
{
    return (op >= FDL_AUGMENT_SHEAR_X && op <= FDL_AUGMENT_ROTATE) ||
           op == FDL_AUGMENT_TRANSLATE_X_REL ||
           op == FDL_AUGMENT_TRANSLATE_Y_REL;
}

static bool has_magnitude(enum fdl_augment op)
{
    return op != FDL_AUGMENT_IDENTITY && op != FDL_AUGMENT_AUTOCONTRAST &&
           op != FDL_AUGMENT_EQUALIZE && op != FDL_AUGMENT_INVERT;
}

static void note(const struct fdl_plan *plan, const struct fdl_augmentation *a)
{
    static const char *const filters[] = {"nearest", "bilinear", "bicubic"};
    fdl_note_op(plan, fdl_augment_names[a->op]);
    if (has_magnitude(a->op))
        fdl_note_double(plan, "magnitude", a->magnitude);
    if (maps(a->op))
        fdl_note_string(plan, "interpolation", filters[a->filter]);
    fdl_note_op_end(plan);
}

/* ---- Maps --------------------------------------------------------------- */

static void map_torchvision(const struct fdl_plan *plan, enum fdl_augment op,
                            double m, double out[6])
{
    double angle = atan(m) * (180.0 / PI);
    double shear[2] = {0}, translate[2] = {0};
    double center[2] = {fdl_plan_width(plan) * 0.5,
                        fdl_plan_height(plan) * 0.5};
    switch (op) {
    case FDL_AUGMENT_SHEAR_X:
        shear[0] = angle;
        center[0] = center[1] = 0;
        break;
    case FDL_AUGMENT_SHEAR_Y:
        shear[1] = angle;
        center[0] = center[1] = 0;
        break;
    case FDL_AUGMENT_TRANSLATE_X:
        translate[0] = trunc(m);
        break;
    default:
        translate[1] = trunc(m);
        break;
    }
    fdl_affine_torchvision(out, 0, translate, 1, shear, center);
}

static void map_timm(const struct fdl_plan *plan, enum fdl_augment op, double m,
                     double out[6])
{
    static const double identity[6] = {1, 0, 0, 0, 1, 0};
    memcpy(out, identity, sizeof(identity));
    if (op == FDL_AUGMENT_SHEAR_X)
        out[1] = m;
    else if (op == FDL_AUGMENT_SHEAR_Y)
        out[3] = m;
    else if (op == FDL_AUGMENT_TRANSLATE_X_REL)
        out[2] = m * fdl_plan_width(plan);
    else
        out[5] = m * fdl_plan_height(plan);
}

static int32_t add_map(struct fdl_plan *plan, enum fdl_augment_library library,
                       const struct fdl_augmentation *a, const uint8_t fill[4])
{
    double map[6];
    if (a->op == FDL_AUGMENT_ROTATE)
        return fdl_plan_rotate(plan, a->magnitude, a->filter, fill);
    if (library == FDL_TIMM)
        map_timm(plan, a->op, a->magnitude, map);
    else
        map_torchvision(plan, a->op, a->magnitude, map);
    return fdl_plan_affine(plan, map, a->filter, fill);
}

/* ---- Colours ------------------------------------------------------------ */

static void add_adjust(struct fdl_plan *plan, enum fdl_adjust which,
                       double factor)
{
    struct fdl_adjust_step a = {.n = 1, .order = {which}};
    a.factor[which] = factor;
    fdl_plan_adjust(plan, &a);
}

static void add_factor(struct fdl_plan *plan, enum fdl_augment op,
                       double factor)
{
    if (op == FDL_AUGMENT_BRIGHTNESS)
        add_adjust(plan, FDL_ADJUST_BRIGHTNESS, factor);
    else if (op == FDL_AUGMENT_COLOR)
        add_adjust(plan, FDL_ADJUST_SATURATION, factor);
    else if (op == FDL_AUGMENT_CONTRAST)
        add_adjust(plan, FDL_ADJUST_CONTRAST, factor);
    else
        fdl_plan_sharpness(plan, false, factor);
}

static void add_rest(struct fdl_plan *plan, enum fdl_augment_library library,
                     enum fdl_augment op, double m)
{
    switch (op) {
    case FDL_AUGMENT_POSTERIZE:
        fdl_plan_point(plan, FDL_POINT_POSTERIZE, m);
        break;
    case FDL_AUGMENT_SOLARIZE:
        fdl_plan_point(plan, FDL_POINT_SOLARIZE,
                       library == FDL_TORCHVISION_V2 ? 255.0 * m : m);
        break;
    case FDL_AUGMENT_SOLARIZE_ADD:
        fdl_plan_point(plan, FDL_POINT_SOLARIZE_ADD, m);
        break;
    case FDL_AUGMENT_AUTOCONTRAST:
        fdl_plan_point(plan, FDL_POINT_AUTOCONTRAST, 0);
        break;
    case FDL_AUGMENT_EQUALIZE:
        fdl_plan_point(plan, FDL_POINT_EQUALIZE, 0);
        break;
    case FDL_AUGMENT_INVERT:
        fdl_plan_point(plan, FDL_POINT_INVERT, 0);
        break;
    case FDL_AUGMENT_DESATURATE:
        add_factor(plan, FDL_AUGMENT_COLOR, FDL_MIN(FDL_MAX(1 - m, 0), 1));
        break;
    case FDL_AUGMENT_GAUSSIAN_BLUR:
        fdl_plan_blur_box(plan, m, m);
        break;
    default:
        break;
    }
}

int32_t fdl_plan_augmentation(struct fdl_plan *plan,
                              enum fdl_augment_library library,
                              const struct fdl_augmentation *a,
                              const uint8_t fill[4])
{
    note(plan, a);
    if (maps(a->op))
        return add_map(plan, library, a, fill);
    if (a->op >= FDL_AUGMENT_BRIGHTNESS && a->op <= FDL_AUGMENT_SHARPNESS)
        add_factor(plan, a->op, a->magnitude + (library != FDL_TIMM));
    else
        add_rest(plan, library, a->op, a->magnitude);
    return FEEDLINE_OK;
}
