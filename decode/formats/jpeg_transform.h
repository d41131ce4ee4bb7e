/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From quantised coefficients to pixels: libjpeg-turbo's accurate integer
 * transform (JDCT_ISLOW) and the smaller ones of its scales, its fancy
 * upsampling and its YCbCr to RGB, bit for bit, also where values overflow,
 * which is that of its SIMD code.
 *
 * Two blocks that are side by side go through the transform together, one in
 * each half of a register. They lie in memory as they go into registers: 8
 * coefficients of a row of the left block, then 8 of the right one.
 *
 * Chroma has its zero at 0, luma at 128, as pixels have; so the rounding of
 * upsampling, a multiple of 128 apart, is the same.
 */
#ifndef FDL_DECODE_JPEG_TRANSFORM_H
#define FDL_DECODE_JPEG_TRANSFORM_H

#include <stddef.h>
#include <stdint.h>

#define FDL_PAIR_COEFFICIENTS 128

/* Where a coefficient of the left block lies, from its place in zigzag order;
 * those of the right one lie 8 behind. */
extern const uint8_t fdl_jpeg_pair_order[64];

/* Samples before and after a row that may be read, and bytes after one that may
 * be written. */
#define FDL_TRANSFORM_MARGIN 64

/* quant: of one block, by rows. last: a place in zigzag order past which both
 * have zeros. zero: what is added. Writes as many rows as a block is to have,
 * of both, and leaves zeros in the coefficients. */
typedef void fdl_jpeg_pair(int16_t *coefficients, const uint16_t *quant,
                           unsigned last, uint8_t zero, uint8_t *to,
                           size_t stride);

struct fdl_jpeg_transform {
    fdl_jpeg_pair *pair[4]; /* to blocks of 1, 2, 4 and 8 rows */

    /* To the size of luma, by how often it has as many columns and rows. n: of
     * `near`, the row that the result lies in, and which has a sample more on
     * either side. far: the nearer one of its neighbours; below: it lies below.
     */
    void (*upsample[2][2])(const int8_t *near, const int8_t *far, int below,
                           size_t n, int8_t *to);

    /* Writes 3n bytes and no more. */
    void (*rgb)(const uint8_t *y, const int8_t *cb, const int8_t *cr, size_t n,
                uint8_t *to);
};

/* To blocks of 1: plain C, which every processor's have. */
fdl_jpeg_pair fdl_jpeg_pair_of_1;

/* Of ARM64. */
extern const struct fdl_jpeg_transform fdl_jpeg_transform_neon;

/* NULL: this processor has none. */
const struct fdl_jpeg_transform *fdl_jpeg_transform(void);

#endif
