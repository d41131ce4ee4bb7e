/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that OpenCV has: FEEDLINE_STEP_CV_*. */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/plan/cv_blur_step.h"
#include "decode/plan/cv_colour_step.h"
#include "decode/plan/cv_resize_step.h"
#include "decode/recorded_image.h"

#include <inttypes.h>
#include <math.h>

/* As OpenCV rounds it. */
static bool fits(int32_t in, double scale, double out)
{
    return scale == 0 || rint(in * scale) == out;
}

static int32_t plan_resize(struct fdl_plan *plan,
                           const struct feedline_recorded_step *s)
{
    const double *v = s->value, by_size[2] = {0, 0};
    const double *scale = s->n > 3 ? v + 3 : by_size;
    if (!fits(fdl_plan_width(plan), scale[0], v[0]) ||
        !fits(fdl_plan_height(plan), scale[1], v[1]))
        return fdl_fail(FEEDLINE_EINVAL,
                        "an image of %" PRId32 "x%" PRId32
                        " scaled by %g, %g is not of %gx%g",
                        fdl_plan_width(plan), fdl_plan_height(plan), scale[0],
                        scale[1], v[0], v[1]);
    fdl_plan_cv_resize(plan, (int32_t)v[0], (int32_t)v[1],
                       (enum fdl_cv_filter)v[2], scale);
    return FEEDLINE_OK;
}

/* cvtColor's numbers, those of one conversion side by side: from or to BGR, and
 * RGB. */
static const struct {
    int32_t bgr_code;
    enum fdl_cv_colour how;
} colours[] = {{6, FDL_CV_RGB_TO_GRAY},   {36, FDL_CV_RGB_TO_YCRCB},
               {38, FDL_CV_YCRCB_TO_RGB}, {40, FDL_CV_RGB_TO_HSV},
               {54, FDL_CV_HSV_TO_RGB},   {66, FDL_CV_RGB_TO_HSV_FULL}};

static int32_t plan_colour(struct fdl_plan *plan,
                           const struct feedline_recorded_step *s,
                           int32_t *channels)
{
    int32_t code = (int32_t)s->value[0];
    if (*channels != 3)
        return fdl_fail(FEEDLINE_EINVAL,
                        "it is for 3 channels, the image has %" PRId32,
                        *channels);
    for (size_t i = 0; i < FDL_COUNT_OF(colours); i++) {
        bool bgr = code == colours[i].bgr_code;
        if (!bgr && code != colours[i].bgr_code + 1)
            continue;
        fdl_plan_cv_colour(plan, colours[i].how, bgr);
        *channels = colours[i].how == FDL_CV_RGB_TO_GRAY ? 1 : 3;
        return FEEDLINE_OK;
    }
    return fdl_fail(FEEDLINE_ERANGE,
                    "code is %" PRId32 "; it is OpenCV's of BGR or RGB to gray "
                    "(6, 7), to YCrCb and back (36 to 39), to HSV and back "
                    "(40, 41, 54, 55), or to HSV_FULL (66, 67)",
                    code);
}

/* A side of 0 is left to sigma, and of both sigmas the second to the first. */
static int32_t plan_gauss(struct fdl_plan *plan,
                          const struct feedline_recorded_step *s)
{
    const double *v = s->value;
    double sigma[2] = {v[2], v[3] > 0 ? v[3] : v[2]};
    int32_t side[2];
    for (int32_t i = 0; i < 2; i++) {
        side[i] = (int32_t)v[i];
        if (side[i] == 0)
            side[i] =
                (int32_t)rint(fmin(sigma[i], FDL_CV_KERNEL_MAX) * 6 + 1) | 1;
        if (side[i] > FDL_CV_KERNEL_MAX)
            return fdl_fail(FEEDLINE_ERANGE,
                            "a kernel for sigma %g has a side above %d",
                            sigma[i], FDL_CV_KERNEL_MAX);
        if (v[i] == 0 && sigma[i] <= 0)
            return fdl_fail(FEEDLINE_EINVAL, "neither a side nor sigma");
    }
    fdl_plan_cv_gauss(plan, side, sigma);
    return FEEDLINE_OK;
}

static int32_t plan_box(struct fdl_plan *plan,
                        const struct feedline_recorded_step *s)
{
    int32_t side[2] = {(int32_t)s->value[0], (int32_t)s->value[1]};
    fdl_plan_cv_box(plan, side);
    return FEEDLINE_OK;
}

int32_t fdl_recorded_plan_cv(struct fdl_plan *plan,
                             const struct feedline_recorded_step *s,
                             int32_t *channels)
{
    switch (s->op) {
    case FEEDLINE_STEP_CV_COLOUR:
        return plan_colour(plan, s, channels);
    case FEEDLINE_STEP_CV_GAUSSIAN_BLUR:
        return plan_gauss(plan, s);
    case FEEDLINE_STEP_CV_BOX_BLUR:
        return plan_box(plan, s);
    case FEEDLINE_STEP_CV_MEDIAN_BLUR:
        fdl_plan_cv_median(plan, (int32_t)s->value[0]);
        return FEEDLINE_OK;
    default:
        return plan_resize(plan, s);
    }
}
