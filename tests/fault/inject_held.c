/* SPDX-License-Identifier: Apache-2.0 */
/* A table of blocks by their address: open addressing, and what follows a hole
 * moves up. One lock; who counts faults is in no hurry. */
#include "inject_held.h"

#include "inject.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define SLOTS (UINT32_C(1) << 17)

static struct block {
    const void *p, *place;
    uint64_t serial;
} blocks[SLOTS];

static atomic_flag taken = ATOMIC_FLAG_INIT;
static uint64_t n_blocks, serial;
static _Atomic int64_t mapped;

static void lock(void)
{
    while (atomic_flag_test_and_set(&taken))
        sched_yield();
}

static uint32_t home(const void *p)
{
    uint64_t x = (uint64_t)(uintptr_t)p >> 4;
    return (uint32_t)(x * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SLOTS;
}

void *inject_hold(void *p, const void *place)
{
    if (!p)
        return NULL;
    lock();
    uint32_t i = home(p);
    while (blocks[i].p)
        i = (i + 1) % SLOTS;
    blocks[i] = (struct block){p, place, ++serial};
    if (++n_blocks > SLOTS / 2)
        abort();
    atomic_flag_clear(&taken);
    return p;
}

/* Slot i is free: whoever looked for room past it comes back. */
static void close_hole(uint32_t i)
{
    for (uint32_t k = (i + 1) % SLOTS; blocks[k].p; k = (k + 1) % SLOTS) {
        uint32_t from = home(blocks[k].p);
        if ((k - from) % SLOTS < (k - i) % SLOTS)
            continue;
        blocks[i] = blocks[k];
        i = k;
    }
    blocks[i].p = NULL;
}

bool inject_drop(void *p)
{
    if (!p)
        return false;
    lock();
    uint32_t i = home(p);
    while (blocks[i].p && blocks[i].p != p)
        i = (i + 1) % SLOTS;
    bool known = blocks[i].p != NULL;
    if (known) {
        close_hole(i);
        n_blocks--;
    }
    atomic_flag_clear(&taken);
    return known;
}

void inject_map(int64_t bytes)
{
    atomic_fetch_add(&mapped, bytes);
}

struct inject_held inject_held(void)
{
    lock();
    struct inject_held held = {n_blocks, (uint64_t)atomic_load(&mapped)};
    atomic_flag_clear(&taken);
    return held;
}

uint64_t inject_held_serial(void)
{
    return serial;
}

uint32_t inject_held_since(uint64_t after, const void **places, uint32_t most)
{
    uint32_t n = 0;
    lock();
    for (uint32_t i = 0; i < SLOTS && n < most; i++)
        if (blocks[i].p && blocks[i].serial > after)
            places[n++] = blocks[i].place;
    atomic_flag_clear(&taken);
    return n;
}
