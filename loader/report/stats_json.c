/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics as one JSON object; the keys are in docs/profiling.md. */
#include "loader/report/stats_json.h"

#include "loader/report/evidence.h"
#include "loader/report/outside_text.h"
#include "loader/report/stat_rows.h"
#include "loader/watch/costs.h"
#include "loader/watch/stats.h"
#include "loader/watch/stuck.h"
#include "profiler/system/affinity.h"
#include "profiler/system/numa_maps.h"

#include <inttypes.h>
#include <stdio.h>

static double fraction(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* d: NULL without a device. */
static void json_stall(const struct fdl_sources *from,
                       const struct feedline_stats *s,
                       const struct feedline_device_stats *d,
                       struct fdl_json *j)
{
    struct feedline_wait_stats w;
    fdl_stats_waits(from->watch, &w);
    fdl_json_begin_object(j, "stall");
    fdl_json_double(j, "host_fraction", fraction(s->wait_ns, s->wall_ns));
    if (d && d->span_ns > 0)
        fdl_json_double(j, "device_fraction", fraction(d->idle_ns, d->span_ns));
    else
        fdl_json_null(j, "device_fraction");
    fdl_json_double(j, "wait_seconds", (double)s->wait_ns / 1e9);
    fdl_stat_json(j, FDL_STAT_STALL, &w, 0);
    fdl_json_double(j, "residual_fraction",
                    fraction(w.residual_ns, s->wait_ns));
    fdl_json_end_object(j);
}

static void json_transfer(const struct feedline_device_stats *d,
                          struct fdl_json *j)
{
    if (!d) {
        fdl_json_null(j, "transfer");
        return;
    }
    fdl_json_begin_object(j, "transfer");
    fdl_json_string(j, "finish", d->finish ? "device" : "host");
    fdl_json_string(j, "decode", d->decode ? "device" : "host");
    fdl_stat_json(j, FDL_STAT_TRANSFER, d, 0);
    fdl_json_end_object(j);
}

static void json_pinned(const struct fdl_numa_bytes *pinned, struct fdl_json *j)
{
    if (!pinned) {
        fdl_json_null(j, "pinned_bytes_by_node");
        return;
    }
    fdl_json_begin_object(j, "pinned_bytes_by_node");
    for (uint32_t i = 0; i < FDL_NUMA_NODES; i++) {
        char node[16];
        snprintf(node, sizeof(node), "%" PRIu32, i);
        if (pinned->node[i] > 0)
            fdl_json_int(j, node, (int64_t)pinned->node[i]);
    }
    fdl_json_end_object(j);
}

/* Where its threads run and its pinned memory lies. */
static void json_placement(const struct fdl_sources *from, struct fdl_json *j)
{
    const struct fdl_affinity *a = fdl_engine_affinity(from->engine);
    char list[128];
    fdl_cpu_set_print(&a->cpus, list, sizeof(list));
    fdl_json_begin_object(j, "placement");
    fdl_json_bool(j, "bound", a->bound);
    if (a->bound)
        fdl_json_string(j, "cpus", list);
    else
        fdl_json_null(j, "cpus");
    if (a->node >= 0)
        fdl_json_int(j, "gpu_node", a->node);
    else
        fdl_json_null(j, "gpu_node");
    fdl_json_string(j, "reason", a->reason);
    json_pinned(fdl_engine_pinned(from->engine), j);
    fdl_json_end_object(j);
}

static void json_stage(const struct fdl_sources *from, uint32_t stage,
                       struct fdl_json *j)
{
    struct feedline_stage_stats s;
    fdl_stats_stage(from->watch, stage, &s);
    fdl_json_begin_object(j, NULL);
    fdl_json_string(j, "name", fdl_stats_stage_name(from->watch, stage));
    fdl_json_string(j, "label", fdl_stats_stage_label(from->watch, stage));
    fdl_stat_json(
        j, FDL_STAT_STAGES, &s,
        fdl_stats_is_custom(from->watch, stage) ? 0 : FEEDLINE_STAT_CUSTOM);
    fdl_json_end_object(j);
}

static void json_workers(const struct fdl_sources *from, struct fdl_json *j)
{
    struct feedline_worker_stats w;
    fdl_stats_workers(from->watch, &w);
    fdl_json_begin_object(j, "workers");
    fdl_stat_json(j, FDL_STAT_WORKERS, &w, 0);
    fdl_json_end_object(j);
}

static void json_one_verdict(const struct fdl_verdict *v, const char *key,
                             struct fdl_json *j)
{
    fdl_json_begin_object(j, key);
    fdl_json_string(j, "code", v->code);
    fdl_json_string(j, "level", v->level);
    fdl_json_double(j, "confidence", (double)v->confidence_ppm / 1e6);
    fdl_json_string(j, "sentence", v->sentence);
    fdl_json_string(j, "action", v->action);
    fdl_json_double(j, "predicted_gain", v->predicted_gain);
    fdl_json_bool(j, "tuner", v->tuner);
    fdl_json_raw(j, "evidence", v->evidence[0] ? v->evidence : "{}");
    fdl_json_end_object(j);
}

/* The verdict, and the others that hold too. */
static void json_verdicts(const struct fdl_sources *from, struct fdl_json *j)
{
    struct fdl_evidence e;
    struct fdl_verdict all[FDL_VERDICTS_MAX];
    fdl_evidence_gather(from, &e);
    uint32_t n = fdl_verdict_judge(&e, all);
    json_one_verdict(&all[0], "verdict", j);
    fdl_json_begin_array(j, "verdicts");
    for (uint32_t i = 1; i < n; i++)
        json_one_verdict(&all[i], NULL, j);
    fdl_json_end_array(j);
}

void fdl_stats_json(const struct fdl_sources *from, struct fdl_json *j)
{
    struct feedline_stats s;
    struct feedline_device_stats device, *d = NULL;
    struct fdl_costs costs;
    fdl_stats_get(from->watch, &s);
    if (fdl_engine_has_device(from->engine) &&
        fdl_stats_device(from->watch, &device) >= 0)
        d = &device;
    fdl_json_begin_object(j, NULL);
    fdl_json_begin_object(j, "stats");
    fdl_stat_json(j, FDL_STAT_STATS, &s, 0);
    fdl_json_end_object(j);
    fdl_outside_json(from, j);
    json_stall(from, &s, d, j);
    json_transfer(d, j);
    if (!fdl_engine_stands_in(from->engine))
        json_placement(from, j);
    fdl_json_begin_array(j, "stages");
    for (uint32_t i = 0; i < fdl_stats_stage_count(from->watch); i++)
        json_stage(from, i, j);
    fdl_json_end_array(j);
    fdl_costs_get(from->watch, &costs);
    fdl_costs_json(&costs, j);
    json_workers(from, j);
    fdl_stuck_json(from->engine, j);
    fdl_notable_json(from, j);
    fdl_stats_signals_json(from->watch, j);
    fdl_json_begin_object(j, "tuner");
    fdl_tuner_json(from->control, false, j);
    fdl_json_end_object(j);
    json_verdicts(from, j);
    fdl_json_end_object(j);
}
