/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a moment; see live_gather.h. */
#include "loader/report/live_gather.h"

#include "base/clock.h"
#include "loader/report/evidence.h"
#include "loader/stream/snapshot.h"
#include "loader/watch/gpu_watch.h"
#include "loader/watch/outside.h"
#include "loader/watch/phases.h"
#include "loader/watch/stats.h"
#include "loader/watch/stuck.h"
#include "profiler/system/affinity.h"
#include "profiler/system/machine.h"
#include "profiler/system/numa_maps.h"

#include <stdio.h>
#include <unistd.h>

static void add_knobs(const struct fdl_sources *from,
                      struct feedline_live_stats *out)
{
    struct fdl_knobs now;
    struct fdl_in_flight in_flight;
    fdl_engine_in_force(from->engine, &now);
    out->batch_size = fdl_engine_config(from->engine)->batch_size;
    out->workers = now.workers;
    out->depth = now.depth;
    out->io_depth = now.io_depth;
    fdl_engine_in_flight(from->engine, &in_flight);
    out->ready = in_flight.ready;
    out->outstanding = in_flight.outstanding;
    out->reads = in_flight.reads;
}

static void add_reads(const struct fdl_sources *from,
                      struct feedline_live_stats *out)
{
    struct feedline_stage_stats read;
    fdl_stats_stage(from->watch, FEEDLINE_STAGE_READ, &read);
    out->storage_bytes = read.storage_bytes;
}

static void add_device(const struct fdl_sources *from,
                       struct feedline_live_stats *out)
{
    struct feedline_device_stats d;
    if (!fdl_engine_has_device(from->engine) ||
        fdl_stats_device(from->watch, &d) < 0)
        return;
    out->has_device = 1;
    out->copied_bytes = d.copied_bytes;
    out->copy_ns = d.copy_ns;
    out->overlap_ns = d.overlap_ns;
    out->span_ns = d.span_ns;
    out->idle_ns = d.idle_ns;
    out->pinned_bytes = d.pinned_bytes;
}

static void add_gpu(const struct fdl_gpu_watched *gpu,
                    struct feedline_live_stats *out)
{
    const struct fdl_gpu_signals *g = &gpu->now;
    out->has_gpu = gpu->has_gpu;
    out->gpu_utilization = g->utilization;
    out->gpu_memory_utilization = g->memory_utilization;
    out->gpu_power_watts = g->power_watts;
    out->gpu_power_limit_watts = g->power_limit_watts;
    out->gpu_temperature = g->temperature;
    out->gpu_sm_clock_mhz = g->sm_clock_mhz;
    out->gpu_pcie_rx_gbps = g->pcie_rx_gbps;
    out->gpu_memory_used_bytes = g->memory_used_bytes;
    out->gpu_memory_total_bytes = g->memory_total_bytes;
    if (gpu->has_gpu)
        snprintf(out->gpu_throttle, sizeof(out->gpu_throttle), "%s",
                 fdl_gpu_cap_name(g));
}

static void add_machine(const struct fdl_sources *from,
                        struct feedline_live_stats *out)
{
    const struct fdl_machine *m = fdl_machine_get();
    struct fdl_watched watched;
    struct fdl_gpu_watched gpu;
    fdl_monitor_get(from->watch->monitor, &watched, &gpu);
    const struct fdl_system_signals *s = &watched.system;
    out->cpu_quota = m->cpu_quota;
    out->cpus_usable = m->cpus_usable;
    out->process_cpu_ns = s->process_cpu_ns;
    out->children_cpu_ns = (uint64_t)watched.children_ns;
    out->throttled_ns = s->throttled_ns;
    out->host_busy_ns = s->host_busy_ns;
    out->host_total_ns = s->host_total_ns;
    out->memory_bytes = s->memory_bytes;
    out->memory_limit_bytes =
        s->memory_limit_bytes ? s->memory_limit_bytes : m->memory_limit_bytes;
    add_gpu(&gpu, out);
}

static void add_verdict(const struct fdl_sources *from,
                        struct feedline_live_stats *out)
{
    struct fdl_evidence e;
    struct fdl_verdict all[FDL_VERDICTS_MAX];
    fdl_evidence_gather(from, &e);
    fdl_verdict_judge(&e, all);
    out->verdict.confidence = (double)all[0].confidence_ppm / 1e6;
    out->verdict.predicted_gain = all[0].predicted_gain;
    snprintf(out->verdict.code, sizeof(out->verdict.code), "%s", all[0].code);
    snprintf(out->verdict.level, sizeof(out->verdict.level), "%s",
             all[0].level);
    snprintf(out->verdict.sentence, sizeof(out->verdict.sentence), "%s",
             all[0].sentence);
    snprintf(out->verdict.action, sizeof(out->verdict.action), "%s",
             all[0].action);
}

static void add_tuner(const struct fdl_sources *from,
                      struct feedline_live_stats *out)
{
    struct feedline_tuner_info t;
    fdl_control_info(from->control, &t);
    snprintf(out->tuner.mode, sizeof(out->tuner.mode), "%s", t.mode);
    snprintf(out->tuner.state, sizeof(out->tuner.state), "%s", t.state);
    if (fdl_evidence_agrees(from, t.limited_by))
        snprintf(out->tuner.limited_by, sizeof(out->tuner.limited_by), "%s",
                 t.limited_by);
    out->tuner.planned_workers = t.planned_workers;
    out->tuner.planned_depth = t.planned_depth;
    out->tuner.planned_io_depth = t.planned_io_depth;
    out->tuner.converged = t.converged;
    out->tuner.stall = t.stall;
    out->tuner.target = t.target;
    out->tuner.decisions = t.decisions;
}

static void add_placement(const struct fdl_sources *from,
                          struct feedline_live_stats *out)
{
    const struct fdl_affinity *a = fdl_engine_affinity(from->engine);
    const struct fdl_numa_bytes *pinned = fdl_engine_pinned(from->engine);
    char cpus[48], nodes[72];
    int n = 0;
    fdl_cpu_set_print(&a->cpus, cpus, sizeof(cpus));
    if (a->bound)
        n = snprintf(out->placement, sizeof(out->placement),
                     "workers on CPUs %s", cpus);
    if (!pinned)
        return;
    fdl_numa_bytes_print(pinned, nodes, sizeof(nodes));
    snprintf(out->placement + n, sizeof(out->placement) - (size_t)n,
             "%spinned memory %s", n ? "; " : "", nodes);
}

static void add_job(const struct fdl_sources *from,
                    struct feedline_live_stats *out)
{
    out->rank = from->rank;
    out->world = from->world;
    out->synced_ns = fdl_phases_synced(from->watch);
    struct fdl_tuner_job told;
    fdl_control_tell(from->control, &told);
    out->told.job = from->job;
    out->told.stall = told.stall;
    out->told.step_ns = told.step_ns;
    out->told.depth = told.most.depth;
    out->told.io_depth = told.most.io_depth;
}

void fdl_live_gather(const struct fdl_sources *from,
                     struct feedline_live_stats *out)
{
    *out = (struct feedline_live_stats){
        .struct_size = sizeof(*out),
        .pid = getpid(),
        .updated_ns = fdl_now_ns(),
        .started_ns = from->started_ns,
    };
    add_knobs(from, out);
    fdl_stats_get(from->watch, &out->stats);
    fdl_stats_waits(from->watch, &out->waits);
    add_reads(from, out);
    add_job(from, out);
    add_device(from, out);
    add_placement(from, out);
    fdl_stats_workers(from->watch, &out->threads);
    add_machine(from, out);
    out->stuck_workers = fdl_stuck_count(from->engine);
    add_verdict(from, out);
    out->n_decisions = fdl_control_lines(from->control, out->decisions);
    add_tuner(from, out);
    if (from->watch->outside)
        snprintf(out->watched, sizeof(out->watched), "%s",
                 from->watch->outside->name);
}
