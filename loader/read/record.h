/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sample is that brings its own steps (feedline/recorded.h), from the
 * call of the program to the worker. Made in that call, in one piece, to which
 * its pointers lead:
 *
 *     record | images | steps, canvases | bytes from memory, zeros | paths
 *
 * but for those to what stays the program's: tables of steps, bytes that stay,
 * and the memory of the output. Bytes of files are in the read's buffer.
 */
#ifndef FDL_LOADER_RECORD_H
#define FDL_LOADER_RECORD_H

#include <feedline/recorded.h>

#include <stdbool.h>
#include <stdint.h>

struct fdl_record_image {
    struct feedline_recorded_image image;
    const uint8_t *bytes; /* encoded; FDL_ENCODED_PADDING zeros behind them;
                             NULL: not read yet */
    uint64_t n_bytes;
    uint32_t same; /* the first image that has the same bytes */
    bool inside; /* it has no out: its pixels lie in the worker's memory ... */
    uint64_t at; /* ... from here on */
};

struct fdl_record {
    uint32_t n;
    uint64_t part_bytes;   /* of images without an out */
    uint64_t canvas_bytes; /* of the largest canvas */
    struct fdl_record_image images[];
};

/* Checks and copies. EINVAL, ERANGE (more than `most` bytes from memory),
 * ENOMEM: the error line names the image. */
int32_t fdl_record_make(const struct feedline_recorded_image *images,
                        uint32_t n, uint64_t most, struct fdl_record **out);

/* ---- Between the files of this ------------------------------------------ */

/* Bytes of a canvas with its parts; 0: there is none. */
uint64_t fdl_record_canvas_bytes(const struct feedline_recorded_image *image);

/* Copies it to *at, behind which it leaves it, and makes it the image's. */
void fdl_record_copy_canvas(struct feedline_recorded_image *image,
                            uint8_t **at);

/* Of a record that is filled: that parts fit their canvases, and images without
 * an out are parts, which gives them their places. EINVAL, ERANGE. */
int32_t fdl_record_place_parts(struct fdl_record *record);

/* What messages call image `i`: the end of its path, or "image 2". buf: for
 * that. */
#define FDL_RECORD_NAME_BYTES 128
const char *fdl_record_name(const struct feedline_recorded_image *image,
                            uint32_t i, char buf[FDL_RECORD_NAME_BYTES]);

#endif
