/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of each instruction set: of x86-64, of ARM64, or plain C for a
 * processor that has no others here. Where ARM64 has none by hand, the compiler
 * makes vectors of most loops of plain C (CMakeLists.txt). */
#include "decode/kernels/levels.h"

#define PLAIN_C                                                                \
  {                                                                            \
    &fdl_resample_c, &fdl_finish_c, &fdl_blend_c, &fdl_map_c, &fdl_gauss_c,    \
        &fdl_mix_c, &fdl_cv_resize_c, &fdl_cv_blur_c, &fdl_cv_warp_c,          \
        &fdl_cv_floats_c, &fdl_cv_colour_c, &fdl_cv_equalize_c,                \
        &fdl_cv_straight_c, &fdl_cv_laid_none, &fdl_lookup_none                \
  }

#ifdef __x86_64__

const struct fdl_kernels fdl_kernels[FDL_CPU_LEVELS] = {
    [FDL_CPU_C] = PLAIN_C,
    [FDL_CPU_AVX2] = {&fdl_resample_avx2, &fdl_finish_avx2, &fdl_blend_avx2,
                      &fdl_map_avx2, &fdl_gauss_avx2, &fdl_mix_avx2,
                      &fdl_cv_resize_avx2, &fdl_cv_blur_avx2, &fdl_cv_warp_avx2,
                      &fdl_cv_floats_avx2, &fdl_cv_colour_avx2,
                      &fdl_cv_equalize_avx2, &fdl_cv_straight_avx2,
                      &fdl_cv_laid_none, &fdl_lookup_none},
    [FDL_CPU_AVX512] = {&fdl_resample_avx512, &fdl_finish_avx2,
                        &fdl_blend_avx512, &fdl_map_avx2, &fdl_gauss_avx2,
                        &fdl_mix_avx2, &fdl_cv_resize_avx2, &fdl_cv_blur_avx512,
                        &fdl_cv_warp_avx2, &fdl_cv_floats_avx2,
                        &fdl_cv_colour_avx512, &fdl_cv_equalize_avx512,
                        &fdl_cv_straight_avx512, &fdl_cv_laid_avx512,
                        &fdl_lookup_512},
};

#elif defined(__aarch64__)

#  define NEON                                                                 \
    {                                                                          \
      &fdl_resample_neon, &fdl_finish_neon, &fdl_blend_c, &fdl_map_c,          \
          &fdl_gauss_c, &fdl_mix_c, &fdl_cv_resize_c, &fdl_cv_blur_c,          \
          &fdl_cv_warp_c, &fdl_cv_floats_c, &fdl_cv_colour_c,                  \
          &fdl_cv_equalize_c, &fdl_cv_straight_c, &fdl_cv_laid_none,           \
          &fdl_lookup_none                                                     \
    }

const struct fdl_kernels fdl_kernels[FDL_CPU_LEVELS] = {
    [FDL_CPU_C] = PLAIN_C,
    [FDL_CPU_NEON] = NEON,
    [FDL_CPU_AVX512] = NEON, /* nobody has that level here */
};

#else

const struct fdl_kernels fdl_kernels[FDL_CPU_LEVELS] = {
    [FDL_CPU_C] = PLAIN_C,
    [FDL_CPU_AVX2] = PLAIN_C,
    [FDL_CPU_AVX512] = PLAIN_C,
};

#endif
