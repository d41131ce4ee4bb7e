/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of an image from its blocks (jpeg_blocks.h) by our own transform
 * (jpeg_transform.h), without libjpeg, which has read the headers. Only the
 * blocks that the wanted columns need are transformed, a pair of them as soon
 * as it is decoded, while it is in the cache; chroma is upsampled and becomes
 * colour row by row, where a row is asked for.
 *
 * Gray, and YCbCr whose chroma has all or half of the columns and rows, at any
 * of libjpeg's scales; what else there is libjpeg does.
 *
 * Only decode/formats/jpeg*.c may include this: it shows libjpeg's types.
 */
#ifndef FDL_DECODE_JPEG_ROWS_H
#define FDL_DECODE_JPEG_ROWS_H

#include "decode/formats/jpeg_blocks.h"
#include "decode/formats/jpeg_transform.h"

#include <stdbool.h>
#include <stddef.h>

#define FDL_JPEG_PLANES 3

/* The samples of a component in the MCUs that are decoded: of as many rows of
 * these as the source goes to at once, and one before them, in turn, since the
 * upsampling of one needs a row of the other. */
struct fdl_jpeg_plane {
    uint8_t *samples; /* behind a margin */
    size_t stride;
    int32_t columns, rows; /* of blocks in an MCU */
    int32_t side;          /* of a block, in samples: 8, 4, 2 or 1 */
    int32_t wide, high;    /* an MCU, in samples */
    int32_t width, height; /* of the component, in samples */
    int32_t ring;          /* rows that are kept */
    uint16_t quant[DCTSIZE2];
    fdl_jpeg_pair *pair;
};

/* Two blocks of a unit that are transformed together. */
struct fdl_jpeg_pair_place {
    const struct fdl_jpeg_plane *plane;
    int32_t mcu;      /* of the unit, in which the left one is */
    int32_t at;       /* coefficients before it, of those of a lane */
    uint8_t block[2]; /* by which a lane tells their last ones */
    uint8_t zero;     /* of samples */
    size_t to;        /* where it goes, from where the unit begins */
};
#define FDL_JPEG_UNIT_PAIRS 6

/* How the time of reading rows divides, from every 16th row of MCUs, in which
 * the processor's counter is read before and after each pair of MCUs. Images
 * after each other share it, so that small ones have a share too. */
struct fdl_jpeg_pace {
    uint32_t rows; /* of MCUs so far */
    bool timed;    /* the last one */
    uint64_t since;
    uint64_t unpack, transform; /* ticks; old ones weigh less */
};

struct fdl_jpeg_rows {
    struct jpeg_decompress_struct *c;
    struct fdl_jpeg_blocks *source;
    const struct fdl_jpeg_transform *transform;
    int32_t n_planes;
    struct fdl_jpeg_plane planes[FDL_JPEG_PLANES];
    int32_t first, n; /* MCUs of each row that are decoded */
    int32_t next;     /* row of MCUs */
    int32_t end;      /* past the last one */
    int32_t n_rows;   /* that the source is at, 0: not there yet */
    struct fdl_jpeg_lane lanes[FDL_JPEG_LANES];
    int32_t n_pairs; /* of a unit */
    struct fdl_jpeg_pair_place pairs[FDL_JPEG_UNIT_PAIRS];
    int32_t y; /* the next row of pixels */
    size_t width;
    int16_t *coefficients;     /* zeros: of a unit of each lane */
    int8_t *chroma[2];         /* a row each */
    struct fdl_jpeg_pace pace; /* outlives the image */
};

/* Whether c's file, which has its output's size, is of a kind that this can do.
 */
bool fdl_jpeg_rows_can(const struct jpeg_decompress_struct *c);

/* In place of jpeg_start_decompress, which makes tables for libjpeg's own
 * decoder, and buffers: c has read its headers, and what its output is to be is
 * set. False: it is of no kind that this can do, or libjpeg would have found a
 * table wrong; c may be started as ever then, as it may be later. */
bool fdl_jpeg_rows_prepare(struct jpeg_decompress_struct *c);

/* c was started, or prepared, and has given no row; source is at MCU 0.
 * Takes memory from c and goes to row y, the first of `height`. Rows will be
 * *width pixels from *x on, which is rounded down as by jpeg_crop_scanline.
 * False, and nothing has changed: not of a kind that this can do, or its scan
 * has components in another order than the file. */
bool fdl_jpeg_rows_begin(struct fdl_jpeg_rows *r,
                         struct jpeg_decompress_struct *c,
                         struct fdl_jpeg_blocks *source, JDIMENSION *x,
                         JDIMENSION *width, JDIMENSION y, JDIMENSION height);

/* The next row. Errors are those of the source. */
void fdl_jpeg_rows_read(struct fdl_jpeg_rows *r, uint8_t *to);

/* How much of ns that reading rows took went into their coefficients. */
int64_t fdl_jpeg_rows_unpacking(const struct fdl_jpeg_rows *r, int64_t ns);

#endif
