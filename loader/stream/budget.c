/* SPDX-License-Identifier: Apache-2.0 */
/* Divides the budget between slots and read buffers; see budget.h. */
#include "loader/stream/budget.h"

#include "base/clock.h"
#include "loader/stream/engine_own.h"

#include <time.h>

#define PATIENCE_NS INT64_C(100000000)
#define LOOK_NS     200000

static void allow(struct fdl_engine *e, uint64_t slots)
{
    uint64_t budget = e->config.memory_budget;
    fdl_window_set_allowance(e->window, budget > slots ? budget - slots : 0);
}

void fdl_budget_share_locked(struct fdl_engine *e)
{
    allow(e, fdl_ring_own_memory(e->ring));
}

/* Files being read are decoded without any help, and then their buffers are
 * free: that takes as long as workers take for what they have. */
static uint64_t wait_for_reads(struct fdl_engine *e, uint64_t left)
{
    struct timespec pause = {.tv_nsec = LOOK_NS};
    int64_t end = fdl_now_ns() + PATIENCE_NS;
    uint64_t memory = fdl_window_memory(e->window);
    while (memory > left && memory > fdl_window_largest(e->window) &&
           fdl_now_ns() < end) {
        nanosleep(&pause, NULL);
        memory = fdl_window_memory(e->window);
    }
    return memory;
}

uint64_t fdl_budget_make_room_locked(struct fdl_engine *e, uint64_t bytes)
{
    uint64_t budget = e->config.memory_budget;
    uint64_t have = fdl_ring_own_memory(e->ring);
    if (bytes <= have)
        return bytes;
    allow(e, bytes);
    uint64_t left = budget > bytes ? budget - bytes : 0;
    uint64_t memory = wait_for_reads(e, left);
    if (memory <= left || memory <= fdl_window_largest(e->window))
        return bytes;
    return FDL_MAX(have, budget > memory ? budget - memory : 0);
}

/* If run_lock is taken, next time. */
void fdl_engine_tidy(struct fdl_engine *e)
{
    uint32_t n_held;
    if (!fdl_ring_is_short(e->ring, &n_held) && !fdl_ring_has_surplus(e->ring))
        return;
    if (!fdl_trylock(&e->run_lock))
        return;
    fdl_ring_trim(e->ring);
    fdl_budget_share_locked(e);
    fdl_unlock(&e->run_lock);
}
/* ---- From time to time --------------------------------------------------- */

/* Without memory for it fewer batches are ahead, which is no error. */
static void grow_locked(struct fdl_engine *e)
{
    bool more = true;
    while (more)
        if (fdl_ring_grow(e->ring, &more) < 0)
            fdl_clear_error();
}

    grow_locked(e);
