/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's RandomCrop: a border, more of it where the image is still too
 * small, then a window of a fixed size at a random place. Border and window are
 * one move of pixels, and a window that shows no border is none at all.
 */
#include "decode/ops/op.h"

#include "base/compiler.h"
#include "base/status.h"
#include "decode/ops/shared_options.h"

#include <inttypes.h>

enum {
    ROW_WIDTH,
    ROW_HEIGHT,
    ROW_PADDING,
    ROW_PAD_IF_NEEDED,
    ROW_FILL,
    ROW_MODE,
    ROWS
};

static const struct fdl_option options[ROWS] = {
    [ROW_WIDTH] = FDL_OP_WIDTH("the crop"),
    [ROW_HEIGHT] = FDL_OP_HEIGHT("the crop"),
    [ROW_PADDING] = FDL_OPTION_PADDING("0"),
    [ROW_PAD_IF_NEEDED] = {.name = "pad_if_needed",
                           .type = FEEDLINE_T_BOOL,
                           .max = 1,
                           .default_text = "false",
                           .unit = "",
                           .help = "widen the border of images that are "
                                   "smaller than the crop"},
    [ROW_FILL] = FDL_OPTION_FILL,
    [ROW_MODE] = FDL_OPTION_PADDING_MODE,
};

static int32_t check(const struct fdl_options *o)
{
    int32_t status = fdl_padding_check(o, ROW_PADDING);
    if (!status)
        status = fdl_fill_check(o, ROW_FILL);
    if (!status && fdl_option_int(o, ROW_PAD_IF_NEEDED) &&
        fdl_option_int(o, ROW_MODE) != FDL_PAD_CONSTANT) {
        struct fdl_margins m = fdl_padding_margins(o, ROW_PADDING);
        if (m.left || m.top || m.right || m.bottom)
            return fdl_fail(FEEDLINE_EINVAL,
                            "random_crop: pad_if_needed with padding takes "
                            "padding_mode=constant; a border is not mirrored "
                            "twice");
    }
    return status;
}

/* What is missing is added on both sides, as torchvision does. */
static void widen(struct fdl_box *box, int32_t width, int32_t height)
{
    struct fdl_margins m = {0, 0, 0, 0};
    m.left = m.right = FDL_MAX(width - box->width, 0);
    m.top = m.bottom = FDL_MAX(height - box->height, 0);
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
        widen(&whole, width, height);
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
    .help = "a window of a fixed size at a random place, with a border if "
            "wanted",
    .pixels = true,
    .options = options,
    .n_options = ROWS,
    .check = check,
    .check_channels = fdl_fill_check_channels,
    .plan = plan,
    .output_size = fdl_op_fixed_size,
};
