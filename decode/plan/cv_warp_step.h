/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's warps as steps. */
#ifndef FDL_DECODE_CV_WARP_STEP_H
#define FDL_DECODE_CV_WARP_STEP_H

#include "decode/kernels/cv_warp.h"
#include "decode/plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_cv_warp_step {
    int32_t width, height; /* of the result */
    bool linear;           /* or nearest */
    bool floats;           /* OpenCV 5's arithmetic */
    enum fdl_cv_border border;
    double m[6]; /* from the result to the image */
    uint8_t fill[FDL_CHANNELS_MAX];
};

void fdl_plan_cv_warp(struct fdl_plan *plan, const struct fdl_cv_warp_step *s);

#endif
