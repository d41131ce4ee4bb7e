/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MixUp of two runs of elements: x * own + y * other, each product and the sum
 * rounded by itself, as torch does it. Bytes are mixed as floats and rounded to
 * the nearest, halves to even (timm's FastCollateMixup).
 */
#ifndef FDL_DECODE_MIX_RUNS_H
#define FDL_DECODE_MIX_RUNS_H

#include <stddef.h>
#include <stdint.h>

struct fdl_mix_kernels {
    void (*floats)(float *to, const float *x, const float *y, size_t n,
                   float own, float other);
    void (*bytes)(uint8_t *to, const uint8_t *x, const uint8_t *y, size_t n,
                  float own, float other);
};

/* Of each level; levels.h has them all. */
extern const struct fdl_mix_kernels fdl_mix_c, fdl_mix_avx2;

#endif
