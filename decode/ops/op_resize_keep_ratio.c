/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timm's ResizeKeepRatio: between fitting into a size and covering it, then
 * sometimes scaled, sometimes stretched. Rounded as by Python, halves to even.
 */
#include "base/compiler.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"

#include <math.h>

enum {
    ROW_WIDTH,
    ROW_HEIGHT,
    ROW_LONGEST,
    ROW_INTERPOLATION,
    ROW_SCALE_P,
    ROW_SCALE,
    ROW_SCALE_AREA,
    ROW_ASPECT_P,
    ROW_ASPECT,
    ROWS
};

#define PROBABILITY(key, about) FDL_OP_DOUBLE(key, 0, 1, "0", "", about)

static const struct fdl_option options[ROWS] = {
    [ROW_WIDTH] = FDL_OP_WIDTH("the target"),
    [ROW_HEIGHT] = FDL_OP_HEIGHT("the target"),
    [ROW_LONGEST] =
        FDL_OP_DOUBLE("longest", 0, 1, "0", "",
                      "1: fit inside the target; 0: cover the target; "
                      "or a value between"),
    [ROW_INTERPOLATION] = FDL_OP_INTERPOLATION_DRAWN,
    [ROW_SCALE_P] = PROBABILITY("random_scale_prob",
                                "probability of an additional random scale"),
    [ROW_SCALE] = FDL_OP_RANGE("random_scale_range", 1e-3, 1e3, "0.85:1.05",
                               "range of that scale"),
    [ROW_SCALE_AREA] = FDL_OP_BOOL("random_scale_area", "false",
                                   "apply random_scale_range to the area that "
                                   "the target shows, not to the scale"),
    [ROW_ASPECT_P] = PROBABILITY("random_aspect_prob",
                                 "probability of a change of the aspect ratio"),
    [ROW_ASPECT] = FDL_OP_RANGE("random_aspect_range", 1e-3, 1e3, "0.9:1.11",
                                "range of that change, height / width"),
};

/* What a side is multiplied with beyond what the target asks for. */
struct factors {
    double height, width;
};

static struct factors draw(const struct fdl_options *o, struct fdl_rng *rng,
                           const struct fdl_plan *plan)
{
    const double *scale = fdl_option_value(o, ROW_SCALE)->doubles;
    const double *aspect = fdl_option_value(o, ROW_ASPECT)->doubles;
    struct factors f = {1, 1};
    if (fdl_rng_uniform(rng) < fdl_option_double(o, ROW_SCALE_P)) {
        double by = fdl_op_draw(rng, scale[0], scale[1]);
        if (fdl_option_int(o, ROW_SCALE_AREA))
            by = 1 / sqrt(by);
        f = (struct factors){by, by};
    }
    if (fdl_rng_uniform(rng) < fdl_option_double(o, ROW_ASPECT_P)) {
        double by = sqrt(exp(fdl_op_draw(rng, log(aspect[0]), log(aspect[1]))));
        f = (struct factors){f.height / by, f.width * by};
    }
    fdl_note_double(plan, "height_factor", f.height);
    fdl_note_double(plan, "width_factor", f.width);
    return f;
}

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    int32_t width, height;
    fdl_op_fixed_size(o, &width, &height);
    double w = fdl_plan_width(plan), h = fdl_plan_height(plan);
    double longest = fdl_option_double(o, ROW_LONGEST);
    double high = h / height, wide = w / width;
    double ratio =
        FDL_MAX(high, wide) * longest + FDL_MIN(high, wide) * (1 - longest);
    struct factors f = draw(o, rng, plan);
    return fdl_op_resample(o, ROW_INTERPOLATION, rng, plan,
                           (int64_t)nearbyint(w * f.width / ratio),
                           (int64_t)nearbyint(h * f.height / ratio));
}

const struct fdl_op fdl_op_resize_keep_ratio = {
    .name = "resize_keep_ratio",
    .help = "resample to fit or cover a size, keeping the aspect ratio or "
            "nearly so",
    .resamples = true,
    .options = options,
    .n_options = ROWS,
    .plan = plan,
    .output_size = fdl_op_any_size,
};
