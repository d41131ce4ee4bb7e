/* SPDX-License-Identifier: Apache-2.0 */
/* One drawn operation of a policy or space, with torchvision's meaning of its
 * magnitude or timm's, as steps of a plan. */
#ifndef FDL_DECODE_AUGMENT_H
#define FDL_DECODE_AUGMENT_H

#include "decode/ops/augment_tables.h"
#include "decode/plan/affine.h"
#include "decode/plan/plan.h"

#include <stdint.h>

enum fdl_augment_library { FDL_TORCHVISION_V1, FDL_TORCHVISION_V2, FDL_TIMM };

struct fdl_augmentation {
    enum fdl_augment op;
    double magnitude; /* as the library's function for it takes it */
    enum fdl_map_filter filter;
};

/* Adds at most one step, and a note. The errors of fdl_plan_window. */
int32_t fdl_plan_augmentation(struct fdl_plan *plan,
                              enum fdl_augment_library library,
                              const struct fdl_augmentation *a,
                              const uint8_t fill[4]);

#endif
