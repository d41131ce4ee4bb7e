/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision v2's RandomIoUCrop, as in SSD: a random crop that has the middle
 * of some box inside and overlaps one of these by at least a drawn share. Boxes
 * with their middle outside become empty; sanitize_boxes drops them.
 *
 * torchvision draws until a crop is found or the image is to stay; with no box
 * in sight that may take forever, so here it stays after many rounds, too.
 */
#include "decode/ops/op.h"

#include "base/compiler.h"
#include "decode/ops/shared_options.h"

enum { ROW_SCALE, ROW_RATIO, ROW_OVERLAPS, ROW_TRIALS, ROWS };

/* With the default overlaps fewer do in all but one of 10^13 images. */
#define ROUNDS 200

static const struct fdl_option options[ROWS] = {
    [ROW_SCALE] = FDL_OP_RANGE("scale", 1e-6, 1, "0.3:1",
                               "range of the crop's share of each side"),
    [ROW_RATIO] = FDL_OP_RANGE("ratio", 1e-3, 1e3, "0.5:2",
                               "range of the crop's width / height"),
    [ROW_OVERLAPS] =
        FDL_OP_DOUBLES("overlaps", 0, 1e3, "0:0.1:0.3:0.5:0.7:0.9:1", "",
                       "minimum intersection over union of the crop "
                       "and a box, one drawn per sample; 1 or more: "
                       "no crop",
                       NULL),
    [ROW_TRIALS] = FDL_OP_INT("trials", 1, 10000, "40", "",
                              "crops to try before another overlap is drawn"),
};

/* False: not of a permitted shape. */
static bool draw_box(const struct fdl_options *o, struct fdl_rng *rng,
                     const struct fdl_plan *plan, struct fdl_box *out)
{
    const double *scale = fdl_option_value(o, ROW_SCALE)->doubles;
    const double *ratio = fdl_option_value(o, ROW_RATIO)->doubles;
    int32_t width = fdl_plan_width(plan), height = fdl_plan_height(plan);
    out->width = (int32_t)(width * fdl_op_draw(rng, scale[0], scale[1]));
    out->height = (int32_t)(height * fdl_op_draw(rng, scale[0], scale[1]));
    double shape = (double)out->width / out->height;
    if (out->width < 1 || out->height < 1 || shape < ratio[0] ||
        shape > ratio[1])
        return false;
    out->x = (int32_t)((width - out->width) * fdl_rng_uniform(rng));
    out->y = (int32_t)((height - out->height) * fdl_rng_uniform(rng));
    return true;
}

static bool has_middle(const float b[4], const struct fdl_box *crop)
{
    float x = 0.5f * (b[0] + b[2]), y = 0.5f * (b[1] + b[3]);
    return (float)crop->x < x && x < (float)(crop->x + crop->width) &&
           (float)crop->y < y && y < (float)(crop->y + crop->height);
}

static float overlap(const float b[4], const struct fdl_box *crop)
{
    float right = (float)(crop->x + crop->width);
    float bottom = (float)(crop->y + crop->height);
    float w = FDL_MIN(b[2], right) - FDL_MAX(b[0], (float)crop->x);
    float h = FDL_MIN(b[3], bottom) - FDL_MAX(b[1], (float)crop->y);
    float both = FDL_MAX(w, 0) * FDL_MAX(h, 0);
    float area = (b[2] - b[0]) * (b[3] - b[1]);
    return both / (area + (float)crop->width * (float)crop->height - both);
}

static bool suits(const struct fdl_objects *objects, const struct fdl_box *crop,
                  float least)
{
    for (uint32_t i = 0; i < objects->n; i++) {
        const float *b = objects->boxes + 4 * i;
        if (has_middle(b, crop) && overlap(b, crop) >= least)
            return true;
    }
    return false;
}

/* False: the image stays. */
static bool draw(const struct fdl_options *o, struct fdl_rng *rng,
                 const struct fdl_plan *plan, struct fdl_box *out)
{
    const struct fdl_option_value *overlaps = fdl_option_value(o, ROW_OVERLAPS);
    bool any = plan->objects && plan->objects->n > 0;
    for (uint32_t round = 0; any && round < ROUNDS; round++) {
        uint32_t which = fdl_rng_below(rng, overlaps->n_doubles);
        double least = overlaps->doubles[which];
        if (least >= 1)
            return false;
        for (int64_t i = 0; i < fdl_option_int(o, ROW_TRIALS); i++)
            if (draw_box(o, rng, plan, out) &&
                suits(plan->objects, out, (float)least))
                return true;
    }
    return false;
}

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    struct fdl_objects *objects = plan->objects;
    struct fdl_box box;
    bool done = draw(o, rng, plan, &box);
    fdl_note_bool(plan, "done", done);
    if (!done)
        return FEEDLINE_OK;
    fdl_note_box(plan, &box);
    for (uint32_t i = 0; i < objects->n; i++)
        if (!has_middle(objects->boxes + 4 * i, &box))
            fdl_objects_void(objects, i);
    fdl_plan_crop(plan, box); /* empty ones stay at 0 */
    return FEEDLINE_OK;
}

const struct fdl_op fdl_op_random_iou_crop = {
    .name = "random_iou_crop",
    .help = "SSD's crop, which overlaps a box of the sample by at least a "
            "drawn amount",
    .objects = true,
    .options = options,
    .n_options = ROWS,
    .plan = plan,
    .output_size = fdl_op_any_size,
};
