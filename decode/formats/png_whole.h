/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pixels of a PNG that is whole, without libpng: all are decompressed at
 * once, and filters are undone in those rows alone that lead to what is needed.
 *
 * It takes files in which all is in order. What it refuses is libpng's, which
 * says what is wrong, and may have rows nevertheless: so neither pixels nor
 * verdicts depend on this.
 */
#ifndef FDL_DECODE_PNG_WHOLE_H
#define FDL_DECODE_PNG_WHOLE_H

#include "decode/formats/arena.h"
#include "decode/formats/png_filter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fdl_inflate;

/* Samples of 1, 2, 4 or 8 bits; of less than 8 only one is a pixel. */
struct fdl_png_form {
    uint32_t width, height;
    uint32_t bits;     /* of a sample */
    uint32_t channels; /* in the file, */
    uint32_t wanted;   /* and how many of them go out, the first ones */
    uint8_t scale;     /* of samples of less than 8 bits */
};

/* Zeroed memory is without an image. */
struct fdl_png_whole {
    struct fdl_inflate *inflate; /* kept from image to image */
    struct fdl_png_form form;
    struct fdl_png_rows rows; /* all of the image */
    uint32_t next;            /* from this one on they are filtered */
};

/* at: where the first IDAT begins. The memory is the arena's, until it
 * is reset. false: this is for libpng, or there is no memory. */
bool fdl_png_whole_open(struct fdl_png_whole *w, struct fdl_arena *arena,
                        const struct fdl_png_form *form, const uint8_t *data,
                        uint64_t size, uint64_t at);

/* Row y, of `wanted` bytes a pixel. Rows of an image are asked for in order. */
void fdl_png_whole_row(struct fdl_png_whole *w, uint32_t y, uint8_t *out);

/* Whether the data end after this many bytes of rows, with the right checksum.
 * *end: where, in the file. */
bool fdl_png_whole_ends(struct fdl_png_whole *w, struct fdl_arena *arena,
                        const uint8_t *data, uint64_t size, uint64_t rows,
                        uint64_t *end);

void fdl_png_whole_fini(struct fdl_png_whole *w);

#endif
