/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's resize as a step, of which only what is seen is made. */
#ifndef FDL_DECODE_CV_RESIZE_STEP_H
#define FDL_DECODE_CV_RESIZE_STEP_H

#include "decode/kernels/cv_axis.h"
#include "decode/plan/plan.h"

#include <stdint.h>

/* To width x height; scale: how much larger x and y become, or 0 for what the
 * sizes say. */
void fdl_plan_cv_resize(struct fdl_plan *plan, int32_t width, int32_t height,
                        enum fdl_cv_filter filter, const double scale[2]);

#endif
