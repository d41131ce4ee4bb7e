/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last pass of an image that is mixed with another one: from the pixels of
 * both, before theirs, to its place in the batch. Each value is written once.
 */
#ifndef FDL_DECODE_MIX_FINISH_H
#define FDL_DECODE_MIX_FINISH_H

#include "decode/kernels/finish.h"
#include "decode/plan/step.h"

#include <feedline/targets.h>

#include <stdbool.h>

/* An image before the last pass. */
struct fdl_mix_source {
    const uint8_t *planes;        /* u8, one after the other, readable for
                              FDL_PLANE_ALIGN bytes past their end */
    const struct fdl_step *steps; /* on the finished image */
    uint32_t n_steps;
    bool blank; /* finished, it is zeros */
};

/* dst: the image, of that format: u8 or f32 for MixUp. other: as `mix` says. */
void fdl_mix_finish(const struct feedline_image_mix *mix,
                    const struct fdl_output_format *format,
                    const struct fdl_affine *affine,
                    const struct fdl_mix_source *own,
                    const struct fdl_mix_source *other, void *dst);

#endif
