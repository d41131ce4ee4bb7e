/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smoothed image is never made: a row of the image is blended in place as
 * soon as the one below it has been smoothed, which needs the row as it was.
 */
#include "decode/plan/sharpness.h"

#include "base/status.h"
#include "decode/kernels/alpha.h"

/* Rows and columns at the edges are their own smoothed ones: they stay. */
static void sharpen(const struct fdl_canvas *c, int32_t channel, float factor,
                    uint8_t *const smooth[2])
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
            c->kernels->line(row - width, smooth[1 - y % 2], width, factor);
    }
}

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    const struct fdl_image *image = &c->image;
    double factor;
    uint8_t *rows;
    fdl_step_values(step, &factor, sizeof(factor));
    if (image->width < 3 || image->height < 3)
        return FEEDLINE_OK;
    size_t bytes = fdl_plane_bytes(image->width + FDL_PLANE_ALIGN);
    int32_t status = fdl_canvas_scratch(c, FDL_SCRATCH_STEP, 2 * bytes, &rows);
    if (status)
        return status;
    for (int32_t i = 0; i < FDL_COLOURS(image->channels); i++)
        sharpen(c, i, (float)factor, (uint8_t *[]){rows, rows + bytes});
    return FEEDLINE_OK;
}

/* A flip changes nothing: the weights are symmetric, and the sums exact. */
static const struct fdl_step_kind kind = {.commutes = FDL_WITH_FLIP,
                                          .run = run};

void fdl_plan_sharpness(struct fdl_plan *plan, double factor)
{
    fdl_plan_add(plan, &kind, &factor, sizeof(factor));
}
