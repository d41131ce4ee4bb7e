/* SPDX-License-Identifier: Apache-2.0 */
/* Divides the budget between slots and read buffers; see budget.h. */
#include "loader/stream/budget.h"

#include "base/atomic.h"
#include "base/clock.h"
#include "base/log.h"
#include "loader/read/remote_cache.h"
#include "loader/stream/engine_own.h"

#include <inttypes.h>
#include <time.h>

#define PATIENCE_NS INT64_C(100000000)
#define LOOK_NS     200000

/* Twice the depth that a run begins with, but no more than tuners go to. */
#define REACH_MOST 64u

/* Of the device, by default: a part of what is free, and no more than that. */
#define DEVICE_PART UINT64_C(20)
#define DEVICE_MOST (UINT64_C(2) << 30)

/* ---- Slots that fit ------------------------------------------------------ */

/* Slots that fit both budgets. That of the device counts once it is known. */
static uint64_t count_slots(const struct fdl_engine *e)
{
    uint64_t most = e->config.memory_budget / fdl_ring_slot_bytes(e->ring);
    uint64_t device = fdl_load(&e->config.device_memory_budget);
    uint64_t slot = fdl_ring_slot_device_bytes(e->ring);
    uint64_t scratch = e->ring->kind.layout.scratch_bytes;
    if (slot == 0 || device == 0)
        return most;
    return FDL_MIN(most, (device - FDL_MIN(scratch, device)) / slot);
}

uint32_t fdl_budget_depth(const struct fdl_engine *e, uint32_t depth)
{
    uint64_t fits = count_slots(e);
    if (fits <= FDL_SPARE_SLOTS)
        return 1;
    return (uint32_t)FDL_MIN(depth, fits - FDL_SPARE_SLOTS);
}

/* Files that are not decoded keep half of the host's budget. */
uint32_t fdl_budget_reach(const struct fdl_engine *e, uint32_t depth)
{
    uint64_t half = e->config.memory_budget / 2 / fdl_ring_slot_bytes(e->ring);
    uint32_t reach = FDL_MAX(FDL_BUDGET_REACH, FDL_MIN(2 * depth, REACH_MOST));
    if (half < reach + FDL_SPARE_SLOTS)
        reach = half > FDL_SPARE_SLOTS ? (uint32_t)half - FDL_SPARE_SLOTS : 1;
    return FDL_MAX(depth, fdl_budget_depth(e, reach));
}

static bool fits_host(const struct fdl_engine *e, uint64_t slots)
{
    return slots <= e->config.memory_budget / fdl_ring_slot_bytes(e->ring);
}

const char *fdl_budget_exceeded(const struct fdl_engine *e, uint32_t depth)
{
    uint64_t slots = depth + (uint64_t)FDL_SPARE_SLOTS;
    if (slots <= count_slots(e))
        return NULL;
    return fits_host(e, slots) ? "device_memory_budget" : "memory_budget";
}

int32_t fdl_budget_check(const struct fdl_engine *e, uint32_t depth)
{
    const char *option = fdl_budget_exceeded(e, depth);
    uint64_t slots = depth + (uint64_t)FDL_SPARE_SLOTS;
    bool on_device = fits_host(e, slots);
    if (!option)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ERANGE,
                    "depth=%u needs %" PRIu64 " batches of %" PRIu64
                    " bytes%s, more than %s=%" PRIu64 "; lower batch_size or "
                    "depth, use dtype=u8, or raise %s",
                    depth, slots,
                    on_device ? fdl_ring_slot_device_bytes(e->ring)
                              : fdl_ring_slot_bytes(e->ring),
                    on_device ? " on the device" : "", option,
                    on_device ? fdl_load(&e->config.device_memory_budget)
                              : e->config.memory_budget,
                    option);
}

/* ---- The device's share -------------------------------------------------- */

int32_t fdl_budget_ask_device_locked(struct fdl_engine *e)
{
    const struct fdl_backend_ops *ops = e->ring->backend_ops;
    uint64_t slot = fdl_ring_slot_device_bytes(e->ring), left;
    if (slot == 0 || fdl_load(&e->config.device_memory_budget) > 0)
        return FEEDLINE_OK;
    int32_t status = ops->device_free(e->ring->backend, &left);
    if (status < 0)
        return status;
    uint64_t budget = FDL_MIN(left / DEVICE_PART, DEVICE_MOST);
    budget = FDL_MAX(budget, (1 + FDL_SPARE_SLOTS) * slot +
                                 e->ring->kind.layout.scratch_bytes);
    atomic_store_explicit(&e->config.device_memory_budget, budget,
                          memory_order_relaxed);
    uint32_t depth = fdl_load(&e->depth), fits = fdl_budget_depth(e, depth);
    if (fits == depth)
        return FEEDLINE_OK;
    atomic_store_explicit(&e->depth, fits, memory_order_relaxed);
    fdl_log(FDL_LOG_INFO,
            "depth=%u would take %.3g GB on the device; continuing with "
            "depth=%u, within device_memory_budget=%" PRIu64,
            depth, (double)(depth + FDL_SPARE_SLOTS) * (double)slot / 1e9, fits,
            budget);
    return FEEDLINE_OK;
}

/* ---- Slots and reads ----------------------------------------------------- */

static void allow(struct fdl_engine *e, uint64_t slots)
{
    uint64_t budget = e->config.memory_budget;
    uint64_t taken = slots + fdl_ring_field_memory(e->ring);
    if (e->chunks)
        taken += fdl_remote_cache_waiting(budget);
    fdl_window_set_allowance(e->window, budget > taken ? budget - taken : 0);
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

/* ---- From time to time --------------------------------------------------- */

/* Without memory for it fewer batches are ahead, which is no error. */
static void grow_locked(struct fdl_engine *e)
{
    uint32_t n_held;
    bool grew;
    while (fdl_ring_is_short(e->ring, &n_held))
        if (fdl_ring_grow(e->ring, &grew) < 0)
            fdl_clear_error();
}

/* If run_lock is taken, next time. */
void fdl_engine_tidy(struct fdl_engine *e)
{
    uint32_t n_held;
    if (!fdl_ring_is_short(e->ring, &n_held) &&
        !fdl_ring_has_surplus(e->ring) &&
        !fdl_slot_kind_has_fields(&e->ring->kind))
        return;
    if (!fdl_trylock(&e->run_lock))
        return;
    grow_locked(e);
    fdl_ring_trim(e->ring);
    fdl_budget_share_locked(e);
    fdl_unlock(&e->run_lock);
}
