/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which families of kernels are built in: one array entry per level, NULL where
 * a level adds nothing. levels_x86.c names those of x86-64; levels_none.c is
 * built everywhere else.
 */
#ifndef FDL_DECODE_LEVELS_H
#define FDL_DECODE_LEVELS_H

#include "base/cpu.h"
#include "decode/kernels/blend.h"
#include "decode/kernels/finish.h"
#include "decode/kernels/resample.h"
#include "decode/kernels/rotate.h"

extern const struct fdl_resample_kernels
    *const fdl_resample_levels[FDL_CPU_LEVELS];
extern const struct fdl_finish_kernels *const fdl_finish_levels[FDL_CPU_LEVELS];
extern const struct fdl_blend_kernels *const fdl_blend_levels[FDL_CPU_LEVELS];
extern const struct fdl_rotate_kernels *const fdl_rotate_levels[FDL_CPU_LEVELS];

/* Of the families that are built in. */
extern const struct fdl_resample_kernels fdl_resample_avx2, fdl_resample_avx512;
extern const struct fdl_blend_kernels fdl_blend_avx2;
extern const struct fdl_finish_kernels fdl_finish_avx2;
extern const struct fdl_rotate_kernels fdl_rotate_avx2;

#endif
