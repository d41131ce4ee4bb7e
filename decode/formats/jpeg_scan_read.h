/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of several scans of a JPEG: a part of its coefficients (ITU-T T.81, annex
 * G), or all of one component. Each scan is read by itself, a row of MCUs at a
 * time, so who reads the same row of all scans, in their order, has the row.
 *
 * A scan that refines coefficients can only be read by who knows which of them
 * the scans before it made other than zero. That is kept of all blocks of a
 * row, the coefficients themselves only of blocks that are wanted.
 *
 * Only intact data, as in jpeg_entropy.h.
 *
 * Only decode/formats/jpeg*.c may include this: it shows libjpeg's types.
 */
#ifndef FDL_DECODE_JPEG_SCAN_READ_H
#define FDL_DECODE_JPEG_SCAN_READ_H

#include "decode/formats/huffman.h"
#include "decode/formats/jpeg_bits.h"
#include "decode/formats/jpeg_blocks.h"
#include "decode/formats/jpeg_transform.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FDL_JPEG_BLOCK_ROWS 2 /* of a component, in an MCU */

/* A row of blocks of a component, as the scans so far have it. */
struct fdl_jpeg_block_row {
    int16_t *dc;    /* the first coefficient of each block */
    uint64_t *seen; /* of each block: which of the others are not zero, by
                       zigzag places */
    int16_t *pairs; /* the others of `n` blocks from `first` on, as
                       jpeg_transform.h has pairs */
    uint32_t first, n;
};

/* Where block number i has them, which is wanted. */
static inline int16_t *fdl_jpeg_block_at(const struct fdl_jpeg_block_row *row,
                                         uint32_t i)
{
    uint32_t at = i - row->first;
    return row->pairs + (size_t)(at / 2) * FDL_PAIR_COEFFICIENTS + at % 2 * 8;
}

/* A block of an MCU. */
struct fdl_jpeg_place {
    struct fdl_jpeg_block_row *row;
    uint32_t at, step; /* in MCU number i it is block at + i * step */
    const struct fdl_huffman *dc;
    int32_t *last_dc;
};

struct fdl_jpeg_scan {
    bool (*read)(struct fdl_jpeg_scan *s, uint32_t from, uint32_t n, bool keep);
    uint32_t n_places;
    struct fdl_jpeg_place places[D_MAX_BLOCKS_IN_MCU];
    struct fdl_jpeg_block_row *component; /* of one; NULL: of several */
    uint32_t high;        /* rows of its blocks in an MCU of the image */
    unsigned low;         /* bits that it leaves to others */
    unsigned first, last; /* zigzag places, without the first of all */
    const struct fdl_huffman *ac;
    uint32_t columns, rows_left; /* of its own MCUs */

    const uint8_t *raw, *raw_end; /* not unstuffed yet */
    struct fdl_bits window;
    const uint8_t *end;   /* of what is in the buffer */
    const uint8_t *limit; /* up to here there is room for an MCU */
    bool at_marker;       /* raw is at a marker or at the end of the data */
    uint8_t *buffer;

    uint32_t run; /* blocks that have ended already */
    uint32_t restart_interval, mcus_to_restart;
    int32_t last_dc[MAX_COMPS_IN_SCAN];
};

/* c has just read the header of a scan; its file ends at `end`. Takes memory
 * from c. rows: of each component of the scan, those of an MCU of the image.
 * False: not a scan that this reads. */
bool fdl_jpeg_scan_open(struct fdl_jpeg_scan *s,
                        struct jpeg_decompress_struct *c, const uint8_t *end,
                        struct fdl_jpeg_block_row *const *rows);

/* The next row of the image's MCUs; keep: `pairs` are wanted. False: it is not
 * sound. */
bool fdl_jpeg_scan_row(struct fdl_jpeg_scan *s, bool keep);

#endif
