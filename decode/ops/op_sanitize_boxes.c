/* SPDX-License-Identifier: Apache-2.0 */
/* torchvision v2's SanitizeBoundingBoxes: objects are dropped whose box is too
 * small or reaches out of the image. */
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"

enum { ROW_MIN_SIZE, ROW_MIN_AREA, ROWS };

#define LEAST(key, about) FDL_OP_DOUBLE(key, 1, 1e12, "1", "pixels", about)

static const struct fdl_option options[ROWS] = {
    [ROW_MIN_SIZE] = LEAST("min_size", "smallest width and height of a box"),
    [ROW_MIN_AREA] = LEAST("min_area", "smallest area of a box"),
};

struct bounds {
    float size, area, width, height;
};

static bool is_good(const float b[4], const void *arg)
{
    const struct bounds *k = arg;
    float w = b[2] - b[0], h = b[3] - b[1];
    return w >= k->size && h >= k->size && w * h >= k->area && b[0] >= 0 &&
           b[1] >= 0 && b[2] <= k->width && b[3] <= k->height;
}

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    (void)rng;
    struct bounds k = {(float)fdl_option_double(o, ROW_MIN_SIZE),
                       (float)fdl_option_double(o, ROW_MIN_AREA),
                       (float)fdl_plan_width(plan),
                       (float)fdl_plan_height(plan)};
    if (plan->objects)
        fdl_objects_keep(plan->objects, is_good, &k);
    return FEEDLINE_OK;
}

const struct fdl_op fdl_op_sanitize_boxes = {
    .name = "sanitize_boxes",
    .help = "drop objects whose box is too small or reaches outside the image",
    .objects = true,
    .options = options,
    .n_options = ROWS,
    .plan = plan,
};
