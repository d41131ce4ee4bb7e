/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's FiveCrop and TenCrop: the corners and the middle of an image,
 * and in ten crops those of its mirror image behind them.
 *
 *     0       1        crop 4 in the middle, with center_crop's rounding: a
 *         4            half goes to the even number. The mirror image has its
 *     2       3        own middle, one pixel beside the mirrored one where the
 *                      rounding says so.
 *
 * An image is decoded and resampled once, and its views are windows of that. So
 * ten views of 224 pixels take 2.7 ms of CPU time where one takes 1.3
 * (loaderbench run, 400 images of ImageNet resized to 256, f32, Sapphire
 * Rapids). A view that is planned alone becomes a crop in the geometry, with
 * the same pixels.
 */
#include "decode/ops/op.h"

#include "base/status.h"
#include "decode/ops/shared_options.h"
#include "decode/plan/frame.h"

#include <inttypes.h>
#include <math.h>

#define FIVE 5

enum {
    ROW_WIDTH,
    ROW_HEIGHT,
    FIVE_ROWS,
    ROW_VERTICAL_FLIP = FIVE_ROWS,
    TEN_ROWS
};

/* Five crops have the first two of them. */
static const struct fdl_option options[TEN_ROWS] = {
    [ROW_WIDTH] = FDL_OP_WIDTH("each crop"),
    [ROW_HEIGHT] = FDL_OP_HEIGHT("each crop"),
    [ROW_VERTICAL_FLIP] = FDL_OP_BOOL(
        "vertical_flip", "false", "mirror top to bottom, not left to right"),
};

/* Values of the step. */
struct views {
    int32_t width, height; /* of each */
    bool vertical;
};

static int32_t margin(int32_t whole, int32_t part)
{
    return (int32_t)nearbyint((whole - part) / 2.0);
}

/* Where `view` lies in an image of this size. */
static struct fdl_frame_step frame_of(const struct views *s, uint32_t view,
                                      int32_t width, int32_t height)
{
    int32_t room_x = width - s->width, room_y = height - s->height;
    uint32_t corner = view % FIVE;
    struct fdl_frame_step w = {.box = {.width = s->width, .height = s->height}};
    w.box.x = corner & 1 ? room_x : 0;
    w.box.y = corner & 2 ? room_y : 0;
    if (corner == FIVE - 1) {
        w.box.x = margin(width, s->width);
        w.box.y = margin(height, s->height);
    }
    /* What is cut from the mirror image lies on the other side in this one. */
    w.mirror_x = view >= FIVE && !s->vertical;
    w.mirror_y = view >= FIVE && s->vertical;
    if (w.mirror_x)
        w.box.x = room_x - w.box.x;
    if (w.mirror_y)
        w.box.y = room_y - w.box.y;
    return w;
}

static int32_t run(const struct fdl_step *step, struct fdl_canvas *canvas)
{
    struct views s;
    fdl_step_values(step, &s, sizeof(s));
    struct fdl_frame_step w =
        frame_of(&s, canvas->view, canvas->image.width, canvas->image.height);
    return fdl_frame_run(&w, canvas);
}

static const struct fdl_step_kind kind = {.run = run};

static void plan_one(struct fdl_plan *plan, const struct views *s)
{
    struct fdl_frame_step w = frame_of(
        s, (uint32_t)plan->view, fdl_plan_width(plan), fdl_plan_height(plan));
    fdl_note_int(plan, "view", plan->view);
    fdl_note_box(plan, &w.box);
    fdl_note_bool(plan, "flip", w.mirror_x);
    fdl_note_bool(plan, "vertical_flip", w.mirror_y);
    fdl_plan_crop(plan, w.box);
    if (w.mirror_x)
        fdl_plan_flip(plan);
    if (w.mirror_y)
        fdl_plan_flip_vertical(plan);
}

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    (void)rng;
    struct views s = {.vertical = o->n == TEN_ROWS &&
                                  fdl_option_int(o, ROW_VERTICAL_FLIP) != 0};
    int32_t width = fdl_plan_width(plan), height = fdl_plan_height(plan);
    fdl_op_fixed_size(o, &s.width, &s.height);
    if (s.width > width || s.height > height)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: %" PRId32 "x%" PRId32
                        " does not fit into an image of %" PRId32 "x%" PRId32
                        "; put a resize before it",
                        plan->op->name, s.width, s.height, width, height);
    if (plan->view != FDL_EVERY_VIEW)
        plan_one(plan, &s);
    else
        fdl_plan_views(plan, plan->op->views, s.width, s.height, &kind, &s,
                       sizeof(s));
    return FEEDLINE_OK;
}

const struct fdl_op fdl_op_five_crop = {
    .name = "five_crop",
    .help = "5 views of each sample: the four corners and the centre",
    .pixels = true,
    .views = FIVE,
    .options = options,
    .n_options = FIVE_ROWS,
    .plan = plan,
    .output_size = fdl_op_fixed_size,
};

const struct fdl_op fdl_op_ten_crop = {
    .name = "ten_crop",
    .help = "10 views of each sample: five_crop of the image and of its mirror "
            "image",
    .pixels = true,
    .views = 2 * FIVE,
    .options = options,
    .n_options = TEN_ROWS,
    .plan = plan,
    .output_size = fdl_op_fixed_size,
};
