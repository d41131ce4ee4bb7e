/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Life of a loader: from options to threads and back.
 *
 * create allocates what a run needs, begin starts the threads of a run, stop
 * joins them. The error path of create is destroy.
 */
#include "loader/engine.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "loader/stream/account.h"
#include "loader/stream/budget.h"
#include "loader/stream/finishing.h"
#include "loader/watch/stuck.h"
#include "profiler/system/machine.h"
#include "transfer/nvtx.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_DEPTH      4u
#define MEMORY_BUDGET_PART 10u /* of the memory limit, see docs/options.md */

/* ---- From options to a configuration ------------------------------------ */

static uint64_t option_u64(const struct fdl_options *o, uint32_t row)
{
    return (uint64_t)fdl_option_int(o, row);
}

static uint32_t option_u32(const struct fdl_options *o, uint32_t row)
{
    return (uint32_t)fdl_option_int(o, row);
}

static void read_config(feedline_loader *l)
{
    const struct fdl_options *o = &l->options;
    const struct fdl_machine *machine = fdl_machine_get();
    struct fdl_config_values *c = &l->config;
    c->batch_size = option_u32(o, FDL_OPT_BATCH_SIZE);
    c->channels = option_u32(o, FDL_OPT_CHANNELS);
    c->on_error = (enum fdl_on_error)fdl_option_int(o, FDL_OPT_ON_ERROR);
    c->max_failures = option_u64(o, FDL_OPT_MAX_FAILURES);
    c->epochs = option_u64(o, FDL_OPT_EPOCHS);
    atomic_store_explicit(&c->seed, option_u64(o, FDL_OPT_SEED),
                          memory_order_relaxed);
    c->max_file_bytes = option_u64(o, FDL_OPT_MAX_FILE_BYTES);
    c->reader = (enum fdl_reader_kind)fdl_option_int(o, FDL_OPT_READER);
    c->memory_budget = option_u64(o, FDL_OPT_MEMORY_BUDGET);
    if (c->memory_budget == 0)
        c->memory_budget = machine->memory_limit_bytes / MEMORY_BUDGET_PART /
                           fdl_control_local_world(o);

    uint32_t workers = option_u32(o, FDL_OPT_WORKERS);
    if (workers == 0)
        workers = FDL_MIN(machine->cpus_usable, FDL_MAX_WORKERS);
    atomic_store_explicit(&l->workers, workers, memory_order_relaxed);
    atomic_store_explicit(&l->io_depth, option_u32(o, FDL_OPT_IO_DEPTH),
                          memory_order_relaxed);
}

/* A batch has every view of its samples. */
static int32_t choose_views(feedline_loader *l)
{
    const char *op = NULL;
    uint32_t views = fdl_pipeline_views(l->pipeline, &op);
    uint32_t batch_size = l->config.batch_size;
    uint32_t below = batch_size - batch_size % views;
    l->config.views = views;
    if (below == batch_size)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "batch_size=%" PRIu32 " images are not a multiple of the "
                    "%" PRIu32 " views that %s makes of a sample; use %" PRIu32,
                    batch_size, views, op, below ? below : views);
}

/* What says which sample comes when says nothing to a program that does. */
static int32_t check_given(const struct fdl_options *o)
{
    static const struct {
        uint32_t row;
        int64_t none;
    } rows[] = {{FDL_OPT_SHUFFLE, 0},      {FDL_OPT_WORLD, 1},
                {FDL_OPT_RANK, 0},         {FDL_OPT_DROP_LAST, 0},
                {FDL_OPT_REPEATS, 1},      {FDL_OPT_EPOCHS, 0},
                {FDL_OPT_EPOCH_SAMPLES, 0}};
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++)
        if (fdl_option_int(o, rows[i].row) != rows[i].none)
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s does not apply to order=given: the program "
                            "that appends the batches decides it",
                            o->table[rows[i].row].name);
    return FEEDLINE_OK;
}

static int32_t make_order(feedline_loader *l)
{
    const struct fdl_options *o = &l->options;
    if (fdl_option_int(o, FDL_OPT_ORDER) != FDL_ORDER_GIVEN)
        return FEEDLINE_OK;
    int32_t status = check_given(o);
    if (status < 0)
        return status;
    return fdl_given_create(l->sampler.batch_size, l->dataset->count,
                            &l->given);
}

static int32_t make_sampler(feedline_loader *l)
{
    const struct fdl_options *o = &l->options;
    l->sampler = (struct fdl_sampler){
        .count = l->dataset->count,
        .epoch_samples = option_u64(o, FDL_OPT_EPOCH_SAMPLES),
        .repeats = option_u32(o, FDL_OPT_REPEATS),
        .seed = fdl_loader_seed(l),
        .rank = option_u32(o, FDL_OPT_RANK),
        .world = option_u32(o, FDL_OPT_WORLD),
        .tail = (enum fdl_shard_tail)fdl_option_int(o, FDL_OPT_SHARD_TAIL),
        .shuffle = fdl_option_int(o, FDL_OPT_SHUFFLE) != 0,
        .drop_last = fdl_option_int(o, FDL_OPT_DROP_LAST) != 0,
        .batch_size = l->config.batch_size / l->config.views,
    };
    return fdl_sampler_init(&l->sampler);
}

/* Shape of a sample from pipeline and data set. */
static int32_t make_format(const feedline_loader *l,
                           struct fdl_output_format *format)
{
    static const int32_t dtypes[] = {[FDL_DTYPE_U8] = FEEDLINE_U8,
                                     [FDL_DTYPE_F32] = FEEDLINE_F32,
                                     [FDL_DTYPE_F16] = FEEDLINE_F16,
                                     [FDL_DTYPE_BF16] = FEEDLINE_BF16};
    const struct fdl_options *o = &l->options;
    *format = (struct fdl_output_format){
        .channels = (int32_t)l->config.channels,
        .dtype = dtypes[fdl_option_int(o, FDL_OPT_DTYPE)],
        .nhwc = fdl_option_int(o, FDL_OPT_LAYOUT) == FDL_LAYOUT_NHWC,
    };
    int32_t status = fdl_pipeline_check_channels(l->pipeline, format->channels);
    if (status)
        return status;
    if (format->dtype == FEEDLINE_U8 && fdl_pipeline_normalizes(l->pipeline))
        return fdl_fail(
            FEEDLINE_EINVAL,
            "dtype=u8 cannot hold normalised pixels; use dtype=f32, "
            "f16 or bf16, or leave out normalize (recipes train_u8, eval_u8)");
    if (fdl_option_int(o, FDL_OPT_MAX_SAMPLE_BYTES) > 0)
        return FEEDLINE_OK; /* 0x0: every size */
    return fdl_pipeline_output_size(l->pipeline, l->dataset->raw_width,
                                    l->dataset->raw_height, &format->width,
                                    &format->height);
}

int32_t fdl_loader_fail_budget(const feedline_loader *l, uint32_t depth,
                               uint64_t batch_bytes)
{
    return fdl_fail(FEEDLINE_ERANGE,
                    "depth=%u needs %u batches of %" PRIu64
                    " bytes, more than memory_budget=%" PRIu64
                    "; lower batch_size or depth, use dtype=u8, or raise "
                    "memory_budget",
                    depth, depth + FDL_SPARE_SLOTS, batch_bytes,
                    l->config.memory_budget);
}

/* The depth asked for, or what fits the budget. */
static int32_t choose_depth(feedline_loader *l, uint64_t batch_bytes)
{
    uint32_t asked = option_u32(&l->options, FDL_OPT_DEPTH);
    uint64_t fits = l->config.memory_budget / batch_bytes;
    uint32_t depth = asked ? asked : DEFAULT_DEPTH;
    if (!asked && fits > FDL_SPARE_SLOTS)
        depth = (uint32_t)FDL_MIN(depth, fits - FDL_SPARE_SLOTS);
    if (depth + FDL_SPARE_SLOTS > fits)
        return fdl_loader_fail_budget(l, asked ? asked : 1, batch_bytes);
    atomic_store_explicit(&l->depth, depth, memory_order_relaxed);
    return FEEDLINE_OK;
}

/* ---- Create and destroy ------------------------------------------------- */

static int32_t consumer_init(struct fdl_consumer *c, uint32_t batch_size)
{
    fdl_lock_init(&c->books, FDL_RANK_BOOKS);
    c->zero = &c->zeros[0];
    return fdl_ledger_scratch_create(batch_size, &c->scratch);
}

/* On the reader's thread: what the window needs to know of a sample, and what
 * the batch does. */
static void resolve(void *user, struct fdl_read *r)
{
    feedline_loader *l = user;
    struct fdl_place place;
    fdl_stream_locate(&l->stream, r->sample, &place);
    r->epoch = place.epoch;
    r->ticket = place.ticket;
    r->place = place.slot_place * l->config.views;
    r->copy = place.copy;
    r->index = place.index;
    fdl_dataset_get(l->dataset, r->index, &r->source);

    feedline_batch *b = fdl_ring_slot(l->ring, place.ticket);
    r->times = &b->times[place.slot_place];
    fdl_slot_describe(b, r->place, fdl_dataset_label(l->dataset, r->index),
                      r->index, FEEDLINE_OK);
}

/* Of batches as workers write them: the device may finish them then. */
static int32_t make_layout(const feedline_loader *l,
                           const struct fdl_output_format *delivered,
                           struct fdl_layout *layout)
{
    uint64_t most = option_u64(&l->options, FDL_OPT_MAX_SAMPLE_BYTES);
    struct fdl_output_format format = *delivered;
    if (most > 0 && l->config.views > 1)
        return fdl_fail(FEEDLINE_EINVAL,
                        "views of a sample have one size; leave "
                        "max_sample_bytes at 0");
    if (l->finish.device)
        fdl_finish_wire(delivered, &format);
    int32_t status =
        most == 0
            ? fdl_layout_init(layout, l->config.batch_size, &format)
            : fdl_layout_init_various(layout, l->config.batch_size, &format,
                                      most,
                                      l->config.on_error == FDL_ON_ERROR_SKIP);
    if (status < 0)
        return status;
    layout->views = l->config.views;
    layout->delivered = *delivered;
    return FEEDLINE_OK;
}

/* The backend, and ring and window, whose sizes follow from the format. */
static int32_t make_path(feedline_loader *l, const struct fdl_backend_ops *ops,
                         struct fdl_backend_config *backend_config)
{
    struct fdl_output_format delivered;
    struct fdl_layout layout;
    void *backend;
    int32_t status = make_format(l, &delivered);
    if (status >= 0)
        status = fdl_loader_choose_finish(l, ops, &delivered,
                                          backend_config->device);
    if (status >= 0)
        status = make_layout(l, &delivered, &layout);
    if (status >= 0)
        status = choose_depth(l, layout.bytes);
    if (status < 0)
        return status;
    if (l->finish.device)
        fdl_loader_set_finishing(l, &layout, &backend_config->finish);
    backend_config->observe = fdl_device_watch_observe;
    backend_config->observer = l->watch;
    status = ops->create(backend_config, &backend);
    if (status < 0)
        return status;
    status = fdl_ring_create(&layout, ops, backend, &l->ring);
    if (status < 0)
        return status;
    l->ring->may_grow =
        fdl_option_int(&l->options, FDL_OPT_HELD) == FDL_HELD_GROW;
    l->ring->device_id = (int32_t)backend_config->device;
    l->ring->watch = fdl_device_watch_ref(l->watch);
    return fdl_window_create(2 * FDL_MAX_IO_DEPTH + FDL_MAX_WORKERS,
                             l->config.max_file_bytes, resolve, l, &l->window);
}

int32_t fdl_loader_create(const struct fdl_options *options,
                          feedline_dataset *ds, const struct fdl_pipeline *p,
                          const struct fdl_backend_ops *backend_ops,
                          const struct fdl_backend_config *backend_config,
                          feedline_loader **out)
{
    struct fdl_backend_config config = *backend_config;
    feedline_loader *l = fdl_alloc_aligned(sizeof(*l));
    if (!l)
        return fdl_fail_memory(sizeof(*l), "a loader");
    memset(l, 0, sizeof(*l));
    l->fork_generation = fdl_fork_generation();
    fdl_nvtx_init();
    fdl_lock_init(&l->run_lock, FDL_RANK_RUN);
    fdl_lock_init(&l->settings, FDL_RANK_SETTINGS);
    fdl_slow_init(&l->slow);
    fdl_dataset_ref(ds);
    l->dataset = ds;

    int32_t status = fdl_failures_init(&l->failures);
    if (status >= 0)
        status = fdl_pool_init(&l->pool);
    if (status >= 0)
        status = fdl_device_watch_create(&l->watch);
    if (status >= 0)
        status = fdl_options_copy(&l->options, options);
    if (status >= 0)
        status = fdl_pipeline_copy(p, &l->pipeline);
    if (status < 0)
        goto out;
    read_config(l);
    status = consumer_init(&l->consumer, l->config.batch_size);
    if (status >= 0)
        status = choose_views(l);
    if (status >= 0)
        status = make_sampler(l);
    if (status >= 0)
        status = make_order(l);
    if (status >= 0)
        status = make_path(l, backend_ops, &config);
    if (status < 0)
        goto out;
    size_t bytes = FDL_MAX_IO_DEPTH * sizeof(*l->read_stages);
    l->read_stages = fdl_pages_alloc(bytes);
    if (!l->read_stages) {
        status = fdl_fail_memory(bytes, "read counters");
        goto out;
    }
    status = fdl_control_create(l);
    if (status >= 0)
        status = fdl_tracing_create(l);
    if (status >= 0)
        status = fdl_monitor_create(l, &l->monitor);
    if (status >= 0)
        status = fdl_stuck_create(l);
    if (status >= 0)
        status = fdl_budget_create(l);
    if (status >= 0)
        status = fdl_exports_init(l);
    if (status < 0)
        goto out;
    *out = l;
    return FEEDLINE_OK;
out:
    fdl_loader_destroy(l);
    return status;
}

void fdl_loader_destroy(feedline_loader *l)
{
    fdl_loader_stop(l);
    fdl_monitor_destroy(l->monitor);
    fdl_tracing_destroy(l);
    fdl_exports_fini(&l->exports);
    fdl_control_destroy(l);
    fdl_pool_fini(&l->pool);
    fdl_window_destroy(l->window);
    fdl_ring_unref(l->ring);
    fdl_given_destroy(l->given);
    free(l->outside);
    fdl_device_watch_unref(l->watch);
    fdl_pages_free(l->read_stages, FDL_MAX_IO_DEPTH * sizeof(*l->read_stages));
    fdl_ledger_scratch_destroy(l->consumer.scratch);
    fdl_lock_destroy(&l->consumer.books);
    fdl_pipeline_destroy(l->pipeline);
    fdl_options_fini(&l->options);
    fdl_failures_fini(&l->failures);
    fdl_slow_fini(&l->slow);
    fdl_dataset_unref(l->dataset);
    fdl_lock_destroy(&l->settings);
    fdl_lock_destroy(&l->run_lock);
    free(l);
}

/* ---- A run -------------------------------------------------------------- */

/* Encoded samples between claim and free: every read in flight, one for each
 * worker, and as many reads again ready for the workers' next turn. */
void fdl_loader_set_limit_locked(feedline_loader *l)
{
    uint32_t io = atomic_load_explicit(&l->io_depth, memory_order_relaxed);
    uint32_t n = atomic_load_explicit(&l->workers, memory_order_relaxed);
    fdl_window_set_limit(l->window, 2 * io + n);
}

static void set_reader_locked(feedline_loader *l, struct fdl_reader *reader)
{
    fdl_lock(&l->settings);
    l->reader = reader;
    fdl_unlock(&l->settings);
}

static int32_t start_reader_locked(feedline_loader *l)
{
    struct fdl_reader *reader;
    uint32_t asked = option_u32(&l->options, FDL_OPT_IO_DEPTH);
    if (asked == 0)
        asked = fdl_control_io_depth(l);
    struct fdl_reader_config cfg = {
        .window = l->window,
        .dataset = l->dataset,
        .depth = FDL_MAX(asked, 1u),
        .max_depth = FDL_MAX_IO_DEPTH,
        .stages = l->read_stages,
        .memory_budget = l->config.memory_budget,
    };
    int32_t status =
        fdl_reader_start(l->config.reader, &cfg, &l->reader_ops, &reader);
    if (status < 0)
        return status;
    set_reader_locked(l, reader);
    if (!asked)
        cfg.depth = l->reader_ops->default_depth;
    if (l->reader_ops->set_depth)
        l->reader_ops->set_depth(l->reader, cfg.depth);
    atomic_store_explicit(&l->io_depth, cfg.depth, memory_order_relaxed);
    atomic_store_explicit(&l->reader_kind, l->reader_ops->kind,
                          memory_order_relaxed);
    return FEEDLINE_OK;
}

static void wake_workers(void *user)
{
    feedline_loader *l = user;
    fdl_event_notify(fdl_window_ready(l->window), UINT32_MAX);
}

static int32_t start_threads_locked(feedline_loader *l)
{
    fdl_window_reset(l->window);
    int32_t status = start_reader_locked(l);
    if (status < 0)
        return status;
    if (l->reader_ops->read_now)
        fdl_window_set_waker(l->window, wake_workers, l);
    fdl_loader_set_limit_locked(l);
    uint32_t depth = atomic_load_explicit(&l->depth, memory_order_relaxed);
    uint32_t got = depth;
    status = fdl_ring_set_depth(l->ring, &got);
    fdl_budget_share_locked(l);
    if (status < 0)
        return status;
    if (got < depth) {
        fdl_log(FDL_LOG_WARNING,
                "memory suffices for depth %u instead of %u; continuing", got,
                depth);
        atomic_store_explicit(&l->depth, got, memory_order_relaxed);
    }
    return fdl_pool_set_active(
        l, atomic_load_explicit(&l->workers, memory_order_relaxed));
}

static void stop_threads_locked(feedline_loader *l)
{
    if (!l->window)
        return;
    fdl_window_close(l->window);
    if (l->running) /* while the threads can still be asked */
        fdl_monitor_look(l->monitor);
    if (l->pool.workers)
        fdl_pool_stop(l);
    struct fdl_reader *reader = l->reader;
    set_reader_locked(l, NULL); /* nobody looks into it any more */
    if (reader)
        l->reader_ops->stop(reader);
    fdl_ring_stop(l->ring);
    l->running = false;
    fdl_nvtx_end(l->range);
    l->range = 0;
}

void fdl_loader_stop(feedline_loader *l)
{
    fdl_control_end(l);
    fdl_lock(&l->run_lock);
    stop_threads_locked(l);
    fdl_unlock(&l->run_lock);
}

uint64_t fdl_loader_seed(const feedline_loader *l)
{
    return atomic_load_explicit(&l->config.seed, memory_order_relaxed);
}

/* Nothing is being drawn now: what is issued later comes after it. */
static void take_seed(feedline_loader *l, uint64_t seed)
{
    l->sampler.seed = seed;
    atomic_store_explicit(&l->config.seed, seed, memory_order_relaxed);
}

/* Stops the run that is under way, and starts another. */
static int32_t run(feedline_loader *l, const struct fdl_stream *stream)
{
    int64_t asked = fdl_now_ns();
    fdl_loader_measure_bus(l);
    fdl_monitor_start(l->monitor); /* the run does without it too */
    fdl_control_end(l);
    fdl_lock(&l->run_lock);
    stop_threads_locked(l);
    l->stream = *stream;
    take_seed(l, stream->sampler.seed);
    if (l->given)
        fdl_given_reset(l->given);
    fdl_tracing_begin_run(l);
    l->range = fdl_nvtx_start(FDL_NVTX_RUN, 0, 0);
    int32_t status = start_threads_locked(l);
    if (status >= 0) {
        fdl_device_watch_rewind(l->watch);
        fdl_ring_start(l->ring, &l->stream, l->window);
        l->running = true;
    } else {
        stop_threads_locked(l);
    }
    fdl_unlock(&l->run_lock);
    if (status < 0)
        return status;
    fdl_account_begin(&l->consumer, asked, fdl_now_ns());
    fdl_notable_begin(l);
    fdl_control_begin(l);
    return FEEDLINE_OK;
}

/* The consumer stands at `position`, on this rank, of `epoch`. */
static void stand_at(feedline_loader *l, uint64_t epoch, uint64_t position)
{
    struct fdl_consumer *c = &l->consumer;
    c->finished = c->at_end = false;
    c->failed = FEEDLINE_OK;
    c->epoch = epoch;
    c->position = position;
    l->stopped = false;
}

int32_t fdl_loader_begin(feedline_loader *l, uint64_t epoch, uint64_t position)
{
    uint64_t epochs = l->config.epochs;
    uint64_t end =
        epochs && epoch < UINT64_MAX - epochs ? epoch + epochs : UINT64_MAX;
    struct fdl_stream stream;
    struct fdl_ticket_range first;
    int32_t status =
        fdl_stream_init(&stream, &l->sampler, epoch, position, end);
    if (status >= 0)
        status = run(l, &stream);
    if (status < 0)
        return status;
    stand_at(l, stream.first_epoch, stream.first_position);
    /* With drop_last nothing may be left of an epoch that is resumed late. */
    l->consumer.at_end = !fdl_stream_ticket(&stream, 0, &first) ||
                         first.epoch != stream.first_epoch;
    return FEEDLINE_OK;
}

/* Whether every batch that was given has been delivered. */
static bool is_through(const feedline_loader *l)
{
    uint64_t awaited =
        atomic_load_explicit(&l->ring->awaited, memory_order_relaxed);
    return l->running && fdl_given_waiting(l->given, awaited) == 0;
}

int32_t fdl_loader_begin_given(feedline_loader *l, uint64_t epoch,
                               uint64_t seed, uint64_t position)
{
    struct fdl_stream stream;
    int32_t status = fdl_epoch_check(epoch);
    if (status < 0)
        return status;
    if (is_through(l)) {
        take_seed(l, seed);
    } else {
        fdl_stream_init_given(&stream, &l->sampler, l->given);
        stream.sampler.seed = seed;
        status = run(l, &stream);
    }
    if (status < 0)
        return status;
    fdl_given_begin(l->given, epoch, position);
    stand_at(l, epoch, position);
    return FEEDLINE_OK;
}
