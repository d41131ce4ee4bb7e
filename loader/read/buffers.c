/* SPDX-License-Identifier: Apache-2.0 */
/* A stack of read buffers; see buffers.h. */
#include "loader/read/buffers.h"

#include "base/atomic.h"
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
    atomic_init(&b->allowance, UINT64_MAX);
    fdl_event_init(&b->room);
    fdl_lock_init(&b->trimming, FDL_RANK_TRIMMING);
    fdl_slabs_init(&b->slabs);
    return FEEDLINE_OK;
}

void fdl_buffers_fini(struct fdl_buffers *b)
{
    for (uint32_t i = 0; b->all && i < b->n; i++)
        fdl_slabs_free(&b->slabs, b->all[i].bytes, b->all[i].capacity);
    free(b->all);
    fdl_slabs_fini(&b->slabs);
    fdl_lock_destroy(&b->trimming);
}

/* ---- The stack ---------------------------------------------------------- */

static struct fdl_buffer *pop(struct fdl_buffers *b)
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

static void push(struct fdl_buffers *b, struct fdl_buffer *buffer)
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

struct fdl_buffer *fdl_buffers_take(struct fdl_buffers *b)
{
    struct fdl_buffer *buffer = pop(b);
    if (!buffer) { /* another thread may be searching the stack */
        fdl_lock(&b->trimming);
        buffer = pop(b);
        fdl_unlock(&b->trimming);
    }
    if (buffer)
        atomic_fetch_sub_explicit(&b->idle, buffer->capacity,
                                  memory_order_relaxed);
    return buffer;
}

void fdl_buffers_give(struct fdl_buffers *b, struct fdl_buffer *buffer)
{
    atomic_fetch_add_explicit(&b->idle, buffer->capacity, memory_order_relaxed);
    bool has_memory = buffer->capacity > 0; /* another may take it at once */
    push(b, buffer);
    if (has_memory) /* who found no room gives an empty one back */
        fdl_event_notify(&b->room, UINT32_MAX);
}

/* ---- Memory ------------------------------------------------------------- */

static bool has_room(const struct fdl_buffers *b, uint64_t memory,
                     uint64_t bytes)
{
    uint64_t allowance = fdl_load(&b->allowance);
    return memory == 0 || (memory <= allowance && bytes <= allowance - memory);
}

/* Frees idle memory until there is room for `bytes`; false: there is none. */
static bool trim(struct fdl_buffers *b, uint64_t bytes)
{
    struct fdl_buffer *popped, *list = NULL;
    bool freed = false;
    fdl_lock(&b->trimming);
    while (fdl_load(&b->idle) > 0 &&
           !has_room(b, fdl_load(&b->memory), bytes) && (popped = pop(b))) {
        uint64_t capacity = popped->capacity;
        uint32_t next = list ? (uint32_t)(list - b->all) + 1 : 0;
        fdl_slabs_free(&b->slabs, popped->bytes, capacity);
        popped->bytes = NULL;
        popped->capacity = 0;
        atomic_fetch_sub_explicit(&b->idle, capacity, memory_order_relaxed);
        atomic_fetch_sub_explicit(&b->memory, capacity, memory_order_relaxed);
        freed |= capacity > 0;
        atomic_store_explicit(&popped->below, next, memory_order_relaxed);
        list = popped;
    }
    while (list) {
        uint32_t next =
            atomic_load_explicit(&list->below, memory_order_relaxed);
        push(b, list);
        list = next ? &b->all[next - 1] : NULL;
    }
    fdl_unlock(&b->trimming);
    return freed;
}

bool fdl_buffers_claim(struct fdl_buffers *b, uint64_t bytes, bool exempt)
{
    for (;;) {
        uint64_t memory = fdl_load(&b->memory);
        /* Relaxed: a number that publishes nothing. */
        while (exempt || has_room(b, memory, bytes))
            if (atomic_compare_exchange_weak_explicit(
                    &b->memory, &memory, memory + bytes, memory_order_relaxed,
                    memory_order_relaxed))
                return true;
        if (fdl_load(&b->idle) == 0 || !trim(b, bytes))
            return false;
    }
}

void fdl_buffers_unclaim(struct fdl_buffers *b, uint64_t bytes)
{
    if (bytes == 0)
        return;
    atomic_fetch_sub_explicit(&b->memory, bytes, memory_order_relaxed);
    fdl_event_notify(&b->room, UINT32_MAX);
}

void fdl_buffers_set_allowance(struct fdl_buffers *b, uint64_t bytes)
{
    atomic_store_explicit(&b->allowance, bytes, memory_order_relaxed);
    if (fdl_buffers_is_over(b))
        trim(b, 0);
    fdl_event_notify(&b->room, UINT32_MAX);
}

bool fdl_buffers_is_over(const struct fdl_buffers *b)
{
    return fdl_load(&b->memory) > fdl_load(&b->allowance);
}
