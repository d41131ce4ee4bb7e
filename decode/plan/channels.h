/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pillow's convert between the modes that have names here by their channels: 1
 * is L, 2 is LA, 3 is RGB, 4 is RGBA; and from a palette. Where nothing was
 * done to the pixels yet, decoding gives another mode at no cost (plan.h); this
 * is for later.
 */
#ifndef FDL_DECODE_CHANNELS_H
#define FDL_DECODE_CHANNELS_H

#include "decode/plan/plan.h"

/* palette: of an image whose bytes are indices into it; it is there until the
 * plan is done. NULL: they are colours. */
void fdl_plan_convert(struct fdl_plan *plan, int32_t channels,
                      const struct fdl_palette *palette);

/* Pillow's convert("YCbCr") of an image of one or three colours. */
void fdl_plan_ycbcr(struct fdl_plan *plan);

/* Of `have` channels, channel i becomes what channel from[i] is; n: 1 to 4. */
void fdl_plan_channels(struct fdl_plan *plan, int32_t have, int32_t n,
                       const uint8_t *from);

/* Whether the last pixel step is that, of three channels and three: the last
 * pass may take them in that order. */
bool fdl_plan_ends_in_order(const struct fdl_plan *plan, uint8_t from[3]);

/* All three colours become the luma; tensor: torch's. A gray image stays. */
void fdl_plan_gray(struct fdl_plan *plan, bool tensor);

#endif
