/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packed sample: the headers of a JPEG, its coefficients as segments
 * (segment.h), and what it takes to rebuild the file. docs/packed.md has the
 * format. Numbers are little-endian and lie anywhere.
 */
#ifndef FDL_DECODE_CONTAINER_H
#define FDL_DECODE_CONTAINER_H

#include "decode/packed/segment.h"

#define FDL_PACKED_VERSION 1
#define FDL_PACKED_PLANES  4

enum {
    FDL_PACKED_SAME_BYTES = 1, /* the JPEG comes back to the byte */
    FDL_PACKED_SCANS = 2,      /* it had several, which the tail describes */
    FDL_PACKED_FLAGS = 3
};

/* A component: rows of blocks, each of them cut into segments. */
struct fdl_packed_plane {
    uint32_t blocks_wide, blocks_high;
    uint32_t bytes, crc;
    const uint8_t *lengths; /* of each segment, 2 bytes */
    const uint8_t *data;    /* segment after segment */
};

struct fdl_packed {
    unsigned flags, n_planes;
    struct fdl_packed_plane planes[FDL_PACKED_PLANES];
    const uint8_t *prefix; /* a JPEG up to its coefficients, of one scan */
    const uint8_t *tail;
    uint32_t prefix_bytes, tail_bytes, tail_crc;
};

bool fdl_packed_matches(const uint8_t *data, uint64_t size);

/* Finds the parts, which stay where they are, and checks all but coefficients
 * and tail. EDECODE. */
int32_t fdl_packed_open(const uint8_t *data, uint64_t size,
                        struct fdl_packed *out);

/* Whether coefficients and tail of an open sample, which begins at `data`, are
 * those that were written. verify: EDECODE if not. */
bool fdl_packed_is_whole(const struct fdl_packed *p);
int32_t fdl_packed_verify(const struct fdl_packed *p, const uint8_t *data);

/* Puts the parts together; checksums are made here. For free(). ENOMEM. */
int32_t fdl_packed_write(const struct fdl_packed *p, uint8_t **out,
                         uint64_t *bytes);

/* Segments in a row of blocks, and blocks in segment i of it. */
uint32_t fdl_packed_segments(const struct fdl_packed_plane *p);
unsigned fdl_packed_blocks(const struct fdl_packed_plane *p, uint32_t i);

/* Bytes of n segments whose lengths lie there. */
uint64_t fdl_packed_length(const uint8_t *lengths, uint64_t n);

#endif
