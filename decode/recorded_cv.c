/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that OpenCV has: FEEDLINE_STEP_CV_*. */
#include "base/status.h"
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

int32_t fdl_recorded_plan_cv(struct fdl_plan *plan,
                             const struct feedline_recorded_step *s,
                             int32_t *channels)
{
    (void)channels;
    return plan_resize(plan, s);
}
