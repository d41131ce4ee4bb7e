/* SPDX-License-Identifier: Apache-2.0 */
/* A processor for which there are no kernels beyond plain C. */
#include "decode/kernels/levels.h"

const struct fdl_resample_kernels *const fdl_resample_levels[FDL_CPU_LEVELS];
const struct fdl_finish_kernels *const fdl_finish_levels[FDL_CPU_LEVELS];
const struct fdl_blend_kernels *const fdl_blend_levels[FDL_CPU_LEVELS];
const struct fdl_rotate_kernels *const fdl_rotate_levels[FDL_CPU_LEVELS];
