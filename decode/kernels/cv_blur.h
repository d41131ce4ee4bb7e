/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenCV's blurs of bytes, to the bit. A Gaussian has weights of 8 bits that
 * add up to 256, so sums along columns fit 16 bits and both passes are exact
 * until the last rounding. A box is a mean, a median one of the pixels; both
 * have odd sides, but that of a small box. A filter's sums are those of OpenCV
 * with AVX2.
 *
 * All levels give the same bytes. Lines are readable and writable in blocks of
 * FDL_CV_BLOCK elements.
 */
#ifndef FDL_DECODE_CV_BLUR_H
#define FDL_DECODE_CV_BLUR_H

#include "base/cpu.h"
#include "decode/kernels/cv_blur_sizes.h"

#include <stddef.h>
#include <stdint.h>

struct fdl_cv_blur_kernels {
    /* Sums of n columns: of `taps` rows, weighed the same from both sides. */
    void (*columns)(const uint8_t *const *rows, const uint16_t *weight,
                    int32_t taps, size_t n, uint16_t *out);
    /* Sums of `taps` elements from each of n on, weighed, >> 16, rounded. */
    void (*row)(const uint16_t *in, const uint16_t *weight, int32_t taps,
                size_t n, uint8_t *out);
    /* Sums of n columns: another row comes to them, and one goes. */
    void (*slide)(uint16_t *sums, const uint8_t *add, const uint8_t *drop,
                  size_t n);
    /* Means of sums of `taps` elements from each of n on, which are of `area`
     * pixels, an odd number; reads FDL_CV_BOX_BLOCK more. */
    void (*box)(const uint16_t *in, int32_t taps, int32_t area, size_t n,
                uint8_t *out);
    /* Sums of n_taps products in float, fused, from each of n on; taps[t]: the
     * pixel that the first of them takes. */
    void (*filter)(const uint8_t *const *taps, const float *weight,
                   int32_t n_taps, size_t n, uint8_t *out);
    /* The middle of side * side pixels, of each row `side` from each of n on;
     * 3 to FDL_CV_CHOICE_MAX. Reads FDL_CV_MEDIAN_MORE. */
    void (*median)(const uint8_t *const *rows, int32_t side, size_t n,
                   uint8_t *out);
};

/* As box, of an even area up to FDL_CV_EVEN_MAX: as OpenCV multiplies with
 * what it has of 1 / area. */
#define FDL_CV_EVEN_MAX 256
void fdl_cv_box_even(const uint16_t *in, int32_t taps, int32_t area, size_t n,
                     uint8_t *out);

/* As filter, but not fused, of [from, n): OpenCV 5 sums so what is left of its
 * vectors. */
void fdl_cv_filter_rest(const uint8_t *const *taps, const float *weight,
                        int32_t n_taps, size_t from, size_t n, uint8_t *out);

/* As median, with a side above FDL_CV_CHOICE_MAX. */
void fdl_cv_median_wide(const uint8_t *const *rows, int32_t side, size_t n,
                        uint8_t *out);

/* Of each level; levels.h has them all. */
extern const struct fdl_cv_blur_kernels fdl_cv_blur_c, fdl_cv_blur_avx2,
    fdl_cv_blur_avx512;

#endif
