/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What OpenCV computes of bytes in float: separable filters and weighted sums,
 * to the bit. Its vectors fuse each product with the sum that it is added to;
 * what is left of them OpenCV 4 fuses as well, and OpenCV 5 does not.
 *
 * All levels give the same bytes. Lines are readable and writable in blocks of
 * FDL_CV_BLOCK elements.
 */
#ifndef FDL_DECODE_CV_FLOATS_H
#define FDL_DECODE_CV_FLOATS_H

#include "base/cpu.h"
#include "decode/kernels/cv_blur.h"

#include <stddef.h>
#include <stdint.h>

struct fdl_cv_float_kernels {
    /* Sums of `taps` bytes, weighed, from each of n on. */
    void (*across)(const uint8_t *in, const float *weight, int32_t taps,
                   size_t n, float *out);
    /* Sums of `taps` rows, weighed, rounded: an odd number, and weights are the
     * same from both sides. */
    void (*down)(const float *const *rows, const float *weight, int32_t taps,
                 size_t n, uint8_t *out);
    /* bytes[i] times a, plus other[i] times b, rounded; in place. */
    void (*weigh)(uint8_t *bytes, const uint8_t *other, float a, float b,
                  size_t n);
};

/* As across and down, but not fused, of [from, n). */
void fdl_cv_across_rest(const uint8_t *in, const float *weight, int32_t taps,
                        size_t from, size_t n, float *out);
void fdl_cv_down_rest(const float *const *rows, const float *weight,
                      int32_t taps, size_t from, size_t n, uint8_t *out);

/* Of each level; levels.h has them all. */
extern const struct fdl_cv_float_kernels fdl_cv_floats_c, fdl_cv_floats_avx2;

#endif
