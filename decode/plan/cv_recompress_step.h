/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's imencode as JPEG, and imdecode of that, as a step. */
#ifndef FDL_DECODE_CV_RECOMPRESS_STEP_H
#define FDL_DECODE_CV_RECOMPRESS_STEP_H

#include "decode/kernels/cv_recompress.h"
#include "decode/plan/plan.h"

/* Of one channel, or of three, the first of which is blue to OpenCV. */
void fdl_plan_cv_recompress(struct fdl_plan *plan, int32_t quality);

#endif
