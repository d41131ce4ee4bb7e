/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenCV's resize of bytes, to the bit, one plane at a time. Rows are summed to
 * int32_t without rounding, then columns of these to bytes: of two rows with
 * the bits lost that OpenCV's products of 16 bits lose, of eight exactly. AREA
 * sums in float in the order of the pixels, or whole numbers.
 *
 * All levels give the same bytes.
 */
#ifndef FDL_DECODE_CV_RESIZE_H
#define FDL_DECODE_CV_RESIZE_H

#include "base/cpu.h"
#include "decode/kernels/cv_axis.h"
#include "decode/pixels/image.h"

#include <stddef.h>
#include <stdint.h>

/* Rows that are kept between the passes. */
#define FDL_CV_ROWS 8

struct fdl_cv_resize_job {
    const struct fdl_image *in, *out;
    const struct fdl_cv_axis *x, *y;
    uint8_t *scratch; /* fdl_cv_resize_scratch, aligned to 64 */
};

struct fdl_cv_resize_kernels {
    /* out[i]: one pixel of a row. */
    void (*pick)(const uint8_t *in, const struct fdl_cv_axis *x, uint8_t *out);
    /* out[i]: the sum of x->taps pixels of a row. */
    void (*across)(const uint8_t *in, const struct fdl_cv_axis *x,
                   int32_t *out);
    /* Of 2 or 8 rows. */
    void (*down)(const int32_t *const *rows, const int16_t *weight,
                 int32_t taps, size_t n, uint8_t *out);
    /* out[i]: the sum, in their order, of the pixels of a row that pixel i
     * covers; reads up to 3 behind those. */
    void (*cover)(const uint8_t *in, const struct fdl_cv_axis *x, float *out);
    /* Adds a line, weighed; and rounds what all of them add up to. */
    void (*add)(const float *line, float weight, size_t n, float *total);
    void (*round)(const float *total, size_t n, uint8_t *out);
    /* Adds whole pixels. */
    void (*count)(const uint8_t *in, size_t n, int32_t *sums);
    /* n means of 2 * 2 pixels, rounded half up. */
    void (*halve)(const uint8_t *above, const uint8_t *below, size_t n,
                  uint8_t *out);
};

/* Bytes; 0: they do not fit a size_t. */
size_t fdl_cv_resize_scratch(const struct fdl_cv_axis_key *x);

void fdl_cv_resize(const struct fdl_cv_resize_kernels *k,
                   const struct fdl_cv_resize_job *job);

/* Of each level; levels.h has them all. */
extern const struct fdl_cv_resize_kernels fdl_cv_resize_c, fdl_cv_resize_avx2;

#endif
