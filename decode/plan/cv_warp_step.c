/* SPDX-License-Identifier: Apache-2.0 */
/* A new image is seen through a map of the one that there is. */
#include "decode/plan/cv_warp_step.h"

#include "base/status.h"

#include <string.h>

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct fdl_cv_warp_step s;
    struct fdl_image out;
    fdl_step_values(step, &s, sizeof(s));
    struct fdl_cv_warp_job job = {.in = &c->image,
                                  .out = &out,
                                  .linear = s.linear,
                                  .floats = s.floats,
                                  .border = s.border};
    memcpy(job.m, s.m, sizeof(job.m));
    memcpy(job.fill, s.fill, sizeof(job.fill));
    int32_t status = fdl_canvas_scratch(
        c, FDL_SCRATCH_STEP, fdl_cv_warp_scratch(s.width), &job.scratch);
    if (!status)
        status = fdl_canvas_spare(c, s.width, s.height, &out);
    if (status)
        return status;
    fdl_cv_warp(&job);
    fdl_canvas_swap(c, &out);
    return FEEDLINE_OK;
}

static const struct fdl_step_kind kind = {.moves = true, .run = run};

void fdl_plan_cv_warp(struct fdl_plan *plan, const struct fdl_cv_warp_step *s)
{
    fdl_objects_affine(plan->objects, s->m, s->width, s->height);
    fdl_plan_add(plan, &kind, s, sizeof(*s));
    plan->width = s->width;
    plan->height = s->height;
}
