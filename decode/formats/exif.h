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

#define FDL_EXIF_PREFIX_BYTES 6 /* "Exif\0\0", before the data in a JPEG */

bool fdl_exif_is_prefixed(const uint8_t *data, uint64_t size);

/* Whether EXIF data has an orientation, which then is 1 to 8; if not it is left
 * as it was, and Pillow asks XMP. Data that is no TIFF structure has 1: on it
 * Pillow raises an exception, or leaves the image as stored and asks no more.
 * data: with or without a prefix, or two. */
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
