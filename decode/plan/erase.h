/* SPDX-License-Identifier: Apache-2.0 */
/* The finished step that overwrites a rectangle with a value for each channel,
 * with noise, or with elements that somebody has. */
#ifndef FDL_DECODE_ERASE_H
#define FDL_DECODE_ERASE_H

#include "decode/plan/plan.h"

#include <stdbool.h>

struct fdl_erase_step {
    struct fdl_box box;
    float value[FDL_CHANNELS_MAX];
    bool noise; /* normally distributed values of rng instead */
    struct fdl_rng rng;
    const void *elements; /* or these, [channels][height][width] of the box, of
                             the sample's type; NULL: none */
};

void fdl_plan_erase(struct fdl_plan *plan, const struct fdl_erase_step *e);

#endif
