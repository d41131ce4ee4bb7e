/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of jpeg_transform.h with AVX-512; jpeg_transform.c has the others. */
#ifndef FDL_DECODE_JPEG_TRANSFORM_AVX512_H
#define FDL_DECODE_JPEG_TRANSFORM_AVX512_H

#include "decode/formats/jpeg_transform.h"

#include <stdbool.h>

/* Pairs of factors, as jpeg_transform_avx512.c has them in order: in another
 * file, so that they are loaded. The compiler would make each by a move to a
 * register and another one from there. */
#define FDL_JPEG_AVX512_FACTORS 14
extern const int32_t fdl_jpeg_avx512_factors[FDL_JPEG_AVX512_FACTORS];

/* A pair of whole blocks, of which `last` is not 0. False, and nothing has
 * changed: their values are so large that sums of 16 bits may wrap around. */
bool fdl_jpeg_pair_avx512(int16_t *coefficients, const uint16_t *quant,
                          unsigned last, uint8_t zero, uint8_t *to,
                          size_t stride);

void fdl_jpeg_rgb_avx512(const uint8_t *y, const int8_t *cb, const int8_t *cr,
                         size_t n, uint8_t *to);

#endif
