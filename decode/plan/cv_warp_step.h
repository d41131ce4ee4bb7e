/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's warps as steps. */
#ifndef FDL_DECODE_CV_WARP_STEP_H
#define FDL_DECODE_CV_WARP_STEP_H

#include "decode/kernels/cv_warp.h"
#include "decode/plan/plan.h"

/* What a step sees of an image of that size; all of it, unless the step is a
 * map with a border of one colour. */
struct fdl_box fdl_cv_warp_reach(const struct fdl_step *step, int32_t width,
                                 int32_t height);

/* Whether the step takes lines in place of an image (canvas.h). */
bool fdl_cv_warp_takes_lines(const struct fdl_step *step);

void fdl_plan_cv_warp(struct fdl_plan *plan, const struct fdl_cv_warp *w);

#endif
