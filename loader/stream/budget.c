/* SPDX-License-Identifier: Apache-2.0 */
/* Shares the budget out between slots and read buffers; see budget.h. */
#include "loader/stream/budget.h"

#include "base/clock.h"
#include "loader/engine.h"

#include <time.h>

#define PATIENCE_NS INT64_C(100000000)
#define LOOK_NS     200000

static void allow(feedline_loader *l, uint64_t slots)
{
    uint64_t budget = l->config.memory_budget;
    fdl_window_set_allowance(l->window, budget > slots ? budget - slots : 0);
}

void fdl_budget_share_locked(feedline_loader *l)
{
    allow(l, fdl_ring_own_memory(l->ring));
}

/* Files on their way are decoded without anybody's help, and then their buffers
 * are free: that takes as long as workers take for what they have. */
static uint64_t wait_for_reads(feedline_loader *l, uint64_t left)
{
    struct timespec pause = {.tv_nsec = LOOK_NS};
    int64_t end = fdl_now_ns() + PATIENCE_NS;
    uint64_t memory = fdl_window_memory(l->window);
    while (memory > left && memory > fdl_window_largest(l->window) &&
           fdl_now_ns() < end) {
        nanosleep(&pause, NULL);
        memory = fdl_window_memory(l->window);
    }
    return memory;
}

uint64_t fdl_budget_make_room_locked(feedline_loader *l, uint64_t bytes)
{
    uint64_t budget = l->config.memory_budget;
    uint64_t have = fdl_ring_own_memory(l->ring);
    if (bytes <= have)
        return bytes;
    allow(l, bytes);
    uint64_t left = budget > bytes ? budget - bytes : 0;
    uint64_t memory = wait_for_reads(l, left);
    if (memory <= left || memory <= fdl_window_largest(l->window))
        return bytes;
    return FDL_MAX(have, budget > memory ? budget - memory : 0);
}

/* On the monitor's thread; where somebody has run_lock, at the next beat. */
static void serve(void *user, bool last)
{
    feedline_loader *l = user;
    if (last || !fdl_ring_has_surplus(l->ring) || !fdl_trylock(&l->run_lock))
        return;
    fdl_ring_trim(l->ring);
    fdl_budget_share_locked(l);
    fdl_unlock(&l->run_lock);
}

int32_t fdl_budget_create(feedline_loader *l)
{
    struct fdl_subscriber who = {.serve = serve, .user = l};
    return fdl_monitor_subscribe(l->monitor, &who);
}
