/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's blurs for AVX-512, with FMA for those products that are fused. */
#include "base/compiler.h"

#define TARGET FDL_TARGET("avx512f,avx512bw,avx512vl,fma")

#include "decode/kernels/cv_blur.h"
#include "decode/kernels/cv_blur_loops.h"
#include "decode/kernels/cv_box_loops.h"
#include "decode/kernels/cv_median_loops.h"

const struct fdl_cv_blur_kernels fdl_cv_blur_avx512 = {
    .columns = columns_loop,
    .row = row_loop,
    .slide = slide_loop,
    .box = box_loop,
    .filter = filter_loop,
    .median = median_loop,
};
