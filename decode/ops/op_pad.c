/* SPDX-License-Identifier: Apache-2.0 */
/* torchvision's Pad on a Pillow image, and timm's TrimBorder. */
#include "base/status.h"
#include "decode/ops/op.h"
#include "decode/ops/shared_options.h"

#include <inttypes.h>

enum { ROW_PADDING, ROW_FILL, ROW_MODE, ROWS };

static const struct fdl_option options[ROWS] = {
    [ROW_PADDING] = FDL_OPTION_PADDING("1"),
    [ROW_FILL] = FDL_OPTION_FILL,
    [ROW_MODE] = FDL_OPTION_PADDING_MODE,
};

static int32_t plan(const struct fdl_options *o, struct fdl_rng *rng,
                    struct fdl_plan *plan)
{
    (void)rng;
    uint8_t fill[4];
    struct fdl_box box = {0, 0, fdl_plan_width(plan), fdl_plan_height(plan)};
    struct fdl_margins m = fdl_padding_margins(o, ROW_PADDING);
    fdl_padding_grow(&m, &box);
    fdl_fill_of(o, ROW_FILL, fill);
    return fdl_plan_window(plan, box,
                           (enum fdl_padding)fdl_option_int(o, ROW_MODE), fill);
}

static void output_size(const struct fdl_options *o, int32_t *width,
                        int32_t *height)
{
    struct fdl_margins m = fdl_padding_margins(o, ROW_PADDING);
    if (*width > 0)
        *width += m.left + m.right;
    if (*height > 0)
        *height += m.top + m.bottom;
}

const struct fdl_op fdl_op_pad = {
    .name = "pad",
    .help = "pad with a colour, or with the image's own pixels",
    .pixels = true,
    .options = options,
    .n_options = ROWS,
    .plan = plan,
    .output_size = output_size,
};

static const struct fdl_option trim_options[] = {
    FDL_OP_INT("size", 0, FDL_OP_SIZE_MAX, "1", "pixels",
               "width of what is cut off each side"),
};

static int32_t plan_trim(const struct fdl_options *o, struct fdl_rng *rng,
                         struct fdl_plan *plan)
{
    (void)rng;
    int32_t by = (int32_t)fdl_option_int(o, 0);
    int32_t width = fdl_plan_width(plan), height = fdl_plan_height(plan);
    struct fdl_box box = {by, by, width - 2 * by, height - 2 * by};
    if (box.width <= 0 || box.height <= 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "trim_border: nothing is left of %" PRId32 "x%" PRId32
                        " without %" PRId32 " on each side",
                        width, height, by);
    fdl_plan_crop(plan, box);
    return FEEDLINE_OK;
}

static void trimmed_size(const struct fdl_options *o, int32_t *width,
                         int32_t *height)
{
    int32_t by = 2 * (int32_t)fdl_option_int(o, 0);
    if (*width > 0)
        *width -= by;
    if (*height > 0)
        *height -= by;
}

const struct fdl_op fdl_op_trim_border = {
    .name = "trim_border",
    .help = "cut off a border",
    .options = trim_options,
    .n_options = 1,
    .plan = plan_trim,
    .output_size = trimmed_size,
};
