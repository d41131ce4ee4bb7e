/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of a loader; see stats.h. */
#include "loader/stats.h"

#include "loader/engine.h"
#include "profiler/machine.h"

#include <string.h>

static const char *const stage_names[FEEDLINE_STAGE_COUNT] = {
    [FEEDLINE_STAGE_READ] = "read",
    [FEEDLINE_STAGE_DECODE] = "decode",
    [FEEDLINE_STAGE_AUGMENT] = "augment",
    [FEEDLINE_STAGE_TRANSFER] = "transfer",
    [FEEDLINE_STAGE_CONSUME] = "consume",
};

const char *fdl_stage_name(uint32_t stage)
{
    return stage < FEEDLINE_STAGE_COUNT ? stage_names[stage] : NULL;
}

uint32_t fdl_stats_stage_count(const feedline_loader *l)
{
    return FEEDLINE_STAGE_COUNT + fdl_pipeline_custom_count(l->pipeline);
}

const char *fdl_stats_stage_name(const feedline_loader *l, uint32_t stage)
{
    if (stage >= fdl_stats_stage_count(l))
        return NULL;
    if (stage < FEEDLINE_STAGE_COUNT)
        return stage_names[stage];
    return fdl_pipeline_custom_name(l->pipeline, stage - FEEDLINE_STAGE_COUNT);
}

/* ---- Sums --------------------------------------------------------------- */

static const struct fdl_stage *worker_stage(const struct fdl_worker *w,
                                            uint32_t stage)
{
    if (stage == FEEDLINE_STAGE_READ)
        return &w->read;
    if (stage >= FEEDLINE_STAGE_COUNT)
        return &w->customs[stage - FEEDLINE_STAGE_COUNT].stage;
    return stage == FEEDLINE_STAGE_DECODE ? &w->decode : &w->augment;
}

static void total_workers(const feedline_loader *l, uint32_t stage,
                          struct fdl_total *t)
{
    /* acquire: pairs with fdl_pool_set_active; the workers are there. */
    uint32_t n = atomic_load_explicit(&l->pool.n_workers, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++)
        fdl_total_add(t, worker_stage(l->pool.workers[i], stage));
}

static bool was_used(const struct fdl_stage *s)
{
    return atomic_load_explicit(&s->items, memory_order_relaxed) ||
           atomic_load_explicit(&s->starved_ns, memory_order_relaxed) ||
           atomic_load_explicit(&s->blocked_ns, memory_order_relaxed);
}

/* Threads of the reader, and workers that read for themselves. */
static void total_readers(const feedline_loader *l, struct fdl_total *t)
{
    for (uint32_t i = 0; i < FDL_MAX_IO_DEPTH; i++)
        if (was_used(&l->read_stages[i]))
            fdl_total_add(t, &l->read_stages[i]);
    uint32_t threads = t->threads;
    total_workers(l, FEEDLINE_STAGE_READ, t);
    if (threads > 0)
        t->threads = threads;
}

/* Since the loader was made. The consumer's lock is held. */
static void total_locked(const feedline_loader *l, uint32_t stage,
                         struct fdl_total *t)
{
    memset(t, 0, sizeof(*t));
    switch (stage) {
    case FEEDLINE_STAGE_READ:
        total_readers(l, t);
        break;
    case FEEDLINE_STAGE_DECODE:
    case FEEDLINE_STAGE_AUGMENT:
        total_workers(l, stage, t);
        break;
    case FEEDLINE_STAGE_TRANSFER:
        fdl_total_add(t, &l->consumer.transfer);
        break;
    case FEEDLINE_STAGE_CONSUME:
        fdl_total_add(t, &l->consumer.consume);
        break;
    default:
        total_workers(l, stage, t);
        break;
    }
}

/* Since the last reset. */
static void since_reset_locked(const feedline_loader *l, uint32_t stage,
                               struct fdl_total *t)
{
    total_locked(l, stage, t);
    fdl_total_subtract(t, &l->consumer.zero.stages[stage]);
}

/* Of a custom operation, since the loader was made. */
static uint64_t custom_cpu_ns(const feedline_loader *l, uint32_t custom)
{
    /* acquire: pairs with fdl_pool_set_active; the workers are there. */
    uint32_t n = atomic_load_explicit(&l->pool.n_workers, memory_order_acquire);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += atomic_load_explicit(&l->pool.workers[i]->customs[custom].cpu_ns,
                                    memory_order_relaxed);
    return sum;
}

static uint64_t failed_samples(const feedline_loader *l)
{
    return atomic_load_explicit(&l->failures.total, memory_order_relaxed);
}

static uint64_t truncated_samples(const feedline_loader *l)
{
    /* acquire: pairs with fdl_pool_set_active; the workers are there. */
    uint32_t n = atomic_load_explicit(&l->pool.n_workers, memory_order_acquire);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += atomic_load_explicit(&l->pool.workers[i]->truncated,
                                    memory_order_relaxed);
    return sum;
}

static uint64_t worker_cpu_ns(feedline_loader *l)
{
    pthread_mutex_lock(&l->knobs);
    uint64_t ns = fdl_pool_cpu_ns(&l->pool);
    pthread_mutex_unlock(&l->knobs);
    return ns;
}

/* ---- What is asked for -------------------------------------------------- */

static uint64_t memory_bytes(feedline_loader *l)
{
    uint64_t bytes = fdl_ring_memory(l->ring) + fdl_window_memory(l->window);
    uint32_t n = atomic_load_explicit(&l->pool.n_workers, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++)
        bytes += atomic_load_explicit(&l->pool.workers[i]->scratch_bytes,
                                      memory_order_relaxed);
    pthread_mutex_lock(&l->knobs);
    if (l->reader && l->reader_ops->memory)
        bytes += l->reader_ops->memory(l->reader);
    pthread_mutex_unlock(&l->knobs);
    return bytes;
}

/* Clock reads times their cost, and the time spent on attribution. */
static uint64_t profiler_ns_locked(const feedline_loader *l)
{
    const struct fdl_consumer *c = &l->consumer;
    uint64_t reads = c->clock_reads;
    struct fdl_total t;
    for (uint32_t i = 0; i < fdl_stats_stage_count(l); i++) {
        since_reset_locked(l, i, &t);
        reads += t.clock_reads;
    }
    return reads * (uint64_t)fdl_clock_cost_ns() + c->ledger_ns;
}

void fdl_stats_get(feedline_loader *l, struct feedline_stats *out)
{
    struct fdl_consumer *c = &l->consumer;
    uint64_t memory = memory_bytes(l);
    struct fdl_total read;
    pthread_mutex_lock(&c->lock);
    since_reset_locked(l, FEEDLINE_STAGE_READ, &read);
    *out = (struct feedline_stats){
        .struct_size = sizeof(*out),
        .workers = atomic_load_explicit(&l->workers, memory_order_relaxed),
        .wall_ns = (uint64_t)(c->ledger.wait_ns + c->user_ns + c->api_ns),
        .wait_ns = (uint64_t)c->ledger.wait_ns,
        .user_ns = (uint64_t)c->user_ns,
        .api_ns = (uint64_t)c->api_ns,
        .batches = c->batches,
        .samples = c->samples,
        .failed_samples = failed_samples(l) - c->zero.failed_samples,
        .bytes_read = read.bytes,
        .profiler_ns = profiler_ns_locked(l),
        .memory_bytes = memory,
        .first_batch_ns = (uint64_t)c->first_batch_ns,
        .truncated_samples = truncated_samples(l) - c->zero.truncated_samples,
    };
    pthread_mutex_unlock(&c->lock);
}

void fdl_stats_waits(feedline_loader *l, struct feedline_wait_stats *out)
{
    struct fdl_consumer *c = &l->consumer;
    pthread_mutex_lock(&c->lock);
    struct fdl_ledger ledger = c->ledger;
    pthread_mutex_unlock(&c->lock);
    uint64_t ns[FDL_BUCKETS];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < FDL_BUCKETS; i++)
        sum += ns[i] = (uint64_t)ledger.ns[i];
    uint64_t wait = (uint64_t)ledger.wait_ns;
    *out = (struct feedline_wait_stats){
        .struct_size = sizeof(*out),
        .waits = ledger.waits,
        .not_issued_ns = ns[FDL_BUCKET_NOT_ISSUED],
        .slot_ns = ns[FDL_BUCKET_SLOT],
        .fetch_queue_ns = ns[FDL_BUCKET_FETCH_QUEUE],
        .fetch_ns = ns[FDL_BUCKET_FETCH],
        .worker_wait_ns = ns[FDL_BUCKET_WORKER_WAIT],
        .prep_ns = ns[FDL_BUCKET_PREP],
        .transfer_queue_ns = ns[FDL_BUCKET_TRANSFER_QUEUE],
        .transfer_ns = ns[FDL_BUCKET_TRANSFER],
        .wake_ns = ns[FDL_BUCKET_WAKE],
        .residual_ns = wait > sum ? wait - sum : sum - wait,
    };
}

void fdl_stats_stage(feedline_loader *l, uint32_t stage,
                     struct feedline_stage_stats *out)
{
    struct fdl_total t;
    uint64_t cpu = 0;
    pthread_mutex_lock(&l->consumer.lock);
    since_reset_locked(l, stage, &t);
    if (stage >= FEEDLINE_STAGE_COUNT) {
        uint32_t custom = stage - FEEDLINE_STAGE_COUNT;
        cpu = custom_cpu_ns(l, custom) - l->consumer.zero.custom_cpu_ns[custom];
    }
    pthread_mutex_unlock(&l->consumer.lock);
    fdl_total_report(&t, out);
    out->cpu_ns = cpu;
}

static uint64_t customs_busy_ns_locked(const feedline_loader *l)
{
    uint64_t sum = 0;
    struct fdl_total t;
    for (uint32_t i = FEEDLINE_STAGE_COUNT; i < fdl_stats_stage_count(l); i++) {
        since_reset_locked(l, i, &t);
        sum += t.busy_ns;
    }
    return sum;
}

/* ---- The device --------------------------------------------------------- */

int32_t fdl_stats_device(feedline_loader *l, struct feedline_device_stats *out)
{
    const struct fdl_backend_ops *ops = l->ring->backend_ops;
    struct fdl_backend_stats backend = {0};
    struct fdl_device_ledger ledger;
    if (!ops->stats)
        return fdl_fail(FEEDLINE_ESTATE,
                        "batches of device=%s stay on the host: there is no "
                        "transfer to look at",
                        ops->name);
    /* First, because the backend may tell what it has not told yet. */
    ops->stats(l->ring->backend, &backend);
    fdl_device_watch_get(l->watch, &ledger);
    *out = (struct feedline_device_stats){
        .struct_size = sizeof(*out),
        .finish = l->finish.device,
        .batches = ledger.batches,
        .copies = ledger.copies,
        .copied_bytes = ledger.bytes,
        .queue_ns = (uint64_t)ledger.queue_ns,
        .copy_ns = (uint64_t)ledger.copy_ns,
        .overlap_ns = (uint64_t)ledger.overlap_ns,
        .finish_ns = (uint64_t)ledger.finish_ns,
        .steps = ledger.steps,
        .span_ns = (uint64_t)ledger.span_ns,
        .idle_ns = (uint64_t)ledger.idle_ns,
        .pinned_bytes = backend.pinned_bytes,
        .device_bytes = backend.device_bytes,
        .latency_us = l->fit.latency_us,
        .gigabytes_per_second = l->fit.gigabytes_per_second,
        .regime =
            fdl_copy_regime(l->fit.latency_us, l->fit.gigabytes_per_second,
                            l->ring->layout.bytes),
        .finish_reason = l->finish.reason,
    };
    return FEEDLINE_OK;
}

/* Bytes per ns are 1e9 bytes per second. */
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

static void add_device(feedline_loader *l, struct fdl_evidence *e)
{
    struct feedline_device_stats d;
    if (!l->ring->backend_ops->stats || fdl_stats_device(l, &d) < 0)
        return;
    e->has_device = true;
    e->device_idle_ns = (int64_t)d.idle_ns;
    e->device_span_ns = (int64_t)d.span_ns;
    e->copy_ns = (int64_t)d.copy_ns;
    e->overlap_ns = (int64_t)d.overlap_ns;
    e->copy_gbps = achieved_gbps(&d);
    e->ceiling_gbps = possible_gbps(&d);
}

/* ---- Verdict and reset -------------------------------------------------- */

void fdl_stats_verdict(feedline_loader *l, struct fdl_verdict *out)
{
    struct fdl_consumer *c = &l->consumer;
    struct fdl_total read, decode, augment;
    uint64_t cpu = worker_cpu_ns(l);
    uint64_t batch = l->ring->layout.bytes;
    uint32_t depth = atomic_load_explicit(&l->depth, memory_order_relaxed);
    pthread_mutex_lock(&c->lock);
    since_reset_locked(l, FEEDLINE_STAGE_READ, &read);
    since_reset_locked(l, FEEDLINE_STAGE_DECODE, &decode);
    since_reset_locked(l, FEEDLINE_STAGE_AUGMENT, &augment);
    uint64_t customs = customs_busy_ns_locked(l);
    struct fdl_evidence e = {
        .ledger = c->ledger,
        .batches = c->batches,
        .samples = c->samples,
        .wall_ns = c->ledger.wait_ns + c->user_ns + c->api_ns,
        .workers = atomic_load_explicit(&l->workers, memory_order_relaxed),
        .cpus_usable = fdl_machine_get()->cpus_usable,
        .worker_busy_ns = (int64_t)(decode.busy_ns + augment.busy_ns + customs),
        .worker_cpu_ns = (int64_t)(cpu - c->zero.worker_cpu_ns),
        .worker_blocked_ns = (int64_t)decode.blocked_ns,
        .mean_file_bytes =
            read.items ? (double)read.bytes / (double)read.items : 0,
        .memory_limited = (depth + 3) * batch > l->config.memory_budget,
    };
    pthread_mutex_unlock(&c->lock);
    add_device(l, &e);
    fdl_verdict_judge(&e, out);
}

void fdl_stats_reset(feedline_loader *l)
{
    struct fdl_consumer *c = &l->consumer;
    uint64_t cpu = worker_cpu_ns(l);
    pthread_mutex_lock(&c->lock);
    for (uint32_t i = 0; i < fdl_stats_stage_count(l); i++)
        total_locked(l, i, &c->zero.stages[i]);
    for (uint32_t i = 0; i < fdl_pipeline_custom_count(l->pipeline); i++)
        c->zero.custom_cpu_ns[i] = custom_cpu_ns(l, i);
    c->zero.failed_samples = failed_samples(l);
    c->zero.truncated_samples = truncated_samples(l);
    c->zero.worker_cpu_ns = cpu;
    c->ledger = (struct fdl_ledger){0};
    c->user_ns = c->api_ns = 0;
    c->batches = c->samples = 0;
    c->ledger_ns = c->clock_reads = 0;
    pthread_mutex_unlock(&c->lock);
    fdl_device_watch_reset(
        l->watch,
        atomic_load_explicit(&l->ring->awaited, memory_order_relaxed));
}

/* ---- JSON --------------------------------------------------------------- */

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static double fraction(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
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
    fdl_json_int(j, "copies", (int64_t)d->copies);
    fdl_json_int(j, "copied_bytes", (int64_t)d->copied_bytes);
    fdl_json_double(j, "queue_seconds", seconds(d->queue_ns));
    fdl_json_double(j, "copy_seconds", seconds(d->copy_ns));
    fdl_json_double(j, "overlap_fraction", fraction(d->overlap_ns, d->copy_ns));
    fdl_json_double(j, "finish_seconds", seconds(d->finish_ns));
    fdl_json_double(j, "gigabytes_per_second", achieved_gbps(d));
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
    fdl_json_int(j, "threads", s.threads);
    fdl_json_int(j, "items", (int64_t)s.items);
    fdl_json_int(j, "bytes", (int64_t)s.bytes);
    fdl_json_int(j, "errors", (int64_t)s.errors);
    fdl_json_double(j, "busy_seconds", seconds(s.busy_ns));
    if (stage >= FEEDLINE_STAGE_COUNT)
        fdl_json_double(j, "cpu_seconds", seconds(s.cpu_ns));
    fdl_json_double(j, "starved_seconds", seconds(s.starved_ns));
    fdl_json_double(j, "blocked_seconds", seconds(s.blocked_ns));
    fdl_json_double(j, "p50_us", (double)s.p50_ns / 1e3);
    fdl_json_double(j, "p90_us", (double)s.p90_ns / 1e3);
    fdl_json_double(j, "p99_us", (double)s.p99_ns / 1e3);
    fdl_json_double(j, "max_us", (double)s.max_ns / 1e3);
    fdl_json_end_object(j);
}

static void json_verdict(feedline_loader *l, struct fdl_json *j)
{
    struct fdl_verdict v;
    fdl_stats_verdict(l, &v);
    fdl_json_begin_object(j, "verdict");
    fdl_json_string(j, "code", v.code);
    fdl_json_string(j, "level", v.level);
    fdl_json_double(j, "confidence", (double)v.confidence_ppm / 1e6);
    fdl_json_string(j, "sentence", v.sentence);
    fdl_json_string(j, "action", v.action);
    fdl_json_double(j, "predicted_gain", v.predicted_gain);
    fdl_json_end_object(j);
}

void fdl_stats_json(feedline_loader *l, struct fdl_json *j)
{
    struct feedline_stats s;
    struct feedline_device_stats device, *d = NULL;
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
    json_stall(l, &s, d, j);
    json_transfer(d, j);
    fdl_json_begin_array(j, "stages");
    for (uint32_t i = 0; i < fdl_stats_stage_count(l); i++)
        json_stage(l, i, j);
    fdl_json_end_array(j);
    json_verdict(l, j);
    fdl_json_end_object(j);
}
