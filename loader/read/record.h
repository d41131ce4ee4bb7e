/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read of a sample that brings its own steps (feedline/recorded.h): all
 * of it lies in the read's buffer, which a worker gets as it is.
 *
 *     record | images | their steps | paths | bytes, zeros | bytes, zeros ...
 *
 * Pointers lead into the same buffer, but for those to what stays the
 * program's: tables of steps, and the memory of the output.
 */
#ifndef FDL_LOADER_RECORD_H
#define FDL_LOADER_RECORD_H

#include <feedline/recorded.h>

#include <stdint.h>

struct fdl_record_image {
    struct feedline_recorded_image image;
    const uint8_t *bytes; /* encoded; FDL_ENCODED_PADDING zeros behind them */
    uint64_t n_bytes;
};

struct fdl_record {
    uint32_t n;
    struct fdl_record_image images[];
};

/* What messages call image `i`: the end of its path, or "image 2". buf: for
 * that. */
#define FDL_RECORD_NAME_BYTES 128
const char *fdl_record_name(const struct feedline_recorded_image *image,
                            uint32_t i, char buf[FDL_RECORD_NAME_BYTES]);

#endif
