/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's conversions in plain C. */
#define TARGET

#include "decode/kernels/cv_colour.h"

#include "decode/kernels/cv_colour_loops.h"
#include "decode/kernels/cv_hls_loops.h"
#include "decode/kernels/cv_hsv_float_loops.h"
#include "decode/kernels/cv_hsv_loops.h"
#include "decode/kernels/cv_lab_loops.h"

const struct fdl_cv_colour_kernels fdl_cv_colour_c = {
    {CV_COLOUR_LOOPS}, floats_to_hsv, floats_from_hsv};
