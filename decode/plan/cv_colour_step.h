/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's conversions between colours as a step. */
#ifndef FDL_DECODE_CV_COLOUR_STEP_H
#define FDL_DECODE_CV_COLOUR_STEP_H

#include "decode/kernels/cv_colour.h"
#include "decode/plan/plan.h"

#include <stdbool.h>

/* Of three channels; bgr: of the image with colours, the first is blue. */
void fdl_plan_cv_colour(struct fdl_plan *plan, enum fdl_cv_colour how,
                        bool bgr);

#endif
