/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's RandomApply, RandomChoice and RandomOrder: operations that draw
 * which of those that follow are done (decode/nesting.h).
 */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"

#include <inttypes.h>

enum { ROW_WEIGHTS = FDL_GATE_COUNT + 1 };

#define COUNT(low, text, about)                                                \
  FDL_OP_INT("count", low, FDL_PIPELINE_OPS - 1, text, "", about)

static const struct fdl_option apply_options[] = {
    [FDL_GATE_COUNT] = COUNT(
        0, "1", "following operations that are applied together or not at all"),
    [FDL_GATE_P] = FDL_OP_PROBABILITY("0.5", "they are applied"),
};

static const struct fdl_option choice_options[] = {
    [FDL_GATE_COUNT] =
        COUNT(1, "2", "following operations, of which one is applied"),
    [ROW_WEIGHTS] = FDL_OP_DOUBLES("weights", 0, 1e6, "1", "",
                                   "relative probability of each", NULL),
};

static const struct fdl_option order_options[] = {
    [FDL_GATE_COUNT] =
        COUNT(1, "2", "following operations, applied in a random order"),
};

static uint32_t choose_all(const struct fdl_options *o, struct fdl_rng *rng,
                           const struct fdl_plan *plan, uint32_t *chosen)
{
    uint32_t n = (uint32_t)fdl_option_int(o, FDL_GATE_COUNT);
    bool done = fdl_rng_uniform(rng) < fdl_option_double(o, FDL_GATE_P);
    fdl_note_bool(plan, "done", done);
    for (uint32_t i = 0; i < n; i++)
        chosen[i] = i;
    return done ? n : 0;
}

static double sum_of(const struct fdl_option_value *weights)
{
    double sum = 0;
    for (uint32_t i = 0; i < weights->n_doubles; i++)
        sum += weights->doubles[i];
    return sum;
}

static int32_t check_choice(const struct fdl_options *o)
{
    const struct fdl_option_value *v = fdl_option_value(o, ROW_WEIGHTS);
    int64_t n = fdl_option_int(o, FDL_GATE_COUNT);
    if (v->n_doubles != 1 && v->n_doubles != n)
        return fdl_fail(FEEDLINE_EINVAL,
                        "random_choice: weights has %" PRIu32
                        " numbers for %" PRId64
                        " operations; give 1 or %" PRId64,
                        v->n_doubles, n, n);
    if (sum_of(v) <= 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "random_choice: weights are all 0, so that none of "
                        "the operations can be chosen");
    return FEEDLINE_OK;
}

static uint32_t choose_one(const struct fdl_options *o, struct fdl_rng *rng,
                           const struct fdl_plan *plan, uint32_t *chosen)
{
    const struct fdl_option_value *v = fdl_option_value(o, ROW_WEIGHTS);
    uint32_t n = (uint32_t)fdl_option_int(o, FDL_GATE_COUNT), i = 0;
    if (v->n_doubles == 1) {
        i = fdl_rng_below(rng, n);
    } else {
        double left = fdl_rng_uniform(rng) * sum_of(v);
        for (uint32_t k = 0; k < n && left >= 0; k++) {
            if (v->doubles[k] > 0)
                i = k;
            left -= v->doubles[k];
        }
    }
    fdl_note_int(plan, "choice", i);
    chosen[0] = i;
    return 1;
}

static uint32_t choose_order(const struct fdl_options *o, struct fdl_rng *rng,
                             const struct fdl_plan *plan, uint32_t *chosen)
{
    uint32_t n = (uint32_t)fdl_option_int(o, FDL_GATE_COUNT);
    fdl_op_draw_order(rng, n, chosen);
    fdl_note_list(plan, "order");
    for (uint32_t i = 0; i < n; i++)
        fdl_note_int(plan, NULL, chosen[i]);
    fdl_note_list_end(plan);
    return n;
}

const struct fdl_op fdl_op_random_apply = {
    .name = "random_apply",
    .help = "the operations that follow, or none of them",
    .options = apply_options,
    .n_options = FDL_COUNT_OF(apply_options),
    .decides = FDL_DECIDES_WHETHER,
    .choose = choose_all,
};

const struct fdl_op fdl_op_random_choice = {
    .name = "random_choice",
    .help = "one of the operations that follow",
    .options = choice_options,
    .n_options = FDL_COUNT_OF(choice_options),
    .check = check_choice,
    .decides = FDL_DECIDES_WHICH,
    .choose = choose_one,
};

const struct fdl_op fdl_op_random_order = {
    .name = "random_order",
    .help = "the operations that follow, in a random order",
    .options = order_options,
    .n_options = FDL_COUNT_OF(order_options),
    .decides = FDL_DECIDES_ORDER,
    .choose = choose_order,
};
