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

struct fdl_png_chunk {
    const uint8_t *name, *content;
    uint64_t size; /* of content; what is there of it, if it is cut */
    bool cut;
};

/* name: "IDAT". */
bool fdl_png_is(const struct fdl_png_chunk *c, const char *name);

/* A walk through a file; starts with data and size set and the rest zeroed. */
struct fdl_png_walk {
    const uint8_t *data;
    uint64_t size;
    uint64_t at; /* of the next chunk */
    uint32_t animations, frames;
    bool pixels, first_is_frame; /* were seen */
};

/* False at the end. Pillow looks no further than IEND, the second image of an
 * animation, or a name that is none, so this does not either. */
bool fdl_png_next(struct fdl_png_walk *w, struct fdl_png_chunk *out);

/* Whether the chunk that the walk came to last is there, with a right checksum.
 */
bool fdl_png_has_sum(const struct fdl_png_walk *w,
                     const struct fdl_png_chunk *c);

/* Where the chunk begins in whose content the file ends; 0: in none. */
uint64_t fdl_png_cut_chunk(const uint8_t *data, uint64_t size);

/* Whether all chunks are there, to the last one, with the right checksums. */
bool fdl_png_is_sound(const uint8_t *data, uint64_t size);

#endif
