/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/plan/cv_recompress_step.h"

#include "base/status.h"

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    int32_t quality;
    uint8_t *scratch;
    fdl_step_values(step, &quality, sizeof(quality));
    size_t bytes = fdl_cv_recompress_scratch(&c->image);
    if (bytes == 0)
        return fdl_fail_memory(UINT64_MAX, "scratch of an operation");
    int32_t status = fdl_canvas_scratch(c, FDL_SCRATCH_STEP, bytes, &scratch);
    return status ? status : fdl_cv_recompress(&c->image, quality, scratch);
}

static const struct fdl_step_kind kind = {.run = run};

void fdl_plan_cv_recompress(struct fdl_plan *plan, int32_t quality)
{
    fdl_plan_add(plan, &kind, &quality, sizeof(quality));
}
