/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence of a loader, since the last reset of its statistics. Sums over a
 * window that moves would need copies of every histogram; who wants to judge
 * the last minute resets the statistics and waits for it.
 */
#include "loader/report/evidence.h"

#include "loader/dataset/dataset.h"
#include "loader/order/sampler.h"
#include "loader/stream/budget.h"
#include "loader/stream/decode_choice.h"
#include "loader/stream/ring.h"
#include "loader/watch/costs.h"
#include "loader/watch/notable.h"
#include "loader/watch/outside.h"
#include "loader/watch/stats.h"
#include "loader/watch/stuck.h"
#include "profiler/system/affinity.h"
#include "profiler/system/machine.h"
#include "profiler/verdict/advice.h"

#include <string.h>

#define TAIL 0.996 /* of ticket times, what depth has to cover */

/* Of the copies that were made: bytes per ns are 1e9 bytes per second. */
static double achieved_gbps(const struct feedline_device_stats *d)
{
    return d->copy_ns ? (double)d->copied_bytes / (double)d->copy_ns : 0;
}

/* What the bus gives to copies of this loader's size. */
static double possible_gbps(const struct feedline_device_stats *d)
{
    if (d->copies == 0 || !(d->gigabytes_per_second > 0))
        return 0;
    double bytes = (double)d->copied_bytes / (double)d->copies;
    double ns = d->latency_us * 1e3 + bytes / d->gigabytes_per_second;
    return ns > 0 ? bytes / ns : 0;
}

static void add_device(const struct fdl_sources *from, struct fdl_evidence *e)
{
    struct feedline_device_stats d;
    const struct fdl_decode_choice *choice = fdl_engine_decoding(from->engine);
    if (!fdl_engine_has_device(from->engine) ||
        fdl_stats_device(from->watch, &d) < 0)
        return;
    e->has_device = true;
    e->device_idle_ns = (int64_t)d.idle_ns;
    e->device_span_ns = (int64_t)d.span_ns;
    e->copy_ns = (int64_t)d.copy_ns;
    e->overlap_ns = (int64_t)d.overlap_ns;
    e->copy_gbps = achieved_gbps(&d);
    e->ceiling_gbps = possible_gbps(&d);
    e->make_ns = d.decoded > 0 ? (int64_t)d.decode_ns : 0;
    e->made = d.decoded;
    e->decode_chosen = choice->measured;
    e->device_could = choice->could && !choice->ready;
}

/* The consumer, its ledger and the stages of workers and reads. */
static void add_counters(const struct fdl_sources *from, struct fdl_evidence *e)
{
    struct fdl_books *c = &from->watch->books;
    struct fdl_pace copy;
    const struct fdl_pace *pace = &copy;
    struct fdl_total read, decode, augment;
    struct fdl_pixel_sums pixels;
    fdl_stats_since_reset(from->watch, FEEDLINE_STAGE_READ, &read);
    fdl_stats_since_reset(from->watch, FEEDLINE_STAGE_DECODE, &decode);
    fdl_stats_since_reset(from->watch, FEEDLINE_STAGE_AUGMENT, &augment);
    fdl_stats_pixels(from->watch, &pixels);
    e->huffman_ns = (int64_t)decode.huffman_ns;
    e->jpeg_index_used = pixels.mcus_jumped > 0;
    if (decode.unpack_ns > 0)
        e->made_ns =
            (int64_t)(decode.unpack_ns + decode.transform_ns + augment.busy_ns);
    e->custom_ns = (int64_t)fdl_stats_customs_busy_ns(from->watch);
    fdl_stats_shared_lock(from->watch, &e->lock);
    fdl_lock(&c->lock);
    copy = c->pace;
    e->ledger = c->ledger;
    e->batches = c->batches;
    e->samples = c->samples;
    e->wall_ns = c->ledger.wait_ns + c->user_ns + c->api_ns;
    e->user_ns = c->user_ns;
    e->handover_ns = c->handover_ns;
    memcpy(e->handover, c->handover, sizeof(e->handover));
    e->first_batch_ns = c->first_batch_ns;
    fdl_unlock(&c->lock);
    e->calls = pace->calls;
    e->ready_calls = pace->ready_calls;
    e->long_waits = pace->long_waits;
    e->passed_waits = pace->passed_waits;
    e->epoch_edges = pace->edges;
    if (pace->edges)
        e->epoch_edge_ns = pace->edge_ns / (int64_t)pace->edges;
    if (pace->calls)
        e->ticket_tail_ns = fdl_histogram_quantile(&pace->leads, TAIL);
    if (fdl_histogram_total(&pace->waits))
        e->usual_wait_ns = (double)fdl_histogram_quantile(&pace->waits, 0.5);
    e->epoch_batches = fdl_engine_given(from->engine)
                           ? pace->epoch_batches
                           : fdl_engine_sampler(from->engine)->batches;
    fdl_interference_judge(&pace->interference, &e->interference,
                           &e->interference_sigma);
    e->first_epoch_fetch = fdl_pace_fetch(pace, false);
    e->later_epoch_fetch = fdl_pace_fetch(pace, true);
    e->first_epoch_read = fdl_pace_read(pace, false);
    e->later_epoch_read = fdl_pace_read(pace, true);
    if (read.items == 0)
        return;
    e->mean_file_bytes = (double)read.bytes / (double)read.items;
    e->read_p50_us = (double)fdl_histogram_quantile(&read.times, 0.5) / 1e3;
    e->read_p99_us = (double)fdl_histogram_quantile(&read.times, 0.99) / 1e3;
    e->cold_fraction = fdl_cold_fraction(&read.times);
    if (read.bytes > 0 && fdl_engine_counts_storage(from->engine))
        e->storage_fraction =
            FDL_MIN((double)read.storage_bytes / (double)read.bytes, 1.0);
    int64_t fetch_ns = e->ledger.ns[FDL_BUCKET_FETCH];
    if (fetch_ns > 0 && fdl_engine_counts_storage(from->engine))
        e->fetch_cold =
            FDL_MIN((double)e->ledger.cold_ns / (double)fetch_ns, 1.0);
    e->data_bytes =
        e->mean_file_bytes * (double)fdl_engine_sampler(from->engine)->count;
    /* Reads that overlap were on their way for no longer than this. */
    uint64_t under_way = FDL_MIN(read.busy_ns, (uint64_t)e->wall_ns);
    if (under_way == 0)
        return;
    e->read_rate = (double)read.bytes * 1e9 / (double)under_way;
    e->reads_under_way = (double)read.own_ns / (double)under_way;
    struct fdl_read_fit fit;
    fdl_read_fit_of(&read.products, &fit);
    e->read_fixed_ns = fit.fixed_ns;
    e->read_byte_ns = fit.byte_ns;
    e->read_byte_error_ns = fit.byte_error_ns;
    e->read_ahead_ns = fit.ahead_ns;
}

static void add_workers(struct fdl_watch *watch, struct fdl_evidence *e)
{
    struct feedline_worker_stats w;
    fdl_stats_workers(watch, &w);
    e->worker_busy_ns =
        (int64_t)(w.cpu_ns + w.runq_ns + w.throttle_ns + w.sleep_ns);
    e->worker_cpu_ns = (int64_t)w.cpu_ns;
    e->worker_runq_ns = (int64_t)w.runq_ns;
    e->worker_throttle_ns = (int64_t)w.throttle_ns;
    e->worker_sleep_ns = (int64_t)w.sleep_ns;
    e->worker_blocked_ns = (int64_t)w.blocked_ns;
}

static void add_costs(struct fdl_watch *watch, struct fdl_evidence *e)
{
    struct fdl_costs costs;
    fdl_costs_get(watch, &costs);
    e->source_pixels = costs.source_pixels;
    e->output_pixels = costs.output_pixels;
    const struct fdl_op_cost *source = &costs.source;
    e->source = (struct fdl_costly_op){
        .name = source->label,
        .wall_ns = source->wall_ns,
        .cpu_ns = source->cpu_ns,
        .samples = source->samples,
    };
    e->source_lock_ns = source->lock_ns;
    if (costs.n_ops == 0)
        return;
    const struct fdl_op_cost *op = &costs.ops[0];
    e->op = (struct fdl_costly_op){
        .name = op->label,
        .wall_ns = op->wall_ns,
        .cpu_ns = op->cpu_ns,
        .samples = op->samples,
    };
}

static void add_machine(const struct fdl_watched *w, struct fdl_evidence *e)
{
    const struct fdl_system_signals *now = &w->system;
    const struct fdl_system_signals *zero = &w->zero;
    double span = (double)w->span_ns;
    uint64_t busy = now->host_busy_ns - zero->host_busy_ns;
    uint64_t own = now->process_cpu_ns - zero->process_cpu_ns;
    e->throttled_ns = (int64_t)(now->throttled_ns - zero->throttled_ns);
    if (now->has_host && span > 0)
        e->outside_cores = busy > own ? (double)(busy - own) / span : 0;
    e->foreign_cores = e->consumer_cores = -1;
    if (w->seconds_ns > 0) {
        e->foreign_cores = (double)w->foreign_ns / (double)w->seconds_ns;
        e->consumer_cores = (double)w->consumer_ns / (double)w->seconds_ns;
        memcpy(e->foreign_name, w->foreign_name, sizeof(e->foreign_name));
    }
    if (w->read_rate_now > 0)
        e->read_rate_now = w->read_rate_now;
    if (w->has_growth) {
        e->rate_by_depth = w->rate_by_depth;
        e->latency_by_depth = w->latency_by_depth;
    }
}

static void add_gpu(const struct fdl_gpu_watched *g, struct fdl_evidence *e)
{
    const struct fdl_gpu_signals *s = &g->now;
    if (!g->has_gpu)
        return;
    e->gpu_utilization = s->utilization;
    e->gpu_sm_active = s->sm_active;
    e->gpu_idle_seconds = s->utilization >= 0 ? g->idle_seconds : -1;
    if (s->memory_used_bytes >= 0 && s->memory_total_bytes > 0)
        e->gpu_memory_used = s->memory_used_bytes / s->memory_total_bytes;
    e->gpu_power_capped = s->power_capped;
    e->gpu_thermal_capped = s->thermal_capped;
    if (s->sm_clock_mhz >= 0 && s->max_sm_clock_mhz > 0)
        e->gpu_clock = s->sm_clock_mhz / s->max_sm_clock_mhz;
}

static void add_settings(const struct fdl_engine *engine,
                         struct fdl_evidence *e)
{
    struct fdl_knobs now;
    int64_t reader;
    fdl_engine_in_force(engine, &now);
    fdl_engine_chosen(engine, FDL_OPT_READER, &reader);
    e->source_anew =
        fdl_user_reader_reads_anew(fdl_engine_dataset(engine)->user);
    e->workers = now.workers;
    e->depth = now.depth;
    e->io_depth = now.io_depth;
    e->reads_storage = fdl_reader_reads_files((int32_t)reader);
    e->memory_option = fdl_budget_exceeded(engine, now.depth + 1);
    e->memory_limited = e->memory_option != NULL;
    e->workers_auto = fdl_engine_asked(engine, FDL_OPT_WORKERS) == 0;
    e->depth_auto = fdl_engine_asked(engine, FDL_OPT_DEPTH) == 0;
    e->io_auto = fdl_engine_asked(engine, FDL_OPT_IO_DEPTH) == 0;
    e->jpeg_index_off =
        fdl_engine_asked(engine, FDL_OPT_JPEG_INDEX) == FDL_JPEG_INDEX_FALSE;
    e->terms = fdl_engine_terms(engine);
}

static void add_cache(const struct fdl_engine *engine, struct fdl_evidence *e)
{
    const struct fdl_config_values *c = fdl_engine_config(engine);
    uint64_t limit = fdl_machine_get()->memory_limit_bytes;
    e->cache_keeps = c->cache_keeps;
    if (c->cache_budget > 0)
        e->cache_bytes = (double)c->cache_budget;
    if (limit > 0)
        e->memory_bytes = (double)limit;
}

static void add_trial(const struct fdl_tuner_found *found,
                      struct fdl_evidence *e)
{
    const struct fdl_tuner_more *m = &found->trying_more_workers;
    e->trying = m->before > 0;
    if (!e->trying)
        m = &found->more_workers;
    e->tried_from = m->before;
    e->tried_workers = m->after;
    e->tried_gain = m->gain;
    e->tried_error = m->error;
    e->tried_predicted = found->trying_predicted;
}

static void add_tuner(struct fdl_control *c, struct fdl_evidence *e)
{
    struct fdl_tuner_found found;
    fdl_control_found(c, &found);
    e->tuning = fdl_control_tunes(c);
    add_trial(&found, e);
    e->more_reads_failed = found.more_reads_failed;
    e->workers_max = fdl_control_workers_max(c);
}

void fdl_evidence_gather(const struct fdl_sources *from,
                         struct fdl_evidence *out)
{
    struct fdl_watched watched;
    struct fdl_gpu_watched gpu;
    fdl_evidence_init(out);
    add_workers(from->watch, out);
    add_counters(from, out);
    add_costs(from->watch, out);
    fdl_monitor_get(from->watch->monitor, &watched, &gpu);
    add_machine(&watched, out);
    add_gpu(&gpu, out);
    out->cpus_usable = fdl_engine_affinity(from->engine)->usable;
    out->cpus_allowed = fdl_machine_get()->cpus_allowed;
    if (fdl_machine_get()->cpu_quota > 0)
        out->cpu_quota = fdl_machine_get()->cpu_quota;
    out->world = fdl_engine_sampler(from->engine)->world;
    add_settings(from->engine, out);
    add_cache(from->engine, out);
    add_tuner(from->control, out);
    fdl_notable_evidence(&from->watch->books, out);
    out->gap_throttled_ns = FDL_MIN(watched.gap_throttled_ns, out->gap_ns);
    fdl_stuck_evidence(from->engine, out);
    add_device(from, out);
    if (from->watch->outside)
        fdl_outside_evidence(from->watch, &watched, out);
}

bool fdl_evidence_agrees(const struct fdl_sources *from, const char *limit)
{
    struct fdl_evidence e;
    struct fdl_verdict all[FDL_VERDICTS_MAX];
    struct fdl_advice advice;
    fdl_evidence_gather(from, &e);
    fdl_advice_of(all, fdl_verdict_judge(&e, all), &advice);
    return fdl_advice_agrees(&advice, limit);
}
