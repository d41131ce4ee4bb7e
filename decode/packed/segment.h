/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A segment: the quantised coefficients of up to 32 blocks that lie side by
 * side in one component of a JPEG, in a form that is read without a chain from
 * symbol to symbol. docs/packed.md has it to the bit: which places of a block
 * are not zero, then, for the whole segment, the signs of those values, which
 * are greater than 1, and by how much.
 *
 * Blocks are in natural order, by rows, as libjpeg's JBLOCK. Every value of 16
 * bits comes back as it was.
 */
#ifndef FDL_DECODE_SEGMENT_H
#define FDL_DECODE_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FDL_SEGMENT_BLOCKS 32

/* Most bytes of a segment. */
#define FDL_SEGMENT_BYTES                                                      \
  (3 +                                                                         \
   (FDL_SEGMENT_BLOCKS * (6 + 17 + 62 + 2 * 63 + 63 * (4 + 8 + 16)) + 5 * 7) / \
       8)

/* Bytes past a segment that may be read, if they are there. */
#define FDL_SEGMENT_MARGIN 64

#define FDL_SEGMENT_VALUES (FDL_SEGMENT_BLOCKS * 63)

/* n: 1 to FDL_SEGMENT_BLOCKS. Returns how many bytes were written. */
size_t fdl_segment_write(const int16_t (*blocks)[64], unsigned n, uint8_t *to);

/* Puts values where `places` has ones, and zeros elsewhere. */
typedef void fdl_segment_placer(uint64_t places, const int16_t *values,
                                int16_t *to, size_t stride);

/* A segment that is open; 15 KB. The caller owns it, and reads the blocks only
 * by fdl_segment_block. */
struct fdl_segment {
    fdl_segment_placer *place;
    uint64_t places[FDL_SEGMENT_BLOCKS]; /* that are not zero; but the first */
    uint16_t first[FDL_SEGMENT_BLOCKS];  /* of a block in `values` */
    int16_t dc[FDL_SEGMENT_BLOCKS];
    uint8_t last[FDL_SEGMENT_BLOCKS];
    int16_t values[FDL_SEGMENT_VALUES + FDL_SEGMENT_MARGIN];
    uint8_t excess[FDL_SEGMENT_VALUES + FDL_SEGMENT_MARGIN];
    uint8_t copy[FDL_SEGMENT_BYTES + FDL_SEGMENT_MARGIN];
};

/* data: `size` bytes, of `readable` that may be read. n: as it was written.
 * False: it is not a segment of n blocks and exactly that size. */
bool fdl_segment_open(struct fdl_segment *s, const uint8_t *data, size_t size,
                      size_t readable, unsigned n);

/* Block i: 8 rows of 8 coefficients, `stride` coefficients apart, each on 16
 * bytes. Returns the last place in zigzag order that is not zero. */
static inline unsigned fdl_segment_block(const struct fdl_segment *s,
                                         unsigned i, int16_t *to, size_t stride)
{
    s->place(s->places[i], s->values + s->first[i], to, stride);
    to[0] = s->dc[i];
    return s->last[i];
}

#endif
