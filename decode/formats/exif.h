/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which way up an image is: the orientation in EXIF or XMP data, and what that
 * means for coordinates. Pure functions over bytes that may be anything.
 *
 *     upright(x, y) = stored(u, v)    u, v = x, y, or y, x if `transposed`;
 *                                     then counted from the other end of the
 *                                     stored image if reverse_x, reverse_y
 */
#ifndef FDL_DECODE_EXIF_H
#define FDL_DECODE_EXIF_H

#include "decode/pixels/geometry.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether the data has an orientation that Pillow would see; if so it is 1 to
 * 8, else left as it was. data: a TIFF structure, with or without a leading
 * "Exif\0\0". */
bool fdl_exif_find(const uint8_t *data, uint64_t size, int32_t *orientation);

/* The orientation in XMP data, any text: the value after the first
 * tiff:Orientation=" or tiff:Orientation>. 1 (as stored) if there is none. */
int32_t fdl_xmp_orientation(const uint8_t *text, uint64_t size);

/* How an upright image is read from the stored one. */
struct fdl_turn {
    bool transposed;           /* the stored columns are the upright rows */
    bool reverse_x, reverse_y; /* along the stored axes */
};

struct fdl_turn fdl_turn_of(int32_t orientation);

/* The stored part, in an image of that size, of a box of the upright image. */
struct fdl_box fdl_turn_box(const struct fdl_turn *turn,
                            const struct fdl_box *upright, int32_t width,
                            int32_t height);

#endif
