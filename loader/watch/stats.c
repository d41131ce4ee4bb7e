/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of a loader; see stats.h. */
#include "loader/watch/stats.h"

#include "base/atomic.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "loader/stream/engine.h"
#include "loader/stream/snapshot.h"
#include "loader/watch/account.h"
#include "loader/watch/notable.h"
#include "loader/watch/outside.h"
#include "loader/watch/watcher.h"

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

uint32_t fdl_stats_custom_count(const struct fdl_watch *watch)
{
    return fdl_pipeline_custom_count(fdl_engine_pipeline(watch->engine));
}

bool fdl_stats_is_custom(const struct fdl_watch *watch, uint32_t stage)
{
    return stage >= FEEDLINE_STAGE_COUNT &&
           stage - FEEDLINE_STAGE_COUNT < fdl_stats_custom_count(watch);
}

uint32_t fdl_stats_stage_count(const struct fdl_watch *watch)
{
    struct fdl_mix mix;
    bool mixes = fdl_pipeline_mix(fdl_engine_pipeline(watch->engine), &mix);
    return FEEDLINE_STAGE_COUNT + fdl_stats_custom_count(watch) + mixes;
}

const char *fdl_stats_stage_name(const struct fdl_watch *watch, uint32_t stage)
{
    if (stage >= fdl_stats_stage_count(watch))
        return NULL;
    if (stage < FEEDLINE_STAGE_COUNT)
        return stage_names[stage];
    if (!fdl_stats_is_custom(watch, stage))
        return "mix";
    return fdl_pipeline_custom_name(fdl_engine_pipeline(watch->engine),
                                    stage - FEEDLINE_STAGE_COUNT);
}

const char *fdl_stats_stage_label(const struct fdl_watch *watch, uint32_t stage)
{
    if (!fdl_stats_is_custom(watch, stage))
        return fdl_stats_stage_name(watch, stage);
    return fdl_pipeline_custom_label(fdl_engine_pipeline(watch->engine),
                                     stage - FEEDLINE_STAGE_COUNT);
}

/* ---- Sums --------------------------------------------------------------- */

static const struct fdl_stage *worker_stage(const struct fdl_worker_books *w,
                                            uint32_t stage)
{
    uint32_t custom = stage - FEEDLINE_STAGE_COUNT;
    if (stage >= FEEDLINE_STAGE_COUNT)
        return custom < w->n_customs ? &w->customs[custom].stage : &w->mix;
    return stage == FEEDLINE_STAGE_DECODE ? &w->decode : &w->augment;
}

static void total_workers(const struct fdl_watch *watch, uint32_t stage,
                          struct fdl_total *t)
{
    uint32_t n = fdl_engine_worker_count(watch->engine);
    for (uint32_t i = 0; i < n; i++)
        fdl_total_add(t, worker_stage(watch->workers[i], stage));
}

/* Since the loader was made. */
static void total(const struct fdl_watch *watch, uint32_t stage,
                  struct fdl_total *t)
{
    memset(t, 0, sizeof(*t));
    switch (stage) {
    case FEEDLINE_STAGE_READ:
        fdl_engine_add_reads(watch->engine, t);
        break;
    case FEEDLINE_STAGE_TRANSFER:
        fdl_total_add(t, &watch->books.transfer);
        break;
    case FEEDLINE_STAGE_CONSUME:
        fdl_total_add(t, &watch->books.consume);
        break;
    default:
        total_workers(watch, stage, t);
        break;
    }
}

/* The zero is copied first, as sums only grow. Histograms are added up without
 * a lock, as next() takes the consumer's lock for each batch. */
void fdl_stats_since_reset(struct fdl_watch *watch, uint32_t stage,
                           struct fdl_total *t)
{
    struct fdl_books *c = &watch->books;
    struct fdl_total zero;
    fdl_lock(&c->lock);
    zero = c->zero->stages[stage];
    fdl_unlock(&c->lock);
    total(watch, stage, t);
    fdl_total_subtract(t, &zero);
}

/* Of a custom operation, since the loader was made. */
static struct fdl_custom_sums custom_sums(const struct fdl_watch *watch,
                                          uint32_t custom)
{
    uint32_t n = fdl_engine_worker_count(watch->engine);
    struct fdl_custom_sums sums = {0};
    for (uint32_t i = 0; i < n; i++) {
        const struct fdl_custom_stage *s = &watch->workers[i]->customs[custom];
        sums.cpu_ns += fdl_load(&s->cpu_ns);
        sums.lock_ns += fdl_load(&s->lock_ns);
        sums.lock_waits += fdl_load(&s->lock_waits);
    }
    return sums;
}

/* Counters of a custom operation since the last reset, without histograms. */
struct custom_counts {
    struct fdl_custom_sums sums;
    uint64_t items, busy_ns;
};

static void custom_since(struct fdl_watch *watch, uint32_t custom,
                         struct custom_counts *out)
{
    struct fdl_books *c = &watch->books;
    fdl_lock(&c->lock);
    struct fdl_custom_sums zero = c->zero->customs[custom];
    const struct fdl_total *stage =
        &c->zero->stages[FEEDLINE_STAGE_COUNT + custom];
    *out = (struct custom_counts){.items = -stage->items,
                                  .busy_ns = -stage->busy_ns};
    fdl_unlock(&c->lock);
    out->sums = custom_sums(watch, custom);
    out->sums.cpu_ns -= zero.cpu_ns;
    out->sums.lock_ns -= zero.lock_ns;
    out->sums.lock_waits -= zero.lock_waits;
    uint32_t n = fdl_engine_worker_count(watch->engine);
    for (uint32_t i = 0; i < n; i++) {
        const struct fdl_stage *s = &watch->workers[i]->customs[custom].stage;
        out->items += fdl_load(&s->items);
        out->busy_ns += fdl_load(&s->busy_ns);
    }
}

/* Since the loader was made. */
static struct fdl_pixel_sums pixel_sums(const struct fdl_watch *watch)
{
    uint32_t n = fdl_engine_worker_count(watch->engine);
    struct fdl_pixel_sums sums = {0};
    for (uint32_t i = 0; i < n; i++) {
        const struct fdl_worker_pixels *p = &watch->workers[i]->pixels;
        sums.samples += fdl_load(&p->samples);
        sums.source += fdl_load(&p->source);
        sums.output += fdl_load(&p->output);
        sums.mcus += fdl_load(&p->mcus);
        sums.mcus_jumped += fdl_load(&p->mcus_jumped);
        sums.on_device += fdl_load(&p->on_device);
    }
    return sums;
}

void fdl_stats_pixels(struct fdl_watch *watch, struct fdl_pixel_sums *out)
{
    struct fdl_pixel_sums sums = pixel_sums(watch);
    fdl_lock(&watch->books.lock);
    const struct fdl_pixel_sums *zero = &watch->books.zero->pixels;
    sums.samples -= FDL_MIN(zero->samples, sums.samples);
    sums.source -= FDL_MIN(zero->source, sums.source);
    sums.output -= FDL_MIN(zero->output, sums.output);
    sums.mcus -= FDL_MIN(zero->mcus, sums.mcus);
    sums.mcus_jumped -= FDL_MIN(zero->mcus_jumped, sums.mcus_jumped);
    sums.on_device -= FDL_MIN(zero->on_device, sums.on_device);
    fdl_unlock(&watch->books.lock);
    *out = sums;
}

const char *fdl_stats_user_reads(struct fdl_watch *watch,
                                 struct fdl_user_sums *out)
{
    fdl_lock(&watch->books.lock);
    struct fdl_user_sums zero = watch->books.zero->user;
    fdl_unlock(&watch->books.lock);
    const char *name = fdl_engine_user_reads(watch->engine, out);
    out->calls -= zero.calls;
    out->wall_ns -= zero.wall_ns;
    out->cpu_ns -= zero.cpu_ns;
    out->lock_ns -= zero.lock_ns;
    return name;
}

void fdl_stats_remote_reads(struct fdl_watch *watch,
                            struct fdl_remote_sums *out)
{
    fdl_lock(&watch->books.lock);
    struct fdl_remote_sums zero = watch->books.zero->remote;
    fdl_unlock(&watch->books.lock);
    fdl_engine_remote_reads(watch->engine, out);
    out->requests -= zero.requests;
    out->failures -= zero.failures;
    out->retries -= zero.retries;
    out->hedges -= zero.hedges;
    out->hedges_won -= zero.hedges_won;
    out->network_bytes -= zero.network_bytes;
    out->cached_bytes -= zero.cached_bytes;
    out->cache_errors -= zero.cache_errors;
}

static uint64_t truncated_samples(const struct fdl_watch *watch)
{
    uint32_t n = fdl_engine_worker_count(watch->engine);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += fdl_load(&watch->workers[i]->truncated);
    return sum;
}

/* ---- What is asked for -------------------------------------------------- */

/* Of the clock, since the loader was made, without those of reads. */
static uint64_t stage_clock_reads(const struct fdl_watch *watch)
{
    const struct fdl_books *c = &watch->books;
    uint64_t sum =
        fdl_load(&c->transfer.clock_reads) + fdl_load(&c->consume.clock_reads);
    uint32_t n = fdl_engine_worker_count(watch->engine);
    for (uint32_t i = 0; i < n; i++) {
        const struct fdl_worker_books *w = watch->workers[i];
        sum += fdl_load(&w->decode.clock_reads) +
               fdl_load(&w->augment.clock_reads);
        for (uint32_t j = 0; j < w->n_customs; j++)
            sum += fdl_load(&w->customs[j].stage.clock_reads);
    }
    return sum;
}

static uint64_t zero_clock_reads_locked(const struct fdl_watch *watch)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < fdl_stats_stage_count(watch); i++)
        sum += watch->books.zero->stages[i].clock_reads;
    return sum;
}

/* The zeros are copied under the lock; the sums minus them follow without it.
 */
void fdl_stats_get(struct fdl_watch *watch, struct feedline_stats *out)
{
    struct fdl_books *c = &watch->books;
    struct fdl_read_sums read;
    struct fdl_in_use in_use;
    struct fdl_pixel_sums pixels;
    struct fdl_remote_sums remote;
    struct fdl_knobs knobs;
    fdl_engine_in_force(watch->engine, &knobs);
    fdl_lock(&c->lock);
    const struct fdl_stats_zero *zero = c->zero;
    *out = (struct feedline_stats){
        .struct_size = sizeof(*out),
        .workers = knobs.workers,
        .wall_ns = (uint64_t)(c->ledger.wait_ns + c->user_ns + c->api_ns),
        .wait_ns = (uint64_t)c->ledger.wait_ns,
        .user_ns = (uint64_t)c->user_ns,
        .api_ns = (uint64_t)c->api_ns,
        .batches = c->batches,
        .samples = c->samples,
        .failed_samples = -zero->failed_samples,
        .bytes_read = -zero->stages[FEEDLINE_STAGE_READ].bytes,
        .first_batch_ns = (uint64_t)c->first_batch_ns,
        .truncated_samples = -zero->truncated_samples,
        .mixing = fdl_engine_mixing(watch->engine),
    };
    uint64_t clock_reads = c->clock_reads - zero_clock_reads_locked(watch);
    uint64_t ledger_ns = c->ledger_ns;
    fdl_unlock(&c->lock);
    fdl_engine_read_sums(watch->engine, &read);
    fdl_engine_in_use(watch->engine, &in_use);
    clock_reads += stage_clock_reads(watch) + in_use.clock_reads;
    out->failed_samples += in_use.failed_samples;
    out->bytes_read += read.bytes;
    out->truncated_samples += truncated_samples(watch);
    out->profiler_ns = clock_reads * (uint64_t)fdl_clock_cost_ns() + ledger_ns;
    out->memory_bytes =
        in_use.memory_bytes + in_use.reader_bytes + fdl_watch_ring_bytes(watch);
    fdl_stats_pixels(watch, &pixels);
    out->jpeg_mcus = pixels.mcus;
    out->jpeg_mcus_jumped = pixels.mcus_jumped;
    out->jpeg_index_bytes = in_use.index_bytes;
    fdl_stats_remote_reads(watch, &remote);
    out->requests = remote.requests;
    out->requests_failed = remote.failures;
    out->requests_retried = remote.retries;
    out->requests_hedged = remote.hedges;
    out->hedges_won = remote.hedges_won;
    out->network_bytes = remote.network_bytes;
    out->cached_bytes = remote.cached_bytes;
    out->cache_errors = remote.cache_errors;
}

/* What has not been probed yet counts as on a core. If a reset came in between,
 * the bucket may be the smaller one. */
static void split_bucket(int64_t bucket, const int64_t watched[FDL_BUSY_KINDS],
                         int64_t out[FDL_BUSY_KINDS])
{
    int64_t sum = 0;
    for (uint32_t i = FDL_BUSY_CPU + 1; i < FDL_BUSY_KINDS; i++)
        sum += out[i] = FDL_MIN(watched[i], bucket - sum);
    out[FDL_BUSY_CPU] = bucket - sum;
}

void fdl_stats_waits(struct fdl_watch *watch, struct feedline_wait_stats *out)
{
    struct fdl_books *c = &watch->books;
    struct fdl_watched watched;
    /* Before the ledger: what is split is part of what the ledger has. */
    fdl_monitor_get(watch->monitor, &watched, NULL);
    fdl_lock(&c->lock);
    struct fdl_ledger ledger = c->ledger;
    fdl_unlock(&c->lock);
    uint64_t ns[FDL_BUCKETS];
    int64_t prep[FDL_BUSY_KINDS], held[FDL_BUSY_KINDS];
    split_bucket(ledger.ns[FDL_BUCKET_PREP], watched.prep, prep);
    split_bucket(ledger.ns[FDL_BUCKET_WORKER_WAIT], watched.worker_wait, held);
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
        .prep_cpu_ns = (uint64_t)prep[FDL_BUSY_CPU],
        .prep_runq_ns = (uint64_t)prep[FDL_BUSY_RUNQ],
        .prep_throttle_ns = (uint64_t)prep[FDL_BUSY_THROTTLE],
        .prep_sleep_ns = (uint64_t)prep[FDL_BUSY_SLEEP],
        .worker_wait_cpu_ns = (uint64_t)held[FDL_BUSY_CPU],
        .worker_wait_runq_ns = (uint64_t)held[FDL_BUSY_RUNQ],
        .worker_wait_throttle_ns = (uint64_t)held[FDL_BUSY_THROTTLE],
        .worker_wait_sleep_ns = (uint64_t)held[FDL_BUSY_SLEEP],
        .fetch_cold_ns =
            fdl_engine_counts_storage(watch->engine)
                ? FDL_MIN(ledger.cold_ns, ledger.ns[FDL_BUCKET_FETCH])
                : -1,
    };
}

void fdl_stats_stage(struct fdl_watch *watch, uint32_t stage,
                     struct feedline_stage_stats *out)
{
    struct fdl_total t;
    struct custom_counts counts = {0};
    fdl_stats_since_reset(watch, stage, &t);
    if (fdl_stats_is_custom(watch, stage))
        custom_since(watch, stage - FEEDLINE_STAGE_COUNT, &counts);
    fdl_total_report(&t, out);
    out->cpu_ns = counts.sums.cpu_ns;
    out->lock_ns = counts.sums.lock_ns;
    if (stage != FEEDLINE_STAGE_READ ||
        !fdl_engine_counts_storage(watch->engine))
        out->storage_bytes = -1;
    if (stage != FEEDLINE_STAGE_DECODE)
        out->unpack_ns = out->transform_ns = -1;
}

uint64_t fdl_stats_customs_busy_ns(struct fdl_watch *watch)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < fdl_stats_custom_count(watch); i++) {
        struct custom_counts counts;
        custom_since(watch, i, &counts);
        sum += counts.busy_ns;
    }
    return sum;
}

/* Waits are alike for all of them; the largest share belongs to the one that
 * causes most. */
void fdl_stats_shared_lock(struct fdl_watch *watch, struct fdl_shared_lock *out)
{
    uint64_t most = 0;
    *out = (struct fdl_shared_lock){0};
    for (uint32_t i = 0; i < fdl_stats_custom_count(watch); i++) {
        struct custom_counts c;
        custom_since(watch, i, &c);
        if (c.sums.lock_ns == 0)
            continue;
        uint64_t has = c.busy_ns - FDL_MIN(c.sums.lock_ns, c.busy_ns);
        if (!out->name || has > most) {
            out->name = fdl_stats_stage_label(watch, FEEDLINE_STAGE_COUNT + i);
            most = has;
        }
        out->wall_ns += (int64_t)c.busy_ns;
        out->cpu_ns += (int64_t)c.sums.cpu_ns;
        out->wait_ns += (int64_t)c.sums.lock_ns;
        out->calls += c.items;
        out->waits += c.sums.lock_waits;
    }
}

/* ---- The device --------------------------------------------------------- */

int32_t fdl_stats_device(struct fdl_watch *watch,
                         struct feedline_device_stats *out)
{
    struct fdl_device_state device;
    struct fdl_device_ledger ledger;
    struct fdl_pixel_sums pixels;
    /* Before the ledger, as copies may wait to be reported to it. */
    int32_t status = fdl_engine_device(watch->engine, &device);
    if (status < 0)
        return status;
    fdl_device_watch_get(watch->device, &ledger);
    fdl_stats_pixels(watch, &pixels);
    *out = (struct feedline_device_stats){
        .struct_size = sizeof(*out),
        .finish = device.finish->device,
        .batches = ledger.batches,
        .finished = ledger.finished,
        .copies = ledger.copies,
        .copied_bytes = ledger.bytes,
        .queue_ns = (uint64_t)ledger.queue_ns,
        .copy_ns = (uint64_t)ledger.copy_ns,
        .overlap_ns = (uint64_t)ledger.overlap_ns,
        .finish_ns = (uint64_t)ledger.finish_ns,
        .steps = ledger.steps,
        .span_ns = (uint64_t)ledger.span_ns,
        .idle_ns = (uint64_t)ledger.idle_ns,
        .pinned_bytes = device.memory.pinned_bytes,
        .device_bytes = device.memory.device_bytes,
        .latency_us = device.bus.latency_us,
        .gigabytes_per_second = device.bus.gigabytes_per_second,
        .regime = fdl_copy_regime(device.bus.latency_us,
                                  device.bus.gigabytes_per_second,
                                  device.batch_bytes),
        .finish_reason = device.finish->reason,
        .device_memory_budget = device.memory_budget,
        .decode = fdl_load(&device.decode->device),
        .decode_reason = fdl_decode_reason(device.decode),
        .decoded = pixels.on_device,
        .decode_ns = (uint64_t)ledger.make_ns,
        .decode_batches = ledger.made,
    };
    return FEEDLINE_OK;
}

/* ---- Reset -------------------------------------------------------------- */

/* Current sums; the consumer's own come under its lock. */
static void take_zero(struct fdl_watch *watch, struct fdl_stats_zero *zero)
{
    struct fdl_in_use in_use;
    fdl_engine_workers_time(watch->engine, &zero->workers);
    for (uint32_t i = 0; i < fdl_stats_stage_count(watch); i++)
        total(watch, i, &zero->stages[i]);
    for (uint32_t i = 0; i < fdl_stats_custom_count(watch); i++)
        zero->customs[i] = custom_sums(watch, i);
    zero->pixels = pixel_sums(watch);
    fdl_engine_user_reads(watch->engine, &zero->user);
    fdl_engine_remote_reads(watch->engine, &zero->remote);
    fdl_engine_in_use(watch->engine, &in_use);
    zero->failed_samples = in_use.failed_samples;
    zero->truncated_samples = truncated_samples(watch);
}

void fdl_stats_reset(struct fdl_watch *watch)
{
    struct fdl_books *c = &watch->books;
    /* One reset at a time, so the other zero is unused. */
    fdl_monitor_begin_reset(watch->monitor);
    struct fdl_stats_zero *zero =
        c->zero == &c->zeros[0] ? &c->zeros[1] : &c->zeros[0];
    take_zero(watch, zero);
    fdl_lock(&c->lock);
    total(watch, FEEDLINE_STAGE_TRANSFER,
          &zero->stages[FEEDLINE_STAGE_TRANSFER]);
    total(watch, FEEDLINE_STAGE_CONSUME, &zero->stages[FEEDLINE_STAGE_CONSUME]);
    c->zero = zero;
    fdl_account_reset_locked(c, fdl_now_ns());
    fdl_notable_reset_locked(c);
    if (watch->outside)
        fdl_outside_reset_locked(watch->outside);
    fdl_pace_reset(&c->pace);
    fdl_unlock(&c->lock);
    fdl_monitor_end_reset(watch->monitor);
    fdl_device_watch_reset(watch->device, fdl_engine_awaited(watch->engine));
}
