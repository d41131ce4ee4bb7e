/* SPDX-License-Identifier: Apache-2.0 */
/* A stack of read buffers; see buffers.h. */
#include "loader/buffers.h"

#include "base/status.h"

#include <stdlib.h>

static uint64_t make_top(uint64_t before, uint32_t place)
{
    uint64_t changes = (before >> 32) + 1;
    return changes << 32 | place;
}

int32_t fdl_buffers_init(struct fdl_buffers *b, uint32_t n)
{
    *b = (struct fdl_buffers){.n = n};
    b->all = calloc(n, sizeof(*b->all));
    if (!b->all)
        return fdl_fail_memory(n * sizeof(*b->all), "the read buffers");
    for (uint32_t i = 0; i + 1 < n; i++)
        atomic_init(&b->all[i].below, i + 2);
    atomic_init(&b->top, 1);
    return FEEDLINE_OK;
}

void fdl_buffers_fini(struct fdl_buffers *b)
{
    for (uint32_t i = 0; b->all && i < b->n; i++)
        free(b->all[i].bytes);
    free(b->all);
}

struct fdl_buffer *fdl_buffers_take(struct fdl_buffers *b)
{
    /* acquire: pairs with give; the taker sees bytes and capacity. */
    uint64_t top = atomic_load_explicit(&b->top, memory_order_acquire);
    for (;;) {
        uint32_t place = (uint32_t)top;
        if (place == 0)
            return NULL;
        struct fdl_buffer *buffer = &b->all[place - 1];
        /* May be stale if another thread takes it now; then the CAS fails. */
        uint32_t below =
            atomic_load_explicit(&buffer->below, memory_order_relaxed);
        if (atomic_compare_exchange_weak_explicit(
                &b->top, &top, make_top(top, below), memory_order_acquire,
                memory_order_acquire))
            return buffer;
    }
}

void fdl_buffers_give(struct fdl_buffers *b, struct fdl_buffer *buffer)
{
    uint32_t place = (uint32_t)(buffer - b->all) + 1;
    uint64_t top = atomic_load_explicit(&b->top, memory_order_relaxed);
    do {
        atomic_store_explicit(&buffer->below, (uint32_t)top,
                              memory_order_relaxed);
        /* release: pairs with take. */
    } while (!atomic_compare_exchange_weak_explicit(
        &b->top, &top, make_top(top, place), memory_order_release,
        memory_order_relaxed));
}
