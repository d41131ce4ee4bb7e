/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's equalizations of an image of one channel as steps. */
#ifndef FDL_DECODE_CV_EQUALIZE_STEP_H
#define FDL_DECODE_CV_EQUALIZE_STEP_H

#include "decode/kernels/cv_equalize.h"
#include "decode/plan/plan.h"

/* clahe: NULL for equalizeHist. channel: that it is done to. */
void fdl_plan_cv_equalize(struct fdl_plan *plan, int32_t channel,
                          const struct fdl_cv_clahe *clahe);

#endif
