/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's RandomErasing: one rectangle of random area and shape gets a
 * value, or noise. As in its recipes it comes last, on finished values: behind
 * normalize, 0 is the mean colour. Ten tries to find a rectangle that fits;
 * else nothing is erased. timm's has several, of a part of the area each, and
 * noise of one colour for a rectangle.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"
#include "decode/plan/erase.h"

#include <math.h>

enum { ROW_P, ROW_SCALE, ROW_RATIO, ROW_VALUE, ROW_NOISE, ROW_COUNT, ROWS };
enum { NOISE_NO, NOISE_PIXELS, NOISE_BOX };

#define VALUE_MAX 1e6
#define COUNT_MAX 8

static const struct fdl_option options[ROWS] = {
    [ROW_P] = FDL_OP_PROBABILITY("0.5", "anything is erased"),
    [ROW_SCALE] = FDL_OP_RANGE("scale", 0, 1, "0.02:0.33",
                               "range of the rectangle's share of the image"),
    [ROW_RATIO] = FDL_OP_RANGE("ratio", 1e-3, 1e3, "0.3:3.3",
                               "range of the rectangle's height / width"),
    [ROW_VALUE] =
        FDL_OP_CHANNELS("value", -VALUE_MAX, VALUE_MAX, "0",
                        "value of the erased pixels, after normalize, "
                        "per channel or one for all",
                        fdl_op_check_count),
    [ROW_NOISE] =
        FDL_OP_SWITCH("noise", "false|true|box", NOISE_BOX, "false",
                      "normally distributed values instead of one value "
                      "(\"random\" in torchvision, \"pixel\" in timm); "
                      "box: one for each rectangle (\"rand\" in timm)"),
    [ROW_COUNT] =
        FDL_OP_INT("count", 1, COUNT_MAX, "1", "",
                   "largest number of rectangles, which share the area"),
};

/* false: ten tries were not enough. */
static bool draw_box(const struct fdl_options *o, struct fdl_rng *rng,
                     double area, int32_t width, int32_t height,
                     struct fdl_box *out)
{
    const double *scale = fdl_option_value(o, ROW_SCALE)->doubles;
    const double *ratio = fdl_option_value(o, ROW_RATIO)->doubles;
    double low = log(ratio[0]), high = log(ratio[1]);
    for (int attempt = 0; attempt < 10; attempt++) {
        double target = area * fdl_op_draw(rng, scale[0], scale[1]);
        double shape = exp(fdl_op_draw(rng, low, high));
        double h = nearbyint(sqrt(target * shape));
        double w = nearbyint(sqrt(target / shape));
        if (!(h < height && w < width))
            continue;
        struct fdl_box box = {.width = (int32_t)w, .height = (int32_t)h};
        fdl_op_draw_place(rng, width, height, &box);
        *out = box;
        return true;
    }
    return false;
}

static void draw_colour(const struct fdl_options *o, struct fdl_rng *rng,
                        struct fdl_erase_step *e)
{
    double pair[2];
    for (uint32_t c = 0; c < FDL_CHANNELS_MAX; c++) {
        if (fdl_option_int(o, ROW_NOISE) != NOISE_BOX) {
            e->value[c] = (float)fdl_op_number(o, ROW_VALUE, c);
            continue;
        }
        if (c % 2 == 0)
            fdl_rng_normal(rng, pair);
        e->value[c] = (float)pair[c % 2];
    }
}

/* Noise of one rectangle goes on with the same stream, which nothing else
 * uses; that of several has one for each. */
static void add(const struct fdl_options *o, struct fdl_rng *rng,
                const struct fdl_box *box, bool alone, struct fdl_plan *plan)
{
    struct fdl_erase_step e = {
        .box = *box, .noise = fdl_option_int(o, ROW_NOISE) == NOISE_PIXELS};
    if (!alone)
        fdl_note_op(plan, "erase");
    fdl_note_box(plan, box);
    if (!alone)
        fdl_note_op_end(plan);
    draw_colour(o, rng, &e);
    e.rng = alone ? *rng : fdl_rng_branch(rng);
    fdl_plan_erase(plan, &e);
}

static int32_t plan_one(const struct fdl_options *o, struct fdl_rng *rng,
                        struct fdl_plan *plan)
{
    struct fdl_box box;
    int32_t width = fdl_plan_width(plan), height = fdl_plan_height(plan);
    bool erases = fdl_rng_uniform(rng) < fdl_option_double(o, ROW_P) &&
                  draw_box(o, rng, (double)width * height, width, height, &box);
    fdl_note_bool(plan, "erases", erases);
    if (erases)
        add(o, rng, &box, true, plan);
    return FEEDLINE_OK;
}

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    uint32_t most = (uint32_t)fdl_option_int(o, ROW_COUNT);
    if (most == 1)
        return plan_one(o, rng, plan);
    int32_t width = fdl_plan_width(plan), height = fdl_plan_height(plan);
    fdl_note_list(plan, "ops");
    if (fdl_rng_uniform(rng) < fdl_option_double(o, ROW_P)) {
        uint32_t n = 1 + fdl_rng_below(rng, most);
        for (uint32_t i = 0; i < n; i++) {
            struct fdl_box box;
            if (draw_box(o, rng, (double)width * height / n, width, height,
                         &box))
                add(o, rng, &box, false, plan);
        }
    }
    fdl_note_list_end(plan);
    return FEEDLINE_OK;
}

static uint32_t steps(const struct fdl_options *o)
{
    return (uint32_t)fdl_option_int(o, ROW_COUNT);
}

const struct fdl_op fdl_op_random_erasing = {
    .name = "random_erasing",
    .help = "overwrite a random rectangle of the finished image with a value "
            "or noise",
    .finished = true,
    .options = options,
    .n_options = ROWS,
    .steps = steps,
    .plan = plan,
};
