/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of an image and something else, as OpenCV and NumPy make them: an array,
 * or its own gray image or the mean of that. */
#ifndef FDL_DECODE_CV_SUM_STEP_H
#define FDL_DECODE_CV_SUM_STEP_H

#include "decode/plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* OpenCV's numbers of types. */
enum fdl_cv_depth {
    FDL_CV_U8 = 0,
    FDL_CV_S16 = 3,
    FDL_CV_F32 = 5,
    FDL_CV_F64 = 6 /* to cut */
};

struct fdl_cv_added {
    const void *data; /* [height][width][channels], as long as the plan */
    enum fdl_cv_depth depth;
    bool cut; /* sums of floats, and no float is rounded before */
};

/* Adds an array of the image's size; sums end at 0 and 255. */
void fdl_plan_cv_add(struct fdl_plan *plan, const struct fdl_cv_added *added);

/* Of three colours, the first of which is red: a times the image and b times
 * its gray one. */
void fdl_plan_cv_add_gray(struct fdl_plan *plan, double a, double b);

/* The image times a factor, and the mean of its gray one times 1 - factor, cut
 * off; of one channel, or of red, green and blue. In floats, or in doubles. */
void fdl_plan_cv_contrast(struct fdl_plan *plan, double factor, bool doubles);

#endif
