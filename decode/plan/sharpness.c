/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smoothed image is never made: a row of the image is blended in place as
 * soon as the one below it has been smoothed, which needs the row as it was.
 */
#include "decode/plan/sharpness.h"

#include "base/status.h"
#include "decode/kernels/alpha.h"

struct sharpness {
    double factor;
    bool tensor;
};

/* torch's: x + (1 - factor) (smooth - x). */
static void blend(const struct fdl_canvas *c, const struct sharpness *s,
                  uint8_t *x, const uint8_t *smooth, size_t width)
{
    struct fdl_torch_blend torch = {
        .part = 1.0F, .scale = 1.0F, .alpha = (float)(1.0 - s->factor)};
    if (s->tensor)
        c->kernels->torch_line(x, smooth, width, &torch);
    else
        c->kernels->line(x, smooth, width, (float)s->factor);
}

/* Rows and columns at the edges are their own smoothed ones: they stay. */
static void sharpen(const struct fdl_canvas *c, int32_t channel,
                    const struct sharpness *s, uint8_t *const smooth[2])
{
    const struct fdl_image *image = &c->image;
    size_t width = (size_t)image->width;
    int32_t last = image->height - 2;
    for (int32_t y = 1; y <= last + 1; y++) {
        uint8_t *row = fdl_image_row(image, channel, y);
        if (y <= last)
            c->kernels->smooth(row - width, row, row + width, width,
                               smooth[y % 2]);
        if (y > 1)
            blend(c, s, row - width, smooth[1 - y % 2], width);
    }
}

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    const struct fdl_image *image = &c->image;
    struct sharpness s;
    uint8_t *rows;
    fdl_step_values(step, &s, sizeof(s));
    if (image->width < 3 || image->height < 3)
        return FEEDLINE_OK;
    size_t bytes = fdl_plane_bytes(image->width + FDL_PLANE_ALIGN);
    int32_t status = fdl_canvas_scratch(c, FDL_SCRATCH_STEP, 2 * bytes, &rows);
    if (status)
        return status;
    for (int32_t i = 0; i < FDL_COLOURS(image->channels); i++)
        sharpen(c, i, &s, (uint8_t *[]){rows, rows + bytes});
    return FEEDLINE_OK;
}

/* A flip changes nothing: the weights are symmetric, and the sums exact. */
static const struct fdl_step_kind kind = {.commutes = FDL_WITH_FLIP,
                                          .run = run};

void fdl_plan_sharpness(struct fdl_plan *plan, bool tensor, double factor)
{
    struct sharpness s = {.factor = factor, .tensor = tensor};
    fdl_plan_add(plan, &kind, &s, sizeof(s));
}
