/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's conversions for AVX-512: as many pixels, in half as many vectors. */
#include "base/compiler.h"

#define TARGET FDL_TARGET("avx512f,avx512bw,avx512vl,fma")

#include "decode/kernels/cv_colour.h"
#include "decode/kernels/cv_colour_loops.h"
#include "decode/kernels/cv_hls_loops.h"
#include "decode/kernels/cv_hsv_avx512.h"
#include "decode/kernels/cv_hsv_float_loops.h"
#include "decode/kernels/cv_lab_loops.h"

const struct fdl_cv_colour_kernels fdl_cv_colour_avx512 = {
    {CV_COLOUR_LOOPS}, floats_to_hsv, floats_from_hsv};
