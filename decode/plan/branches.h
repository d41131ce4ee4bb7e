/* SPDX-License-Identifier: Apache-2.0 */
/* Several versions of the image, each by steps of its own, made into one again:
 * timm's AugMix. The size is the same throughout. */
#ifndef FDL_DECODE_BRANCHES_H
#define FDL_DECODE_BRANCHES_H

#include "decode/plan/plan.h"

#include <stdbool.h>

/* Steps that each version costs beside its own, and all of them together. */
#define FDL_STEPS_OF_BRANCH 1
#define FDL_STEPS_BRANCHING 1

/* The image is as it should be for each of them. */
void fdl_plan_branch(struct fdl_plan *plan);

/* A version is done, and the next one begins. After the last one the image is
 * the blend, by `share`, of what it was and the sum of all by weight. */
struct fdl_branch_end {
    float weight;
    bool first, last;
    float share; /* at the last */
};
void fdl_plan_branch_end(struct fdl_plan *plan,
                         const struct fdl_branch_end *end);

#endif
