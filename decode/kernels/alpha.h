/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Colours with alpha. An invisible colour must not bleed into its neighbours,
 * so whatever mixes pixels works on colours multiplied by alpha, and divides by
 * the resulting alpha: Pillow's modes La and RGBa, with its rounding.
 */
#ifndef FDL_DECODE_ALPHA_H
#define FDL_DECODE_ALPHA_H

#include <stddef.h>
#include <stdint.h>

/* Of an image with that many channels: alpha is the last of 2 and of 4. */
#define FDL_HAS_ALPHA(channels) ((channels) % 2 == 0)
#define FDL_COLOURS(channels)   ((channels) < 3 ? 1 : 3)

/* n pixels of `colours` channels and alpha become n of colours alone, in place,
 * and a plane of alpha. */
void fdl_alpha_split(uint8_t *row, size_t n, int32_t colours, uint8_t *alpha);

/* n pixels of interleaved colours. */
void fdl_alpha_multiply(uint8_t *row, size_t n, int32_t colours,
                        const uint8_t *alpha);

/* n bytes of one plane. Where alpha is 0 there is no colour to find. */
void fdl_alpha_divide(uint8_t *plane, size_t n, const uint8_t *alpha);

#endif
