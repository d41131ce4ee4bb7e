/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timm's AutoAugment, RandAugment and AugMix, from timm's own configuration
 * text. Each operation may be skipped, has its level drawn around the given
 * one, and its filter, too, if that is "random".
 */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/ops/augment.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"
#include "decode/ops/timm_config.h"
#include "decode/plan/branches.h"

#include <math.h>

enum { ROW_CONFIG, ROW_INTERPOLATION, ROW_FILL, ROW_TRANSLATE, ROWS };

#define RANDOM_FILTER 0 /* of the choices; then those of enum fdl_map_filter */

static const struct fdl_option options[ROWS] = {
    [ROW_CONFIG] = {.name = "config",
                    .type = FEEDLINE_T_STRING,
                    .default_text = "rand-m9-mstd0.5-inc1",
                    .unit = "",
                    .help = "timm's policy string: rand, augmix, original, "
                            "originalr, v0, v0r or 3a, then, joined by dashes, "
                            "m9 n2 p0.5 mstd0.5 mmax10 inc1 tweights, and for "
                            "augmix w3 d2"},
    [ROW_INTERPOLATION] = FDL_OP_ENUM(
        "interpolation", "random|nearest|bilinear|bicubic", "random",
        "filter of geometric operations; random draws bilinear or "
        "bicubic for each"),
    [ROW_FILL] =
        FDL_OP_CHANNELS("fill", 0, 255, "128",
                        "colour outside the image, per channel or one for "
                        "all: timm's img_mean",
                        fdl_fill_check),
    [ROW_TRANSLATE] =
        FDL_OP_DOUBLE("translate_pct", 0, 1, "0.45", "",
                      "shift at level 10, as a fraction of a side"),
};

struct drawing {
    const struct fdl_options *o;
    struct fdl_rng *rng;
    struct fdl_plan *plan;
    struct fdl_timm_config config;
    uint8_t fill[4];
};

/* ---- Levels ------------------------------------------------------------- */

static double draw_level(const struct drawing *d, double level)
{
    double normal[2];
    if (isinf(d->config.deviation)) {
        level *= fdl_rng_uniform(d->rng);
    } else if (d->config.deviation > 0) {
        fdl_rng_normal(d->rng, normal);
        level += d->config.deviation * normal[0];
    }
    return FDL_MIN(FDL_MAX(level, 0), d->config.most);
}

static enum fdl_level_rule rule_of(const struct fdl_timm_config *c,
                                   enum fdl_augment op)
{
    if (c->policy && op == FDL_AUGMENT_POSTERIZE)
        return c->policy->posterize;
    if (c->policy && op == FDL_AUGMENT_GAUSSIAN_BLUR)
        return FDL_LEVEL_BLUR_RAND;
    const struct fdl_level_row *row = &fdl_level_rows[op];
    return c->increasing ? row->increasing : row->rule;
}

static double within(double low, double high, double part)
{
    return FDL_MAX(low, FDL_MIN(high, low + (high - low) * part));
}

static double either_way(const struct drawing *d, double x)
{
    return fdl_rng_below(d->rng, 2) ? -x : x;
}

/* Each in timm's order of arithmetic. */
static double argument_of(const struct drawing *d, enum fdl_augment op,
                          double level)
{
    double part = level / 10.0, most = fdl_level_rows[op].most;
    switch (rule_of(&d->config, op)) {
    case FDL_LEVEL_SIGNED:
        return either_way(d, part * most);
    case FDL_LEVEL_TRANSLATE:
        return either_way(d, part * fdl_option_double(d->o, ROW_TRANSLATE));
    case FDL_LEVEL_FACTOR:
        return part * 1.8 + 0.1;
    case FDL_LEVEL_FACTOR_INCREASING:
        return FDL_MAX(0.1, 1.0 + either_way(d, part * 0.9));
    case FDL_LEVEL_BITS:
        return trunc(part * most);
    case FDL_LEVEL_BITS_INCREASING:
        return most - trunc(part * most);
    case FDL_LEVEL_BITS_ORIGINAL:
        return trunc(part * most) + most;
    case FDL_LEVEL_THRESHOLD:
        return FDL_MIN(most, trunc(part * most));
    case FDL_LEVEL_THRESHOLD_INCREASING:
        return most - FDL_MIN(most, trunc(part * most));
    case FDL_LEVEL_ADDEND:
        return FDL_MIN(128, trunc(part * most));
    case FDL_LEVEL_GRAY:
        return within(0.5, most, part);
    case FDL_LEVEL_BLUR:
        return within(0.1, most, part);
    case FDL_LEVEL_BLUR_RAND:
        return fdl_op_draw(d->rng, 0.1, most * within(0, 1, part));
    default:
        return 0;
    }
}

static enum fdl_map_filter draw_filter(const struct drawing *d)
{
    int64_t choice = fdl_option_int(d->o, ROW_INTERPOLATION);
    if (choice == RANDOM_FILTER)
        return fdl_rng_below(d->rng, 2) ? FDL_MAP_BICUBIC : FDL_MAP_BILINEAR;
    return (enum fdl_map_filter)(choice - 1);
}

static int32_t add(const struct drawing *d, enum fdl_augment op,
                   double probability, double level)
{
    if (!(fdl_rng_uniform(d->rng) < probability))
        return FEEDLINE_OK;
    struct fdl_augmentation a = {.op = op};
    a.magnitude = argument_of(d, op, draw_level(d, level));
    a.filter = draw_filter(d);
    return fdl_plan_augmentation(d->plan, FDL_TIMM, &a, d->fill);
}

/* ---- Choosing ----------------------------------------------------------- */

/* One of those that are left, by their weights, which are `sum` together. */
static uint32_t choose(struct fdl_rng *rng, const struct fdl_choice_set *set,
                       uint32_t taken, double sum)
{
    double at = fdl_rng_uniform(rng) * sum;
    uint32_t last = 0;
    for (uint32_t i = 0; i < set->n; i++) {
        if (taken >> i & 1)
            continue;
        last = i;
        at -= set->choices[i].weight;
        if (at < 0)
            break;
    }
    return last;
}

static int32_t add_chosen(const struct drawing *d, uint32_t layers)
{
    const struct fdl_timm_config *c = &d->config;
    double sum = 0;
    uint32_t taken = 0;
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; i < c->set->n; i++)
        sum += c->set->choices[i].weight;
    for (uint32_t n = 0; n < layers && !status; n++) {
        uint32_t i = choose(d->rng, c->set, taken, sum);
        if (c->set->weighted) {
            taken |= 1u << i;
            sum -= c->set->choices[i].weight;
        }
        status = add(d, c->set->choices[i].op, c->probability, c->magnitude);
    }
    return status;
}

static int32_t add_pair(const struct drawing *d)
{
    const struct fdl_policy *p = d->config.policy;
    const struct fdl_policy_part *pair = p->pairs[fdl_rng_below(d->rng, p->n)];
    int32_t status = FEEDLINE_OK;
    for (int i = 0; i < 2 && !status; i++)
        status = add(d, (enum fdl_augment)pair[i].op, pair[i].tenths / 10.0,
                     pair[i].level);
    return status;
}

/* Weights and share are evenly distributed, as timm has them unless asked:
 * Dirichlet's and the beta distribution of 1. Each goes by float32. */
static int32_t add_branches(const struct drawing *d)
{
    const struct fdl_timm_config *c = &d->config;
    double weights[FDL_AUGMENT_OPS_MAX], sum = 0;
    float share = (float)fdl_rng_uniform(d->rng);
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; i < c->branches; i++)
        sum += weights[i] = -log(1 - fdl_rng_uniform(d->rng));
    fdl_plan_branch(d->plan);
    for (uint32_t i = 0; i < c->branches && !status; i++) {
        struct fdl_branch_end e = {.weight = (float)(weights[i] / sum),
                                   .first = i == 0,
                                   .last = i == c->branches - 1,
                                   .share = share};
        uint32_t layers = c->layers;
        status = add_chosen(d, layers ? layers : 1 + fdl_rng_below(d->rng, 3));
        fdl_plan_branch_end(d->plan, &e);
        fdl_note_op(d->plan, "mix_in");
        fdl_note_double(d->plan, "weight", (double)e.weight);
        fdl_note_double(d->plan, "share", (double)share);
        fdl_note_op_end(d->plan);
    }
    return status;
}

/* ---- The operation ------------------------------------------------------ */

static struct fdl_timm_config config_of(const struct fdl_options *o)
{
    struct fdl_timm_config c = {0};
    (void)fdl_timm_parse(fdl_option_text(o, ROW_CONFIG), &c); /* checked */
    return c;
}

static int32_t check(const struct fdl_options *o)
{
    struct fdl_timm_config c;
    return fdl_timm_parse(fdl_option_text(o, ROW_CONFIG), &c);
}

static uint32_t steps(const struct fdl_options *o)
{
    struct fdl_timm_config c = config_of(o);
    if (c.branches)
        return FDL_STEPS_BRANCHING +
               c.branches * (FDL_STEPS_OF_BRANCH + (c.layers ? c.layers : 3));
    return c.set ? c.layers : 2;
}

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    struct drawing d = {
        .o = o, .rng = rng, .plan = plan, .config = config_of(o)};
    struct fdl_objects *objects = plan->objects;
    int32_t status;
    fdl_fill_of(o, ROW_FILL, d.fill);
    /* What AugMix moves is still there as it was: masks and objects stay. */
    if (d.config.branches && plan->mask.on)
        return FEEDLINE_OK;
    fdl_note_list(plan, "ops");
    if (d.config.branches) {
        plan->objects = NULL;
        status = add_branches(&d);
        plan->objects = objects;
    } else {
        status = d.config.set ? add_chosen(&d, d.config.layers) : add_pair(&d);
    }
    fdl_note_list_end(plan);
    return status;
}

const struct fdl_op fdl_op_timm_augment = {
    .name = "timm_augment",
    .help =
        "timm's RandAugment, AutoAugment and AugMix, by timm's policy string",
    .pixels = true,
    .maps = true,
    .options = options,
    .n_options = ROWS,
    .check = check,
    .check_channels = fdl_op_refuse_alpha,
    .steps = steps,
    .plan = plan,
};
