/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena for a libjpeg object that lives for many images.
 *
 * Both of libjpeg's pools are served from it, also the permanent one, and both
 * are gone at the next image: what outlives an image otherwise is quantisation
 * and Huffman tables, and a file that leaves out its own must not find those of
 * the file before. Whole-image arrays of progressive files stay with libjpeg,
 * which frees them itself.
 *
 * Only decode/formats/jpeg*.c may include this: it shows libjpeg's types.
 */
#ifndef FDL_DECODE_JPEG_ARENA_H
#define FDL_DECODE_JPEG_ARENA_H

#include "decode/formats/arena.h"

#include <stdio.h>

/* jpeglib.h wants stdio.h before it. */
/* clang-format off */
#include <jpeglib.h>
/* clang-format on */

/* c was just created, and its client_data points to the arena, or to a struct
 * that begins with it. */
void fdl_jpeg_arena_install(struct jpeg_decompress_struct *c);

/* c was aborted. Its tables are gone, and so is all else. */
void fdl_jpeg_arena_reset(struct jpeg_decompress_struct *c);

/* Most that libjpeg may take: whole-image coefficients of a progressive file
 * with four components of 2 bytes, twice that for sampling, and its small
 * change. */
long fdl_jpeg_arena_most(uint64_t max_pixels);

#endif
