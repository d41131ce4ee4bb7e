/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchvision's adjust_brightness, adjust_contrast, adjust_saturation and
 * adjust_hue, one or several in a drawn order, as one step: on Pillow images,
 * or v2's on uint8 tensors.
 */
#ifndef FDL_DECODE_ADJUST_H
#define FDL_DECODE_ADJUST_H

#include "decode/plan/plan.h"

enum fdl_adjust {
    FDL_ADJUST_BRIGHTNESS = 0,
    FDL_ADJUST_CONTRAST,
    FDL_ADJUST_SATURATION,
    FDL_ADJUST_HUE,
    FDL_ADJUSTS
};

struct fdl_adjust_step {
    uint32_t n;
    uint32_t order[FDL_ADJUSTS]; /* enum fdl_adjust, first to last */
    double factor[FDL_ADJUSTS];  /* by enum fdl_adjust */
    bool tensor;                 /* as of uint8 tensors, see torch.h */
};

/* Adds it; nothing if n is 0. */
void fdl_plan_adjust(struct fdl_plan *plan, const struct fdl_adjust_step *a);

/* Its order and factors. */
void fdl_note_adjust(const struct fdl_plan *plan,
                     const struct fdl_adjust_step *a);

/* Factors above this are refused: all pixels are 0 or 255 long before, and
 * kernels count on products that fit an int32. */
#define FDL_FACTOR_MAX 1e6

#endif
