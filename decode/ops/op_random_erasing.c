/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's RandomErasing: one rectangle of random area and shape gets a
 * value, or noise. As in its recipes it comes last, on finished values: behind
 * normalize, 0 is the mean colour. Ten tries to find a rectangle that fits;
 * else nothing is erased.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"

#include <math.h>

enum { ROW_P, ROW_SCALE, ROW_RATIO, ROW_VALUE, ROW_NOISE, ROWS };

#define VALUE_MAX 1e6

static const struct fdl_option options[ROWS] = {
    [ROW_P] = FDL_OP_PROBABILITY("0.5", "something is erased"),
    [ROW_SCALE] = {.name = "scale",
                   .type = FEEDLINE_T_DOUBLES,
                   .double_min = 0,
                   .double_max = 1,
                   .default_text = "0.02:0.33",
                   .unit = "",
                   .help = "range of the rectangle's share of the image"},
    [ROW_RATIO] = {.name = "ratio",
                   .type = FEEDLINE_T_DOUBLES,
                   .double_min = 1e-3,
                   .double_max = 1e3,
                   .default_text = "0.3:3.3",
                   .unit = "",
                   .help = "range of the rectangle's height / width"},
    [ROW_VALUE] = {.name = "value",
                   .type = FEEDLINE_T_DOUBLES,
                   .double_min = -VALUE_MAX,
                   .double_max = VALUE_MAX,
                   .default_text = "0",
                   .unit = "",
                   .help = "of the finished pixels, per channel or one for "
                           "all"},
    [ROW_NOISE] = {.name = "noise",
                   .type = FEEDLINE_T_BOOL,
                   .max = 1,
                   .default_text = "false",
                   .unit = "",
                   .help = "normally distributed values instead of one value "
                           "(\"random\" in torchvision)"},
};

struct erasing {
    struct fdl_box box;
    float value[FDL_CHANNELS_MAX];
    bool noise;
    struct fdl_rng rng;
};

static int32_t check(const struct fdl_options *o)
{
    int32_t status = fdl_op_check_range(o, ROW_SCALE);
    if (!status)
        status = fdl_op_check_range(o, ROW_RATIO);
    return status ? status : fdl_op_check_count(o, ROW_VALUE);
}

static int32_t check_channels(const struct fdl_options *o, int32_t channels)
{
    return fdl_op_check_numbers(o, ROW_VALUE, channels);
}

static void finish(const struct fdl_step *step,
                   const struct fdl_output_format *format, void *dst)
{
    struct erasing e;
    fdl_step_values(step, &e, sizeof(e));
    double pair[2];
    bool spare = false;
    for (int32_t c = 0; c < format->channels; c++) {
        for (int32_t y = e.box.y; y < e.box.y + e.box.height; y++) {
            for (int32_t x = e.box.x; x < e.box.x + e.box.width; x++) {
                float value = e.value[c];
                if (e.noise) {
                    if (!spare)
                        fdl_rng_normal(&e.rng, pair);
                    value = (float)pair[spare];
                    spare = !spare;
                }
                fdl_output_store(format, dst, c, y, x, value);
            }
        }
    }
}

static const struct fdl_step_kind kind = {.finish = finish};

/* false: ten tries were not enough. */
static bool draw_box(const struct fdl_options *o, struct fdl_rng *rng,
                     int32_t width, int32_t height, struct fdl_box *out)
{
    const double *scale = fdl_option_value(o, ROW_SCALE)->doubles;
    const double *ratio = fdl_option_value(o, ROW_RATIO)->doubles;
    double low = log(ratio[0]), high = log(ratio[1]);
    double area = (double)width * height;
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

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    struct erasing e = {.noise = fdl_option_int(o, ROW_NOISE) != 0};
    int32_t width = fdl_plan_width(plan), height = fdl_plan_height(plan);
    bool erases = fdl_rng_uniform(rng) < fdl_option_double(o, ROW_P) &&
                  draw_box(o, rng, width, height, &e.box);
    fdl_note_bool(plan, "erases", erases);
    if (!erases)
        return FEEDLINE_OK;
    fdl_note_box(plan, &e.box);
    for (uint32_t c = 0; c < FDL_CHANNELS_MAX; c++)
        e.value[c] = (float)fdl_op_number(o, ROW_VALUE, c);
    e.rng = *rng;
    fdl_plan_add(plan, &kind, &e, sizeof(e));
    return FEEDLINE_OK;
}

const struct fdl_op fdl_op_random_erasing = {
    .name = "random_erasing",
    .help = "a random rectangle of finished pixels gets a value or noise",
    .finished = true,
    .options = options,
    .n_options = ROWS,
    .check = check,
    .check_channels = check_channels,
    .plan = plan,
};
