/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MixUp of two runs of elements: x becomes x * own + y * other, each product
 * and the sum rounded by itself, as torch does it. Bytes are mixed as floats
 * and rounded to the nearest, halves to even (timm's FastCollateMixup).
 *
 * Plain C: these loops wait for memory.
 */
#ifndef FDL_DECODE_MIX_RUNS_H
#define FDL_DECODE_MIX_RUNS_H

#include <stddef.h>
#include <stdint.h>

void fdl_mix_floats(float *x, const float *y, size_t n, float own, float other);
void fdl_mix_bytes(uint8_t *x, const uint8_t *y, size_t n, float own,
                   float other);

#endif
