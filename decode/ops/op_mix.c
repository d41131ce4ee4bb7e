/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MixUp and CutMix: the one operation that works on whole batches, and so it
 * plans nothing for a sample. The loader does what its arguments say once all
 * samples of a batch are finished (decode/plan/mix.h).
 */
#include "base/status.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"
#include "decode/plan/mix.h"

#define ALPHA_MAX   1e6
#define CLASSES_MAX (1 << 24)

enum {
    ROW_LIKE,
    ROW_MODE,
    ROW_MIXUP_ALPHA,
    ROW_CUTMIX_ALPHA,
    ROW_P,
    ROW_SWITCH_PROB,
    ROW_CUTMIX_MIN,
    ROW_CUTMIX_MAX,
    ROW_CORRECT_LAM,
    ROW_LABEL_SMOOTHING,
    ROW_NUM_CLASSES,
    ROWS
};

#define FIELD(member) FDL_OPTION_FIELD(struct fdl_mix, member)
#define NUMBER(key, most, text, about)                                         \
  {                                                                            \
    .name = #key, .type = FEEDLINE_T_DOUBLE, .double_max = (most),             \
    .default_text = text, .unit = "", .help = about, FIELD(key)                \
  }

static const struct fdl_option options[ROWS] = {
    [ROW_LIKE] = {.name = "like",
                  .type = FEEDLINE_T_ENUM,
                  .default_text = "torchvision",
                  .unit = "",
                  .choices = FDL_CHOICE_TEXT(FDL_MIX_LIKE_CHOICES),
                  .help = "rules to follow: torchvision mixes each image "
                          "with the one before it, timm the first with the "
                          "last",
                  FIELD(like)},
    [ROW_MODE] = {.name = "mode",
                  .type = FEEDLINE_T_ENUM,
                  .default_text = "batch",
                  .unit = "",
                  .choices = FDL_CHOICE_TEXT(FDL_MIX_MODE_CHOICES),
                  .help = "share the draws in a batch, in a pair, or not "
                          "at all; pair and elem need like=timm",
                  FIELD(mode)},
    [ROW_MIXUP_ALPHA] =
        NUMBER(mixup_alpha, ALPHA_MAX, "0",
               "parameter of MixUp's beta distribution; 0: no MixUp"),
    [ROW_CUTMIX_ALPHA] =
        NUMBER(cutmix_alpha, ALPHA_MAX, "0",
               "parameter of CutMix's beta distribution; 0: no CutMix"),
    [ROW_P] = NUMBER(p, 1, "1", "probability that anything is mixed"),
    [ROW_SWITCH_PROB] = NUMBER(switch_prob, 1, "0.5",
                               "probability of CutMix where both may be drawn"),
    [ROW_CUTMIX_MIN] = NUMBER(cutmix_min, 1, "0",
                              "smallest fraction of each side that CutMix "
                              "replaces, with cutmix_max"),
    [ROW_CUTMIX_MAX] = NUMBER(cutmix_max, 1, "0",
                              "largest fraction (timm's cutmix_minmax); 0: "
                              "drawn from the beta distribution"),
    [ROW_CORRECT_LAM] = {.name = "correct_lam",
                         .type = FEEDLINE_T_BOOL,
                         .max = 1,
                         .default_text = "true",
                         .unit = "",
                         .help = "weight targets by the area that CutMix "
                                 "replaced; false, with like=timm: by the "
                                 "area drawn",
                         FIELD(correct_lam)},
    [ROW_LABEL_SMOOTHING] =
        NUMBER(label_smoothing, 1, "0",
               "probability moved from each target to all classes"),
    [ROW_NUM_CLASSES] = {.name = "num_classes",
                         .type = FEEDLINE_T_INT,
                         .flags = FEEDLINE_OPT_AUTO,
                         .min = 1,
                         .max = CLASSES_MAX,
                         .default_text = "auto",
                         .unit = "",
                         .help = "length of a target; auto: that of the data "
                                 "set's labels",
                         FIELD(num_classes)},
};

static int32_t check(const struct fdl_options *o)
{
    struct fdl_mix m;
    fdl_options_fill(o, &m);
    if (m.mixup_alpha == 0 && m.cutmix_alpha == 0 && m.cutmix_max == 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "mix: set mixup_alpha, cutmix_alpha or both");
    if (m.cutmix_min > m.cutmix_max)
        return fdl_fail(FEEDLINE_EINVAL,
                        "mix: cutmix_min=%g is larger than "
                        "cutmix_max=%g",
                        m.cutmix_min, m.cutmix_max);
    if (m.like == FDL_MIX_TIMM)
        return FEEDLINE_OK;
    if (m.mode != FDL_MIX_BATCH || m.cutmix_max > 0 || !m.correct_lam)
        return fdl_fail(FEEDLINE_EINVAL,
                        "mix: torchvision has no mode, cutmix_min, cutmix_max "
                        "or correct_lam; these need like=timm");
    return FEEDLINE_OK;
}

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    (void)o;
    (void)rng;
    (void)plan;
    return FEEDLINE_OK;
}

const struct fdl_op fdl_op_mix = {
    .name = "mix",
    .help = "MixUp and CutMix of the finished images of a batch, with soft "
            "targets (feedline/targets.h)",
    .finished = true,
    .mixes = true,
    .options = options,
    .n_options = ROWS,
    .check = check,
    .plan = plan,
};
