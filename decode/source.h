/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row source: something that gives the rows of one part of one image, from
 * top to bottom, into the caller's strip buffer.
 *
 *     alpha(channels)            before begin: give alpha too, if there is any
 *     shrink(shift)              before begin: give 1/2^shift of the image
 *     begin(need) -> have        what is needed; what will be given: at least
 *                                that, rounded to what the format can do
 *     read(rows, n) ...          have.height rows in all, of have.width pixels
 *     truncated()                whether rows were made up for a file that
 *                                ends early
 *     abort()                    at any time; ready for the next image
 */
#ifndef FDL_DECODE_SOURCE_H
#define FDL_DECODE_SOURCE_H

#include "decode/geometry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most that shrink takes: an eighth. */
#define FDL_SHRINK_MAX 3

struct fdl_source {
    /* From here to abort rows have alpha as one more channel, the last one, as
     * Pillow's convert gives it to an image of that many channels. false: it
     * would be 255 all over, and rows are as before. NULL: always false. */
    bool (*alpha)(void *self, int32_t channels);

    /* From here to abort the sides of the image are divided by 2^shift and
     * rounded up, and so are need and have. NULL: it cannot. */
    void (*shrink)(void *self, int32_t shift);
    int32_t (*begin)(void *self, const struct fdl_box *need,
                     struct fdl_box *have);

    /* Channels interleaved; rows are `stride` bytes apart. */
    int32_t (*read)(void *self, uint8_t *rows, size_t stride, int32_t n);
    bool (*truncated)(const void *self); /* NULL: never */
    void (*abort)(void *self);
};

#endif
