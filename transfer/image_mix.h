/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device does to one image of a batch that is mixed (mixup, cutmix)
 * while it is finished: struct fdl_finish of backend.h. Kernels for GPUs read
 * this too, so it is plain C without our other headers.
 */
#ifndef FDL_TRANSFER_IMAGE_MIX_H
#define FDL_TRANSFER_IMAGE_MIX_H

#include <stdint.h>

/* What becomes of an image: a sum of its numbers and those of another one, or
 * parts of both. */
enum fdl_finish_mix_kind {
    FDL_FINISH_ALONE = 0,
    FDL_FINISH_SUM, /* own * its numbers + other * the other's; of 4 bytes */
    FDL_FINISH_BOX  /* the other's pixels in the box */
};

/* Bits of fdl_image_mix.blank: whose numbers are zeros. */
#define FDL_FINISH_BLANK_OWN   1u
#define FDL_FINISH_BLANK_OTHER 2u

struct fdl_image_mix {
    uint32_t kind;
    uint32_t other; /* its number */
    float own_share, other_share;
    uint32_t left, top, right, bottom;
    uint32_t blank;
};

#endif
