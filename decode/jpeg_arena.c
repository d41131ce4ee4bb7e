/* SPDX-License-Identifier: Apache-2.0 */
/* libjpeg's allocator over a block that is kept; see jpeg_arena.h. */
#include "decode/jpeg_arena.h"

#include "base/compiler.h"
#include "base/memory.h"

#include <jerror.h>
#include <stdlib.h>
#include <string.h>

/* Twice the 32 bytes of an AVX2 register: libjpeg-turbo's SIMD code works on
 * whole registers and asks for rows of such multiples. */
#define ALIGN 64u

/* A block above this is given back after its image. */
#define KEEP_BYTES ((size_t)4 << 20)

struct fdl_jpeg_chunk {
    FDL_ALIGNED(ALIGN) struct fdl_jpeg_chunk *next;
};

static struct fdl_jpeg_arena *arena_of(j_common_ptr c)
{
    return c->client_data;
}

/* Does not return: error_exit leaves by longjmp. */
static void fail(j_common_ptr c)
{
    c->err->msg_code = JERR_OUT_OF_MEMORY;
    c->err->msg_parm.i[0] = 0;
    c->err->error_exit(c);
}

/* More than the block has: a chunk of its own until the next image. */
static void *take_beyond(j_common_ptr c, size_t bytes)
{
    struct fdl_jpeg_arena *a = arena_of(c);
    struct fdl_jpeg_chunk *chunk = fdl_alloc_aligned(sizeof(*chunk) + bytes);
    if (!chunk)
        fail(c);
    chunk->next = a->beyond;
    a->beyond = chunk;
    return chunk + 1;
}

static void *take(j_common_ptr c, size_t bytes)
{
    struct fdl_jpeg_arena *a = arena_of(c);
    size_t rounded;
    if (!fdl_add_size(bytes, ALIGN - 1, &rounded))
        fail(c);
    rounded &= ~(size_t)(ALIGN - 1);
    size_t at = a->used;
    a->used += rounded;
    if (a->used <= a->size)
        return a->block + at;
    return take_beyond(c, rounded);
}

static void *alloc_any(j_common_ptr c, int pool, size_t bytes)
{
    (void)pool;
    return take(c, bytes);
}

/* n rows of `bytes`, each aligned, and the pointers to them. */
static void *alloc_rows(j_common_ptr c, size_t bytes, JDIMENSION n)
{
    size_t row, all, pointers = n * sizeof(void *);
    if (!fdl_add_size(bytes, ALIGN - 1, &row))
        fail(c);
    row &= ~(size_t)(ALIGN - 1);
    if (!fdl_mul_size(row, n, &all))
        fail(c);
    uint8_t **rows = take(c, pointers);
    uint8_t *first = take(c, all);
    for (JDIMENSION i = 0; i < n; i++)
        rows[i] = first + i * row;
    return rows;
}

static JSAMPARRAY alloc_samples(j_common_ptr c, int pool, JDIMENSION width,
                                JDIMENSION n)
{
    (void)pool;
    return alloc_rows(c, width * sizeof(JSAMPLE), n);
}

static JBLOCKARRAY alloc_blocks(j_common_ptr c, int pool, JDIMENSION width,
                                JDIMENSION n)
{
    (void)pool;
    return alloc_rows(c, width * sizeof(JBLOCK), n);
}

void fdl_jpeg_arena_install(struct jpeg_decompress_struct *c)
{
    c->mem->alloc_small = alloc_any;
    c->mem->alloc_large = alloc_any;
    c->mem->alloc_sarray = alloc_samples;
    c->mem->alloc_barray = alloc_blocks;
}

static void drop_beyond(struct fdl_jpeg_arena *a)
{
    while (a->beyond) {
        struct fdl_jpeg_chunk *next = a->beyond->next;
        free(a->beyond);
        a->beyond = next;
    }
}

/* Without memory for a larger block the old one, or none, will do. */
static void fit_block(struct fdl_jpeg_arena *a)
{
    size_t wanted = FDL_MIN(a->used, KEEP_BYTES);
    if (wanted <= a->size)
        return;
    free(a->block);
    a->block = fdl_alloc_aligned(wanted);
    a->size = a->block ? wanted : 0;
}

void fdl_jpeg_arena_reset(struct jpeg_decompress_struct *c)
{
    struct fdl_jpeg_arena *a = arena_of((j_common_ptr)c);
    memset(c->quant_tbl_ptrs, 0, sizeof(c->quant_tbl_ptrs));
    memset(c->dc_huff_tbl_ptrs, 0, sizeof(c->dc_huff_tbl_ptrs));
    memset(c->ac_huff_tbl_ptrs, 0, sizeof(c->ac_huff_tbl_ptrs));
    drop_beyond(a);
    fit_block(a);
    a->used = 0;
}

void fdl_jpeg_arena_fini(struct fdl_jpeg_arena *a)
{
    drop_beyond(a);
    free(a->block);
    *a = (struct fdl_jpeg_arena){0};
}
