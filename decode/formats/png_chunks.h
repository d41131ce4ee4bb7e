/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must be known of a PNG file as a whole: libpng reads it piece by piece,
 * and no further than the pixels. Pure functions over bytes that may be
 * anything; they walk from chunk to chunk and read no pixels.
 */
#ifndef FDL_DECODE_PNG_CHUNKS_H
#define FDL_DECODE_PNG_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the file ends inside the content of a chunk. */
bool fdl_png_is_cut(const uint8_t *data, uint64_t size);

/* Which way up, 1 to 8, as Pillow finds it: EXIF data in front of the pixels or
 * else behind them; where that says nothing, what XMP data says. Profiles in
 * compressed texts are not looked into. */
int32_t fdl_png_orientation(const uint8_t *data, uint64_t size);

#endif
