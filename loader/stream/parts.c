/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an engine, for others; see engine.h. */
#include "base/compiler.h"
#include "loader/stream/engine_own.h"

struct fdl_ring *fdl_engine_ring(const struct fdl_engine *e)
{
    return e->ring;
}

struct fdl_window *fdl_engine_window(const struct fdl_engine *e)
{
    return e->window;
}

struct fdl_failures *fdl_engine_failures(const struct fdl_engine *e)
{
    return &fdl_engine_writable(e)->failures;
}

const struct fdl_pipeline *fdl_engine_pipeline(const struct fdl_engine *e)
{
    return e->pipeline;
}

const feedline_dataset *fdl_engine_dataset(const struct fdl_engine *e)
{
    return e->dataset;
}

const struct fdl_sampler *fdl_engine_sampler(const struct fdl_engine *e)
{
    return &e->sampler;
}

struct fdl_given *fdl_engine_given(const struct fdl_engine *e)
{
    return e->given;
}

const struct fdl_options *fdl_engine_options(const struct fdl_engine *e)
{
    return &e->options;
}

const struct fdl_config_values *fdl_engine_config(const struct fdl_engine *e)
{
    return &e->config;
}

const struct fdl_finish_choice *fdl_engine_finish(const struct fdl_engine *e)
{
    return &e->finish;
}

struct fdl_decode_choice *fdl_engine_decoding(const struct fdl_engine *e)
{
    return &fdl_engine_writable(e)->decode;
}

const struct fdl_affinity *fdl_engine_affinity(const struct fdl_engine *e)
{
    return &e->affinity;
}

const struct fdl_cpu_set *fdl_engine_cpus(const struct fdl_engine *e)
{
    return e->affinity.bound ? &e->affinity.cpus : NULL;
}

const struct fdl_numa_bytes *fdl_engine_pinned(const struct fdl_engine *e)
{
    /* acquire: pairs with the release in see_pinned_locked (engine_run.c). */
    return atomic_load_explicit(&e->pinned_known, memory_order_acquire)
               ? &e->pinned
               : NULL;
}

FDL_HOT bool fdl_engine_has_device(const struct fdl_engine *e)
{
    return e->ring->backend_ops->stats != NULL;
}

uint32_t fdl_engine_max_io_depth_locked(const struct fdl_engine *e)
{
    if (!e->reader_ops)
        return FDL_MAX_IO_DEPTH;
    return e->reader_ops->set_depth ? e->reader_ops->max_depth : 0;
}

/* ---- The lock of runs ---------------------------------------------------- */

void fdl_engine_lock(struct fdl_engine *e)
{
    fdl_lock(&e->run_lock);
}

void fdl_engine_unlock(struct fdl_engine *e)
{
    fdl_unlock(&e->run_lock);
}
