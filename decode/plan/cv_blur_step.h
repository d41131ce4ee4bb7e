/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's blurs as steps; the edges of a median are repeated. */
#ifndef FDL_DECODE_CV_BLUR_STEP_H
#define FDL_DECODE_CV_BLUR_STEP_H

#include "decode/kernels/cv_blur.h"
#include "decode/kernels/cv_border.h"
#include "decode/plan/plan.h"

#include <stdint.h>

/* Sides are odd; a sigma of 0 is what OpenCV takes for that side. Beyond a
 * constant border there are zeros. */
void fdl_plan_cv_gauss(struct fdl_plan *plan, const int32_t side[2],
                       const double sigma[2], enum fdl_cv_border border);

/* Sides may be even, if the area is up to FDL_CV_EVEN_MAX. Not wrap. */
void fdl_plan_cv_box(struct fdl_plan *plan, const int32_t side[2],
                     enum fdl_cv_border border);
void fdl_plan_cv_median(struct fdl_plan *plan, int32_t side);

#endif
