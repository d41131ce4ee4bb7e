/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of notes: one writer, any number of readers, no lock.
 *
 *   note h goes to place h % 4096, and then head becomes h + 1.
 *
 * A reader copies and then loads head again: while it was h or less, the writer
 * had not begun note h, so notes above h - 4096 are intact. Each word of a note
 * is stored with release and loaded with acquire. A reader that sees a word of
 * note h thus sees head >= h as well, as that argument requires; on x86-64 both
 * are plain moves. Fences would be cheaper on other machines, but the thread
 * sanitizer does not support them.
 */
#include "profiler/trace/trace.h"

#include "base/compiler.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define MASK (FDL_TRACE_NOTES - 1)

struct place {
    _Atomic uint64_t begin, length, ticket, rest;
};

struct fdl_trace_ring {
    FDL_ALIGNED(FDL_CACHE_LINE) _Atomic uint64_t head;
    _Atomic uint64_t base; /* of tickets */
    FDL_ALIGNED(FDL_CACHE_LINE) struct place places[FDL_TRACE_NOTES];
};

struct fdl_trace_ring *fdl_trace_ring_create(void)
{
    struct fdl_trace_ring *ring = fdl_alloc_aligned(sizeof(*ring));
    if (ring)
        memset(ring, 0, sizeof(*ring));
    return ring;
}

void fdl_trace_ring_destroy(struct fdl_trace_ring *ring)
{
    free(ring);
}

uint64_t fdl_trace_ring_bytes(const struct fdl_trace_ring *ring)
{
    return ring ? sizeof(*ring) : 0;
}

static void put(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

static uint64_t get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

FDL_HOT void fdl_trace_note(struct fdl_trace_ring *ring,
                            enum fdl_trace_kind kind, int64_t begin_ns,
                            int64_t length, uint64_t ticket, uint32_t sample,
                            uint32_t arg)
{
    if (!ring)
        return;
    /* relaxed: there is no other writer. */
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    struct place *p = &ring->places[head & MASK];
    put(&p->begin, (uint64_t)begin_ns);
    put(&p->length, (uint64_t)length);
    /* relaxed: constant during a run. */
    put(&p->ticket,
        atomic_load_explicit(&ring->base, memory_order_relaxed) + ticket);
    put(&p->rest,
        sample | (uint64_t)kind << 32 | (uint64_t)(arg & 0xffff) << 48);
    put(&ring->head, head + 1);
}

void fdl_trace_ring_set_run(struct fdl_trace_ring *ring, uint32_t run)
{
    if (ring)
        atomic_store_explicit(&ring->base, (uint64_t)run << FDL_TRACE_RUN_SHIFT,
                              memory_order_relaxed);
}

uint64_t fdl_trace_ring_head(const struct fdl_trace_ring *ring)
{
    return ring ? get(&ring->head) : 0;
}

/* The oldest note that a writer with this head cannot be overwriting. */
static uint64_t oldest(uint64_t head)
{
    return head < FDL_TRACE_NOTES ? 0 : head - FDL_TRACE_NOTES + 1;
}

uint32_t fdl_trace_ring_copy(const struct fdl_trace_ring *ring, uint64_t *next,
                             struct fdl_trace_note *out, uint64_t *lost)
{
    if (!ring)
        return 0;
    uint64_t end = get(&ring->head);
    uint64_t begin = FDL_MAX(*next, oldest(end));
    for (uint64_t i = begin; i < end; i++) {
        const struct place *p = &ring->places[i & MASK];
        struct fdl_trace_note *n = &out[i - begin];
        n->begin_ns = (int64_t)get(&p->begin);
        n->length = (int64_t)get(&p->length);
        n->ticket = get(&p->ticket);
        uint64_t rest = get(&p->rest);
        n->sample = (uint32_t)rest;
        n->kind = (uint16_t)(rest >> 32);
        n->arg = (uint16_t)(rest >> 48);
    }
    /* Notes overwritten while being copied. Head is loaded once: MIN and MAX
     * would load the value that they return again. */
    uint64_t first = oldest(get(&ring->head));
    uint64_t whole = FDL_MIN(FDL_MAX(begin, first), end);
    memmove(out, out + (whole - begin), (end - whole) * sizeof(*out));
    *lost += whole - *next;
    *next = end;
    return (uint32_t)(end - whole);
}
