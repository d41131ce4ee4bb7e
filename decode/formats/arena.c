/* SPDX-License-Identifier: Apache-2.0 */
/* A block with a pointer that moves through it, and a list of what was too
 * large; see arena.h. */
#include "decode/formats/arena.h"

#include "base/compiler.h"
#include "base/memory.h"

#include <stdlib.h>

/* A block above this is given back after its image. */
#define KEEP_BYTES ((size_t)4 << 20)

struct fdl_arena_chunk {
    FDL_ALIGNED(FDL_ARENA_ALIGN) struct fdl_arena_chunk *next;
};

/* More than the block has: a chunk of its own until the next image. */
static void *take_beyond(struct fdl_arena *a, size_t bytes)
{
    struct fdl_arena_chunk *chunk;
    size_t all;
    if (!fdl_add_size(bytes, sizeof(*chunk), &all))
        return NULL;
    chunk = fdl_alloc_aligned(all);
    if (!chunk)
        return NULL;
    chunk->next = a->beyond;
    a->beyond = chunk;
    return chunk + 1;
}

void *fdl_arena_take(struct fdl_arena *a, size_t bytes)
{
    size_t rounded, end;
    if (!fdl_add_size(bytes, FDL_ARENA_ALIGN - 1, &rounded))
        return NULL;
    rounded &= ~(size_t)(FDL_ARENA_ALIGN - 1);
    if (!fdl_add_size(a->used, rounded, &end))
        return NULL;
    size_t at = a->used;
    a->used = end;
    if (end > a->size)
        return take_beyond(a, rounded);
    FDL_TSAN_WRITES(a->block + at, rounded);
    return a->block + at;
}

static void drop_beyond(struct fdl_arena *a)
{
    while (a->beyond) {
        struct fdl_arena_chunk *next = a->beyond->next;
        free(a->beyond);
        a->beyond = next;
    }
}

/* Without memory for a larger block the old one, or none, will do. */
static void fit_block(struct fdl_arena *a)
{
    size_t wanted = FDL_MIN(a->used, KEEP_BYTES);
    if (wanted <= a->size)
        return;
    free(a->block);
    a->block = fdl_alloc_aligned(wanted);
    a->size = a->block ? wanted : 0;
}

void fdl_arena_reset(struct fdl_arena *a)
{
    drop_beyond(a);
    fit_block(a);
    a->used = 0;
}

void fdl_arena_fini(struct fdl_arena *a)
{
    drop_beyond(a);
    free(a->block);
    *a = (struct fdl_arena){0};
}
