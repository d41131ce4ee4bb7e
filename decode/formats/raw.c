/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images that are pixels already: u8 rows without padding, channels
 * interleaved, of a size that the data set knows.
 *
 * Rows are copied, not pointed at: kernels may read a little past the end of a
 * strip, which is fine in the strip buffer and is not in the caller's data.
 */
#include "base/status.h"
#include "decode/formats/format.h"
#include "decode/formats/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct fdl_raw {
    struct fdl_decode_limits limits;
    const uint8_t *data;
    int32_t width, height, channels;
    struct fdl_box have;
    int32_t row; /* next, of have */
};

static int32_t create(const struct fdl_decode_limits *limits,
                      const struct fdl_deadline *deadline, void **out)
{
    (void)deadline; /* nothing is decoded */
    struct fdl_raw *raw = calloc(1, sizeof(*raw));
    if (!raw)
        return fdl_fail_memory(sizeof(*raw), "the reader of raw pixels");
    raw->limits = *limits;
    *out = raw;
    return FEEDLINE_OK;
}

static uint64_t memory(const void *self)
{
    (void)self;
    return sizeof(struct fdl_raw);
}

/* EDECODE: the size is not that of width x height x channels. */
static int32_t open_image(void *self, const struct fdl_encoded *bytes,
                          struct fdl_image_info *info)
{
    struct fdl_raw *raw = self;
    int32_t width = bytes->raw_width, height = bytes->raw_height;
    int32_t channels = bytes->raw_channels;
    if (width <= 0 || height <= 0 || (channels != 1 && channels != 3))
        return fdl_fail(FEEDLINE_EINVAL,
                        "raw pixels of %" PRId32 "x%" PRId32 " with %" PRId32
                        " channels: sides are 1 or more, channels 1 or 3",
                        width, height, channels);
    int32_t status = fdl_limits_check_size(&raw->limits, 0, "image",
                                           (uint32_t)width, (uint32_t)height);
    if (status)
        return status;
    uint64_t pixels = (uint64_t)width * (uint64_t)height;
    if (bytes->size != pixels * (uint64_t)channels)
        return fdl_fail(FEEDLINE_EDECODE,
                        "raw pixels: %" PRIu64 " bytes, but %" PRId32
                        "x%" PRId32 "x%" PRId32 " takes %" PRIu64,
                        bytes->size, width, height, channels,
                        pixels * (uint64_t)channels);
    raw->data = bytes->data;
    raw->width = width;
    raw->height = height;
    raw->channels = channels;
    *info = (struct fdl_image_info){.mode = channels == 1 ? "L" : "RGB",
                                    .width = width,
                                    .height = height,
                                    .channels = channels};
    return FEEDLINE_OK;
}

static int32_t begin(void *self, const struct fdl_box *need,
                     struct fdl_box *have)
{
    struct fdl_raw *raw = self;
    raw->have = *have = *need;
    raw->row = 0;
    return FEEDLINE_OK;
}

static int32_t read_rows(void *self, uint8_t *rows, size_t stride, int32_t n)
{
    struct fdl_raw *raw = self;
    size_t pixel = (size_t)raw->channels;
    for (int32_t i = 0; i < n; i++, raw->row++) {
        size_t y = (size_t)raw->have.y + (size_t)raw->row;
        size_t at = (y * (size_t)raw->width + (size_t)raw->have.x) * pixel;
        memcpy(rows + (size_t)i * stride, raw->data + at,
               (size_t)raw->have.width * pixel);
    }
    return FEEDLINE_OK;
}

static void end(void *self)
{
    (void)self;
}

const struct fdl_format fdl_format_raw = {
    .create = create,
    .destroy = free,
    .memory = memory,
    .open = open_image,
    .begin = begin,
    .read = read_rows,
    .abort = end,
};
