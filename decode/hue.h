/* SPDX-License-Identifier: Apache-2.0 */
/* A turn of the hue through Pillow's HSV of bytes, with its rounding. */
#ifndef FDL_DECODE_HUE_H
#define FDL_DECODE_HUE_H

#include <stddef.h>
#include <stdint.h>

/* Hue + shift, modulo 256, of n pixels in place. */
void fdl_hue_shift(uint8_t *r, uint8_t *g, uint8_t *b, size_t n, uint8_t shift);

#endif
