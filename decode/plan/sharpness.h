/* SPDX-License-Identifier: Apache-2.0 */
/* Pillow's ImageEnhance.Sharpness, or that of uint8 tensors: away from the
 * smoothed image or towards it, which is 0. Alpha stays. */
#ifndef FDL_DECODE_SHARPNESS_H
#define FDL_DECODE_SHARPNESS_H

#include "decode/plan/plan.h"

void fdl_plan_sharpness(struct fdl_plan *plan, bool tensor, double factor);

#endif
