/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entropy-coded data of a sequential scan, by the file's own Huffman
 * tables, which libjpeg does not write: it makes tables of its own, and blocks
 * of its own where MCUs reach past the image.
 *
 * Only decode/formats/jpeg*.c may include this: it shows libjpeg's types.
 */
#ifndef FDL_DECODE_JPEG_SCAN_WRITE_H
#define FDL_DECODE_JPEG_SCAN_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* jpeglib.h wants stdio.h before it. */
/* clang-format off */
#include <jpeglib.h>
/* clang-format on */

/* All blocks of a component, row after row, in natural order. */
struct fdl_jpeg_coefficients {
    int16_t (*blocks)[DCTSIZE2];
    uint32_t wide, high;
};

struct fdl_bytes {
    uint8_t *data;
    uint64_t n, capacity;
};

/* ENOMEM, by fdl_fail, and nothing has changed. */
int32_t fdl_bytes_add(struct fdl_bytes *to, const void *from, uint64_t n);

/* The scan whose header c has just read, appended to `out`. fill: what fills up
 * the last byte before a marker, 0 or 1. EDECODE: the tables have no code for
 * some value. ENOMEM. */
int32_t fdl_jpeg_scan_write(const struct jpeg_decompress_struct *c,
                            const struct fdl_jpeg_coefficients *components,
                            unsigned fill, struct fdl_bytes *out);

#endif
