/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of a fixed size at a random place, with a border where the image is
 * too small: torchvision's RandomCrop, FixedSizeCrop of its detection
 * reference, and timm's RandomCropOrPad. Border and window are one move of
 * pixels, and a window that shows no border is none at all.
 */
#include "decode/ops/op.h"

#include "base/compiler.h"
#include "base/status.h"
#include "decode/ops/shared_options.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    ROW_WIDTH,
    ROW_HEIGHT,
    ROW_PADDING,
    ROW_PAD_IF_NEEDED,
    ROW_FILL,
    ROW_MODE,
    ROWS
};

enum { PAD_END = 2 }; /* of pad_if_needed */

/* Of an operation that pads whatever is too small. */
enum { SMALL_WIDTH, SMALL_HEIGHT, SMALL_FILL, SMALL_MODE, SMALL_ROWS };

static const struct fdl_option small_options[SMALL_ROWS] = {
    [SMALL_WIDTH] = FDL_OP_WIDTH("the crop"),
    [SMALL_HEIGHT] = FDL_OP_HEIGHT("the crop"),
    [SMALL_FILL] = FDL_OPTION_FILL,
    [SMALL_MODE] = FDL_OPTION_PADDING_MODE,
};

static const struct fdl_option options[ROWS] = {
    [ROW_WIDTH] = FDL_OP_WIDTH("the crop"),
    [ROW_HEIGHT] = FDL_OP_HEIGHT("the crop"),
    [ROW_PADDING] = FDL_OPTION_PADDING("0"),
    [ROW_PAD_IF_NEEDED] =
        FDL_OP_SWITCH("pad_if_needed", "false|true|end", PAD_END, "false",
                      "pad images smaller than the crop: on "
                      "both sides, or (end) at the right and "
                      "bottom only"),
    [ROW_FILL] = FDL_OPTION_FILL,
    [ROW_MODE] = FDL_OPTION_PADDING_MODE,
};

static int32_t check(const struct fdl_options *o)
{
    struct fdl_margins m = fdl_padding_margins(o, ROW_PADDING);
    if (fdl_option_int(o, ROW_PAD_IF_NEEDED) &&
        fdl_option_int(o, ROW_MODE) != FDL_PAD_CONSTANT &&
        (m.left || m.top || m.right || m.bottom))
        return fdl_fail(FEEDLINE_EINVAL,
                        "random_crop: pad_if_needed with padding takes "
                        "padding_mode=constant; a border is not mirrored "
                        "twice");
    return FEEDLINE_OK;
}

/* What is missing is added on both sides, as RandomCrop does, or at the end, as
 * torchvision's segmentation reference. */
static void widen(struct fdl_box *box, int32_t width, int32_t height, bool end)
{
    struct fdl_margins m = {0, 0, 0, 0};
    m.right = FDL_MAX(width - box->width, 0);
    m.bottom = FDL_MAX(height - box->height, 0);
    m.left = end ? 0 : m.right;
    m.top = end ? 0 : m.bottom;
    fdl_padding_grow(&m, box);
}

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    uint8_t fill[4];
    int32_t width, height;
    fdl_op_fixed_size(o, &width, &height);
    struct fdl_box whole = {0, 0, fdl_plan_width(plan), fdl_plan_height(plan)};
    struct fdl_margins m = fdl_padding_margins(o, ROW_PADDING);
    fdl_padding_grow(&m, &whole);
    if (fdl_option_int(o, ROW_PAD_IF_NEEDED))
        widen(&whole, width, height,
              fdl_option_int(o, ROW_PAD_IF_NEEDED) == PAD_END);
    if (width > whole.width || height > whole.height)
        return fdl_fail(FEEDLINE_EINVAL,
                        "random_crop: %" PRId32 "x%" PRId32
                        " does not fit into an image of %" PRId32 "x%" PRId32
                        "; use pad_if_needed, or put a resize before it",
                        width, height, whole.width, whole.height);

    struct fdl_box box = {.width = width, .height = height};
    fdl_op_draw_place(rng, whole.width, whole.height, &box);
    box.x += whole.x;
    box.y += whole.y;
    fdl_note_box(plan, &box);
    fdl_fill_of(o, ROW_FILL, fill);
    return fdl_plan_window(plan, box,
                           (enum fdl_padding)fdl_option_int(o, ROW_MODE), fill);
}

const struct fdl_op fdl_op_random_crop = {
    .name = "random_crop",
    .help = "a crop of a fixed size at a random place, with optional "
            "padding",
    .pixels = true,
    .options = options,
    .n_options = ROWS,
    .check = check,
    .plan = plan,
    .output_size = fdl_op_fixed_size,
};

static int32_t small_window(const struct fdl_options *o, struct fdl_plan *plan,
                            struct fdl_box box)
{
    uint8_t fill[4];
    fdl_note_box(plan, &box);
    fdl_fill_of(o, SMALL_FILL, fill);
    return fdl_plan_window(
        plan, box, (enum fdl_padding)fdl_option_int(o, SMALL_MODE), fill);
}

/* One draw is for both directions, in float32. */
static int32_t plan_fixed_size(const struct fdl_options *o, struct fdl_rng *rng,
                               struct fdl_plan *plan)
{
    struct fdl_box box;
    fdl_op_fixed_size(o, &box.width, &box.height);
    float part = (float)fdl_rng_uniform(rng);
    int32_t x = FDL_MAX(fdl_plan_width(plan) - box.width, 0);
    int32_t y = FDL_MAX(fdl_plan_height(plan) - box.height, 0);
    box.x = (int32_t)((float)x * part);
    box.y = (int32_t)((float)y * part);
    return small_window(o, plan, box);
}

/* A place within the image, or of the image within the window. */
static int32_t draw_offset(struct fdl_rng *rng, int32_t image, int32_t window)
{
    int32_t over = image - window;
    int32_t by = (int32_t)fdl_rng_below(rng, (uint32_t)abs(over) + 1);
    return over < 0 ? -by : by;
}

static int32_t plan_crop_or_pad(const struct fdl_options *o,
                                struct fdl_rng *rng, struct fdl_plan *plan)
{
    struct fdl_box box;
    fdl_op_fixed_size(o, &box.width, &box.height);
    box.y = draw_offset(rng, fdl_plan_height(plan), box.height);
    box.x = draw_offset(rng, fdl_plan_width(plan), box.width);
    return small_window(o, plan, box);
}

const struct fdl_op fdl_op_fixed_size_crop = {
    .name = "fixed_size_crop",
    .help = "a crop of a fixed size at a random point of the diagonal; smaller "
            "images are padded at the right and bottom",
    .pixels = true,
    .options = small_options,
    .n_options = SMALL_ROWS,
    .plan = plan_fixed_size,
    .output_size = fdl_op_fixed_size,
};

const struct fdl_op fdl_op_random_crop_or_pad = {
    .name = "random_crop_or_pad",
    .help = "a crop of a fixed size at a random place; smaller images are "
            "placed at random inside it",
    .pixels = true,
    .options = small_options,
    .n_options = SMALL_ROWS,
    .plan = plan_crop_or_pad,
    .output_size = fdl_op_fixed_size,
};
