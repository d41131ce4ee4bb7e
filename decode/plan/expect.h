/* SPDX-License-Identifier: Apache-2.0 */
/* What a program took for granted of an image that it has not seen. */
#ifndef FDL_DECODE_EXPECT_H
#define FDL_DECODE_EXPECT_H

#include "decode/plan/plan.h"

#include <stdint.h>

/* Fails for an image without a byte that has a 1 in `wanted`: 256 for each
 * channel, as long as the plan. */
void fdl_plan_expect(struct fdl_plan *plan, const uint8_t *wanted);

#endif
