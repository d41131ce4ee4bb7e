/* SPDX-License-Identifier: Apache-2.0 */
/* Planes are converted in place; only gray goes to another image. */
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

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct colour s;
    struct fdl_image out = c->image;
    fdl_step_values(step, &s, sizeof(s));
    if (s.how == FDL_CV_RGB_TO_GRAY) {
        int32_t status = fdl_canvas_spare_of(c, out.width, out.height, 1, &out);
        if (status)
            return status;
    }
    struct fdl_cv_planes p = {.width = (size_t)out.width,
                              .height = (size_t)out.height};
    bool to_colours = makes_colours(s.how);
    for (int32_t i = 0; i < 3; i++) {
        int32_t turned = s.bgr ? 2 - i : i;
        p.in[i] = fdl_image_row(&c->image, to_colours ? i : turned, 0);
        if (i < out.channels)
            p.out[i] = fdl_image_row(&out, to_colours ? turned : i, 0);
    }
    fdl_kernels[fdl_cpu_level()].cv_colour->convert[s.how](&p);
    if (s.how == FDL_CV_RGB_TO_GRAY)
        fdl_canvas_swap(c, &out);
    return FEEDLINE_OK;
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
    bool placed = how == FDL_CV_HSV_TO_RGB || how == FDL_CV_RGB_TO_HLS;
    fdl_plan_add(plan, placed ? &placed_kind : &kind, &s, sizeof(s));
}
