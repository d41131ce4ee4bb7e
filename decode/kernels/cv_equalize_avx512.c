/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCV's CLAHE for AVX-512. */
#include "base/compiler.h"

#define TARGET FDL_TARGET("avx512f,avx512bw,avx512vl")

#include "decode/kernels/cv_equalize_loops.h"

const struct fdl_cv_equalize_kernels fdl_cv_equalize_avx512 = {
    .join = join_loop,
    .mix = mix_loop,
};
