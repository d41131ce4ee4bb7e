/* SPDX-License-Identifier: Apache-2.0 */
/* Finished steps on floats: colours as OpenCV converts them, and the arithmetic
 * that programs do in between, as NumPy does it. */
#ifndef FDL_DECODE_FLOAT_STEP_H
#define FDL_DECODE_FLOAT_STEP_H

#include "decode/plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* Of three channels; bgr: of the image with colours, the first is blue. */
void fdl_plan_float_hsv(struct fdl_plan *plan, bool to_hsv, bool bgr);

enum fdl_float_how {
    FDL_FLOAT_ADD,       /* x + a */
    FDL_FLOAT_MULTIPLY,  /* x * a */
    FDL_FLOAT_CLIP,      /* from a to b */
    FDL_FLOAT_ADD_ABOVE, /* x + b where x > a */
    FDL_FLOAT_ADD_BELOW, /* x + b where x < a */
    FDL_FLOAT_HOWS
};

#define FDL_FLOAT_EVERY (-1) /* channel */

struct fdl_float_values {
    enum fdl_float_how how;
    int32_t channel;
    float a, b;
};
void fdl_plan_float_values(struct fdl_plan *plan,
                           const struct fdl_float_values *values);

/* from: of each channel, which it is. */
void fdl_plan_float_channels(struct fdl_plan *plan,
                             const uint8_t from[FDL_CHANNELS_MAX]);

#endif
