/* SPDX-License-Identifier: Apache-2.0 */
/* libjpeg's allocator over an arena; see jpeg_arena.h. */
#include "decode/formats/jpeg_arena.h"

#include "base/memory.h"

#include <jerror.h>
#include <limits.h>
#include <string.h>

static struct fdl_arena *arena_of(j_common_ptr c)
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

static void *alloc_any(j_common_ptr c, int pool, size_t bytes)
{
    (void)pool;
    void *memory = fdl_arena_take(arena_of(c), bytes);
    if (!memory)
        fail(c);
    return memory;
}

/* n rows of `bytes`, each aligned, and the pointers to them. */
static void *alloc_rows(j_common_ptr c, int pool, size_t bytes, JDIMENSION n)
{
    size_t row, all, pointers = n * sizeof(void *);
    if (!fdl_add_size(bytes, FDL_ARENA_ALIGN - 1, &row))
        fail(c);
    row &= ~(size_t)(FDL_ARENA_ALIGN - 1);
    if (!fdl_mul_size(row, n, &all))
        fail(c);
    uint8_t **rows = alloc_any(c, pool, pointers);
    uint8_t *first = alloc_any(c, pool, all);
    for (JDIMENSION i = 0; i < n; i++)
        rows[i] = first + i * row;
    return rows;
}

static JSAMPARRAY alloc_samples(j_common_ptr c, int pool, JDIMENSION width,
                                JDIMENSION n)
{
    return alloc_rows(c, pool, width * sizeof(JSAMPLE), n);
}

static JBLOCKARRAY alloc_blocks(j_common_ptr c, int pool, JDIMENSION width,
                                JDIMENSION n)
{
    return alloc_rows(c, pool, width * sizeof(JBLOCK), n);
}

void fdl_jpeg_arena_install(struct jpeg_decompress_struct *c)
{
    c->mem->alloc_small = alloc_any;
    c->mem->alloc_large = alloc_any;
    c->mem->alloc_sarray = alloc_samples;
    c->mem->alloc_barray = alloc_blocks;
}

void fdl_jpeg_arena_reset(struct jpeg_decompress_struct *c)
{
    memset(c->quant_tbl_ptrs, 0, sizeof(c->quant_tbl_ptrs));
    memset(c->dc_huff_tbl_ptrs, 0, sizeof(c->dc_huff_tbl_ptrs));
    memset(c->ac_huff_tbl_ptrs, 0, sizeof(c->ac_huff_tbl_ptrs));
    fdl_arena_reset(arena_of((j_common_ptr)c));
}

long fdl_jpeg_arena_most(uint64_t max_pixels)
{
    const uint64_t per_pixel = 16, base = 64u << 20;
    uint64_t most = (uint64_t)LONG_MAX;
    if (max_pixels > (most - base) / per_pixel)
        return LONG_MAX;
    return (long)(max_pixels * per_pixel + base);
}
