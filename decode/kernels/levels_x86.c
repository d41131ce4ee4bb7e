/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of x86-64. */
#include "decode/kernels/levels.h"

const struct fdl_resample_kernels *const fdl_resample_levels[FDL_CPU_LEVELS] = {
    [FDL_CPU_AVX2] = &fdl_resample_avx2,
    [FDL_CPU_AVX512] = &fdl_resample_avx512,
};

const struct fdl_finish_kernels *const fdl_finish_levels[FDL_CPU_LEVELS] = {
    [FDL_CPU_AVX2] = &fdl_finish_avx2,
};

const struct fdl_blend_kernels *const fdl_blend_levels[FDL_CPU_LEVELS] = {
    [FDL_CPU_AVX2] = &fdl_blend_avx2,
};

const struct fdl_rotate_kernels *const fdl_rotate_levels[FDL_CPU_LEVELS] = {
    [FDL_CPU_AVX2] = &fdl_rotate_avx2,
};
