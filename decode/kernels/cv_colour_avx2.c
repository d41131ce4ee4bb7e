/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's conversions for AVX2, with FMA for those products that are fused. */
#include "base/compiler.h"

#define TARGET FDL_TARGET("avx2,fma")

#include "decode/kernels/cv_colour.h"
#include "decode/kernels/cv_colour_loops.h"
#include "decode/kernels/cv_hls_loops.h"
#include "decode/kernels/cv_hsv_float_loops.h"
#include "decode/kernels/cv_hsv_loops.h"
#include "decode/kernels/cv_lab_loops.h"

const struct fdl_cv_colour_kernels fdl_cv_colour_avx2 = {
    {CV_COLOUR_LOOPS}, floats_to_hsv, floats_from_hsv};
