/* SPDX-License-Identifier: Apache-2.0 */
/* What a decoder is given, for tests and fuzz targets. */
#ifndef FDL_TESTS_DECODE_INPUTS_H
#define FDL_TESTS_DECODE_INPUTS_H

#include "decode/decoder.h"
#include "decode/formats/format.h"
#include "decode/pipeline.h"

/* A file, behind which nothing may be read. */
static inline struct fdl_encoded file_of(const void *data, size_t size)
{
    return (struct fdl_encoded){.data = data, .size = size, .readable = size};
}

/* Pixels that need no decoding. */
static inline struct fdl_encoded raw_of(const void *data, int32_t width,
                                        int32_t height, int32_t channels)
{
    size_t size = (size_t)width * (size_t)height * (size_t)channels;
    struct fdl_encoded bytes = file_of(data, size);
    bytes.format = &fdl_format_raw;
    bytes.raw_width = width;
    bytes.raw_height = height;
    bytes.raw_channels = channels;
    return bytes;
}

/* Noise that is the same everywhere. */
static inline void fill_noise(uint8_t *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        data[i] = (uint8_t)(i * 2654435761u >> 13);
}

/* The plan of a sample's first copy, with every view. */
static inline int32_t first_plan(const struct fdl_pipeline *p, uint64_t seed,
                                 uint64_t epoch, uint64_t sample, int32_t width,
                                 int32_t height, struct fdl_plan *out)
{
    struct fdl_draw_key key = {.seed = seed,
                               .epoch = epoch,
                               .sample = sample,
                               .view = FDL_EVERY_VIEW,
                               .channels = 3};
    return fdl_pipeline_draw(p, &key, width, height, out);
}

#endif
