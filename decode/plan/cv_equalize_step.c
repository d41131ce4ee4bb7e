/* SPDX-License-Identifier: Apache-2.0 */
/* In place; the others of its channels stay. */
#include "decode/plan/cv_equalize_step.h"

#include "base/status.h"
#include "decode/kernels/levels.h"

struct equalize {
    int32_t channel;
    bool tiles;
    struct fdl_cv_clahe clahe;
};

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    struct equalize s;
    const struct fdl_image *image = &c->image;
    fdl_step_values(step, &s, sizeof(s));
    uint8_t *plane = fdl_image_row(image, s.channel, 0), *scratch;
    if (!s.tiles) {
        fdl_cv_equalize(plane, image->plane);
        return FEEDLINE_OK;
    }
    size_t bytes = fdl_cv_clahe_scratch(&s.clahe, image->width);
    int32_t status = fdl_canvas_scratch(c, FDL_SCRATCH_STEP, bytes, &scratch);
    if (!status)
        fdl_cv_clahe(fdl_kernels[fdl_cpu_level()].cv_equalize, &s.clahe, plane,
                     image->width, image->height, scratch);
    return status;
}

static const struct fdl_step_kind kind = {.run = run};

void fdl_plan_cv_equalize(struct fdl_plan *plan, int32_t channel,
                          const struct fdl_cv_clahe *clahe)
{
    struct equalize s = {.channel = channel, .tiles = clahe != NULL};
    if (clahe)
        s.clahe = *clahe;
    fdl_plan_add(plan, &kind, &s, sizeof(s));
}
