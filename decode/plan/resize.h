/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The step that resamples the image as it is by then: a second resampling, or
 * one behind steps that it may not pass. The first one is done while decoding
 * (geometry.h). Operations ask for it through plan.h.
 */
#ifndef FDL_DECODE_RESIZE_H
#define FDL_DECODE_RESIZE_H

#include "decode/pixels/geometry.h"
#include "decode/plan/step.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_resize_step {
    int32_t width, height;
    struct fdl_span x, y; /* what becomes that; its surroundings count */
    enum fdl_filter filter;
    enum fdl_nearest nearest;
    bool tensor; /* as torch's, not Pillow's */
};

extern const struct fdl_step_kind fdl_resize_kind;

#endif
