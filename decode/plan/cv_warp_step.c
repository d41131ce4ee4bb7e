/* SPDX-License-Identifier: Apache-2.0 */
/* A new image is seen through a map of the one that there is. */
#include "decode/plan/cv_warp_step.h"

#include "base/compiler.h"
#include "base/status.h"
#include "decode/kernels/levels.h"

#include <math.h>

static bool is_straight(const struct fdl_cv_warp *w)
{
    return fdl_cv_warp_is_straight(fdl_kernels[fdl_cpu_level()].cv_straight, w);
}

static int32_t run(const struct fdl_step *step, struct fdl_canvas *c)
{
    const struct fdl_kernels *k = &fdl_kernels[fdl_cpu_level()];
    struct fdl_cv_lines lines = fdl_cv_lines_of(&c->image);
    struct fdl_cv_warp w;
    struct fdl_image out;
    uint8_t *scratch;
    if (c->lines)
        lines = *c->lines;
    c->lines = NULL;
    fdl_step_values(step, &w, sizeof(w));
    bool straight = is_straight(&w);
    size_t bytes = straight ? fdl_cv_straight_scratch(&w, &lines)
                            : fdl_cv_warp_scratch(k->cv_laid, &w, &c->image);
    if (bytes == 0)
        return fdl_fail_memory(UINT64_MAX, "scratch of an operation");
    int32_t status = fdl_canvas_scratch(c, FDL_SCRATCH_STEP, bytes, &scratch);
    if (!status)
        status = fdl_canvas_spare(c, w.width, w.height, &out);
    if (status)
        return status;
    if (straight)
        fdl_cv_warp_straight(k->cv_straight, k->cv_warp, &w, &lines, &out,
                             scratch);
    else
        fdl_cv_warp(k->cv_warp, k->cv_laid, &w, &c->image, &out, scratch);
    fdl_canvas_swap(c, &out);
    return FEEDLINE_OK;
}

static const struct fdl_step_kind kind = {.moves = true, .run = run};

/* Pixels round a point that it may be made of, and what rounding adds. */
#define REACH 4

/* From low to high, inside of a side. */
static void limit(double low, double high, int32_t side, int32_t *at,
                  int32_t *length)
{
    double first = FDL_MAX(floor(low) - REACH, 0.0);
    double end = FDL_MIN(ceil(high) + REACH, (double)side);
    *at = (int32_t)FDL_MIN(first, (double)(side - 1));
    *length = (int32_t)FDL_MAX(end - *at, 1.0);
}

struct fdl_box fdl_cv_warp_reach(const struct fdl_step *step, int32_t width,
                                 int32_t height)
{
    struct fdl_box box = {0, 0, width, height};
    struct fdl_cv_warp w;
    if (step->kind != &kind)
        return box;
    fdl_step_values(step, &w, sizeof(w));
    if (w.kind != FDL_CV_AFFINE || w.border != FDL_CV_CONSTANT)
        return box;
    double low[2] = {0}, high[2] = {0};
    for (int32_t corner = 0; corner < 4; corner++) {
        double x = corner % 2 ? w.width : 0, y = corner / 2 ? w.height : 0;
        for (int32_t i = 0; i < 2; i++) {
            double at = w.m[3 * i] * x + w.m[3 * i + 1] * y + w.m[3 * i + 2];
            low[i] = corner ? FDL_MIN(low[i], at) : at;
            high[i] = corner ? FDL_MAX(high[i], at) : at;
        }
    }
    limit(low[0], high[0], width, &box.x, &box.width);
    limit(low[1], high[1], height, &box.y, &box.height);
    return box;
}

bool fdl_cv_warp_takes_lines(const struct fdl_step *step)
{
    struct fdl_cv_warp w;
    if (step->kind != &kind)
        return false;
    fdl_step_values(step, &w, sizeof(w));
    return is_straight(&w);
}

void fdl_plan_cv_warp(struct fdl_plan *plan, const struct fdl_cv_warp *w)
{
    fdl_plan_add(plan, &kind, w, sizeof(*w));
    plan->width = w->width;
    plan->height = w->height;
}
