/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's CLAHE for AVX2. */
#include "base/compiler.h"

#define TARGET FDL_TARGET("avx2")

#include "decode/kernels/cv_equalize_loops.h"

const struct fdl_cv_equalize_kernels fdl_cv_equalize_avx2 = {
    .join = join_loop,
    .mix = mix_loop,
};
