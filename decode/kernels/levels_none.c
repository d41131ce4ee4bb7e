/* SPDX-License-Identifier: Apache-2.0 */
/* A processor for which there are no kernels beyond plain C. */
#include "decode/kernels/levels.h"

#define PLAIN_C                                                                \
  {                                                                            \
    &fdl_resample_c, &fdl_finish_c, &fdl_blend_c, &fdl_map_c, &fdl_gauss_c,    \
        &fdl_mix_c                                                             \
  }

const struct fdl_kernels fdl_kernels[FDL_CPU_LEVELS] = {
    [FDL_CPU_C] = PLAIN_C,
    [FDL_CPU_AVX2] = PLAIN_C,
    [FDL_CPU_AVX512] = PLAIN_C,
};
