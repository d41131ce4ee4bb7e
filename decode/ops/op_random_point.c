/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's RandomInvert, RandomPosterize, RandomSolarize,
 * RandomAutocontrast, RandomEqualize and RandomAdjustSharpness: an operation
 * with a fixed argument, or nothing.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"
#include "decode/plan/adjust.h"
#include "decode/plan/point.h"
#include "decode/plan/sharpness.h"

enum { ROW_P, ROW_ARGUMENT, ROW_SHARPNESS_PIXELS };
enum { ROW_PIXELS = ROW_ARGUMENT };

#define P FDL_OP_PROBABILITY("0.5", "the operation is applied")

static const struct fdl_option alone[] = {[ROW_P] = P};

static const struct fdl_option autocontrast_options[] = {
    [ROW_P] = P,
    [ROW_PIXELS] = FDL_OP_PIXELS,
};

static const struct fdl_option posterize_options[] = {
    [ROW_P] = P,
    [ROW_ARGUMENT] = FDL_OP_INT("bits", 0, 8, "4", "bits",
                                "bits to keep of each value; 0: black"),
};

static const struct fdl_option solarize_options[] = {
    [ROW_P] = P,
    [ROW_ARGUMENT] = FDL_OP_DOUBLE("threshold", 0, 256, "128", "",
                                   "invert values at or above this"),
};

static const struct fdl_option sharpness_options[] = {
    [ROW_P] = P,
    [ROW_ARGUMENT] =
        FDL_OP_DOUBLE("sharpness_factor", 0, FDL_FACTOR_MAX, "2", "",
                      "1: unchanged; 0: smoothed; above 1: sharpened"),
    [ROW_SHARPNESS_PIXELS] = FDL_OP_PIXELS,
};

static bool draw(const struct fdl_options *o, struct fdl_rng *rng,
                 const struct fdl_plan *plan)
{
    bool done = fdl_rng_uniform(rng) < fdl_option_double(o, ROW_P);
    fdl_note_bool(plan, "done", done);
    return done;
}

static int32_t plan_sharpness(const struct fdl_options *o, struct fdl_rng *rng,
                              struct fdl_plan *plan)
{
    if (draw(o, rng, plan))
        fdl_plan_sharpness(plan, fdl_option_int(o, ROW_SHARPNESS_PIXELS) != 0,
                           fdl_option_double(o, ROW_ARGUMENT));
    return FEEDLINE_OK;
}

#define PLAN(op, which, argument)                                              \
  static int32_t plan_##op(const struct fdl_options *o, struct fdl_rng *rng,   \
                           struct fdl_plan *plan)                              \
  {                                                                            \
    if (draw(o, rng, plan))                                                    \
      fdl_plan_point(plan, which, argument);                                   \
    return FEEDLINE_OK;                                                        \
  }

PLAN(invert, FDL_POINT_INVERT, 0)
PLAN(posterize, FDL_POINT_POSTERIZE, (double)fdl_option_int(o, ROW_ARGUMENT))
PLAN(solarize, FDL_POINT_SOLARIZE, fdl_option_double(o, ROW_ARGUMENT))
PLAN(autocontrast,
     fdl_option_int(o, ROW_PIXELS) ? FDL_POINT_AUTOCONTRAST_TENSOR
                                   : FDL_POINT_AUTOCONTRAST,
     0)
PLAN(equalize, FDL_POINT_EQUALIZE, 0)

/* Pillow has the point operations for images without alpha only. */
#define OP(op, planner, rows, channels, about)                                 \
  const struct fdl_op fdl_op_##op = {                                          \
      .name = #op,                                                             \
      .help = about,                                                           \
      .pixels = true,                                                          \
      .options = rows,                                                         \
      .n_options = FDL_COUNT_OF(rows),                                         \
      .check_channels = channels,                                              \
      .plan = planner,                                                         \
  };

OP(random_invert, plan_invert, alone, fdl_op_refuse_alpha,
   "every value from the other end of the scale, at random")
OP(random_posterize, plan_posterize, posterize_options, fdl_op_refuse_alpha,
   "fewer bits per value, at random")
OP(random_solarize, plan_solarize, solarize_options, fdl_op_refuse_alpha,
   "values from a threshold on are inverted, at random")
OP(random_autocontrast, plan_autocontrast, autocontrast_options,
   fdl_op_refuse_alpha,
   "each channel is stretched to the whole scale, at random")
OP(random_equalize, plan_equalize, alone, fdl_op_refuse_alpha,
   "each channel gets an even histogram, at random")
OP(random_adjust_sharpness, plan_sharpness, sharpness_options, NULL,
   "sharper, or smoothed, at random")
