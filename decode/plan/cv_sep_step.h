/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's sepFilter2D as a step. */
#ifndef FDL_DECODE_CV_SEP_STEP_H
#define FDL_DECODE_CV_SEP_STEP_H

#include "decode/kernels/cv_border.h"
#include "decode/plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

#define FDL_CV_SEP_SIDE 127 /* of a kernel, at most */

struct fdl_cv_sep {
    const float *kernel;   /* width floats, then height; as long as the plan */
    int32_t width, height; /* odd */
    enum fdl_cv_border border; /* not wrap; constant: of zeros */
    bool rest;                 /* with OpenCV 5's arithmetic */
};

/* false: a kernel is one that OpenCV sums along columns in another way, which
 * is not here: those that are not the same from both sides, and those of whole
 * parts of 1 / 256. */
bool fdl_cv_sep_is_in_float(const struct fdl_cv_sep *s);

void fdl_plan_cv_sep(struct fdl_plan *plan, const struct fdl_cv_sep *s);

#endif
