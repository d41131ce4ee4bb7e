/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a loader that exists: the live knobs, which change what happens
 * next and never what is delivered, and the values in force.
 */
#include "base/atomic.h"
#include "base/log.h"
#include "loader/engine.h"
#include "loader/stream/budget.h"

static void lock(const feedline_loader *l)
{
    fdl_lock((struct fdl_lock *)(uintptr_t)&l->settings);
}

static void unlock(const feedline_loader *l)
{
    fdl_unlock((struct fdl_lock *)(uintptr_t)&l->settings);
}

/* ---- Live knobs --------------------------------------------------------- */

static int32_t set_depth_locked(feedline_loader *l, uint32_t depth)
{
    uint64_t batch = fdl_ring_slot_bytes(l->ring);
    if (depth + FDL_SPARE_SLOTS > l->config.memory_budget / batch)
        return fdl_loader_fail_budget(l, depth, batch);
    if (l->running) {
        uint64_t room =
            fdl_budget_make_room_locked(l, (depth + FDL_SPARE_SLOTS) * batch);
        uint32_t got = (uint32_t)FDL_MAX(room / batch, FDL_SPARE_SLOTS + 1) -
                       FDL_SPARE_SLOTS;
        int32_t status = fdl_ring_set_depth(l->ring, &got);
        fdl_budget_share_locked(l);
        if (status < 0)
            return status;
        depth = got;
    }
    atomic_store_explicit(&l->depth, depth, memory_order_relaxed);
    return FEEDLINE_OK;
}

static int32_t set_workers_locked(feedline_loader *l, uint32_t workers)
{
    int32_t status = FEEDLINE_OK;
    if (l->running) {
        status = fdl_pool_set_active(l, workers);
        if (status < 0) /* as many as could be had */
            workers =
                atomic_load_explicit(&l->pool.active, memory_order_relaxed);
    }
    atomic_store_explicit(&l->workers, workers, memory_order_relaxed);
    fdl_loader_set_limit_locked(l);
    return status;
}

static void set_io_depth_locked(feedline_loader *l, uint32_t depth)
{
    if (l->running && l->reader_ops->set_depth)
        l->reader_ops->set_depth(l->reader, depth);
    atomic_store_explicit(&l->io_depth, depth, memory_order_relaxed);
    fdl_loader_set_limit_locked(l);
}

/* ---- The tuner's ways in ------------------------------------------------- */

void fdl_loader_in_force(const feedline_loader *l, struct fdl_knobs *out)
{
    *out = (struct fdl_knobs){
        .workers = fdl_load(&l->workers),
        .depth = fdl_load(&l->depth),
        .io_depth = fdl_load(&l->io_depth),
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

static void apply_depth_locked(feedline_loader *l, uint32_t depth)
{
    if (depth != fdl_load(&l->depth))
        say_missed(set_depth_locked(l, depth), "depth", depth);
}

void fdl_loader_apply_locked(feedline_loader *l, const struct fdl_knobs *want)
{
    /* What is given back comes first: the budget holds at every moment. */
    bool shrinks = want->depth < fdl_load(&l->depth);
    if (shrinks)
        apply_depth_locked(l, want->depth);
    if (want->io_depth != fdl_load(&l->io_depth))
        set_io_depth_locked(l, want->io_depth);
    if (want->workers != fdl_load(&l->workers))
        say_missed(set_workers_locked(l, want->workers), "workers",
                   want->workers);
    if (!shrinks)
        apply_depth_locked(l, want->depth);
}

/* true: row's value is chosen at run time, and is *value. */
static bool in_force(const feedline_loader *l, uint32_t row, int64_t *value)
{
    switch (row) {
    case FDL_OPT_WORKERS:
        *value = atomic_load_explicit(&l->workers, memory_order_relaxed);
        return true;
    case FDL_OPT_DEPTH:
        *value = atomic_load_explicit(&l->depth, memory_order_relaxed);
        return true;
    case FDL_OPT_IO_DEPTH:
        *value = atomic_load_explicit(&l->io_depth, memory_order_relaxed);
        return *value != 0; /* before the first run nothing is chosen */
    case FDL_OPT_MEMORY_BUDGET:
        *value = (int64_t)l->config.memory_budget;
        return true;
    case FDL_OPT_READER:
        *value = atomic_load_explicit(&l->reader_kind, memory_order_relaxed);
        return true;
    default:
        return false;
    }
}

static bool is_knob(uint32_t option)
{
    return option == FDL_OPT_WORKERS || option == FDL_OPT_DEPTH ||
           option == FDL_OPT_IO_DEPTH;
}

static enum fdl_knob knob_of(uint32_t option)
{
    return option == FDL_OPT_WORKERS ? FDL_KNOB_WORKERS
           : option == FDL_OPT_DEPTH ? FDL_KNOB_DEPTH
                                     : FDL_KNOB_IO_DEPTH;
}

/* The option is set to `value` already. was: what is in force. */
static int32_t hand_to_tuner_locked(feedline_loader *l, uint32_t option,
                                    int64_t was)
{
    if (!fdl_control_is_on(l))
        return fdl_fail(FEEDLINE_ERANGE,
                        "%s=auto: tuner=off, so nothing would choose it; give "
                        "a running loader a number",
                        l->options.table[option].name);
    fdl_control_set_locked(l, knob_of(option), was, was, false);
    return FEEDLINE_OK;
}

static int32_t turn_locked(feedline_loader *l, uint32_t option, int64_t was,
                           int64_t value)
{
    int32_t status = FEEDLINE_OK;
    switch (knob_of(option)) {
    case FDL_KNOB_WORKERS:
        status = set_workers_locked(l, (uint32_t)value);
        break;
    case FDL_KNOB_DEPTH:
        status = set_depth_locked(l, (uint32_t)value);
        break;
    default:
        set_io_depth_locked(l, (uint32_t)value);
    }
    if (status >= 0)
        fdl_control_set_locked(l, knob_of(option), was, value, true);
    return status;
}

static int32_t set_option_locked(feedline_loader *l, const char *name,
                                 int64_t value)
{
    lock(l);
    int32_t status = fdl_options_set_int(&l->options, name, value);
    unlock(l);
    return status;
}

int32_t fdl_loader_set_knob(feedline_loader *l, uint32_t option, int64_t value)
{
    const char *name = l->options.table[option].name;
    if (!is_knob(option)) /* nor is it written: threads read it as they like */
        return fdl_fail(FEEDLINE_ESTATE,
                        "%s cannot change while a loader exists", name);
    fdl_lock(&l->run_lock);
    int64_t before = fdl_option_int(&l->options, option), was = before;
    int32_t status = set_option_locked(l, name, value);
    if (status >= 0) {
        in_force(l, option, &was);
        status = value == 0 ? hand_to_tuner_locked(l, option, was)
                            : turn_locked(l, option, was, value);
        if (status < 0)
            set_option_locked(l, name, before);
    }
    fdl_unlock(&l->run_lock);
    return status;
}

/* ---- Values in force ---------------------------------------------------- */

int32_t fdl_loader_value(const feedline_loader *l, const char *key,
                         int64_t *out)
{
    uint32_t row;
    int32_t status = fdl_options_find(&l->options, key, &row);
    if (status < 0)
        return status;
    if (in_force(l, row, out))
        return FEEDLINE_OK;
    lock(l);
    status = fdl_options_get_int(&l->options, key, out);
    unlock(l);
    return status;
}

int64_t fdl_loader_asked(const feedline_loader *l, uint32_t option)
{
    lock(l);
    int64_t value = fdl_option_int(&l->options, option);
    unlock(l);
    return value;
}

const struct fdl_terms *fdl_loader_terms(const feedline_loader *l)
{
    return fdl_terms_of(
        (enum fdl_interface)fdl_option_int(&l->options, FDL_OPT_TERMS));
}

int32_t fdl_loader_config_json(const feedline_loader *l, struct fdl_json *j)
{
    struct fdl_options now;
    lock(l);
    int32_t status = fdl_options_copy(&now, &l->options);
    unlock(l);
    if (status < 0)
        return status;
    for (uint32_t row = 0; row < now.n; row++) {
        int64_t value;
        if (in_force(l, row, &value))
            now.values[row].number = value;
    }
    fdl_json_begin_object(j, NULL);
    fdl_options_json(&now, j);
    fdl_pipeline_json(l->pipeline, "pipeline", j);
    fdl_json_end_object(j);
    fdl_options_fini(&now);
    return FEEDLINE_OK;
}
