/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JPEG file from headers and coefficients, inside a guard: errors of libjpeg
 * leave through its escape.
 *
 * Only decode/formats/jpeg*.c may include this: it shows libjpeg's types.
 */
#ifndef FDL_DECODE_JPEG_REBUILD_H
#define FDL_DECODE_JPEG_REBUILD_H

#include "decode/formats/jpeg_scan_write.h"
#include "decode/packed/container.h"

/* All that is made on the way. Zeroed, but the libjpeg objects. */
struct fdl_jpeg_parts {
    const struct fdl_packed *packed;
    struct jpeg_decompress_struct in; /* reads its prefix */
    struct jpeg_compress_struct out;
    struct fdl_jpeg_coefficients components[FDL_PACKED_PLANES];
    jvirt_barray_ptr arrays[FDL_PACKED_PLANES]; /* of `out` */
    jpeg_scan_info *script;
    bool writing;           /* libjpeg has a buffer, told by the end of `out` */
    unsigned char *written; /* by libjpeg; for free() */
    unsigned long written_bytes;
    struct fdl_bytes spliced;
};

/* With the headers that it had and, where the packed sample claims so, to the
 * byte: in `spliced`, or if that is empty in `written`. `in` has read the
 * prefix. */
int32_t fdl_jpeg_rebuild(struct fdl_jpeg_parts *p);

/* ---- Markers ------------------------------------------------------------- */

/* The marker at or behind `at`; a segment has its length behind it. `size`:
 * there is none, or what is there is none. */
uint64_t fdl_jpeg_marker(const uint8_t *data, uint64_t size, uint64_t at);

/* Behind the segment of the marker at `at`. `size`: it is cut. */
uint64_t fdl_jpeg_segment_end(const uint8_t *data, uint64_t size, uint64_t at);

/* The SOS from the marker segments at `at` on. `size`: there is none. */
uint64_t fdl_jpeg_next_scan(const uint8_t *data, uint64_t size, uint64_t at);

/* Where the data of a scan that begins at `at` ends. */
uint64_t fdl_jpeg_scan_end(const uint8_t *data, uint64_t size, uint64_t at);

#endif
