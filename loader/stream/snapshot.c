/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to an engine's observers; see snapshot.h. */
#include "loader/stream/snapshot.h"

#include "base/atomic.h"
#include "base/compiler.h"
#include "loader/stream/engine_own.h"
#include "loader/stream/finishing.h"

#include <time.h>

/* ---- Constants ----------------------------------------------------------- */

const char *fdl_engine_path(const struct fdl_engine *e, uint64_t index)
{
    return fdl_dataset_name(e->dataset, index);
}

struct fdl_trace_ring *fdl_engine_notes(const struct fdl_engine *e)
{
    return e->ring->notes;
}

FDL_HOT bool fdl_engine_stands_in(const struct fdl_engine *e)
{
    return e->stands_in;
}

double fdl_engine_mixing(const struct fdl_engine *e)
{
    return e->mixing;
}

int32_t fdl_engine_gpu(const struct fdl_engine *e)
{
    return e->gpu;
}

/* ---- Batches and reads --------------------------------------------------- */

FDL_HOT void fdl_engine_in_flight(const struct fdl_engine *e,
                                  struct fdl_in_flight *out)
{
    fdl_ring_count(e->ring, &out->ready, &out->outstanding);
    out->reads = fdl_window_reading(e->window);
    out->pinned_bytes = fdl_engine_has_device(e) ? fdl_ring_memory(e->ring) : 0;
}

uint64_t fdl_engine_awaited(const struct fdl_engine *e)
{
    return fdl_load(&e->ring->awaited);
}

static bool was_used(const struct fdl_stage *s)
{
    return fdl_load(&s->items) || fdl_load(&s->starved_ns) ||
           fdl_load(&s->blocked_ns);
}

void fdl_engine_add_reads(const struct fdl_engine *e, struct fdl_total *t)
{
    uint32_t n = fdl_pool_born(&e->pool);
    for (uint32_t i = 0; i < FDL_MAX_IO_DEPTH; i++)
        if (was_used(&e->read_stages[i]))
            fdl_total_add(t, &e->read_stages[i]);
    uint32_t threads = t->threads;
    for (uint32_t i = 0; i < n; i++)
        fdl_total_add(t, &e->pool.workers[i]->read);
    if (threads > 0)
        t->threads = threads;
}

const char *fdl_engine_user_reads(const struct fdl_engine *e,
                                  struct fdl_user_sums *out)
{
    *out = (struct fdl_user_sums){0};
    if (!e->dataset || !e->dataset->user)
        return NULL;
    fdl_user_calls_sums(fdl_window_user_calls(e->window), out);
    return e->dataset->user->name;
}

void fdl_engine_remote_reads(const struct fdl_engine *e,
                             struct fdl_remote_sums *out)
{
    *out = fdl_remote_sums_of(fdl_window_remote(e->window));
}

bool fdl_engine_chunk_cache(const struct fdl_engine *e,
                            struct fdl_chunk_cache_state *out)
{
    if (e->chunks)
        fdl_chunk_cache_get(e->chunks, out);
    return e->chunks != NULL;
}

bool fdl_engine_counts_storage(const struct fdl_engine *e)
{
    return fdl_window_storage_count(e->window) == FDL_STORAGE_COUNTED;
}

static void add_times(const struct fdl_stage *s, struct fdl_histogram *times)
{
    if (fdl_load(&s->items))
        fdl_histogram_merge(times, &s->times);
}

void fdl_engine_add_read_times(const struct fdl_engine *e,
                               struct fdl_histogram *times)
{
    uint32_t n = fdl_pool_born(&e->pool);
    for (uint32_t i = 0; i < FDL_MAX_IO_DEPTH; i++)
        add_times(&e->read_stages[i], times);
    for (uint32_t i = 0; i < n; i++)
        add_times(&e->pool.workers[i]->read, times);
}

static void add_sums(const struct fdl_stage *s, struct fdl_read_sums *sums)
{
    sums->items += fdl_load(&s->items);
    sums->bytes += fdl_load(&s->bytes);
    sums->busy_ns += fdl_load(&s->own_ns);
}

void fdl_engine_read_sums(const struct fdl_engine *e, struct fdl_read_sums *out)
{
    uint32_t n = fdl_pool_born(&e->pool);
    *out = (struct fdl_read_sums){.depth = fdl_load(&e->io_depth)};
    for (uint32_t i = 0; i < FDL_MAX_IO_DEPTH; i++)
        add_sums(&e->read_stages[i], out);
    for (uint32_t i = 0; i < n; i++)
        add_sums(&e->pool.workers[i]->read, out);
}

static uint64_t reader_memory(const struct fdl_engine *e)
{
    struct fdl_lock *settings = &fdl_engine_writable(e)->settings;
    uint64_t bytes = 0;
    fdl_lock(settings);
    if (e->reader && e->reader_ops->memory)
        bytes = e->reader_ops->memory(e->reader);
    fdl_unlock(settings);
    return bytes;
}

void fdl_engine_in_use(const struct fdl_engine *e, struct fdl_in_use *out)
{
    uint32_t n = fdl_pool_born(&e->pool);
    uint64_t index = e->entries ? fdl_entry_store_memory(e->entries) : 0;
    *out = (struct fdl_in_use){
        .memory_bytes = fdl_ring_memory(e->ring) +
                        fdl_ring_field_memory(e->ring) +
                        fdl_window_memory(e->window) + index +
                        fdl_pixel_store_bytes(e->pixels) +
                        (e->chunks ? fdl_chunk_cache_memory(e->chunks) : 0),
        .index_bytes = index,
        .reader_bytes = reader_memory(e),
        .failed_samples = fdl_load(&e->failures.total),
    };
    for (uint32_t i = 0; i < FDL_MAX_IO_DEPTH; i++)
        out->clock_reads += fdl_load(&e->read_stages[i].clock_reads);
    for (uint32_t i = 0; i < n; i++) {
        const struct fdl_worker *w = e->pool.workers[i];
        out->memory_bytes += fdl_load(&w->scratch_bytes);
        out->clock_reads += fdl_load(&w->read.clock_reads);
    }
}

/* ---- Workers ------------------------------------------------------------- */

uint32_t fdl_engine_worker_count(const struct fdl_engine *e)
{
    return fdl_pool_born(&e->pool);
}

void fdl_engine_worker_thread(const struct fdl_engine *e, uint32_t worker,
                              struct fdl_worker_thread *out)
{
    const struct fdl_worker *w = e->pool.workers[worker];
    /* acquire: pairs with end_thread; if the time of a thread is in it, its id
     * is gone. */
    out->past_cpu_ns =
        atomic_load_explicit(&w->past_cpu_ns, memory_order_acquire);
    out->tid = fdl_load(&w->tid);
}

void fdl_engine_worker_spent(const struct fdl_engine *e, uint32_t worker,
                             int64_t now, struct fdl_spent_times *out)
{
    fdl_timebook_read(&e->pool.workers[worker]->time, now, out);
}

void fdl_engine_workers_time(const struct fdl_engine *e,
                             struct fdl_workers_time *out)
{
    uint32_t n = fdl_pool_born(&e->pool);
    int64_t now = fdl_now_ns();
    *out = (struct fdl_workers_time){0};
    out->lived_ns =
        fdl_pool_lived_ns(fdl_engine_writable(e), now, &out->threads);
    for (uint32_t i = 0; i < n; i++) {
        struct fdl_spent_times spent;
        fdl_engine_worker_spent(e, i, now, &spent);
        for (uint32_t j = 0; j < FDL_SPENT_KINDS; j++)
            out->spent.ns[j] += spent.ns[j];
    }
}

uint64_t fdl_engine_workers_cpu_ns(const struct fdl_engine *e)
{
    struct fdl_lock *settings = &fdl_engine_writable(e)->settings;
    uint64_t sum = 0;
    uint32_t n = fdl_pool_born(&e->pool);
    fdl_lock(settings); /* no thread ends meanwhile */
    for (uint32_t i = 0; i < n; i++) {
        const struct fdl_worker *w = e->pool.workers[i];
        struct timespec now;
        sum += fdl_load(&w->past_cpu_ns);
        if (fdl_load(&w->tid) != 0 && clock_gettime(w->cpu_clock, &now) == 0)
            sum += (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    }
    fdl_unlock(settings);
    return sum;
}

bool fdl_engine_worker_at(const struct fdl_engine *e, uint32_t worker,
                          struct fdl_sample_at *out)
{
    const struct fdl_worker *w = e->pool.workers[worker];
    /* acquire: pairs with the stores of timebook.c and progress.h. */
    int64_t since = atomic_load_explicit(&w->time.stamp, memory_order_acquire);
    uint32_t step = atomic_load_explicit(&w->at.step, memory_order_acquire);
    *out = (struct fdl_sample_at){
        .worker = worker,
        .step = step,
        .tid = fdl_load(&w->tid),
        .since_ns = since,
        .epoch = fdl_load(&w->at.epoch),
        .index = fdl_load(&w->at.index),
        .ticket = fdl_load(&w->at.ticket),
    };
    return step != FDL_STEP_NONE && since > 0 &&
           atomic_load_explicit(&w->time.stamp, memory_order_acquire) == since;
}

/* false: the sample is not being read any more. */
static bool read_at_locked(const struct fdl_ring *ring, uint64_t sample,
                           struct fdl_sample_at *out)
{
    struct fdl_place place;
    fdl_stream_locate(ring->stream, sample, &place);
    const feedline_batch *b = fdl_ring_slot(ring, place.ticket);
    if (!b || b->ticket != place.ticket || place.ticket >= ring->next_issue)
        return false;
    const struct fdl_sample_times *times = &b->times[place.slot_place];
    *out = (struct fdl_sample_at){
        .worker = FDL_BY_READER,
        .step = FDL_STEP_READ,
        .since_ns = fdl_load(&times->read_start),
        .epoch = place.epoch,
        .index = place.index,
        .ticket = place.ticket,
    };
    return out->since_ns > 0 && fdl_load(&times->read_done) == 0;
}

/* The stream belongs to the run as long as the ring has one. */
uint32_t fdl_engine_reads_at(const struct fdl_engine *e,
                             struct fdl_sample_at out[FDL_READS_AT_MOST])
{
    uint64_t samples[FDL_READS_AT_MOST];
    uint32_t n = 0, found = 0;
    if (!fdl_reader_has_threads(fdl_load(&e->reader_kind)))
        return 0; /* workers read */
    fdl_lock(&e->ring->lock);
    if (e->ring->stream)
        n = fdl_window_list_reads(e->window, samples, FDL_READS_AT_MOST);
    for (uint32_t i = 0; i < n; i++)
        found += read_at_locked(e->ring, samples[i], &out[found]);
    fdl_unlock(&e->ring->lock);
    return found;
}

/* ---- The device ---------------------------------------------------------- */

int32_t fdl_engine_device(const struct fdl_engine *e,
                          struct fdl_device_state *out)
{
    const struct fdl_backend_ops *ops = e->ring->backend_ops;
    if (!ops->stats)
        return fdl_fail(FEEDLINE_ESTATE,
                        "batches of device=%s stay on the host: there is no "
                        "transfer to look at",
                        ops->name);
    *out = (struct fdl_device_state){
        .finish = &e->finish,
        .decode = &e->decode,
        .bus = fdl_engine_bus(e),
        .batch_bytes = fdl_layout_moved_bytes(&e->ring->kind.layout),
        .memory_budget = fdl_load(&e->config.device_memory_budget),
    };
    ops->stats(e->ring->backend, &out->memory);
    return FEEDLINE_OK;
}
