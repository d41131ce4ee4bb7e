/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are converted in place; only gray goes to another image. */
#include "decode/plan/cv_colour_step.h"

#include "base/status.h"
#include "decode/kernels/levels.h"

struct colour {
    enum fdl_cv_colour how;
    bool bgr;
};

static bool makes_colours(enum fdl_cv_colour how)
{
    return how == FDL_CV_YCRCB_TO_RGB || how == FDL_CV_HSV_TO_RGB ||
           how == FDL_CV_LAB_TO_RGB || how == FDL_CV_HLS_TO_RGB;
}

/* Rows [y, y + n). */
static void convert(const struct colour *s, const struct fdl_image *in,
                    const struct fdl_image *out, int32_t y, int32_t n)
{
    struct fdl_cv_planes p = {.width = (size_t)in->width, .height = (size_t)n};
    bool to_colours = makes_colours(s->how);
    for (int32_t i = 0; i < 3; i++) {
        int32_t turned = s->bgr ? 2 - i : i;
        p.in[i] = fdl_image_row(in, to_colours ? i : turned, y);
        if (i < out->channels)
            p.out[i] = fdl_image_row(out, to_colours ? turned : i, y);
    }
    fdl_kernels[fdl_cpu_level()].cv_colour->convert[s->how](&p);
}

static void rows(const struct fdl_step *step, struct fdl_canvas *c, int32_t y,
                 int32_t n)
{
    struct colour s;
    fdl_step_values(step, &s, sizeof(s));
    convert(&s, &c->image, &c->image, y, n);
}

static int32_t run_gray(const struct fdl_step *step, struct fdl_canvas *c)
{
    const struct fdl_image *in = &c->image;
    struct colour s;
    struct fdl_image out;
    fdl_step_values(step, &s, sizeof(s));
    int32_t status = fdl_canvas_spare_of(c, in->width, in->height, 1, &out);
    if (status)
        return status;
    convert(&s, in, &out, 0, in->height);
    fdl_canvas_swap(c, &out);
    return FEEDLINE_OK;
}

static const struct fdl_step_kind kind = {
    .commutes = FDL_WITH_FLIP | FDL_WITH_CROP,
    .rows = rows,
};

static const struct fdl_step_kind gray_kind = {
    .commutes = FDL_WITH_FLIP | FDL_WITH_CROP,
    .run = run_gray,
};

/* Of which a pixel depends on its place. */
static const struct fdl_step_kind placed_kind = {.rows = rows};

static const struct fdl_step_kind *kind_of(enum fdl_cv_colour how)
{
    if (how == FDL_CV_RGB_TO_GRAY)
        return &gray_kind;
    bool placed = how == FDL_CV_HSV_TO_RGB || how == FDL_CV_RGB_TO_HLS;
    return placed ? &placed_kind : &kind;
}

void fdl_plan_cv_colour(struct fdl_plan *plan, enum fdl_cv_colour how, bool bgr)
{
    struct colour s = {.how = how, .bgr = bgr};
    fdl_plan_add(plan, kind_of(how), &s, sizeof(s));
}
