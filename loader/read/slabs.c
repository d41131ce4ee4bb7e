/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of huge pages; see slabs.h. Buffers are kept, so this is rarely called
 * and a list will do. */
#include "loader/read/slabs.h"

#include "base/memory.h"
#include "base/status.h"

#include <stdlib.h>
#include <sys/mman.h>

#define SLAB_BYTES  ((uint64_t)2 << 20)
#define LEAST_BYTES ((uint64_t)32 << 10) /* 64 of them: the bits of `used` */
#define MOST_BYTES  ((uint64_t)512 << 10)
#define STEP_BYTES  ((uint64_t)16 << 10) /* above that */

struct fdl_slab {
    struct fdl_slab *next;
    uint8_t *base;
    uint64_t bytes; /* of a piece */
    uint64_t used;  /* a bit for each */
};

void fdl_slabs_init(struct fdl_slabs *s)
{
    *s = (struct fdl_slabs){0};
    fdl_lock_init(&s->lock, FDL_RANK_SLABS);
}

void fdl_slabs_fini(struct fdl_slabs *s)
{
    fdl_assert(!s->first);
    fdl_lock_destroy(&s->lock);
}

/* 32 KiB, 48, 64, 96, 128, ... */
uint64_t fdl_slabs_round(uint64_t bytes)
{
    uint64_t size = LEAST_BYTES;
    if (bytes > MOST_BYTES)
        return (bytes + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
    while (size < bytes)
        size += size & (size - 1) ? size / 3 : size / 2;
    return size;
}

static struct fdl_slab *add_slab_locked(struct fdl_slabs *s, uint64_t bytes)
{
    struct fdl_slab *slab = malloc(sizeof(*slab));
    uint8_t *base = fdl_pages_alloc(SLAB_BYTES);
    if (!slab || !base) {
        free(slab);
        fdl_pages_free(base, SLAB_BYTES);
        return NULL;
    }
    *slab = (struct fdl_slab){.next = s->first, .base = base, .bytes = bytes};
    s->first = slab;
    return slab;
}

static uint64_t all_pieces(const struct fdl_slab *slab)
{
    return UINT64_MAX >> (64 - SLAB_BYTES / slab->bytes);
}

void *fdl_slabs_alloc(struct fdl_slabs *s, uint64_t bytes)
{
    uint8_t *piece = NULL;
    if (bytes > MOST_BYTES)
        return fdl_pages_alloc((size_t)bytes);
    fdl_lock(&s->lock);
    struct fdl_slab *slab = s->first;
    while (slab && (slab->bytes != bytes || slab->used == all_pieces(slab)))
        slab = slab->next;
    if (!slab)
        slab = add_slab_locked(s, bytes);
    if (slab) {
        int place = __builtin_ctzll(~slab->used);
        slab->used |= UINT64_C(1) << place;
        piece = slab->base + (uint64_t)place * bytes;
    }
    fdl_unlock(&s->lock);
    return piece;
}

static void free_piece_locked(struct fdl_slabs *s, uint8_t *piece)
{
    struct fdl_slab **at = &s->first;
    while (piece < (*at)->base || piece >= (*at)->base + SLAB_BYTES)
        at = &(*at)->next;
    struct fdl_slab *slab = *at;
    uint64_t place = (uint64_t)(piece - slab->base) / slab->bytes;
    slab->used &= ~(UINT64_C(1) << place);
    if (slab->used) {
        madvise(piece, (size_t)slab->bytes, MADV_DONTNEED);
        return;
    }
    *at = slab->next;
    fdl_pages_free(slab->base, SLAB_BYTES);
    free(slab);
}

void fdl_slabs_free(struct fdl_slabs *s, void *piece, uint64_t bytes)
{
    if (!piece)
        return;
    if (bytes > MOST_BYTES) {
        fdl_pages_free(piece, (size_t)bytes);
        return;
    }
    fdl_lock(&s->lock);
    free_piece_locked(s, piece);
    fdl_unlock(&s->lock);
}
