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
#include <jerror.h>
/* clang-format on */

/* Samples of a block's side, of a component; libjpeg 7 and later have one for
 * each direction. */
#if JPEG_LIB_VERSION >= 70
#  define FDL_JPEG_SIDE(info) ((info)->DCT_h_scaled_size)
#else
#  define FDL_JPEG_SIDE(info) ((info)->DCT_scaled_size)
#endif

/* Whether a file is lossless (SOF3), so that its units are samples, and there
 * is no block: libjpeg-turbo 3 and later decode that. Right after
 * jpeg_read_header, before any output is set. */
static inline bool fdl_jpeg_is_lossless(const struct jpeg_decompress_struct *c)
{
    return FDL_JPEG_SIDE(&c->comp_info[0]) == 1;
}

/* Whether the libjpeg of this process is that of the headers we were compiled
 * with. Versions 2 and 3 are one to a dynamic linker, libjpeg.so.62, and differ
 * in the structs between their modules (jpegint.h), so one must not be given
 * what was made for the other. They have different numbers of messages. */
static inline bool fdl_jpeg_is_as_compiled(
    const struct jpeg_decompress_struct *c)
{
    return c->err->last_jpeg_message == (int)JMSG_LASTMSGCODE - 1;
}

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

/* Rows of MCUs that may be gone to at once, and those of them that are taken
 * side by side. */
#define FDL_JPEG_ROWS  6
#define FDL_JPEG_LANES 3

/* MCUs that are taken at once: two of them, or four small ones. */
#define FDL_JPEG_UNIT 4
static inline uint32_t fdl_jpeg_unit(const struct jpeg_decompress_struct *c)
{
    int blocks = 0;
    for (int i = 0; i < c->num_components; i++)
        blocks += c->comp_info[i].h_samp_factor * c->comp_info[i].v_samp_factor;
    return blocks > 3 ? 2 : FDL_JPEG_UNIT;
}

/* Where a unit goes, to blocks of zeros, and the zigzag place of the last
 * coefficient of each block, past which it has zeros. Coefficients lie by rows
 * of 8, as far apart as jpeg_transform.h has them. */
struct fdl_jpeg_lane {
    JBLOCKROW blocks[FDL_JPEG_UNIT][D_MAX_BLOCKS_IN_MCU];
    uint8_t last[FDL_JPEG_UNIT][D_MAX_BLOCKS_IN_MCU];
    int32_t row; /* of those gone to */
};

/* What cannot be read leaves by longjmp. */
struct fdl_jpeg_blocks {
    /* To n MCUs from `column` on of row `row`, which is not before what was
     * taken, and of rows below it, `rows` at most with this one. How many rows:
     * 1 to `rows`, and to FDL_JPEG_ROWS. Lanes stay where they are. */
    int32_t (*go)(struct fdl_jpeg_blocks *b, struct jpeg_decompress_struct *c,
                  uint32_t row, int32_t rows, uint32_t column, uint32_t n,
                  struct fdl_jpeg_lane lanes[FDL_JPEG_LANES]);

    /* The next unit of a row, or what is left of it: of whichever has it first.
     * Which lane. Until all MCUs of all rows are taken. */
    int32_t (*take)(struct fdl_jpeg_blocks *b,
                    struct jpeg_decompress_struct *c);
};

#endif
