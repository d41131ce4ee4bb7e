/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's filter2D as a step. */
#ifndef FDL_DECODE_CV_FILTER_STEP_H
#define FDL_DECODE_CV_FILTER_STEP_H

#include "decode/kernels/cv_border.h"
#include "decode/plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* Sides of a kernel, at most; of as many elements and more OpenCV transforms
 * the image instead. */
#define FDL_CV_FILTER_SIDE 11
#define FDL_CV_FILTER_AREA 130

/* kernel: height * width floats, which stay as long as the plan; odd sides;
 * the border is not wrap, and constant is of zeros. rest: with OpenCV 5's
 * arithmetic. */
void fdl_plan_cv_filter(struct fdl_plan *plan, const float *kernel,
                        int32_t width, int32_t height,
                        enum fdl_cv_border border, bool rest);

#endif
