/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's warps as steps. */
#ifndef FDL_DECODE_CV_WARP_STEP_H
#define FDL_DECODE_CV_WARP_STEP_H

#include "decode/kernels/cv_warp.h"
#include "decode/plan/plan.h"

void fdl_plan_cv_warp(struct fdl_plan *plan, const struct fdl_cv_warp *w);

#endif
