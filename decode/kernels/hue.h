/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A turn of the hue through Pillow's HSV of bytes, with its rounding: hue +
 * shift, modulo 256, of n pixels in place. The kernel of each level; they are
 * chosen with those of blend.h.
 */
#ifndef FDL_DECODE_HUE_H
#define FDL_DECODE_HUE_H

#include <stddef.h>
#include <stdint.h>

void fdl_hue_shift(uint8_t *r, uint8_t *g, uint8_t *b, size_t n, uint8_t shift);
void fdl_hue_shift_avx2(uint8_t *r, uint8_t *g, uint8_t *b, size_t n,
                        uint8_t shift);

#endif
