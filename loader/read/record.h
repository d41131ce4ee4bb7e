/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sample is that brings its own steps (feedline/recorded.h), from the
 * call of the program to the worker. Made in that call, in one piece, to which
 * its pointers lead:
 *
 *     record | images | their steps | bytes from memory, zeros | paths
 *
 * but for those to what stays the program's: tables of steps, and the memory of
 * the output. Bytes of files are in the read's buffer.
 */
#ifndef FDL_LOADER_RECORD_H
#define FDL_LOADER_RECORD_H

#include <feedline/recorded.h>

#include <stdint.h>

struct fdl_record_image {
    struct feedline_recorded_image image;
    const uint8_t *bytes; /* encoded; FDL_ENCODED_PADDING zeros behind them;
                             NULL: not read yet */
    uint64_t n_bytes;
    uint32_t same; /* the first image that has the same bytes */
};

struct fdl_record {
    uint32_t n;
    struct fdl_record_image images[];
};

/* Checks and copies. EINVAL, ERANGE (more than `most` bytes from memory),
 * ENOMEM: the error line names the image. */
int32_t fdl_record_make(const struct feedline_recorded_image *images,
                        uint32_t n, uint64_t most, struct fdl_record **out);

/* What messages call image `i`: the end of its path, or "image 2". buf: for
 * that. */
#define FDL_RECORD_NAME_BYTES 128
const char *fdl_record_name(const struct feedline_recorded_image *image,
                            uint32_t i, char buf[FDL_RECORD_NAME_BYTES]);

#endif
