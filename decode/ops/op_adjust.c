/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brightness, contrast, saturation and hue by a factor that is fixed or drawn
 * evenly from a range: what torchvision's ColorJitter does for one of its
 * arguments, and its adjust_* functions for a number.
 */
#include "base/status.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"
#include "decode/plan/adjust.h"

enum { ROW_FACTOR, ROW_PIXELS, ROWS };

static int32_t check(const struct fdl_options *o, uint32_t row)
{
    const struct fdl_option_value *v = fdl_option_value(o, row);
    if (v->n_doubles > 2 ||
        (v->n_doubles == 2 && v->doubles[0] > v->doubles[1]))
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: factor takes one number, or two, the smaller one "
                        "first",
                        o->scope);
    return FEEDLINE_OK;
}

#define FACTOR(low, high, text, about)                                         \
  {                                                                            \
    [ROW_FACTOR] =                                                             \
        FDL_OP_DOUBLES("factor", low, high, text, "",                          \
                       about ", or the range it is drawn from", check),        \
    [ROW_PIXELS] = FDL_OP_PIXELS                                               \
  }

static const struct fdl_option factor_options[ROWS] =
    FACTOR(0, FDL_FACTOR_MAX, "1", "1: unchanged; 0: removed entirely");
static const struct fdl_option shift_options[ROWS] =
    FACTOR(-0.5, 0.5, "0", "rotation of the hue, in turns");

static int32_t plan_one(const struct fdl_options *o, struct fdl_rng *rng,
                        struct fdl_plan *plan, enum fdl_adjust which)
{
    const struct fdl_option_value *v = fdl_option_value(o, ROW_FACTOR);
    double factor = v->doubles[0];
    if (v->n_doubles == 2)
        factor = fdl_op_draw(rng, factor, v->doubles[1]);
    fdl_note_double(plan, "factor", factor);
    struct fdl_adjust_step a = {
        .n = 1, .order = {which}, .tensor = fdl_option_int(o, ROW_PIXELS) != 0};
    a.factor[which] = factor;
    fdl_plan_adjust(plan, &a);
    return FEEDLINE_OK;
}

#define ADJUST(op, which, rows, channels, about)                               \
  static int32_t plan_##op(const struct fdl_options *o, struct fdl_rng *rng,   \
                           struct fdl_plan *plan)                              \
  {                                                                            \
    return plan_one(o, rng, plan, which);                                      \
  }                                                                            \
  const struct fdl_op fdl_op_##op = {                                          \
      .name = #op,                                                             \
      .help = about,                                                           \
      .pixels = true,                                                          \
      .options = rows,                                                         \
      .n_options = ROWS,                                                       \
      .check_channels = channels,                                              \
      .plan = plan_##op,                                                       \
  };

ADJUST(brightness, FDL_ADJUST_BRIGHTNESS, factor_options, NULL,
       "towards black, or away from it")
ADJUST(contrast, FDL_ADJUST_CONTRAST, factor_options, NULL,
       "towards the mean gray of the image, or away from it")
ADJUST(saturation, FDL_ADJUST_SATURATION, factor_options, NULL,
       "towards the gray of each pixel, or away from it")
ADJUST(hue, FDL_ADJUST_HUE, shift_options, fdl_op_refuse_alpha,
       "turn every colour round the circle")
