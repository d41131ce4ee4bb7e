/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision v2's resampling to a size that is drawn, with the shape kept:
 * ScaleJitter in float32 as torch computes it, RandomShortestSize and
 * RandomResize. Samples have different sizes unless a crop follows.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"

#include <inttypes.h>

#define SIDE(key, text, low, about)                                            \
  FDL_OP_INT(key, low, FDL_OP_SIZE_MAX, text, "pixels", about)

enum {
    JITTER_WIDTH,
    JITTER_HEIGHT,
    JITTER_SCALE,
    JITTER_FILTER,
    JITTER_PIXELS,
    JITTER_ROWS
};
enum {
    SHORTEST_MIN,
    SHORTEST_MAX,
    SHORTEST_FILTER,
    SHORTEST_PIXELS,
    SHORTEST_ROWS
};
enum { RESIZE_MIN, RESIZE_MAX, RESIZE_FILTER, RESIZE_PIXELS, RESIZE_ROWS };

static int32_t check_sizes(const struct fdl_options *o, uint32_t row)
{
    if (fdl_op_are_whole(fdl_option_value(o, row)))
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL, "%s: min_size takes whole numbers",
                    o->scope);
}

static const struct fdl_option jitter_options[JITTER_ROWS] = {
    [JITTER_WIDTH] = FDL_OP_WIDTH("the box that scale 1 fits into"),
    [JITTER_HEIGHT] = FDL_OP_HEIGHT("it"),
    [JITTER_SCALE] =
        FDL_OP_RANGE("scale", 1e-6, 1000, "0.1:2", "range of the scale"),
    [JITTER_FILTER] = FDL_OP_INTERPOLATION,
    [JITTER_PIXELS] = FDL_OP_PIXELS,
};

static const struct fdl_option shortest_options[SHORTEST_ROWS] = {
    [SHORTEST_MIN] = FDL_OP_DOUBLES(
        "min_size", 1, FDL_OP_SIZE_MAX, "224", "pixels",
        "lengths of the shorter side, one drawn per sample", check_sizes),
    [SHORTEST_MAX] =
        SIDE("max_size", "0", 0, "limit for the longer side; 0: none"),
    [SHORTEST_FILTER] = FDL_OP_INTERPOLATION,
    [SHORTEST_PIXELS] = FDL_OP_PIXELS,
};

static const struct fdl_option resize_options[RESIZE_ROWS] = {
    [RESIZE_MIN] = SIDE("min_size", "224", 1, "smallest shorter side"),
    [RESIZE_MAX] = SIDE("max_size", "225", 2,
                        "largest shorter side plus 1, as in torchvision"),
    [RESIZE_FILTER] = FDL_OP_INTERPOLATION,
    [RESIZE_PIXELS] = FDL_OP_PIXELS,
};

static int32_t check_resize(const struct fdl_options *o)
{
    if (fdl_option_int(o, RESIZE_MIN) < fdl_option_int(o, RESIZE_MAX))
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL, "%s: min_size has to be below max_size",
                    o->scope);
}

static int32_t plan_jitter(const struct fdl_options *o, struct fdl_rng *rng,
                           struct fdl_plan *plan)
{
    const double *range = fdl_option_value(o, JITTER_SCALE)->doubles;
    int32_t width, height, w = fdl_plan_width(plan), h = fdl_plan_height(plan);
    fdl_op_fixed_size(o, &width, &height);
    float scale = (float)fdl_op_draw(rng, range[0], range[1]);
    fdl_note_double(plan, "scale", (double)scale);
    double fits = FDL_MIN((double)height / h, (double)width / w);
    float ratio = (float)fits * scale;
    plan->tensor = fdl_option_int(o, JITTER_PIXELS) != 0;
    return fdl_op_resample(o, JITTER_FILTER, rng, plan,
                           (int64_t)((float)w * ratio),
                           (int64_t)((float)h * ratio));
}

static int32_t plan_shortest(const struct fdl_options *o, struct fdl_rng *rng,
                             struct fdl_plan *plan)
{
    const struct fdl_option_value *sizes = fdl_option_value(o, SHORTEST_MIN);
    int32_t w = fdl_plan_width(plan), h = fdl_plan_height(plan);
    double size = sizes->doubles[fdl_rng_below(rng, sizes->n_doubles)];
    double longest = (double)fdl_option_int(o, SHORTEST_MAX);
    fdl_note_int(plan, "min_size", (int64_t)size);
    double ratio = size / FDL_MIN(w, h);
    if (longest > 0)
        ratio = FDL_MIN(ratio, longest / FDL_MAX(w, h));
    plan->tensor = fdl_option_int(o, SHORTEST_PIXELS) != 0;
    return fdl_op_resample(o, SHORTEST_FILTER, rng, plan, (int64_t)(w * ratio),
                           (int64_t)(h * ratio));
}

static int32_t plan_resize(const struct fdl_options *o, struct fdl_rng *rng,
                           struct fdl_plan *plan)
{
    int64_t low = fdl_option_int(o, RESIZE_MIN), width, height;
    int64_t size =
        low +
        fdl_rng_below(rng, (uint32_t)(fdl_option_int(o, RESIZE_MAX) - low));
    fdl_note_int(plan, "size", size);
    fdl_op_shorter_side(size, fdl_plan_width(plan), fdl_plan_height(plan),
                        &width, &height);
    plan->tensor = fdl_option_int(o, RESIZE_PIXELS) != 0;
    return fdl_op_resample(o, RESIZE_FILTER, rng, plan, width, height);
}

const struct fdl_op fdl_op_scale_jitter = {
    .name = "scale_jitter",
    .help = "resample to fit a size, times a random scale",
    .resamples = true,
    .options = jitter_options,
    .n_options = JITTER_ROWS,
    .plan = plan_jitter,
    .output_size = fdl_op_any_size,
};

const struct fdl_op fdl_op_random_shortest_size = {
    .name = "random_shortest_size",
    .help = "resample so that the shorter side is one of several",
    .resamples = true,
    .options = shortest_options,
    .n_options = SHORTEST_ROWS,
    .plan = plan_shortest,
    .output_size = fdl_op_any_size,
};

const struct fdl_op fdl_op_random_resize = {
    .name = "random_resize",
    .help = "resample so that the shorter side is a random one of a range",
    .resamples = true,
    .options = resize_options,
    .n_options = RESIZE_ROWS,
    .check = check_resize,
    .plan = plan_resize,
    .output_size = fdl_op_any_size,
};
