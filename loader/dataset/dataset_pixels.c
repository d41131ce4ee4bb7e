/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images that a program has in memory as pixels, all of one size, one after the
 * other. They remain the program's: the table points at them, workers read rows
 * in place, and nothing is decoded.
 *
 * The pixels are part of the fingerprint, as nothing else distinguishes two
 * such data sets: no name says where they come from. XXH64 reads them at
 * several GB/s.
 */
#include "base/memory.h"
#include "loader/dataset/dataset.h"
#include "loader/dataset/dataset_build.h"

#include <inttypes.h>

#define MAX_SIDE 65535 /* pixels, as for every other image format */

/* *each: bytes of an image. */
static int32_t check(uint64_t count, int32_t height, int32_t width,
                     int32_t channels, size_t *each)
{
    size_t all;
    if (count == 0)
        return fdl_fail(FEEDLINE_EINVAL, "the data set has no images");
    if (channels != 1 && channels != 3)
        return fdl_fail(FEEDLINE_EINVAL,
                        "pixels with %" PRId32 " channels: 1 (gray) and 3 "
                        "(RGB) are supported",
                        channels);
    if (height < 1 || width < 1 || height > MAX_SIDE || width > MAX_SIDE)
        return fdl_fail(FEEDLINE_EINVAL,
                        "pixels of %" PRId32 " x %" PRId32
                        " images: sides are 1 to %d",
                        width, height, MAX_SIDE);
    /* A gigabyte or twelve: no overflow before the count. */
    *each = (size_t)height * (size_t)width * (size_t)channels;
    if (!fdl_mul_size(count, *each, &all))
        return fdl_fail(FEEDLINE_EINVAL,
                        "%" PRIu64 " images of %zu bytes exceed the address "
                        "space",
                        count, *each);
    return FEEDLINE_OK;
}

static int32_t add_samples(feedline_dataset *ds, const uint8_t *pixels,
                           const int64_t *labels, uint64_t count, size_t each)
{
    int32_t status = fdl_dataset_reserve_memory(ds, count);
    for (uint64_t i = 0; i < count && status == FEEDLINE_OK; i++)
        status = fdl_dataset_add_memory(ds, "pixels", pixels + i * each, each,
                                        labels ? labels[i] : 0);
    return status;
}

int32_t fdl_dataset_open_pixels(const uint8_t *pixels, const int64_t *labels,
                                uint64_t count, int32_t height, int32_t width,
                                int32_t channels, feedline_dataset **out)
{
    size_t each = 0;
    feedline_dataset *ds = NULL;
    int32_t status = check(count, height, width, channels, &each);
    if (status == FEEDLINE_OK)
        status = fdl_dataset_create(&ds);
    if (status == FEEDLINE_OK)
        status = add_samples(ds, pixels, labels, count, each);
    if (status == FEEDLINE_OK) {
        ds->raw_height = height;
        ds->raw_width = width;
        ds->raw_channels = channels;
        fdl_dataset_finish(ds, "");
        fdl_dataset_finish_bytes(ds, pixels, count * each);
    }
    return fdl_dataset_hand_out(ds, status, out);
}
