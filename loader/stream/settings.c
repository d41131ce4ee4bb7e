/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a loader that exists: the live knobs, which change what happens
 * next and never what is delivered, and the values in force.
 */
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/log.h"
#include "decode/pipeline.h"
#include "loader/stream/budget.h"
#include "loader/stream/engine_own.h"

static void lock(const struct fdl_engine *e)
{
    fdl_lock((struct fdl_lock *)(uintptr_t)&e->settings);
}

static void unlock(const struct fdl_engine *e)
{
    fdl_unlock((struct fdl_lock *)(uintptr_t)&e->settings);
}

/* ---- Live knobs --------------------------------------------------------- */

/* On a device the slots of a run are made before it. */
static uint32_t within_run(const struct fdl_engine *e, uint32_t depth)
{
    uint32_t reach = fdl_ring_reach(e->ring);
    if (depth <= reach)
        return depth;
    fdl_log(FDL_LOG_INFO,
            "depth=%u is for the next run; this one has memory on the device "
            "for depth=%u",
            depth, reach);
    return reach;
}

static int32_t set_depth_locked(struct fdl_engine *e, uint32_t depth)
{
    uint64_t batch = fdl_ring_slot_bytes(e->ring);
    int32_t status = fdl_budget_check(e, depth);
    if (status < 0)
        return status;
    if (e->running) {
        depth = within_run(e, depth);
        uint64_t room =
            fdl_budget_make_room_locked(e, (depth + FDL_SPARE_SLOTS) * batch);
        uint32_t got = (uint32_t)FDL_MAX(room / batch, FDL_SPARE_SLOTS + 1) -
                       FDL_SPARE_SLOTS;
        status = fdl_ring_set_depth(e->ring, &got);
        fdl_budget_share_locked(e);
        if (status < 0)
            return status;
        depth = got;
    }
    atomic_store_explicit(&e->depth, depth, memory_order_relaxed);
    return FEEDLINE_OK;
}

static int32_t set_workers_locked(struct fdl_engine *e, uint32_t workers)
{
    int32_t status = FEEDLINE_OK;
    if (e->running) {
        status = fdl_pool_set_active(e, workers);
        if (status < 0) /* as many as possible */
            workers =
                atomic_load_explicit(&e->pool.active, memory_order_relaxed);
    }
    atomic_store_explicit(&e->workers, workers, memory_order_relaxed);
    fdl_engine_set_limit_locked(e);
    return status;
}

static void set_io_depth_locked(struct fdl_engine *e, uint32_t depth)
{
    if (e->running && e->reader_ops->set_depth)
        e->reader_ops->set_depth(e->reader, depth);
    atomic_store_explicit(&e->io_depth, depth, memory_order_relaxed);
    fdl_engine_set_limit_locked(e);
}

/* ---- All of them ------------------------------------------------- */

static void store(_Atomic uint32_t *x, uint32_t value)
{
    atomic_store_explicit(x, value, memory_order_relaxed);
}

FDL_HOT void fdl_engine_in_force(const struct fdl_engine *e,
                                 struct fdl_knobs *out)
{
    *out = (struct fdl_knobs){
        .workers = fdl_load(&e->workers),
        .depth = fdl_load(&e->depth),
        .io_depth = fdl_load(&e->io_depth),
    };
}

static void say_missed(int32_t status, const char *knob, uint32_t wanted)
{
    if (status >= 0)
        return;
    fdl_log(FDL_LOG_WARNING, "tuner: %s=%u: %s; continuing with less", knob,
            wanted, fdl_last_error());
    fdl_clear_error();
}

static void apply_depth_locked(struct fdl_engine *e, uint32_t depth)
{
    if (depth != fdl_load(&e->depth))
        say_missed(set_depth_locked(e, depth), "depth", depth);
}

void fdl_engine_apply_locked(struct fdl_engine *e, const struct fdl_knobs *want)
{
    /* Reductions come first: the budget holds at every moment. */
    bool shrinks = want->depth < fdl_load(&e->depth);
    if (shrinks)
        apply_depth_locked(e, want->depth);
    if (want->io_depth != fdl_load(&e->io_depth))
        set_io_depth_locked(e, want->io_depth);
    if (want->workers != fdl_load(&e->workers))
        say_missed(set_workers_locked(e, want->workers), "workers",
                   want->workers);
    if (!shrinks)
        apply_depth_locked(e, want->depth);
}

bool fdl_engine_chosen(const struct fdl_engine *e, uint32_t row, int64_t *value)
{
    switch (row) {
    case FDL_OPT_WORKERS:
        *value = atomic_load_explicit(&e->workers, memory_order_relaxed);
        return true;
    case FDL_OPT_DEPTH:
        *value = atomic_load_explicit(&e->depth, memory_order_relaxed);
        return true;
    case FDL_OPT_IO_DEPTH:
        *value = atomic_load_explicit(&e->io_depth, memory_order_relaxed);
        return *value != 0; /* nothing is chosen before the first run */
    case FDL_OPT_MEMORY_BUDGET:
        *value = (int64_t)e->config.memory_budget;
        return true;
    case FDL_OPT_CACHE_BUDGET:
        *value = (int64_t)e->config.cache_budget;
        return *value != 0;
    case FDL_OPT_DEVICE_MEMORY_BUDGET:
        *value = (int64_t)fdl_load(&e->config.device_memory_budget);
        return *value != 0;
    case FDL_OPT_RANK:
        *value = e->sampler.rank;
        return true;
    case FDL_OPT_WORLD:
        *value = e->sampler.world;
        return true;
    case FDL_OPT_READER:
        *value = atomic_load_explicit(&e->reader_kind, memory_order_relaxed);
        return true;
    default:
        return false;
    }
}

int32_t fdl_engine_turn_locked(struct fdl_engine *e, uint32_t option,
                               int64_t value)
{
    if (option == FDL_OPT_WORKERS)
        return set_workers_locked(e, (uint32_t)value);
    if (option == FDL_OPT_DEPTH)
        return set_depth_locked(e, (uint32_t)value);
    fdl_assert(option == FDL_OPT_IO_DEPTH);
    set_io_depth_locked(e, (uint32_t)value);
    return FEEDLINE_OK;
}

int32_t fdl_engine_set_option_locked(struct fdl_engine *e, const char *name,
                                     int64_t value)
{
    lock(e);
    int32_t status = fdl_options_set_int(&e->options, name, value);
    unlock(e);
    return status;
}

void fdl_engine_start_with(struct fdl_engine *e, const struct fdl_knobs *start)
{
    store(&e->workers, start->workers);
    store(&e->depth, start->depth);
    e->keeps_io_depth = true;
    e->first_io_depth = start->io_depth;
}

/* ---- Standing in for a watched loader ------------------------------------ */

void fdl_engine_stand_in(struct fdl_engine *e, uint32_t workers,
                         uint32_t batch_size, int32_t gpu)
{
    store(&e->workers, workers);
    store(&e->depth, 0);
    store(&e->io_depth, 0);
    e->config.batch_size = batch_size;
    e->stands_in = true;
    e->gpu = gpu;
}

void fdl_engine_stand_in_begin(struct fdl_engine *e)
{
    fdl_lock(&e->run_lock);
    if (e->observer.beginning)
        e->observer.beginning(e->observer.user);
    fdl_unlock(&e->run_lock);
}

void fdl_engine_stand_in_called(const struct fdl_engine *e, int64_t now)
{
    if (e->observer.called)
        e->observer.called(e->observer.user, now);
}

/* ---- Values in force ---------------------------------------------------- */

int32_t fdl_engine_value(const struct fdl_engine *e, const char *key,
                         int64_t *out)
{
    uint32_t row;
    int32_t status = fdl_options_find(&e->options, key, &row);
    if (status < 0)
        return status;
    if (fdl_engine_chosen(e, row, out))
        return FEEDLINE_OK;
    lock(e);
    status = fdl_options_get_int(&e->options, key, out);
    unlock(e);
    return status;
}

int64_t fdl_engine_asked(const struct fdl_engine *e, uint32_t option)
{
    lock(e);
    int64_t value = fdl_option_int(&e->options, option);
    unlock(e);
    return value;
}

const struct fdl_terms *fdl_engine_terms(const struct fdl_engine *e)
{
    return fdl_terms_of(
        (enum fdl_interface)fdl_option_int(&e->options, FDL_OPT_TERMS));
}

int32_t fdl_engine_config_json(const struct fdl_engine *e, struct fdl_json *j)
{
    struct fdl_options now;
    lock(e);
    int32_t status = fdl_options_copy(&now, &e->options);
    unlock(e);
    if (status < 0)
        return status;
    for (uint32_t row = 0; row < now.n; row++) {
        int64_t value;
        if (fdl_engine_chosen(e, row, &value))
            now.values[row].number = value;
    }
    fdl_json_begin_object(j, NULL);
    fdl_options_json(&now, j);
    fdl_pipeline_json(e->pipeline, "pipeline", j);
    fdl_json_end_object(j);
    fdl_options_fini(&now);
    return FEEDLINE_OK;
}
