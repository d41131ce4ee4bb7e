/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of a packed sample (decode/packed/container.h), for libjpeg in place
 * of its entropy decoder, and for jpeg_rows.h: any of them, at no cost for
 * those that are left out.
 *
 * Only decode/formats/jpeg*.c may include this: it shows libjpeg's types.
 */
#ifndef FDL_DECODE_JPEG_PACKED_H
#define FDL_DECODE_JPEG_PACKED_H

#include "decode/formats/jpeg_blocks.h"
#include "decode/packed/container.h"

struct fdl_jpeg_packed;

/* c has read the header that is p's prefix, was started, or prepared for
 * jpeg_rows.h, and has given no row: from here on its blocks are p's, which
 * outlives it. file: where offsets begin. fail(c) is told of what is
 * damaged, by fdl_fail, and must not return. Memory is c's. NULL, by fdl_fail:
 * p is not that image, or this build cannot. */
struct fdl_jpeg_packed *fdl_jpeg_packed_attach(
    struct jpeg_decompress_struct *c, const struct fdl_packed *p,
    const uint8_t *file, void (*fail)(struct jpeg_decompress_struct *c));

/* Whether p is that image; c as above. */
bool fdl_jpeg_packed_is_of(const struct fdl_packed *p,
                           const struct jpeg_decompress_struct *c);

struct fdl_jpeg_blocks *fdl_jpeg_packed_blocks(struct fdl_jpeg_packed *e);

#endif
