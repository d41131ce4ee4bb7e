/* SPDX-License-Identifier: Apache-2.0 */
/* What a step may say, as a table, and what a program may be. */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/plan/adjust.h"
#include "decode/plan/blur.h"
#include "decode/plan/cv_blur_step.h"
#include "decode/plan/cv_equalize_step.h"
#include "decode/plan/cv_filter_step.h"
#include "decode/plan/cv_resize_step.h"
#include "decode/plan/cv_sep_step.h"
#include "decode/plan/cv_sum_step.h"
#include "decode/plan/cv_warp_step.h"
#include "decode/plan/float_step.h"
#include "decode/plan/turn.h"
#include "decode/recorded_image.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#define CV_INTER_CUBIC 2

/* Which kind of step may follow which: numbers never fall. */
enum group { OF_PIXELS, TO_ELEMENTS, ON_FLOATS, OF_ELEMENTS };

/* What a number may be. */
enum kind {
    MODE,
    GRAY_CHANNELS,
    SIDE,
    PLACE,
    EDGE,
    FILTER,
    TRANSPOSITION,
    BORDER,
    FILL,
    COEFFICIENT,
    FACTOR,
    SHIFT,
    BITS,
    RADIUS,
    KERNEL,
    SIGMA,
    SWITCH,
    CHANNEL,
    CV_FILTER,
    CV_SCALE,
    CV_CODE,
    CV_KERNEL,
    CV_SIGMA,
    CV_FLAGS,
    CV_BORDER,
    CV_VERSION,
    CV_CLIP,
    CV_TILES,
    CV_SIDE,
    CV_SEP_SIDE,
    CV_DEPTH,
    CV_QUALITY,
    FLOAT_HOW,
    ONE_OR_ALL,
    ANY
};

static const struct {
    bool whole;
    double low, high;
} ranges[] = {
    [MODE] = {true, 1, FDL_RECORDED_YCBCR},
    [GRAY_CHANNELS] = {true, 1, 3},
    [SIDE] = {true, 1, FDL_OP_SIDE_MAX},
    [PLACE] = {true, -FDL_OP_SIDE_MAX, FDL_OP_SIDE_MAX},
    [EDGE] = {false, 0, FDL_OP_SIDE_MAX},
    [FILTER] = {true, 0, 5},
    [TRANSPOSITION] = {true, 0, FDL_TRANSPOSES - 1},
    [BORDER] = {true, 0, 3},
    [FILL] = {true, 0, 255},
    [COEFFICIENT] = {false, -1e9, 1e9},
    [FACTOR] = {false, -FDL_FACTOR_MAX, FDL_FACTOR_MAX},
    [SHIFT] = {false, -0.5, 0.5},
    [BITS] = {true, 0, 8},
    [RADIUS] = {false, 0, FDL_BLUR_SIGMA_MAX},
    [KERNEL] = {true, 1, FDL_BLUR_SIZE_MAX},
    [SIGMA] = {false, 1e-6, FDL_BLUR_SIGMA_MAX},
    [SWITCH] = {true, 0, 1},
    [CHANNEL] = {true, 0, FDL_CHANNELS_MAX - 1},
    [CV_FILTER] = {true, 0, FDL_CV_FILTERS - 1},
    [CV_SCALE] = {false, 0, FDL_OP_SIDE_MAX},
    [CV_CODE] = {true, 0, 200},
    [CV_KERNEL] = {true, 0, FDL_BLUR_SIZE_MAX},
    [CV_SIGMA] = {false, 0, FDL_BLUR_SIGMA_MAX},
    [CV_FLAGS] = {true, 0, 18},
    [CV_BORDER] = {true, 0, FDL_CV_BORDERS - 1},
    [CV_VERSION] = {true, 4, 5},
    [CV_CLIP] = {false, 0, 1e6},
    [CV_TILES] = {true, 1, FDL_CV_TILES_MAX},
    [CV_SIDE] = {true, 1, FDL_CV_FILTER_SIDE},
    [CV_SEP_SIDE] = {true, 1, FDL_CV_SEP_SIDE},
    [CV_DEPTH] = {true, FDL_CV_U8, FDL_CV_F64},
    [CV_QUALITY] = {true, 0, 100},
    [FLOAT_HOW] = {true, 0, FDL_FLOAT_HOWS - 1},
    [ONE_OR_ALL] = {true, FDL_FLOAT_EVERY, FDL_CHANNELS_MAX - 1},
    [ANY] = {false, -FLT_MAX, FLT_MAX},
};

struct value_rule {
    const char *name;
    enum kind kind;
};

struct op_rule {
    const char *name; /* NULL: there is no such operation */
    enum group group;
    bool data;                                     /* it has some */
    uint32_t least, most;                          /* values */
    struct value_rule value[FEEDLINE_STEP_VALUES]; /* without a name: as the one
                                                      before */
};

#define RULE(op, ...) [FEEDLINE_STEP_##op] = {.name = #op, __VA_ARGS__}

/* clang-format off */
static const struct op_rule rules[] = {
    RULE(CONVERT, .least = 1, .most = 1,
         .value = {{"the mode", MODE}}),
    RULE(CROP, .least = 4, .most = 4,
         .value = {{"left", PLACE}, {"top", PLACE}, {"right", PLACE},
                   {"bottom", PLACE}}),
    RULE(RESIZE, .least = 3, .most = 7,
         .value = {{"width", SIDE}, {"height", SIDE}, {"filter", FILTER},
                   {"left", EDGE}, {"top", EDGE}, {"right", EDGE},
                   {"bottom", EDGE}}),
    RULE(TRANSPOSE, .least = 1, .most = 1,
         .value = {{"its number", TRANSPOSITION}}),
    RULE(PAD, .least = 5, .most = 9,
         .value = {{"left", PLACE}, {"top", PLACE}, {"right", PLACE},
                   {"bottom", PLACE}, {"mode", BORDER}, {"fill", FILL}}),
    RULE(AFFINE, .least = 9, .most = 13,
         .value = {{"width", SIDE}, {"height", SIDE}, {"filter", FILTER},
                   {"a coefficient", COEFFICIENT}, [9] = {"fill", FILL}}),
    RULE(PERSPECTIVE, .least = 11, .most = 15,
         .value = {{"width", SIDE}, {"height", SIDE}, {"filter", FILTER},
                   {"a coefficient", COEFFICIENT}, [11] = {"fill", FILL}}),
    RULE(BRIGHTNESS, .least = 1, .most = 1, .value = {{"the factor", FACTOR}}),
    RULE(CONTRAST, .least = 1, .most = 1, .value = {{"the factor", FACTOR}}),
    RULE(COLOR, .least = 1, .most = 1, .value = {{"the factor", FACTOR}}),
    RULE(SHARPNESS, .least = 1, .most = 1, .value = {{"the factor", FACTOR}}),
    RULE(HUE, .least = 1, .most = 1, .value = {{"the factor", SHIFT}}),
    RULE(GRAYSCALE, .least = 1, .most = 1,
         .value = {{"channels", GRAY_CHANNELS}}),
    RULE(POSTERIZE, .least = 1, .most = 1, .value = {{"bits", BITS}}),
    RULE(SOLARIZE, .least = 1, .most = 1, .value = {{"threshold", FACTOR}}),
    RULE(INVERT, .group = OF_PIXELS),
    RULE(AUTOCONTRAST, .group = OF_PIXELS),
    RULE(EQUALIZE, .group = OF_PIXELS),
    RULE(GAUSSIAN_BLUR, .least = 2, .most = 2, .value = {{"a radius", RADIUS}}),
    RULE(TENSOR_BLUR, .least = 4, .most = 4,
         .value = {{"a side of the kernel", KERNEL}, [2] = {"sigma", SIGMA}}),
    RULE(POINT, .data = true),
    RULE(TENSOR_RESIZE, .least = 3, .most = 3,
         .value = {{"width", SIDE}, {"height", SIDE}, {"filter", FILTER}}),
    RULE(TENSOR_BRIGHTNESS, .least = 1, .most = 1,
         .value = {{"the factor", FACTOR}}),
    RULE(TENSOR_CONTRAST, .least = 1, .most = 1,
         .value = {{"the factor", FACTOR}}),
    RULE(TENSOR_SATURATION, .least = 1, .most = 1,
         .value = {{"the factor", FACTOR}}),
    RULE(TENSOR_HUE, .least = 1, .most = 1, .value = {{"the factor", SHIFT}}),
    RULE(TENSOR_SHARPNESS, .least = 1, .most = 1,
         .value = {{"the factor", FACTOR}}),
    RULE(TENSOR_GRAYSCALE, .least = 1, .most = 1,
         .value = {{"channels", GRAY_CHANNELS}}),
    RULE(TENSOR_AUTOCONTRAST, .group = OF_PIXELS),
    RULE(CHANNELS, .least = 1, .most = 4, .value = {{"a channel", CHANNEL}}),
    RULE(EXPECT, .data = true),
    RULE(CV_RESIZE, .least = 3, .most = 5,
         .value = {{"width", SIDE}, {"height", SIDE}, {"filter", CV_FILTER},
                   {"a scale", CV_SCALE}}),
    RULE(CV_COLOUR, .least = 1, .most = 1, .value = {{"code", CV_CODE}}),
    RULE(CV_GAUSSIAN_BLUR, .least = 4, .most = 5,
         .value = {{"a side of the kernel", CV_KERNEL},
                   [2] = {"sigma", CV_SIGMA},
                   [4] = {"the border", CV_BORDER}}),
    RULE(CV_BOX_BLUR, .least = 2, .most = 3,
         .value = {{"a side of the kernel", KERNEL},
                   [2] = {"the border", CV_BORDER}}),
    RULE(CV_MEDIAN_BLUR, .least = 1, .most = 1,
         .value = {{"the side of the kernel", KERNEL}}),
    RULE(CV_WARP_AFFINE, .least = 11, .most = 15,
         .value = {{"width", SIDE}, {"height", SIDE}, {"flags", CV_FLAGS},
                   {"the border", CV_BORDER}, {"the version", CV_VERSION},
                   {"a coefficient", COEFFICIENT}, [11] = {"fill", FILL}}),
    RULE(CV_EQUALIZE, .least = 1, .most = 1,
         .value = {{"a channel", CHANNEL}}),
    RULE(CV_CLAHE, .least = 4, .most = 4,
         .value = {{"a channel", CHANNEL}, {"the limit", CV_CLIP},
                   {"tiles", CV_TILES}}),
    RULE(CV_FILTER2D, .least = 3, .most = 4, .data = true,
         .value = {{"a side of the kernel", CV_SIDE},
                   [2] = {"the version", CV_VERSION},
                   {"the border", CV_BORDER}}),
    RULE(CV_WARP_PERSPECTIVE, .least = 5, .most = 9, .data = true,
         .value = {{"width", SIDE}, {"height", SIDE}, {"flags", CV_FLAGS},
                   {"the border", CV_BORDER}, {"the version", CV_VERSION},
                   {"fill", FILL}}),
    RULE(CV_REMAP, .least = 5, .most = 9, .data = true,
         .value = {{"width", SIDE}, {"height", SIDE}, {"flags", CV_FLAGS},
                   {"the border", CV_BORDER}, {"the version", CV_VERSION},
                   {"fill", FILL}}),
    RULE(CV_SEP_FILTER2D, .least = 4, .most = 4, .data = true,
         .value = {{"a side of the kernel", CV_SEP_SIDE},
                   [2] = {"the border", CV_BORDER},
                   {"the version", CV_VERSION}}),
    RULE(CV_ADD, .least = 4, .most = 4, .data = true,
         .value = {{"width", SIDE}, {"height", SIDE}, {"the type", CV_DEPTH},
                   {"whether sums are cut off", SWITCH}}),
    RULE(CV_ADD_GRAY, .least = 2, .most = 2,
         .value = {{"a weight", COEFFICIENT}}),
    RULE(CV_CONTRAST, .least = 1, .most = 2,
         .value = {{"the factor", FACTOR}, {"whether in doubles", SWITCH}}),
    RULE(CV_RECOMPRESS, .least = 1, .most = 1,
         .value = {{"the quality", CV_QUALITY}}),
    RULE(SCALE, .group = TO_ELEMENTS, .most = 1,
         .value = {{"its rounding", SWITCH}}),
    RULE(NORMALIZE, .group = ON_FLOATS, .least = 2, .most = 8,
         .value = {{"a mean or std", ANY}}),
    RULE(LOOKUP, .group = TO_ELEMENTS, .data = true),
    RULE(ERASE, .group = OF_ELEMENTS, .least = 4, .most = 8,
         .value = {{"left", PLACE}, {"top", PLACE}, {"width", SIDE},
                   {"height", SIDE}, {"a value", ANY}}),
    RULE(FLOAT_COLOUR, .group = OF_ELEMENTS, .least = 1, .most = 1,
         .value = {{"code", CV_CODE}}),
    RULE(FLOAT_VALUES, .group = OF_ELEMENTS, .least = 3, .most = 4,
         .value = {{"what is done", FLOAT_HOW}, {"a channel", ONE_OR_ALL},
                   {"a number", ANY}}),
    RULE(FLOAT_CHANNELS, .group = OF_ELEMENTS, .least = 1, .most = 4,
         .value = {{"a channel", CHANNEL}}),
};
/* clang-format on */

const char *fdl_recorded_name(uint32_t op)
{
    return rules[op].name;
}

bool fdl_recorded_on_pixels(uint32_t op)
{
    return rules[op].group == OF_PIXELS;
}

uint32_t fdl_recorded_element(const struct feedline_recorded_image *image)
{
    return image->element_bytes ? image->element_bytes
                                : (uint32_t)fdl_dtype_bytes(image->dtype);
}

/* ---- Steps -------------------------------------------------------------- */

/* The rule of value i. */
static const struct value_rule *rule_of(const struct op_rule *rule, uint32_t i)
{
    while (i > 0 && !rule->value[i].name)
        i--;
    return &rule->value[i];
}

static int32_t check_value(const struct value_rule *rule, double value)
{
    bool whole = ranges[rule->kind].whole;
    double low = ranges[rule->kind].low, high = ranges[rule->kind].high;
    if (!isfinite(value))
        return fdl_fail(FEEDLINE_EINVAL, "%s is %g", rule->name, value);
    if (whole && value != floor(value))
        return fdl_fail(FEEDLINE_EINVAL, "%s is %g, which is not whole",
                        rule->name, value);
    if (value < low || value > high)
        return fdl_fail(FEEDLINE_ERANGE, "%s is %g; it is from %g to %g",
                        rule->name, value, low, high);
    return FEEDLINE_OK;
}

static int32_t check_values(const struct op_rule *rule,
                            const struct feedline_recorded_step *step)
{
    if (step->n < rule->least || step->n > rule->most)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%" PRIu32 " values; it takes %" PRIu32 " to %" PRIu32,
                        step->n, rule->least, rule->most);
    for (uint32_t i = 0; i < step->n; i++) {
        int32_t status = check_value(rule_of(rule, i), step->value[i]);
        if (status)
            return status;
    }
    if (rule->data && !step->data)
        return fdl_fail(FEEDLINE_EINVAL, "data is NULL; it takes tables");
    return FEEDLINE_OK;
}

/* A box that is not empty. */
static int32_t check_box(const double *corner)
{
    double width = corner[2] - corner[0], height = corner[3] - corner[1];
    if (width <= 0 || height <= 0)
        return fdl_fail(FEEDLINE_EINVAL, "a box from %g, %g to %g, %g is empty",
                        corner[0], corner[1], corner[2], corner[3]);
    if (FDL_MAX(width, height) > FDL_OP_SIDE_MAX)
        return fdl_fail(FEEDLINE_ERANGE,
                        "a box of %gx%g is above the limit of %d for a side",
                        width, height, FDL_OP_SIDE_MAX);
    return FEEDLINE_OK;
}

/* Of a map, or of tensors: nearest, bilinear or bicubic. */
static int32_t check_common_filter(double filter)
{
    if (filter == 0 || filter == 2 || filter == 3)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ERANGE,
                    "filter is %g; it is 0 (nearest), 2 (bilinear) or 3 "
                    "(bicubic)",
                    filter);
}

static int32_t check_floats(const struct feedline_recorded_step *step)
{
    if ((uintptr_t)step->data % sizeof(float) == 0)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL, "data is not aligned to floats");
}

static double sum_of_magnitudes(const float *kernel, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += fabs((double)kernel[i]);
    return sum;
}

/* Beyond 32 bits, and of what is no number, OpenCV's integers are whatever the
   processor makes of them. */
static int32_t check_cv_sums(double magnitudes)
{
    double most = UINT8_MAX * (magnitudes + 1);
    if (most < INT32_MAX)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ERANGE,
                    "the kernel's sums may reach %g, which is beyond 32 bits",
                    most);
}

/* Of OpenCV's warps. */
static int32_t check_cv_warp(const struct feedline_recorded_step *step)
{
    int32_t flags = (int32_t)step->value[2], filter = flags & 15;
    bool remap = step->op == FEEDLINE_STEP_CV_REMAP;
    if (filter > 2 || (remap && flags != filter))
        return fdl_fail(FEEDLINE_ERANGE,
                        "flags are %" PRId32 "; they are 0 (nearest), 1 "
                        "(linear) or 2 (cubic), and but for remap 16 more for "
                        "WARP_INVERSE_MAP",
                        flags);
    if (filter == 2 && step->value[4] != 4)
        return fdl_fail(FEEDLINE_ERANGE,
                        "flags are %" PRId32 "; cubic is that of OpenCV 4",
                        flags);
    return remap ? check_floats(step) : FEEDLINE_OK;
}

/* Of OpenCV's resize. */
static int32_t check_cv_resize(const struct feedline_recorded_step *step)
{
    if (step->n == 4)
        return fdl_fail(FEEDLINE_EINVAL,
                        "4 values; it takes 3, or 5 with both scales");
    if (step->value[2] != CV_INTER_CUBIC)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ERANGE,
                    "filter is 2; OpenCV's cubic depends on the processor");
}

static int32_t check_kernel(double width, double height)
{
    if ((int32_t)width % 2 == 1 && (int32_t)height % 2 == 1)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL, "a kernel of %gx%g: its sides are odd",
                    width, height);
}

/* Of OpenCV, where a side may be 0: sigma says it. */
static int32_t check_gauss(const double *side)
{
    return check_kernel(side[0] == 0 ? 1 : side[0], side[1] == 0 ? 1 : side[1]);
}

/* Value i, if there is one: OpenCV's filters refuse to wrap, too. */
static int32_t check_no_wrap(const struct feedline_recorded_step *step,
                             uint32_t i)
{
    if (step->n <= i || step->value[i] != FDL_CV_WRAP)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ERANGE,
                    "the border is 3 (wrap), which OpenCV refuses, too");
}

static int32_t check_cv_box(const struct feedline_recorded_step *step)
{
    double area = step->value[0] * step->value[1];
    if ((int32_t)area % 2 == 0 && area > FDL_CV_EVEN_MAX)
        return fdl_fail(FEEDLINE_ERANGE,
                        "a kernel of %gx%g: those with an even side have up to "
                        "%d elements",
                        step->value[0], step->value[1], FDL_CV_EVEN_MAX);
    return check_no_wrap(step, 2);
}

static int32_t check_cv_filter(const struct feedline_recorded_step *step)
{
    int32_t status = check_kernel(step->value[0], step->value[1]);
    if (!status)
        status = check_no_wrap(step, 3);
    if (!status)
        status = check_floats(step);
    if (status)
        return status;
    size_t n = (size_t)(step->value[0] * step->value[1]);
    return check_cv_sums(sum_of_magnitudes(step->data, n));
}

static int32_t check_cv_sep(const struct feedline_recorded_step *step)
{
    const double *v = step->value;
    int32_t status = check_kernel(v[0], v[1]);
    if (!status)
        status = check_floats(step);
    if (!status)
        status = check_no_wrap(step, 2);
    if (status)
        return status;
    struct fdl_cv_sep s = {
        .kernel = step->data, .width = (int32_t)v[0], .height = (int32_t)v[1]};
    if (fdl_cv_sep_is_in_float(&s))
        return check_cv_sums(
            sum_of_magnitudes(s.kernel, (size_t)s.width) *
            sum_of_magnitudes(s.kernel + s.width, (size_t)s.height));
    return fdl_fail(FEEDLINE_EINVAL,
                    "kernelY is not the same from both sides, or both kernels "
                    "are whole parts of 1 / 256, which OpenCV sums in another "
                    "way");
}

/* An element of an array that is added, bytes; 0: of no type that is. */
static size_t cv_added_bytes(double depth)
{
    switch ((int32_t)depth) {
    case FDL_CV_U8:
        return 1;
    case FDL_CV_S16:
        return 2;
    case FDL_CV_F32:
        return 4;
    case FDL_CV_F64:
        return 8;
    default:
        return 0;
    }
}

static int32_t check_cv_add(const struct feedline_recorded_step *step)
{
    size_t bytes = cv_added_bytes(step->value[2]);
    if (bytes == 0)
        return fdl_fail(FEEDLINE_ERANGE,
                        "the type is %g; it is 0 (uint8), 3 (int16), 5 "
                        "(float32) or 6 (float64)",
                        step->value[2]);
    if (bytes == 8 && step->value[3] != 1)
        return fdl_fail(FEEDLINE_EINVAL,
                        "sums of type 6 (float64) are cut off, not rounded");
    if ((uintptr_t)step->data % bytes != 0)
        return fdl_fail(FEEDLINE_EINVAL, "data is not aligned to its elements");
    return FEEDLINE_OK;
}

static int32_t check_erase(const struct feedline_recorded_image *image,
                           const struct feedline_recorded_step *step)
{
    bool elements = step->n == 4 && step->data;
    if (!elements && step->n != 4 + (uint32_t)image->channels)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%" PRIu32 " values; it takes 4, and one for each of "
                        "%" PRId32 " channels or data",
                        step->n, image->channels);
    if (fdl_recorded_element(image) == fdl_dtype_bytes(image->dtype))
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "elements of %" PRIu32 " bytes are not of data type "
                    "%" PRId32 ", so a value cannot be stored",
                    fdl_recorded_element(image), image->dtype);
}

static int32_t check_normalize(const struct feedline_recorded_image *image,
                               const struct feedline_recorded_step *step)
{
    uint32_t n = (uint32_t)image->channels;
    if (step->n != 2 * n)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%" PRIu32 " values; %" PRIu32
                        " channels take as many means and then as many std",
                        step->n, n);
    for (uint32_t c = 0; c < n; c++) {
        if ((float)step->value[n + c] == 0)
            return fdl_fail(FEEDLINE_EINVAL, "std of channel %" PRIu32 " is %g",
                            c, step->value[n + c]);
    }
    return FEEDLINE_OK;
}

static int32_t check_lookup(const struct feedline_recorded_image *image,
                            const struct feedline_recorded_step *step)
{
    if ((uintptr_t)step->data % fdl_recorded_element(image) != 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "data is not aligned to elements of %" PRIu32 " bytes",
                        fdl_recorded_element(image));
    return FEEDLINE_OK;
}

/* Channels of a step on floats, from value `first` on. */
static int32_t check_float_channels(const struct feedline_recorded_image *image,
                                    const struct feedline_recorded_step *step,
                                    uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        if (step->value[i] >= image->channels)
            return fdl_fail(FEEDLINE_EINVAL, "channel %g of %" PRId32,
                            step->value[i], image->channels);
    }
    return FEEDLINE_OK;
}

static int32_t check_float_colour(const struct feedline_recorded_image *image,
                                  double code)
{
    if (image->channels != 3)
        return fdl_fail(FEEDLINE_EINVAL,
                        "it is for 3 channels, the output has %" PRId32,
                        image->channels);
    if (code == 40 || code == 41 || code == 54 || code == 55)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ERANGE,
                    "code is %g; it is OpenCV's of BGR or RGB to HSV (40, 41) "
                    "or back (54, 55)",
                    code);
}

static int32_t check_of_floats(const struct feedline_recorded_image *image,
                               const struct feedline_recorded_step *step)
{
    uint32_t wanted = (uint32_t)image->channels;
    if (image->dtype != FEEDLINE_F32 || fdl_recorded_element(image) != 4)
        return fdl_fail(FEEDLINE_EINVAL,
                        "the data type is %" PRId32 "; it is for %d (F32)",
                        image->dtype, FEEDLINE_F32);
    if (step->op == FEEDLINE_STEP_FLOAT_COLOUR)
        return check_float_colour(image, step->value[0]);
    if (step->op == FEEDLINE_STEP_FLOAT_CHANNELS) {
        if (step->n == wanted)
            return check_float_channels(image, step, 0, wanted);
    } else {
        wanted = step->value[0] < FDL_FLOAT_CLIP ? 3 : 4;
        if (step->n == wanted)
            return check_float_channels(image, step, 1, 2);
    }
    return fdl_fail(FEEDLINE_EINVAL,
                    "%" PRIu32 " values; here it takes %" PRIu32, step->n,
                    wanted);
}

/* What is not about one value alone. */
static int32_t check_rest(const struct feedline_recorded_image *image,
                          const struct feedline_recorded_step *step)
{
    switch (step->op) {
    case FEEDLINE_STEP_CROP:
        return check_box(step->value);
    case FEEDLINE_STEP_RESIZE:
        if (step->n == 3)
            return FEEDLINE_OK;
        if (step->n < 7)
            return fdl_fail(FEEDLINE_EINVAL,
                            "%" PRIu32 " values; it takes 3, or 7 with a box",
                            step->n);
        return check_box(step->value + 3);
    case FEEDLINE_STEP_AFFINE:
    case FEEDLINE_STEP_PERSPECTIVE:
    case FEEDLINE_STEP_TENSOR_RESIZE:
        return check_common_filter(step->value[2]);
    case FEEDLINE_STEP_CV_RESIZE:
        return check_cv_resize(step);
    case FEEDLINE_STEP_CV_WARP_AFFINE:
    case FEEDLINE_STEP_CV_WARP_PERSPECTIVE:
    case FEEDLINE_STEP_CV_REMAP:
        return check_cv_warp(step);
    case FEEDLINE_STEP_TENSOR_BLUR:
        return check_kernel(step->value[0], step->value[1]);
    case FEEDLINE_STEP_CV_BOX_BLUR:
        return check_cv_box(step);
    case FEEDLINE_STEP_CV_MEDIAN_BLUR:
        return check_kernel(step->value[0], step->value[0]);
    case FEEDLINE_STEP_CV_FILTER2D:
        return check_cv_filter(step);
    case FEEDLINE_STEP_CV_SEP_FILTER2D:
        return check_cv_sep(step);
    case FEEDLINE_STEP_CV_ADD:
        return check_cv_add(step);
    case FEEDLINE_STEP_CV_GAUSSIAN_BLUR:
        return check_gauss(step->value);
    case FEEDLINE_STEP_GRAYSCALE:
    case FEEDLINE_STEP_TENSOR_GRAYSCALE:
        if (step->value[0] == 2)
            return fdl_fail(FEEDLINE_ERANGE, "channels is 2; it is 1 or 3");
        return FEEDLINE_OK;
    case FEEDLINE_STEP_ERASE:
        return check_erase(image, step);
    case FEEDLINE_STEP_NORMALIZE:
        return check_normalize(image, step);
    case FEEDLINE_STEP_LOOKUP:
        return check_lookup(image, step);
    case FEEDLINE_STEP_FLOAT_COLOUR:
    case FEEDLINE_STEP_FLOAT_VALUES:
    case FEEDLINE_STEP_FLOAT_CHANNELS:
        return check_of_floats(image, step);
    default:
        return FEEDLINE_OK;
    }
}

/* Whether it may come behind a step of group `last`. */
static int32_t check_order(const struct op_rule *rule, enum group last,
                           uint32_t last_op)
{
    if (rule->group == ON_FLOATS && last_op != FEEDLINE_STEP_SCALE)
        return fdl_fail(FEEDLINE_EINVAL, "it comes right behind SCALE");
    if (rule->group < last ||
        (rule->group == last && rule->group == TO_ELEMENTS))
        return fdl_fail(FEEDLINE_EINVAL, "it cannot come behind %s",
                        rules[last_op].name);
    return FEEDLINE_OK;
}

static int32_t check_steps(const struct feedline_recorded_image *image)
{
    enum group last = OF_PIXELS;
    uint32_t last_op = 0;
    for (uint32_t i = 0; i < image->n_steps; i++) {
        const struct feedline_recorded_step *step = &image->steps[i];
        const struct op_rule *rule =
            step->op < FDL_COUNT_OF(rules) ? &rules[step->op] : &rules[0];
        if (!rule->name)
            return fdl_fail(FEEDLINE_EINVAL,
                            "step %" PRIu32 ": there is no operation %" PRIu32,
                            i + 1, step->op);
        int32_t status = check_order(rule, last, last_op);
        if (!status)
            status = check_values(rule, step);
        if (!status)
            status = check_rest(image, step);
        if (status)
            return fdl_fail(status, "step %" PRIu32 " (%s): %s", i + 1,
                            rule->name, fdl_last_error());
        last = rule->group;
        last_op = step->op;
    }
    return FEEDLINE_OK;
}

/* ---- The output --------------------------------------------------------- */

static bool has(const struct feedline_recorded_image *image, uint32_t op)
{
    for (uint32_t i = 0; i < image->n_steps; i++) {
        if (image->steps[i].op == op)
            return true;
    }
    return false;
}

/* Elements of the type that the steps make. */
static int32_t check_element(const struct feedline_recorded_image *image)
{
    uint32_t bytes = fdl_recorded_element(image);
    uint32_t of_type = (uint32_t)fdl_dtype_bytes(image->dtype);
    bool lookup = has(image, FEEDLINE_STEP_LOOKUP);
    bool scale = has(image, FEEDLINE_STEP_SCALE);
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
        return fdl_fail(FEEDLINE_EINVAL,
                        "elements of %" PRIu32 " bytes, of data type %" PRId32
                        ": they have 1, 2, 4 or 8",
                        bytes, image->dtype);
    if (!lookup && bytes != of_type)
        return fdl_fail(FEEDLINE_EINVAL,
                        "elements of %" PRIu32
                        " bytes, but the data type %" PRId32 " has %" PRIu32
                        "; only LOOKUP makes others",
                        bytes, image->dtype, of_type);
    bool floats = scale || (image->pipeline && image->dtype != FEEDLINE_U8);
    if (!lookup && floats == (image->dtype == FEEDLINE_U8))
        return fdl_fail(FEEDLINE_EINVAL,
                        "the data type is %" PRId32
                        ": SCALE makes floats, and without it and LOOKUP there "
                        "are bytes",
                        image->dtype);
    return FEEDLINE_OK;
}

static int32_t check_output(const struct feedline_recorded_image *image)
{
    int32_t status = check_element(image);
    if (status)
        return status;
    int32_t c = image->channels, h = image->height, w = image->width;
    if (c < 1 || c > FDL_CHANNELS_MAX || h < 1 || h > FDL_OP_SIDE_MAX ||
        w < 1 || w > FDL_OP_SIDE_MAX)
        return fdl_fail(FEEDLINE_ERANGE,
                        "an output of %" PRId32 " channels, %" PRId32
                        "x%" PRId32 ": there are 1 to %d, and sides up to %d",
                        c, w, h, FDL_CHANNELS_MAX, FDL_OP_SIDE_MAX);
    uint32_t element = fdl_recorded_element(image);
    uint64_t bytes = (uint64_t)c * (uint64_t)h * (uint64_t)w * element;
    if (image->out_bytes != bytes)
        return fdl_fail(FEEDLINE_EINVAL,
                        "out has %" PRIu64 " bytes, but %" PRId32
                        " channels of %" PRId32 "x%" PRId32
                        " with elements of %" PRIu32 " take %" PRIu64,
                        image->out_bytes, c, w, h, element, bytes);
    bool is_placed = image->out || fdl_recorded_is_bytes(image);
    if (!is_placed || (uintptr_t)image->out % element != 0)
        return fdl_fail(FEEDLINE_EINVAL, "out is %s",
                        is_placed ? "not aligned to an element" : "NULL");
    return FEEDLINE_OK;
}

bool fdl_recorded_is_bytes(const struct feedline_recorded_image *image)
{
    return image->dtype == FEEDLINE_U8 && image->nhwc &&
           fdl_recorded_element(image) == 1;
}

int32_t fdl_recorded_check(const struct feedline_recorded_image *image)
{
    if (image->struct_size < sizeof(*image))
        return fdl_fail(FEEDLINE_EINVAL,
                        "struct_size of the image is %" PRIu32
                        ", less than %zu: set it to sizeof",
                        image->struct_size, sizeof(*image));
    if (image->n_steps > FEEDLINE_RECORDED_STEPS_MAX)
        return fdl_fail(FEEDLINE_ERANGE,
                        "%" PRIu32 " steps; an image has %d at most",
                        image->n_steps, FEEDLINE_RECORDED_STEPS_MAX);
    if (image->n_steps > 0 && !image->steps)
        return fdl_fail(FEEDLINE_EINVAL, "steps is NULL");
    int32_t status = check_output(image);
    if (!status)
        status = check_steps(image);
    if (!status && image->canvas)
        status = fdl_recorded_check_canvas(image->canvas);
    return status || !image->pipeline ? status
                                      : fdl_recorded_check_draws(image);
}
