/* SPDX-License-Identifier: Apache-2.0 */
/* torchvision's Grayscale with as many channels as before, and RandomGrayscale:
 * every channel becomes Pillow's luma. */
#include "base/compiler.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"
#include "decode/plan/canvas.h"

#include <string.h>

enum { ROW_PIXELS, ROW_P };

static const struct fdl_option always_options[] = {
    [ROW_PIXELS] = FDL_OP_PIXELS,
};

static const struct fdl_option options[] = {
    [ROW_PIXELS] = FDL_OP_PIXELS,
    [ROW_P] = FDL_OP_PROBABILITY("0.1", "the image is converted to gray"),
};

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    bool tensor;
    fdl_step_values(step, &tensor, sizeof(tensor));
    struct fdl_image *image = &c->image;
    size_t plane = image->plane;
    if (image->channels == 1)
        return FEEDLINE_OK;
    uint8_t *r = image->data, *g = r + plane, *b = g + plane;
    fdl_canvas_luma(c, tensor, r);
    memcpy(g, r, plane);
    memcpy(b, r, plane);
    return FEEDLINE_OK;
}

static const struct fdl_step_kind kind = {
    .commutes = FDL_WITH_FLIP | FDL_WITH_CROP,
    .run = run,
};

static void add(const struct fdl_options *o, struct fdl_plan *plan)
{
    bool tensor = fdl_option_int(o, ROW_PIXELS) != 0;
    fdl_plan_add(plan, &kind, &tensor, sizeof(tensor));
}

static int32_t always(const struct fdl_options *o, struct fdl_rng *rng,
                      struct fdl_plan *plan)
{
    (void)rng;
    add(o, plan);
    return FEEDLINE_OK;
}

static int32_t sometimes(const struct fdl_options *o, struct fdl_rng *rng,
                         struct fdl_plan *plan)
{
    bool gray = fdl_rng_uniform(rng) < fdl_option_double(o, ROW_P);
    fdl_note_bool(plan, "gray", gray);
    if (gray)
        add(o, plan);
    return FEEDLINE_OK;
}

const struct fdl_op fdl_op_grayscale = {
    .name = "grayscale",
    .help = "convert to gray, keeping the channels",
    .pixels = true,
    .options = always_options,
    .n_options = FDL_COUNT_OF(always_options),
    .check_channels = fdl_op_refuse_alpha,
    .plan = always,
};

const struct fdl_op fdl_op_random_grayscale = {
    .name = "random_grayscale",
    .help = "convert to gray at random",
    .pixels = true,
    .options = options,
    .n_options = FDL_COUNT_OF(options),
    .check_channels = fdl_op_refuse_alpha,
    .plan = sometimes,
};
