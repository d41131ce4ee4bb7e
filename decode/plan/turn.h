/* SPDX-License-Identifier: Apache-2.0 */
/* Pillow's transpose: flips and quarter turns. Mirrored images are folded where
 * flips are (plan.h); what swaps the sides is a step. */
#ifndef FDL_DECODE_TURN_H
#define FDL_DECODE_TURN_H

#include "decode/plan/plan.h"

/* Pillow's numbers; turns are counter-clockwise. */
enum fdl_transpose {
    FDL_FLIP_LEFT_RIGHT = 0,
    FDL_FLIP_TOP_BOTTOM,
    FDL_ROTATE_90,
    FDL_ROTATE_180,
    FDL_ROTATE_270,
    FDL_TRANSPOSE,
    FDL_TRANSVERSE,
    FDL_TRANSPOSES
};

/* Objects stay where they are, unless by a flip: who needs them moved does it.
 */
void fdl_plan_transpose(struct fdl_plan *plan, enum fdl_transpose how);

#endif
