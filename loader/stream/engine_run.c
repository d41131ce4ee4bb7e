/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of the engine: begin starts its threads, stop joins them. */
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/log.h"
#include "loader/stream/budget.h"
#include "loader/stream/engine_own.h"
#include "loader/stream/finishing.h"
#include "transfer/nvtx.h"

/* ---- Threads ------------------------------------------------------------- */

/* Encoded samples between claim and free: every read in flight, one for each
 * worker, and as many reads again ready for the workers' next turn. */
void fdl_engine_set_limit_locked(struct fdl_engine *e)
{
    uint32_t io = atomic_load_explicit(&e->io_depth, memory_order_relaxed);
    uint32_t n = atomic_load_explicit(&e->workers, memory_order_relaxed);
    fdl_window_set_limit(e->window, 2 * io + n);
}

static void set_reader_locked(struct fdl_engine *e, struct fdl_reader *reader)
{
    fdl_lock(&e->settings);
    e->reader = reader;
    fdl_unlock(&e->settings);
}

/* Where io_depth is auto. Calls of a source that have an order are made in
 * turn, and threads beyond a second one, which reads files while the next call
 * is made, only hand the turn around; the tuner adds some for slow files. */
#define IN_TURN 2

static uint32_t first_reads(const struct fdl_engine *e)
{
    const struct fdl_user_reader *user = e->dataset->user;
    uint32_t usual = e->reader_ops->default_depth;
    bool in_turn = user && user->source.flags & FEEDLINE_SOURCE_IN_ORDER;
    return in_turn ? FDL_MIN(usual, IN_TURN) : usual;
}

static int32_t start_reader_locked(struct fdl_engine *e)
{
    struct fdl_reader *reader;
    uint32_t asked = (uint32_t)fdl_option_int(&e->options, FDL_OPT_IO_DEPTH);
    if (asked == 0 && e->keeps_io_depth) {
        uint32_t now = atomic_load_explicit(&e->io_depth, memory_order_relaxed);
        asked = now ? now : e->first_io_depth;
    }
    struct fdl_reader_config cfg = {
        .window = e->window,
        .dataset = e->dataset,
        .depth = FDL_MAX(asked, 1u),
        .max_depth = FDL_MAX_IO_DEPTH,
        .stages = e->read_stages,
        .cpus = fdl_engine_cpus(e),
        .memory_budget = e->config.memory_budget,
    };
    int32_t status =
        fdl_reader_start(e->config.reader, &cfg, &e->reader_ops, &reader);
    if (status < 0)
        return status;
    set_reader_locked(e, reader);
    if (!asked)
        cfg.depth = first_reads(e);
    if (e->reader_ops->set_depth)
        e->reader_ops->set_depth(e->reader, cfg.depth);
    atomic_store_explicit(&e->io_depth, cfg.depth, memory_order_relaxed);
    atomic_store_explicit(&e->reader_kind, e->reader_ops->kind,
                          memory_order_relaxed);
    return FEEDLINE_OK;
}

/* One: it wakes the next, so next() does not pay for all of them. */
static void wake_worker(void *user)
{
    struct fdl_engine *e = user;
    fdl_event_notify(fdl_window_ready(e->window), 1);
}

/* Once: later runs place their memory as the first one did, and it takes the
 * kernel a while to tell. */
static void see_pinned_locked(struct fdl_engine *e)
{
    const void *at[FDL_MAX_DEPTH + FDL_SPARE_SLOTS];
    if (!e->affinity.knows_near ||
        atomic_load_explicit(&e->pinned_known, memory_order_relaxed))
        return;
    uint32_t n = fdl_ring_host_memory(e->ring, at, FDL_COUNT_OF(at));
    if (fdl_numa_maps_read(fdl_affinity_root(), at, n, &e->pinned))
        /* release: pairs with the acquire in fdl_engine_pinned. */
        atomic_store_explicit(&e->pinned_known, true, memory_order_release);
}

/* A depth that the run before had no memory for is tried again. */
static uint32_t first_depth(const struct fdl_engine *e)
{
    uint32_t asked = (uint32_t)fdl_engine_asked(e, FDL_OPT_DEPTH);
    return asked ? fdl_budget_depth(e, asked) : fdl_load(&e->depth);
}

static int32_t make_slots_locked(struct fdl_engine *e)
{
    uint32_t depth = first_depth(e), got = depth;
    int32_t status = fdl_ring_set_depth(e->ring, &got);
    if (status >= 0 && got == depth && fdl_ring_slot_device_bytes(e->ring) > 0)
        fdl_ring_reserve(e->ring, fdl_budget_reach(e, depth));
    fdl_budget_share_locked(e);
    if (status < 0)
        return status;
    if (got < depth)
        fdl_log(FDL_LOG_WARNING,
                "memory suffices for depth %u instead of %u; continuing", got,
                depth);
    atomic_store_explicit(&e->depth, got, memory_order_relaxed);
    return FEEDLINE_OK;
}

static int32_t start_threads_locked(struct fdl_engine *e)
{
    fdl_window_reset(e->window);
    int32_t status = fdl_window_open_shards(e->window, e->dataset->files.n,
                                            e->random_shards);
    if (status == FEEDLINE_OK)
        status = start_reader_locked(e);
    if (status < 0)
        return status;
    if (e->reader_ops->read_now)
        fdl_window_set_waker(e->window, wake_worker, e);
    fdl_engine_set_limit_locked(e);
    status = fdl_budget_ask_device_locked(e);
    if (status >= 0)
        status = make_slots_locked(e);
    if (status < 0)
        return status;
    see_pinned_locked(e);
    fdl_entry_keeper_start(&e->keeper, e->entries, 0);
    return fdl_pool_set_active(
        e, atomic_load_explicit(&e->workers, memory_order_relaxed));
}

static void stop_threads_locked(struct fdl_engine *e)
{
    if (!e->window)
        return;
    fdl_window_close(e->window);
    if (e->running && e->observer.stopping) /* threads can still be asked */
        e->observer.stopping(e->observer.user);
    if (e->pool.workers)
        fdl_pool_stop(e);
    struct fdl_reader *reader = e->reader;
    set_reader_locked(e, NULL); /* nothing uses it any more */
    if (reader)
        e->reader_ops->stop(reader);
    fdl_window_close_shards(e->window);
    fdl_ring_stop(e->ring);
    e->running = false;
    fdl_nvtx_end(e->range);
    e->range = 0;
}

static void lock_for_end(struct fdl_engine *e)
{
    if (e->observer.ending)
        e->observer.ending(e->observer.user);
    fdl_lock(&e->run_lock);
}

void fdl_engine_stop(struct fdl_engine *e)
{
    lock_for_end(e);
    stop_threads_locked(e);
    fdl_ring_rest(e->ring);
    fdl_unlock(&e->run_lock);
}

uint64_t fdl_engine_seed(const struct fdl_engine *e)
{
    return atomic_load_explicit(&e->config.seed, memory_order_relaxed);
}

/* Nothing is being drawn now: what is issued later comes after it. */
static void take_seed(struct fdl_engine *e, uint64_t seed)
{
    e->sampler.seed = seed;
    atomic_store_explicit(&e->config.seed, seed, memory_order_relaxed);
}

/* Stops the current run, and starts another. */
static int32_t run(struct fdl_engine *e, const struct fdl_stream *stream)
{
    fdl_engine_measure_bus(e);
    lock_for_end(e);
    stop_threads_locked(e);
    e->stream = *stream;
    take_seed(e, stream->sampler.seed);
    if (e->given)
        fdl_given_reset(e->given);
    if (e->observer.beginning)
        e->observer.beginning(e->observer.user);
    e->range = fdl_nvtx_start(FDL_NVTX_RUN, 0, 0);
    int32_t status = start_threads_locked(e);
    if (status >= 0) {
        fdl_ring_start(e->ring, &e->stream, e->window);
        e->running = true;
    } else {
        stop_threads_locked(e);
    }
    fdl_unlock(&e->run_lock);
    return status;
}

/* The consumer stands at `position`, over all ranks, of `epoch`. */
static void stand_at(struct fdl_engine *e, uint64_t epoch, uint64_t position)
{
    struct fdl_consumer *c = &e->consumer;
    c->finished = c->at_end = false;
    c->failed = FEEDLINE_OK;
    c->epoch = epoch;
    c->position = position;
    c->waited_ns = 0;
    c->ask = FDL_ASK_ANEW;
    e->stopped = false;
}

int32_t fdl_engine_begin(struct fdl_engine *e, uint64_t epoch,
                         uint64_t position)
{
    uint64_t epochs = e->config.epochs;
    uint64_t end =
        epochs && epoch < UINT64_MAX - epochs ? epoch + epochs : UINT64_MAX;
    struct fdl_stream stream;
    struct fdl_ticket_range first;
    int32_t status =
        fdl_stream_init(&stream, &e->sampler, epoch, position, end);
    if (status >= 0)
        status = run(e, &stream);
    if (status < 0)
        return status;
    stand_at(e, stream.first_epoch,
             fdl_stream_delivered(&stream, stream.first_epoch,
                                  stream.first_position));
    /* With drop_last nothing may be left of an epoch that is resumed late. */
    e->consumer.at_end = !fdl_stream_ticket(&stream, 0, &first) ||
                         first.epoch != stream.first_epoch;
    return FEEDLINE_OK;
}

/* Whether every appended batch has been delivered. */
static bool is_through(const struct fdl_engine *e)
{
    uint64_t awaited =
        atomic_load_explicit(&e->ring->awaited, memory_order_relaxed);
    return e->running && fdl_given_waiting(e->given, awaited) == 0;
}

int32_t fdl_engine_begin_given(struct fdl_engine *e, uint64_t epoch,
                               uint64_t seed, uint64_t position, bool *anew)
{
    struct fdl_stream stream;
    int32_t status = fdl_epoch_check(epoch);
    if (status < 0)
        return status;
    *anew = !is_through(e);
    if (!*anew) {
        take_seed(e, seed);
    } else {
        fdl_stream_init_given(&stream, &e->sampler, e->given);
        stream.sampler.seed = seed;
        status = run(e, &stream);
    }
    if (status < 0)
        return status;
    fdl_given_begin(e->given, epoch, position);
    stand_at(e, epoch, position * e->sampler.world);
    return FEEDLINE_OK;
}
