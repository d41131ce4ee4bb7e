/* SPDX-License-Identifier: Apache-2.0 */
/* A new image is seen through a map of the one that there is. */
#include "decode/plan/cv_warp_step.h"

#include "base/status.h"
#include "decode/kernels/levels.h"

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct fdl_cv_warp w;
    struct fdl_image out;
    uint8_t *scratch;
    fdl_step_values(step, &w, sizeof(w));
    size_t bytes = fdl_cv_warp_scratch(&w);
    if (bytes == 0)
        return fdl_fail_memory(UINT64_MAX, "scratch of an operation");
    int32_t status = fdl_canvas_scratch(c, FDL_SCRATCH_STEP, bytes, &scratch);
    if (!status)
        status = fdl_canvas_spare(c, w.width, w.height, &out);
    if (status)
        return status;
    fdl_cv_warp(fdl_kernels[fdl_cpu_level()].cv_warp, &w, &c->image, &out,
                scratch);
    fdl_canvas_swap(c, &out);
    return FEEDLINE_OK;
}

static const struct fdl_step_kind kind = {.moves = true, .run = run};

void fdl_plan_cv_warp(struct fdl_plan *plan, const struct fdl_cv_warp *w)
{
    fdl_plan_add(plan, &kind, w, sizeof(*w));
    plan->width = w->width;
    plan->height = w->height;
}
