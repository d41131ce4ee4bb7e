/* SPDX-License-Identifier: Apache-2.0 */
/* Planes are converted in place; only gray, the first of them, is copied. */
#include "decode/plan/cv_colour_step.h"

#include "base/status.h"

#include <string.h>

struct colour {
    enum fdl_cv_colour how;
    bool bgr;
};

static void exchange(uint8_t *a, uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t byte = a[i];
        a[i] = b[i];
        b[i] = byte;
    }
}

static int32_t keep_first(struct fdl_canvas *c)
{
    struct fdl_image *in = &c->image, out;
    int32_t status = fdl_canvas_spare_of(c, in->width, in->height, 1, &out);
    if (status)
        return status;
    memcpy(out.data, in->data, in->plane);
    fdl_canvas_swap(c, &out);
    return FEEDLINE_OK;
}

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct colour s;
    const struct fdl_image *image = &c->image;
    fdl_step_values(step, &s, sizeof(s));
    uint8_t *first = fdl_image_row(image, 0, 0);
    uint8_t *last = fdl_image_row(image, 2, 0);
    bool to_colours = s.how == FDL_CV_YCRCB_TO_RGB ||
                      s.how == FDL_CV_HSV_TO_RGB || s.how == FDL_CV_LAB_TO_RGB;
    if (s.bgr && !to_colours)
        exchange(first, last, image->plane);
    uint8_t *const planes[3] = {first, fdl_image_row(image, 1, 0), last};
    fdl_cv_colour(s.how, planes, (size_t)image->width, (size_t)image->height);
    if (s.bgr && to_colours)
        exchange(first, last, image->plane);
    return s.how == FDL_CV_RGB_TO_GRAY ? keep_first(c) : FEEDLINE_OK;
}

static const struct fdl_step_kind kind = {
    .commutes = FDL_WITH_FLIP | FDL_WITH_CROP,
    .run = run,
};

/* Of which a pixel depends on its place. */
static const struct fdl_step_kind placed_kind = {.run = run};

void fdl_plan_cv_colour(struct fdl_plan *plan, enum fdl_cv_colour how, bool bgr)
{
    struct colour s = {.how = how, .bgr = bgr};
    fdl_plan_add(plan, how == FDL_CV_HSV_TO_RGB ? &placed_kind : &kind, &s,
                 sizeof(s));
}
