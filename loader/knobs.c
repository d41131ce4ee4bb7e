/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a loader that exists: the live knobs, which change what happens
 * next and never what is delivered, and the values in force.
 */
#include "loader/engine.h"

/* ---- Live knobs --------------------------------------------------------- */

static int32_t set_depth_locked(feedline_loader *l, uint32_t depth)
{
    uint64_t batch = l->ring->layout.bytes;
    if (depth + FDL_SPARE_SLOTS > l->config.memory_budget / batch)
        return fdl_loader_fail_budget(l, depth, batch);
    if (l->running) {
        uint32_t got = depth;
        int32_t status = fdl_ring_set_depth(l->ring, &got);
        if (status < 0)
            return status;
        depth = got;
    }
    atomic_store_explicit(&l->depth, depth, memory_order_relaxed);
    return FEEDLINE_OK;
}

static int32_t set_workers_locked(feedline_loader *l, uint32_t workers)
{
    if (l->running) {
        int32_t status = fdl_pool_set_active(l, workers);
        if (status < 0)
            return status;
    }
    atomic_store_explicit(&l->workers, workers, memory_order_relaxed);
    fdl_loader_set_limit_locked(l);
    return FEEDLINE_OK;
}

static void set_io_depth_locked(feedline_loader *l, uint32_t depth)
{
    if (l->running && l->reader_ops->set_depth)
        l->reader_ops->set_depth(l->reader, depth);
    atomic_store_explicit(&l->io_depth, depth, memory_order_relaxed);
    fdl_loader_set_limit_locked(l);
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

int32_t fdl_loader_set_knob(feedline_loader *l, uint32_t option, int64_t value)
{
    int32_t status = FEEDLINE_OK;
    pthread_mutex_lock(&l->knobs);
    const char *name = l->options.table[option].name;
    int64_t before = fdl_option_int(&l->options, option);
    status = fdl_options_set_int(&l->options, name, value);
    if (status < 0)
        goto out;
    if (value == 0) {
        status = fdl_fail(FEEDLINE_ERANGE,
                          "%s=auto: on a running loader give a number", name);
        goto restore;
    }
    int64_t was = before;
    in_force(l, option, &was);
    switch (option) {
    case FDL_OPT_WORKERS:
        status = set_workers_locked(l, (uint32_t)value);
        break;
    case FDL_OPT_DEPTH:
        status = set_depth_locked(l, (uint32_t)value);
        break;
    case FDL_OPT_IO_DEPTH:
        set_io_depth_locked(l, (uint32_t)value);
        break;
    default:
        status = fdl_fail(FEEDLINE_ESTATE,
                          "%s cannot change while a loader exists", name);
    }
restore:
    if (status >= 0) {
        fdl_tracing_decided_locked(l, option, value);
        fdl_decisions_add(&l->exports.decisions, name, was, value,
                          "set by the program");
    }
    if (status < 0)
        fdl_options_set_int(&l->options, name, before);
out:
    pthread_mutex_unlock(&l->knobs);
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
    return fdl_options_get_int(&l->options, key, out);
}

int32_t fdl_loader_config_json(const feedline_loader *l, struct fdl_json *j)
{
    struct fdl_options now;
    int32_t status = fdl_options_copy(&now, &l->options);
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
