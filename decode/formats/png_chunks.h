/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must be known about a PNG file as a whole: libpng reads it piece by
 * piece, and no further than the pixels. Pure functions over arbitrary bytes;
 * they walk from chunk to chunk and read no pixels.
 */
#ifndef FDL_DECODE_PNG_CHUNKS_H
#define FDL_DECODE_PNG_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

/* Where the chunk begins in whose content the file ends; 0: in none. Pillow
 * looks no further than IEND, the second image of an animation, or a name that
 * is none, so this does not either. */
uint64_t fdl_png_cut_chunk(const uint8_t *data, uint64_t size);

/* Whether all chunks are there, to the last one, with the right checksums. */
bool fdl_png_is_sound(const uint8_t *data, uint64_t size);

/* The orientation, 1 to 8, as Pillow finds it: from EXIF data before the pixels
 * or else after them; without an orientation there, from XMP data. Profiles in
 * compressed texts are ignored. */
int32_t fdl_png_orientation(const uint8_t *data, uint64_t size);

#endif
