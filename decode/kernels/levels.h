/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of each instruction set level: where a level has none of its own,
 * those of the best lower one. levels.c has those of x86-64 and ARM64, and
 * plain C everywhere else.
 */
#ifndef FDL_DECODE_LEVELS_H
#define FDL_DECODE_LEVELS_H

#include "base/cpu.h"
#include "decode/kernels/blend.h"
#include "decode/kernels/cv_blur.h"
#include "decode/kernels/cv_colour.h"
#include "decode/kernels/cv_equalize.h"
#include "decode/kernels/cv_floats.h"
#include "decode/kernels/cv_resize.h"
#include "decode/kernels/cv_warp.h"
#include "decode/kernels/cv_warp_straight.h"
#include "decode/kernels/finish.h"
#include "decode/kernels/finish_lookup.h"
#include "decode/kernels/gauss.h"
#include "decode/kernels/map.h"
#include "decode/kernels/mix_runs.h"
#include "decode/kernels/resample.h"

struct fdl_kernels {
    const struct fdl_resample_kernels *resample;
    const struct fdl_finish_kernels *finish;
    const struct fdl_blend_kernels *blend;
    const struct fdl_map_kernels *map;
    const struct fdl_gauss_kernels *gauss;
    const struct fdl_mix_kernels *mix;
    const struct fdl_cv_resize_kernels *cv_resize;
    const struct fdl_cv_blur_kernels *cv_blur;
    const struct fdl_cv_warp_kernels *cv_warp;
    const struct fdl_cv_float_kernels *cv_floats;
    const struct fdl_cv_colour_kernels *cv_colour;
    const struct fdl_cv_equalize_kernels *cv_equalize;
    const struct fdl_cv_straight_kernels *cv_straight;
    const struct fdl_cv_laid_kernels *cv_laid;
    const struct fdl_lookup_kernels *lookup;
};

extern const struct fdl_kernels fdl_kernels[FDL_CPU_LEVELS];

#endif
