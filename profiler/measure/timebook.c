/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers and the writer share no lock: the version is odd while a span is
 * being booked, and a reader that met that, or another version at its end,
 * reads again. Stores are release and loads acquire where a fence would do it
 * once, because thread sanitizers do not know fences; on x86 neither costs
 * anything.
 */
#include "profiler/measure/timebook.h"

#include "base/atomic.h"
#include "base/compiler.h"

#include <sched.h>
#include <stdbool.h>

/* A writer that lost its core in the middle is not waited for without end. */
#define ATTEMPTS 1000

/* release: pairs with the acquire in copy; who sees it sees the odd version. */
static void put(_Atomic int64_t *value, int64_t x)
{
    atomic_store_explicit(value, x, memory_order_release);
}

static void begin_write(struct fdl_timebook *b)
{
    uint64_t v = atomic_load_explicit(&b->version, memory_order_relaxed);
    atomic_store_explicit(&b->version, v + 1, memory_order_relaxed);
}

static void end_write(struct fdl_timebook *b)
{
    uint64_t v = atomic_load_explicit(&b->version, memory_order_relaxed);
    /* release: pairs with the first acquire in fdl_timebook_read. */
    atomic_store_explicit(&b->version, v + 1, memory_order_release);
}

/* The open span's length is booked, and the book stands at `stamp`. */
static int64_t book(struct fdl_timebook *b, int64_t now, bool closes)
{
    uint32_t kind = atomic_load_explicit(&b->kind, memory_order_relaxed);
    int64_t from = fdl_load(&b->stamp);
    int64_t to = FDL_MAX(from, now);
    begin_write(b);
    put(&b->ns[kind], fdl_load(&b->ns[kind]) + to - from);
    put(&b->stamp, closes ? 0 : to);
    end_write(b);
    return to - from;
}

void fdl_timebook_open(struct fdl_timebook *b, enum fdl_spent kind, int64_t now)
{
    begin_write(b);
    atomic_store_explicit(&b->kind, (uint32_t)kind, memory_order_release);
    put(&b->stamp, now);
    end_write(b);
}

enum fdl_spent fdl_timebook_begin(struct fdl_timebook *b, enum fdl_spent kind)
{
    uint32_t before = atomic_load_explicit(&b->kind, memory_order_relaxed);
    begin_write(b);
    atomic_store_explicit(&b->kind, (uint32_t)kind, memory_order_release);
    end_write(b);
    return (enum fdl_spent)before;
}

int64_t fdl_timebook_mark(struct fdl_timebook *b, int64_t now)
{
    return book(b, now, false);
}

int64_t fdl_timebook_stamp(const struct fdl_timebook *b)
{
    return fdl_load(&b->stamp);
}

void fdl_timebook_close(struct fdl_timebook *b, int64_t now)
{
    book(b, now, true);
}

/* acquire: pairs with put and the like; see the head of this file. */
static void copy(const struct fdl_timebook *b, struct fdl_spent_times *out,
                 int64_t *stamp, uint32_t *kind)
{
    for (uint32_t i = 0; i < FDL_SPENT_KINDS; i++)
        out->ns[i] = atomic_load_explicit(&b->ns[i], memory_order_acquire);
    *stamp = atomic_load_explicit(&b->stamp, memory_order_acquire);
    *kind = atomic_load_explicit(&b->kind, memory_order_acquire);
}

void fdl_timebook_read(const struct fdl_timebook *b, int64_t now,
                       struct fdl_spent_times *out)
{
    int64_t stamp = 0;
    uint32_t kind = 0;
    for (uint32_t i = 0; i < ATTEMPTS; i++) {
        uint64_t before =
            atomic_load_explicit(&b->version, memory_order_acquire);
        copy(b, out, &stamp, &kind);
        if (before % 2 == 0 &&
            atomic_load_explicit(&b->version, memory_order_relaxed) == before)
            break;
        if (i % 16 == 15)
            sched_yield();
    }
    if (stamp != 0 && now > stamp)
        out->ns[kind] += now - stamp;
}
