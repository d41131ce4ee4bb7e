/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's sums in float for AVX2, with FMA for those products that are
 * fused. */
#include "base/compiler.h"

#define TARGET FDL_TARGET("avx2,fma")

#include "decode/kernels/cv_floats_loops.h"

const struct fdl_cv_float_kernels fdl_cv_floats_avx2 = {
    .across = across_loop,
    .down = down_loop,
    .weigh = weigh_loop,
};
