/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of JPEG files of several scans, by our own Huffman decoder: those that
 * are progressive, and sequential ones with a scan for each component.
 *
 * All scans are read at once, a row of MCUs of each before the next row. So no
 * coefficients are kept of the image but of that row, and what lies below the
 * last row that is wanted is not read in any scan. What lies above it and
 * beside it is, but not stored.
 *
 * The markers of the file are read first, to its end, the headers among them by
 * libjpeg. If these are sound, so is the file: whatever the scans hold, libjpeg
 * would get through it, and where it would be in doubt, this gives up, as
 * jpeg_entropy.h does.
 *
 * Only decode/formats/jpeg*.c may include this: it shows libjpeg's types.
 */
#ifndef FDL_DECODE_JPEG_PROGRESSIVE_H
#define FDL_DECODE_JPEG_PROGRESSIVE_H

#include "decode/formats/jpeg_blocks.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_jpeg_progressive;

/* What it asks its user to do; neither need return. */
struct fdl_jpeg_progressive_user {
    void (*give_up)(struct jpeg_decompress_struct *c);
    void (*row)(struct jpeg_decompress_struct *c); /* one is to be read */
};

/* c has read its header and knows its output's size. Its progress monitor is
 * called for each scan. Takes memory from c, which is then as after all its
 * scans, but for coefficients; libjpeg cannot continue from there. NULL: not of
 * a kind that this does, or not sound. */
struct fdl_jpeg_progressive *fdl_jpeg_progressive_open(
    struct jpeg_decompress_struct *c, const uint8_t *end,
    struct fdl_jpeg_progressive_user user);

struct fdl_jpeg_blocks *fdl_jpeg_progressive_blocks(
    struct fdl_jpeg_progressive *p);

/* Before the first is taken: of each row, n MCUs from `first` on will be. */
void fdl_jpeg_progressive_keep(struct fdl_jpeg_progressive *p,
                               struct jpeg_decompress_struct *c, uint32_t first,
                               uint32_t n);

#endif
