/* SPDX-License-Identifier: Apache-2.0 */
/* timm's grammar of augmentations: "rand-m9-mstd0.5-inc1", "original",
 * "v0r-mstd1", "3a", "augmix-m5-w4-d2". */
#ifndef FDL_DECODE_TIMM_CONFIG_H
#define FDL_DECODE_TIMM_CONFIG_H

#include "decode/ops/augment_tables.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_timm_config {
    const struct fdl_choice_set *set; /* of RandAugment and AugMix, or NULL */
    const struct fdl_policy *policy;  /* of AutoAugment, or NULL */
    uint32_t layers;    /* operations in a row; 0 of AugMix: 1 to 3 */
    uint32_t branches;  /* of AugMix, or 0 */
    double probability; /* of each; policies have their own */
    double magnitude;   /* policies have their own */
    double deviation;   /* of magnitudes; infinite: 0 to it */
    double most;        /* magnitude */
    bool increasing;
};

/* EINVAL: timm would refuse it, or it is a way of AugMix that is not
 * supported; ERANGE. */
int32_t fdl_timm_parse(const char *text, struct fdl_timm_config *out);

#endif
