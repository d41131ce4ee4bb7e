/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workers' time, without gaps. Each thread attributes its own time
 * (profiler/measure/timebook.h), the clock tells how long the threads lived,
 * and the kernel divides their busy time (look.h). The three are measured
 * independently, and `residual` is their difference: a thread's first moments,
 * before it runs.
 */
#include "base/compiler.h"
#include "loader/stream/snapshot.h"
#include "loader/watch/stats.h"
#include "loader/watch/watcher.h"

static uint64_t positive(int64_t ns)
{
    return ns > 0 ? (uint64_t)ns : 0;
}

void fdl_stats_workers(struct fdl_watch *watch,
                       struct feedline_worker_stats *out)
{
    struct fdl_workers_time now, zero;
    struct fdl_watched watched;
    /* In this order: what was probed is part of what the books have. */
    fdl_monitor_look(watch->monitor);
    fdl_monitor_get(watch->monitor, &watched, NULL);
    fdl_engine_workers_time(watch->engine, &now);
    fdl_lock(&watch->books.lock);
    zero = watch->books.zero->workers;
    fdl_unlock(&watch->books.lock);

    uint64_t spent[FDL_SPENT_KINDS];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < FDL_SPENT_KINDS; i++)
        sum += spent[i] = positive(now.spent.ns[i] - zero.spent.ns[i]);
    uint64_t wall = positive(now.lived_ns - zero.lived_ns);
    if (wall < sum) /* a book read while being written */
        wall = sum;
    *out = (struct feedline_worker_stats){
        .struct_size = sizeof(*out),
        .threads = now.threads,
        .wall_ns = wall,
        .runq_ns = (uint64_t)watched.work[FDL_BUSY_RUNQ],
        .throttle_ns = (uint64_t)watched.work[FDL_BUSY_THROTTLE],
        .sleep_ns = (uint64_t)watched.work[FDL_BUSY_SLEEP],
        .read_ns = spent[FDL_SPENT_READ],
        .blocked_ns = spent[FDL_SPENT_BLOCKED],
        .starved_ns = spent[FDL_SPENT_STARVED],
        .parked_ns = spent[FDL_SPENT_PARKED],
        .residual_ns = wall - sum,
        .voluntary_switches = watched.voluntary,
        .involuntary_switches = watched.involuntary,
    };
    uint64_t work = spent[FDL_SPENT_WORK];
    uint64_t off = out->runq_ns + out->throttle_ns + out->sleep_ns;
    if (off > work) { /* the last open span became something else */
        out->sleep_ns -= FDL_MIN(out->sleep_ns, off - work);
        off = out->runq_ns + out->throttle_ns + out->sleep_ns;
        out->wall_ns += off > work ? off - work : 0;
    }
    out->cpu_ns = off < work ? work - off : 0;
}
