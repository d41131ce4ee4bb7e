/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's blurs as steps: edges are reflected, and for the median repeated. */
#ifndef FDL_DECODE_CV_BLUR_STEP_H
#define FDL_DECODE_CV_BLUR_STEP_H

#include "decode/kernels/cv_blur.h"
#include "decode/plan/plan.h"

#include <stdint.h>

/* Sides are odd; a sigma of 0 is what OpenCV takes for that side. */
void fdl_plan_cv_gauss(struct fdl_plan *plan, const int32_t side[2],
                       const double sigma[2]);
void fdl_plan_cv_box(struct fdl_plan *plan, const int32_t side[2]);
void fdl_plan_cv_median(struct fdl_plan *plan, int32_t side);

#endif
