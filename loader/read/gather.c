/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that are read together; see gather.h. */
#include "loader/read/gather.h"

#include "decode/decoder.h"

#include <string.h>

static uint64_t end_of(const struct fdl_source *s)
{
    return s->offset + (uint64_t)s->length;
}

bool fdl_gather_accepts(const struct fdl_keep *keep,
                        const struct fdl_read *first,
                        const struct fdl_read *last,
                        const struct fdl_source *next)
{
    const struct fdl_source *f = &first->source, *l = &last->source;
    uint64_t most = f->store ? FDL_GATHER_REMOTE_BYTES : FDL_GATHER_BYTES;
    uint64_t gap = f->store ? FDL_GATHER_REMOTE_GAP : FDL_GATHER_GAP;
    if (f->file != next->file || f->length < 0 || next->length < 0 ||
        (uint64_t)next->length > most || next->offset > UINT64_MAX - most)
        return false;
    return next->offset >= end_of(l) && next->offset - end_of(l) <= gap &&
           end_of(next) - f->offset <= most &&
           fdl_keep_begins(keep, f->path, f->offset) ==
               fdl_keep_begins(keep, next->path, next->offset);
}

void fdl_gather_add(struct fdl_read *first, struct fdl_read *last,
                    struct fdl_read *r)
{
    last->mate = r;
    first->span = end_of(&r->source) - first->source.offset;
}

/* What lies between two samples is nobody's. */
static uint64_t padding_of(const struct fdl_read *r)
{
    if (!r->mate)
        return FDL_ENCODED_PADDING;
    return FDL_MIN(r->mate->source.offset - end_of(&r->source),
                   (uint64_t)FDL_ENCODED_PADDING);
}

void fdl_gather_hand_out(struct fdl_read *first)
{
    uint32_t users = 0;
    for (struct fdl_read *r = first; r; r = r->mate, users++) {
        r->held = first->held;
        r->buffer = first->buffer;
        r->capacity = first->capacity;
        r->align = first->align;
        r->plain = first->plain;
        r->cold = first->cold;
        r->head =
            first->head + (uint32_t)(r->source.offset - first->source.offset);
        r->size = (uint64_t)r->source.length;
        r->data = r->buffer + r->head;
        r->readable = r->size + padding_of(r);
        memset(r->buffer + r->head + r->size, 0, r->readable - r->size);
        r->status = FEEDLINE_OK;
        r->reason[0] = '\0';
    }
    /* Relaxed: publishing them orders it. */
    atomic_store_explicit(&first->held->users, users, memory_order_relaxed);
}

uint64_t fdl_gather_bytes(const struct fdl_read *first)
{
    uint64_t bytes = 0;
    for (const struct fdl_read *r = first; r; r = r->mate)
        bytes += r->size;
    return bytes;
}

struct fdl_read *fdl_gather_detach(struct fdl_read *r)
{
    struct fdl_read *rest = r->mate;
    r->mate = NULL;
    r->span = 0;
    return rest;
}
