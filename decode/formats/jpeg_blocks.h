/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where jpeg_rows.h takes the blocks of an image from: a Huffman stream
 * (jpeg_entropy.h), or coefficients that are stored apart (jpeg_packed.h).
 *
 * Only decode/formats/jpeg*.c may include this: it shows libjpeg's types.
 */
#ifndef FDL_DECODE_JPEG_BLOCKS_H
#define FDL_DECODE_JPEG_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* jpeglib.h wants stdio.h before it. */
/* clang-format off */
#include <jpeglib.h>
/* clang-format on */

/* Samples of a block's side, of a component; libjpeg 7 and later have one for
 * each direction. */
#if JPEG_LIB_VERSION >= 70
#  define FDL_JPEG_SIDE(info) ((info)->DCT_h_scaled_size)
#else
#  define FDL_JPEG_SIDE(info) ((info)->DCT_scaled_size)
#endif

/* Whether scans of a progressive file are missing, so that libjpeg guesses
 * coefficients from neighbouring blocks. */
static inline bool fdl_jpeg_lacks_scans(const struct jpeg_decompress_struct *c)
{
    for (int i = 0; c->coef_bits && i < c->num_components; i++)
        for (int k = 0; k < DCTSIZE2; k++)
            if (c->coef_bits[i][k] != 0)
                return true;
    return false;
}

/* Coefficients lie by rows of 8, as far apart as jpeg_transform.h has them.
 * What cannot be read leaves by longjmp. */
struct fdl_jpeg_blocks {
    /* To MCU `column` of row `row`, which is not before the next one. */
    void (*go)(struct fdl_jpeg_blocks *b, struct jpeg_decompress_struct *c,
               uint32_t row, uint32_t column);

    /* The next MCU of the row, into blocks of zeros. The zigzag place of the
     * last coefficient of each block, past which it has zeros. */
    const uint8_t *(*take)(struct fdl_jpeg_blocks *b,
                           struct jpeg_decompress_struct *c, JBLOCKROW *mcu);
};

#endif
