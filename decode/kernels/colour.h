/* SPDX-License-Identifier: Apache-2.0 */
/* Colour conversions in place, with Pillow's arithmetic. */
#ifndef FDL_DECODE_COLOUR_H
#define FDL_DECODE_COLOUR_H

#include <stddef.h>
#include <stdint.h>

/* n pixels of four bytes, inverted CMYK as Adobe writes it, become three. */
void fdl_cmyk_to_rgb(uint8_t *row, size_t n);

/* n pixels of three bytes become one. */
void fdl_rgb_to_gray(uint8_t *row, size_t n);

/* Three planes of n bytes become those of YCbCr. */
void fdl_rgb_to_ycbcr(uint8_t *const planes[3], size_t n);

#endif
