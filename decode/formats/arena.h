/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for a library that allocates for each image: its allocations are cut
 * from a block that is kept, so in the steady state nothing is allocated, and
 * the library's rows and tables are at the same, warm, addresses for every
 * image. Nothing is freed before the image ends.
 */
#ifndef FDL_DECODE_ARENA_H
#define FDL_DECODE_ARENA_H

#include <stddef.h>
#include <stdint.h>

/* Twice the 32 bytes of an AVX2 register: libjpeg-turbo's SIMD code works on
 * whole registers and asks for rows of such multiples. */
#define FDL_ARENA_ALIGN 64u

struct fdl_arena_chunk;

/* Zeroed memory is an empty arena. */
struct fdl_arena {
    uint8_t *block;
    size_t size;                    /* of block */
    size_t used;                    /* of this image, also beyond block */
    struct fdl_arena_chunk *beyond; /* what did not fit into block */
};

/* Aligned, of any content, until the next reset. NULL where memory ends. */
void *fdl_arena_take(struct fdl_arena *a, size_t bytes);

/* The image is done: all of it is gone, and the block grows to what it took. */
void fdl_arena_reset(struct fdl_arena *a);
void fdl_arena_fini(struct fdl_arena *a);

#endif
