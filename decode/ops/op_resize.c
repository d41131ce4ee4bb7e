/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's Resize with antialias: `size` is the new shorter side and the
 * longer one is truncated, as its int() does; or both sides are given; or, for
 * images that are stored smaller, a bound that no side is to pass.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"

#include <inttypes.h>

enum {
    ROW_SIZE,
    ROW_WIDTH,
    ROW_HEIGHT,
    ROW_INTERPOLATION,
    ROW_LONGEST,
    ROW_PIXELS,
    ROWS
};

#define SIDE(key, about)                                                       \
  FDL_OP_INT(key, 0, FDL_OP_SIZE_MAX, "0", "pixels", about)

static const struct fdl_option options[ROWS] = {
    [ROW_SIZE] =
        SIDE("size", "length of the shorter side; 0: use width and height"),
    [ROW_WIDTH] = SIDE("width", "width, if size is 0"),
    [ROW_HEIGHT] = SIDE("height", "height, if size is 0"),
    [ROW_INTERPOLATION] = FDL_OP_INTERPOLATION,
    [ROW_LONGEST] = SIDE("longest", "limit for the longer side; smaller images "
                                    "are not enlarged; not together with size"),
    [ROW_PIXELS] = FDL_OP_PIXELS,
};

static int32_t check(const struct fdl_options *o)
{
    bool size = fdl_option_int(o, ROW_SIZE) > 0;
    bool width = fdl_option_int(o, ROW_WIDTH) > 0;
    bool height = fdl_option_int(o, ROW_HEIGHT) > 0;
    bool longest = fdl_option_int(o, ROW_LONGEST) > 0;
    if (width != height || size + width + longest != 1)
        return fdl_fail(FEEDLINE_EINVAL, "resize: give either size, or width "
                                         "and height, or longest");
    return FEEDLINE_OK;
}

/* The other side when `side` becomes `size`: exact in a double. */
static int64_t longer(int64_t size, int32_t side, int32_t other)
{
    return (int64_t)((double)(size * other) / side);
}

/* The size that an image of w x h becomes. */
static void target(const struct fdl_options *o, int32_t w, int32_t h,
                   int64_t *width, int64_t *height)
{
    int64_t size = fdl_option_int(o, ROW_SIZE);
    int64_t longest = fdl_option_int(o, ROW_LONGEST);
    *width = fdl_option_int(o, ROW_WIDTH);
    *height = fdl_option_int(o, ROW_HEIGHT);
    if (size > 0) {
        fdl_op_shorter_side(size, w, h, width, height);
    } else if (longest > 0) {
        int64_t side = FDL_MIN(longest, FDL_MAX(w, h));
        *width = w >= h ? side : FDL_MAX(longer(side, h, w), 1);
        *height = w >= h ? FDL_MAX(longer(side, w, h), 1) : side;
    }
}

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    int64_t width, height;
    target(o, fdl_plan_width(plan), fdl_plan_height(plan), &width, &height);
    plan->tensor = fdl_option_int(o, ROW_PIXELS) != 0;
    return fdl_op_resample(o, ROW_INTERPOLATION, rng, plan, width, height);
}

static void output_size(const struct fdl_options *o, int32_t *width,
                        int32_t *height)
{
    int64_t w = 0, h = 0;
    if (fdl_option_int(o, ROW_WIDTH) > 0 || (*width > 0 && *height > 0))
        target(o, *width, *height, &w, &h);
    *width = (int32_t)FDL_MIN(w, FDL_OP_SIDE_MAX);
    *height = (int32_t)FDL_MIN(h, FDL_OP_SIDE_MAX);
}

const struct fdl_op fdl_op_resize = {
    .name = "resize",
    .help = "resample to a size, with antialias",
    .resamples = true,
    .options = options,
    .n_options = ROWS,
    .check = check,
    .plan = plan,
    .output_size = output_size,
};
