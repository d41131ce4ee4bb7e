/* SPDX-License-Identifier: Apache-2.0 */
/* What a step may say, as a table, and what a program may be. */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/plan/adjust.h"
#include "decode/plan/blur.h"
#include "decode/recorded_image.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

/* Which kind of step may follow which: numbers never fall. */
enum group { OF_PIXELS, TO_ELEMENTS, ON_FLOATS, OF_ELEMENTS };

struct value_rule {
    const char *name;
    bool whole;
    double low, high;
};

#define VALUES_MAX FEEDLINE_STEP_VALUES

struct op_rule {
    const char *name; /* NULL: there is no such operation */
    enum group group;
    bool data;                           /* it has some */
    uint32_t least, most;                /* values */
    struct value_rule value[VALUES_MAX]; /* the last named one is for all that
                                            follow */
};

#define COEFFICIENT_MAX 1e9
#define SIDE(text)                                                             \
  {                                                                            \
    text, true, 1, FDL_OP_SIDE_MAX                                             \
  }
#define PLACE(text)                                                            \
  {                                                                            \
    text, true, -FDL_OP_SIDE_MAX, FDL_OP_SIDE_MAX                              \
  }
#define POINT(text)                                                            \
  {                                                                            \
    text, false, 0, FDL_OP_SIDE_MAX                                            \
  }
#define FACTOR(text)                                                           \
  {                                                                            \
    text, false, -FDL_FACTOR_MAX, FDL_FACTOR_MAX                               \
  }
#define COEFFICIENT                                                            \
  {                                                                            \
    "a coefficient", false, -COEFFICIENT_MAX, COEFFICIENT_MAX                  \
  }
#define FILL                                                                   \
  {                                                                            \
    "fill", true, 0, 255                                                       \
  }
#define NUMBER(text)                                                           \
  {                                                                            \
    text, false, -HUGE_VAL, HUGE_VAL                                           \
  }
#define RULE(op, ...) [FEEDLINE_STEP_##op] = {.name = #op, __VA_ARGS__}

#define FACTOR_RULE(op)                                                        \
  RULE(op, .least = 1, .most = 1, .value = {FACTOR("the factor")})

static const struct op_rule rules[] = {
    RULE(CONVERT, .least = 1, .most = 1, .value = {{"channels", true, 1, 4}}),
    RULE(CROP, .least = 4, .most = 4,
         .value = {PLACE("left"), PLACE("top"), PLACE("right"),
                   PLACE("bottom")}),
    RULE(RESIZE, .least = 3, .most = 7,
         .value = {SIDE("width"),
                   SIDE("height"),
                   {"filter", true, 0, 5},
                   POINT("left"),
                   POINT("top"),
                   POINT("right"),
                   POINT("bottom")}),
    RULE(TRANSPOSE, .least = 1, .most = 1,
         .value = {{"its number", true, 0, 6}}),
    RULE(SCALE, .group = TO_ELEMENTS),
    RULE(NORMALIZE, .group = ON_FLOATS, .least = 2, .most = 8,
         .value = {NUMBER("a mean or std")}),
    RULE(LOOKUP, .group = TO_ELEMENTS, .data = true),
};

const char *fdl_recorded_name(uint32_t op)
{
    return rules[op].name;
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
    if (!isfinite(value))
        return fdl_fail(FEEDLINE_EINVAL, "%s is %g", rule->name, value);
    if (rule->whole && value != floor(value))
        return fdl_fail(FEEDLINE_EINVAL, "%s is %g, which is not whole",
                        rule->name, value);
    if (value < rule->low || value > rule->high)
        return fdl_fail(FEEDLINE_ERANGE, "%s is %g; it is from %g to %g",
                        rule->name, value, rule->low, rule->high);
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
    case FEEDLINE_STEP_NORMALIZE:
        return check_normalize(image, step);
    case FEEDLINE_STEP_LOOKUP:
        return check_lookup(image, step);
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
    if (!lookup && scale == (image->dtype == FEEDLINE_U8))
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
    if (!image->out || (uintptr_t)image->out % element != 0)
        return fdl_fail(FEEDLINE_EINVAL, "out is %s",
                        image->out ? "not aligned to an element" : "NULL");
    return FEEDLINE_OK;
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
    return status ? status : check_steps(image);
}
