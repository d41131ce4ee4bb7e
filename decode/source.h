/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row source: something that gives the rows of one part of one image, from
 * top to bottom, into the caller's strip buffer.
 *
 *     begin(need) -> have        what is needed; what will be given: at least
 *                                that, rounded to what the format can do
 *     read(rows, n) ...          have.height rows in all, of have.width pixels
 *     abort()                    at any time; ready for the next image
 */
#ifndef FDL_DECODE_SOURCE_H
#define FDL_DECODE_SOURCE_H

#include "decode/geometry.h"

#include <stddef.h>
#include <stdint.h>

struct fdl_source {
    int32_t (*begin)(void *self, const struct fdl_box *need,
                     struct fdl_box *have);

    /* Channels interleaved; rows are `stride` bytes apart. */
    int32_t (*read)(void *self, uint8_t *rows, size_t stride, int32_t n);
    void (*abort)(void *self);
};

#endif
