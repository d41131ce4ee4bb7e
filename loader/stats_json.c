/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics as one JSON object; the keys are in docs/profiling.md. */
#include "loader/costs.h"
#include "loader/engine.h"
#include "loader/evidence.h"
#include "loader/stats.h"
#include "loader/stuck.h"

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static double fraction(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* A bucket, by what the workers did. */
static void json_split(struct fdl_json *j, const char *key, uint64_t cpu,
                       uint64_t runq, uint64_t throttle, uint64_t sleep)
{
    fdl_json_begin_object(j, key);
    fdl_json_double(j, "cpu_seconds", seconds(cpu));
    fdl_json_double(j, "runq_seconds", seconds(runq));
    fdl_json_double(j, "throttle_seconds", seconds(throttle));
    fdl_json_double(j, "sleep_seconds", seconds(sleep));
    fdl_json_end_object(j);
}

/* d: NULL without a device. */
static void json_stall(feedline_loader *l, const struct feedline_stats *s,
                       const struct feedline_device_stats *d,
                       struct fdl_json *j)
{
    struct fdl_consumer *c = &l->consumer;
    struct feedline_wait_stats w;
    pthread_mutex_lock(&c->lock);
    struct fdl_ledger ledger = c->ledger;
    pthread_mutex_unlock(&c->lock);
    fdl_stats_waits(l, &w);
    fdl_json_begin_object(j, "stall");
    fdl_json_double(j, "host_fraction", fraction(s->wait_ns, s->wall_ns));
    if (d && d->span_ns > 0)
        fdl_json_double(j, "device_fraction", fraction(d->idle_ns, d->span_ns));
    else
        fdl_json_null(j, "device_fraction");
    fdl_json_double(j, "wait_seconds", seconds(s->wait_ns));
    fdl_json_begin_object(j, "buckets");
    for (uint32_t i = 0; i < FDL_BUCKETS; i++)
        fdl_json_double(j, fdl_bucket_name(i), seconds((uint64_t)ledger.ns[i]));
    fdl_json_end_object(j);
    json_split(j, "prep", w.prep_cpu_ns, w.prep_runq_ns, w.prep_throttle_ns,
               w.prep_sleep_ns);
    json_split(j, "worker_wait", w.worker_wait_cpu_ns, w.worker_wait_runq_ns,
               w.worker_wait_throttle_ns, w.worker_wait_sleep_ns);
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
    fdl_json_string(j, "finish_reason", d->finish_reason);
    fdl_json_int(j, "batches", (int64_t)d->batches);
    fdl_json_int(j, "finished", (int64_t)d->finished);
    fdl_json_int(j, "copies", (int64_t)d->copies);
    fdl_json_int(j, "copied_bytes", (int64_t)d->copied_bytes);
    fdl_json_double(j, "queue_seconds", seconds(d->queue_ns));
    fdl_json_double(j, "copy_seconds", seconds(d->copy_ns));
    fdl_json_double(j, "overlap_fraction", fraction(d->overlap_ns, d->copy_ns));
    fdl_json_double(j, "finish_seconds", seconds(d->finish_ns));
    fdl_json_double(j, "gigabytes_per_second", fdl_achieved_gbps(d));
    fdl_json_double(j, "ceiling_gigabytes_per_second", d->gigabytes_per_second);
    fdl_json_double(j, "latency_us", d->latency_us);
    fdl_json_string(j, "regime", d->regime);
    fdl_json_int(j, "pinned_bytes", (int64_t)d->pinned_bytes);
    fdl_json_int(j, "device_bytes", (int64_t)d->device_bytes);
    fdl_json_int(j, "steps", (int64_t)d->steps);
    fdl_json_double(j, "span_seconds", seconds(d->span_ns));
    fdl_json_double(j, "idle_seconds", seconds(d->idle_ns));
    fdl_json_end_object(j);
}

static void json_stage(feedline_loader *l, uint32_t stage, struct fdl_json *j)
{
    struct feedline_stage_stats s;
    fdl_stats_stage(l, stage, &s);
    fdl_json_begin_object(j, NULL);
    fdl_json_string(j, "name", fdl_stats_stage_name(l, stage));
    fdl_json_string(j, "label", fdl_stats_stage_label(l, stage));
    fdl_json_int(j, "threads", s.threads);
    fdl_json_int(j, "items", (int64_t)s.items);
    fdl_json_int(j, "bytes", (int64_t)s.bytes);
    fdl_json_int(j, "errors", (int64_t)s.errors);
    fdl_json_double(j, "busy_seconds", seconds(s.busy_ns));
    if (stage >= FEEDLINE_STAGE_COUNT) {
        fdl_json_double(j, "cpu_seconds", seconds(s.cpu_ns));
        fdl_json_double(j, "lock_seconds", seconds(s.lock_ns));
    }
    fdl_json_double(j, "starved_seconds", seconds(s.starved_ns));
    fdl_json_double(j, "blocked_seconds", seconds(s.blocked_ns));
    fdl_json_double(j, "p50_us", (double)s.p50_ns / 1e3);
    fdl_json_double(j, "p90_us", (double)s.p90_ns / 1e3);
    fdl_json_double(j, "p99_us", (double)s.p99_ns / 1e3);
    fdl_json_double(j, "max_us", (double)s.max_ns / 1e3);
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
static void json_verdicts(feedline_loader *l, struct fdl_json *j)
{
    struct fdl_evidence e;
    struct fdl_verdict all[FDL_VERDICTS_MAX];
    fdl_evidence_gather(l, &e);
    uint32_t n = fdl_verdict_judge(&e, all);
    json_one_verdict(&all[0], "verdict", j);
    fdl_json_begin_array(j, "verdicts");
    for (uint32_t i = 1; i < n; i++)
        json_one_verdict(&all[i], NULL, j);
    fdl_json_end_array(j);
}

void fdl_stats_json(feedline_loader *l, struct fdl_json *j)
{
    struct feedline_stats s;
    struct feedline_device_stats device, *d = NULL;
    struct fdl_costs costs;
    fdl_stats_get(l, &s);
    if (l->ring->backend_ops->stats && fdl_stats_device(l, &device) >= 0)
        d = &device;
    fdl_json_begin_object(j, NULL);
    fdl_json_begin_object(j, "stats");
    fdl_json_int(j, "workers", s.workers);
    fdl_json_double(j, "wall_seconds", seconds(s.wall_ns));
    fdl_json_double(j, "wait_seconds", seconds(s.wait_ns));
    fdl_json_double(j, "user_seconds", seconds(s.user_ns));
    fdl_json_double(j, "api_seconds", seconds(s.api_ns));
    fdl_json_int(j, "batches", (int64_t)s.batches);
    fdl_json_int(j, "samples", (int64_t)s.samples);
    fdl_json_int(j, "failed_samples", (int64_t)s.failed_samples);
    fdl_json_int(j, "truncated_samples", (int64_t)s.truncated_samples);
    fdl_json_int(j, "bytes_read", (int64_t)s.bytes_read);
    fdl_json_double(j, "profiler_seconds", seconds(s.profiler_ns));
    fdl_json_int(j, "memory_bytes", (int64_t)s.memory_bytes);
    fdl_json_double(j, "first_batch_seconds", seconds(s.first_batch_ns));
    fdl_json_end_object(j);
    fdl_outside_json(l, j);
    json_stall(l, &s, d, j);
    json_transfer(d, j);
    fdl_json_begin_array(j, "stages");
    for (uint32_t i = 0; i < fdl_stats_stage_count(l); i++)
        json_stage(l, i, j);
    fdl_json_end_array(j);
    fdl_costs_get(l, &costs);
    fdl_costs_json(&costs, j);
    fdl_stats_workers_json(l, j);
    fdl_stuck_json(l, j);
    fdl_notable_json(l, j);
    fdl_stats_signals_json(l, j);
    fdl_json_begin_object(j, "tuner");
    fdl_tuner_json(l, false, j);
    fdl_json_end_object(j);
    json_verdicts(l, j);
    fdl_json_end_object(j);
}
