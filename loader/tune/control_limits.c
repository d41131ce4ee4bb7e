/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tuner's limits: the user's bounds, the granted cores, the memory budget
 * and what things take of it.
 *
 * A container's quota and a process's affinity change while it runs, so the
 * machine is queried again once a second; only what can change is read again.
 */
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "loader/stream/budget.h"
#include "loader/stream/ring.h"
#include "loader/tune/control_own.h"
#include "profiler/system/affinity.h"
#include "profiler/system/machine.h"

#include <math.h>
#include <string.h>

#define ASK_AGAIN_NS     INT64_C(1000000000)
#define WORKERS_PER_CORE 32u /* for work that sleeps */
#define DEPTH_MAX        64u

static uint32_t option(const struct fdl_options *o, uint32_t row)
{
    return (uint32_t)fdl_option_int(o, row);
}

/* ---- The user's bounds --------------------------------------------------- */

int32_t fdl_control_check_bounds(const struct fdl_options *o)
{
    uint32_t least = option(o, FDL_OPT_WORKERS_MIN);
    uint32_t most = option(o, FDL_OPT_WORKERS_MAX);
    uint32_t start = option(o, FDL_OPT_WORKERS_START);
    if (most && least > most)
        return fdl_fail(FEEDLINE_ERANGE,
                        "workers_min=%u is above workers_max=%u; nothing "
                        "would be left for the tuner",
                        least, most);
    if (start && (start < least || (most && start > most)))
        return fdl_fail(FEEDLINE_ERANGE,
                        "workers_start=%u is not between workers_min=%u and "
                        "workers_max=%u",
                        start, least, most ? most : FDL_MAX_WORKERS);
    return FEEDLINE_OK;
}

static uint32_t workers_max(const struct fdl_options *o, double cores)
{
    uint32_t most = option(o, FDL_OPT_WORKERS_MAX);
    if (most == 0)
        most = (uint32_t)FDL_MIN(ceil(cores) * WORKERS_PER_CORE,
                                 (double)FDL_MAX_WORKERS);
    return FDL_MAX(most, option(o, FDL_OPT_WORKERS_MIN));
}

void fdl_control_start_values(const struct fdl_control *c,
                              struct fdl_knobs *out)
{
    const struct fdl_options *o = fdl_engine_options(c->engine);
    uint32_t cores = fdl_engine_affinity(c->engine)->share;
    uint32_t start = option(o, FDL_OPT_WORKERS_START);
    uint32_t most = workers_max(o, cores);
    if (start == 0)
        start = FDL_MIN(cores, most);
    start = FDL_MAX(start, option(o, FDL_OPT_WORKERS_MIN));
    fdl_engine_in_force(c->engine, out);
    out->io_depth = 0;
    if (option(o, FDL_OPT_WORKERS) == 0)
        out->workers = FDL_MIN(start, FDL_MAX_WORKERS);
}

/* ---- The machine --------------------------------------------------------- */

static void ask_machine(struct fdl_control *c, int64_t now)
{
    const struct fdl_affinity *where = fdl_engine_affinity(c->engine);
    struct fdl_machine_grant grant;
    if (c->granted_ns != 0 && now - c->granted_ns < ASK_AGAIN_NS)
        return;
    c->granted_ns = now;
    fdl_machine_read_grant(&grant, fdl_engine_cpus(c->engine),
                           c->root ? c->root : "");
    double cores = (double)grant.cpus_allowed / where->ranks;
    if (grant.cpu_quota > 0)
        cores = FDL_MIN(cores, grant.cpu_quota / c->local_world);
    fdl_lock(&c->lock);
    c->by_quota = grant.cpu_quota > 0 && grant.cpu_quota < grant.cpus_allowed;
    c->granted = cores;
    c->cores = c->granted * c->share.part;
    fdl_unlock(&c->lock);
}

/* The cores whose use shows how much others leave us; 0: we are confined to
 * some of them, and use of the rest says nothing. */
static double host_cores(const struct fdl_control *c)
{
    const struct fdl_machine *m = fdl_machine_get();
    bool all = m->cpus_allowed == m->cpus_online && !fdl_engine_cpus(c->engine);
    return all ? m->cpus_online : 0;
}

/* ---- The whole ----------------------------------------------------------- */

static void limit_workers(const struct fdl_control *c,
                          struct fdl_tuner_limits *out)
{
    const struct fdl_options *o = fdl_engine_options(c->engine);
    out->workers_min = out->workers_max = option(o, FDL_OPT_WORKERS);
    if (out->workers_max == 0) {
        out->workers_min = option(o, FDL_OPT_WORKERS_MIN);
        out->workers_max = workers_max(o, c->granted);
    }
}

static void limit_depth(const struct fdl_control *c,
                        struct fdl_tuner_limits *out)
{
    const struct fdl_options *o = fdl_engine_options(c->engine);
    uint32_t most = option(o, FDL_OPT_DEPTH_MAX);
    uint32_t fixed = option(o, FDL_OPT_DEPTH);
    if (fixed == 0)
        fixed = most ? most : DEPTH_MAX;
    fixed = FDL_MIN(fixed, fdl_ring_reach(fdl_engine_ring(c->engine)));
    out->depth_max = fdl_budget_depth(c->engine, fixed);
    out->depth_min = option(o, FDL_OPT_DEPTH) ? out->depth_max : 1;
}

static void limit_reads(const struct fdl_control *c,
                        struct fdl_tuner_limits *out)
{
    const struct fdl_options *o = fdl_engine_options(c->engine);
    uint32_t most = option(o, FDL_OPT_IO_DEPTH_MAX);
    uint32_t fixed = option(o, FDL_OPT_IO_DEPTH);
    uint32_t possible = fdl_engine_max_io_depth_locked(c->engine);
    struct fdl_knobs now;
    fdl_engine_in_force(c->engine, &now);
    if (possible == 0) /* it has no effect */
        fixed = now.io_depth;
    out->io_depth_min = out->io_depth_max = fixed;
    if (fixed != 0)
        return;
    out->io_depth_min = 1;
    out->io_depth_max = most ? most : possible;
}

/* Decoders' memory is not in the budget, see budget.h. */
static void weigh(const struct fdl_control *c, struct fdl_tuner_limits *out)
{
    uint64_t batch = fdl_ring_slot_bytes(fdl_engine_ring(c->engine));
    out->memory_bytes = fdl_engine_config(c->engine)->memory_budget;
    out->batch_bytes = batch;
    out->spare_bytes = FDL_SPARE_SLOTS * batch;
    out->read_bytes = fdl_window_largest(fdl_engine_window(c->engine));
}

void fdl_control_start_limits(struct fdl_control *c,
                              struct fdl_tuner_limits *out)
{
    memset(out, 0, sizeof(*out));
    ask_machine(c, fdl_now_ns());
    limit_workers(c, out);
    limit_depth(c, out);
    limit_reads(c, out);
}

bool fdl_control_limits_locked(struct fdl_control *c, int64_t now)
{
    struct fdl_tuner_limits limits;
    memset(&limits, 0, sizeof(limits)); /* compared byte by byte */
    ask_machine(c, now);
    fdl_lock(&c->lock);
    limits.cores = c->cores;
    limits.shared = c->share.part < 1;
    fdl_unlock(&c->lock);
    limits.host_cores = host_cores(c);
    limits.target =
        fdl_option_double(fdl_engine_options(c->engine), FDL_OPT_TUNER_TARGET);
    limit_workers(c, &limits);
    limit_depth(c, &limits);
    limit_reads(c, &limits);
    weigh(c, &limits);
    if (memcmp(&limits, &c->limits, sizeof(limits)) == 0)
        return false;
    fdl_lock(&c->lock);
    c->limits = limits;
    fdl_unlock(&c->lock);
    return true;
}
