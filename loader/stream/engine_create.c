/* SPDX-License-Identifier: Apache-2.0 */
/* The engine from options to what a run needs. The error path of create is
 * destroy. */
#include "base/log.h"
#include "base/memory.h"
#include "decode/pipeline.h"
#include "loader/dataset/dataset_objects.h"
#include "loader/order/ahead.h"
#include "loader/order/mixing.h"
#include "loader/read/reader_file.h"
#include "loader/read/remote_cache.h"
#include "loader/stream/budget.h"
#include "loader/stream/decoding.h"
#include "loader/stream/engine_own.h"
#include "loader/stream/finishing.h"
#include "profiler/system/machine.h"
#include "transfer/gpu_probe.h"
#include "transfer/nvtx.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_DEPTH      4u
#define MEMORY_BUDGET_PART 10u /* of the memory limit, see docs/options.md */
#define JPEG_INDEX_PART    50u /* as well */

/* Of the memory limit. Keeping so much hits more often than the system's cache
 * does unless nine tenths of the data would fit. */
#define CACHE_BUDGET_PART 0.75

_Static_assert(FDL_MAX_DEPTH <= FDL_BACKEND_DEPTH,
               "a backend reports on every batch that may be ahead");

/* ---- From options to a configuration ------------------------------------ */

static uint64_t option_u64(const struct fdl_options *o, uint32_t row)
{
    return (uint64_t)fdl_option_int(o, row);
}

static uint32_t option_u32(const struct fdl_options *o, uint32_t row)
{
    return (uint32_t)fdl_option_int(o, row);
}

/* A device that cannot be asked is nobody's neighbour; what is wrong with it,
 * the backend will say. */
static int32_t choose_affinity(struct fdl_engine *e,
                               const struct fdl_backend_config *backend)
{
    const struct fdl_options *o = &e->options;
    struct feedline_device_info info = {.struct_size = 0};
    bool known =
        e->gpu >= 0 && fdl_gpu_info(backend->device, &info) >= FEEDLINE_OK;
    struct fdl_affinity_question q = {
        .asked = fdl_option_text(o, FDL_OPT_AFFINITY),
        .pci = known && info.pci[0] ? info.pci : NULL,
        .workers = option_u32(o, FDL_OPT_WORKERS),
        .local_world = fdl_options_local_world(o),
    };
    fdl_clear_error();
    int32_t status = fdl_affinity_choose(&q, fdl_affinity_root(), &e->affinity);
    if (status >= 0)
        fdl_log(FDL_LOG_INFO, "workers are %s: %s",
                e->affinity.bound ? "bound to CPUs" : "not bound",
                e->affinity.reason);
    return status;
}

static void read_config(struct fdl_engine *e)
{
    const struct fdl_options *o = &e->options;
    const struct fdl_machine *machine = fdl_machine_get();
    struct fdl_config_values *c = &e->config;
    c->batch_size = option_u32(o, FDL_OPT_BATCH_SIZE);
    e->is_recorded = fdl_dataset_is_recorded(e->dataset);
    e->is_encoded =
        !e->is_recorded && fdl_option_int(o, FDL_OPT_DECODE) == FDL_DECODE_NONE;
    e->no_pixels = e->is_encoded || e->is_recorded;
    c->channels = option_u32(o, FDL_OPT_CHANNELS);
    c->on_error = (enum fdl_on_error)fdl_option_int(o, FDL_OPT_ON_ERROR);
    c->max_failures = option_u64(o, FDL_OPT_MAX_FAILURES);
    c->checksums = (enum fdl_checksums)fdl_option_int(o, FDL_OPT_CHECKSUMS);
    c->epochs = option_u64(o, FDL_OPT_EPOCHS);
    atomic_store_explicit(&c->seed, option_u64(o, FDL_OPT_SEED),
                          memory_order_relaxed);
    c->max_file_bytes = option_u64(o, FDL_OPT_MAX_FILE_BYTES);
    c->reader = (enum fdl_reader_kind)fdl_option_int(o, FDL_OPT_READER);
    c->memory_budget = option_u64(o, FDL_OPT_MEMORY_BUDGET);
    if (c->memory_budget == 0)
        c->memory_budget = machine->memory_limit_bytes / MEMORY_BUDGET_PART /
                           fdl_options_local_world(o);
    atomic_store_explicit(&c->device_memory_budget,
                          option_u64(o, FDL_OPT_DEVICE_MEMORY_BUDGET),
                          memory_order_relaxed);

    uint32_t workers = option_u32(o, FDL_OPT_WORKERS);
    if (workers == 0)
        workers = FDL_MIN(e->affinity.usable, FDL_MAX_WORKERS);
    atomic_store_explicit(&e->workers, workers, memory_order_relaxed);
    atomic_store_explicit(&e->io_depth, option_u32(o, FDL_OPT_IO_DEPTH),
                          memory_order_relaxed);
}

/* A batch has every view of its samples. */
static int32_t choose_views(struct fdl_engine *e)
{
    const char *op = NULL;
    uint32_t views = e->no_pixels ? 1 : fdl_pipeline_views(e->pipeline, &op);
    uint32_t batch_size = e->config.batch_size;
    uint32_t below = batch_size - batch_size % views;
    e->config.views = views;
    if (below == batch_size)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "batch_size=%" PRIu32 " images are not a multiple of the "
                    "%" PRIu32 " views that %s makes of a sample; use %" PRIu32,
                    batch_size, views, op, below ? below : views);
}

static int32_t choose_masks(struct fdl_engine *e)
{
    const struct fdl_options *o = &e->options;
    const char *name = fdl_option_text(o, FDL_OPT_MASKS);
    const struct fdl_field_set *fields = &e->dataset->fields;
    int32_t field = fdl_field_set_find(fields, name);
    if (!*name)
        return FEEDLINE_OK;
    if (field < 0 || fields->kind[field] != FEEDLINE_FIELD_BYTES)
        return fdl_fail(FEEDLINE_EINVAL,
                        "masks=%s: the data set has no field of that name that "
                        "is bytes (docs/targets.md)",
                        name);
    if (e->is_recorded)
        return fdl_fail(FEEDLINE_EINVAL,
                        "masks=%s: samples bring their own steps, and make "
                        "their masks so; leave out masks",
                        name);
    if (e->is_encoded)
        return fdl_fail(FEEDLINE_EINVAL,
                        "masks=%s: with decode=none it is delivered as it is "
                        "encoded; leave out masks",
                        name);
    e->mask_field = (uint32_t)field;
    e->mask = (struct fdl_mask_rule){
        .on = true,
        .nearest = (enum fdl_nearest)fdl_option_int(o, FDL_OPT_MASK_NEAREST),
        .fill = (uint8_t)fdl_option_int(o, FDL_OPT_MASK_FILL),
    };
    return fdl_pipeline_check_mask(e->pipeline, e->mask.nearest);
}

static int32_t check_objects(const struct fdl_engine *e)
{
    const char *op = fdl_pipeline_objects_op(e->pipeline);
    if (e->dataset->objects)
        return fdl_pipeline_check_targets(e->pipeline, "objects");
    return !op ? FEEDLINE_OK
               : fdl_fail(FEEDLINE_EINVAL,
                          "%s is about the objects of samples, and the data "
                          "set has none (docs/targets.md)",
                          op);
}

/* Options that determine the order have no effect if the program supplies it.
 */
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

/* A source whose reads have an order, in which a replacement has no place. */
static int32_t check_in_order(const struct fdl_engine *e)
{
    const struct fdl_user_reader *user = e->dataset->user;
    if (!user || !(user->source.flags & FEEDLINE_SOURCE_IN_ORDER) ||
        e->config.on_error != FDL_ON_ERROR_SKIP)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "on_error=skip reads another sample for one that fails, "
                    "but %s is read in the order of the stream; use "
                    "on_error=zero or raise",
                    user->name);
}

static int32_t make_order(struct fdl_engine *e)
{
    const struct fdl_options *o = &e->options;
    int32_t status = check_in_order(e);
    if (status < 0)
        return status;
    if (fdl_option_int(o, FDL_OPT_ORDER) != FDL_ORDER_GIVEN)
        return FEEDLINE_OK;
    status = check_given(o);
    if (status < 0)
        return status;
    return fdl_given_create(e->sampler.batch_size, e->dataset->count,
                            &e->given);
}

/* What the kernel reads ahead in a random order is of use later if it stays in
 * memory: it makes the first epoch of a set that fits faster, and each epoch of
 * a larger one slower. */
static bool exceeds_memory(const feedline_dataset *ds)
{
    uint64_t limit = fdl_machine_get()->memory_limit_bytes;
    return limit > 0 && fdl_dataset_extent_bytes(ds) > limit;
}

/* The page cache of a set that it cannot hold has little of what comes next,
 * but for the rest of the blocks that are open. */
static int32_t choose_direct(const struct fdl_engine *e)
{
    int32_t asked = (int32_t)fdl_option_int(&e->options, FDL_OPT_DIRECT);
    bool large = exceeds_memory(e->dataset) ||
                 (e->window && fdl_window_keep(e->window)->drops);
    if (asked == FDL_DIRECT_AUTO &&
        (!large || e->sampler.shuffle == FDL_SHUFFLE_BLOCK))
        return FDL_DIRECT_FALSE;
    return asked;
}

/* Without shuffle=block there are none. */
static void choose_blocks(const struct fdl_engine *e, struct fdl_sampler *s)
{
    if (s->shuffle == FDL_SHUFFLE_BLOCK)
        s->blocks = fdl_options_blocks(&e->options, e->dataset->count,
                                       fdl_dataset_extent_bytes(e->dataset));
}

/* A poor shuffle harms a training without a sign of it. */
static int32_t judge_mixing(struct fdl_engine *e)
{
    const struct fdl_sampler *s = &e->sampler;
    struct fdl_mixing m;
    struct fdl_mixing_source from = {.labels = &e->dataset->labels,
                                     .count = s->count};
    if (s->shuffle != FDL_SHUFFLE_BLOCK)
        return FEEDLINE_OK;
    uint64_t batch = (uint64_t)s->batch_size * s->world;
    int32_t status = fdl_mixing_of_blocks(&from, &s->blocks, batch, &m);
    if (status >= 0 && !isnan(m.variance))
        e->mixing = m.variance;
    if (status >= 0 && m.variance > FDL_MIXING_POOR)
        fdl_log(FDL_LOG_WARNING,
                "shuffle=block: the labels of a batch vary %.1f times as much "
                "as with a full shuffle; use more than lanes=%" PRIu64
                ", smaller blocks than block=%" PRIu64
                ", or write the samples in random order once",
                m.variance, s->blocks.lanes, s->blocks.samples);
    return status;
}

static int32_t make_sampler(struct fdl_engine *e)
{
    const struct fdl_options *o = &e->options;
    uint32_t rank, world;
    int32_t status = fdl_options_ranks(o, &rank, &world);
    if (status < 0)
        return status;
    e->sampler = (struct fdl_sampler){
        .count = e->dataset->count,
        .epoch_samples = option_u64(o, FDL_OPT_EPOCH_SAMPLES),
        .repeats = option_u32(o, FDL_OPT_REPEATS),
        .seed = fdl_engine_seed(e),
        .rank = rank,
        .world = world,
        .tail = (enum fdl_shard_tail)fdl_option_int(o, FDL_OPT_SHARD_TAIL),
        .shuffle = (enum fdl_shuffle)fdl_option_int(o, FDL_OPT_SHUFFLE),
        .drop_last = fdl_option_int(o, FDL_OPT_DROP_LAST) != 0,
        .batch_size = e->config.batch_size / e->config.views,
    };
    choose_blocks(e, &e->sampler);
    e->random_shards =
        e->sampler.shuffle != FDL_SHUFFLE_NONE && exceeds_memory(e->dataset);
    e->reads_ahead = e->sampler.shuffle == FDL_SHUFFLE_BLOCK &&
                     e->dataset->extents &&
                     e->config.reader != FDL_READER_memory &&
                     choose_direct(e) == FDL_DIRECT_FALSE;
    status = fdl_sampler_init(&e->sampler);
    return status < 0 ? status : judge_mixing(e);
}

/* Shape of what `p`, the pipeline or a chain, makes of the data set's images.
 */
static int32_t make_format(const struct fdl_engine *e,
                           const struct fdl_pipeline *p,
                           struct fdl_output_format *format)
{
    static const int32_t dtypes[] = {[FDL_DTYPE_U8] = FEEDLINE_U8,
                                     [FDL_DTYPE_F32] = FEEDLINE_F32,
                                     [FDL_DTYPE_F16] = FEEDLINE_F16,
                                     [FDL_DTYPE_BF16] = FEEDLINE_BF16};
    const struct fdl_options *o = &e->options;
    *format = (struct fdl_output_format){
        .channels = (int32_t)e->config.channels,
        .dtype = dtypes[fdl_option_int(o, FDL_OPT_DTYPE)],
        .nhwc = fdl_option_int(o, FDL_OPT_LAYOUT) == FDL_LAYOUT_NHWC,
    };
    if (e->no_pixels)
        return FEEDLINE_OK; /* 0x0, all of them */
    int32_t status = fdl_pipeline_check_channels(p, format->channels);
    if (status)
        return status;
    if (format->dtype == FEEDLINE_U8 && fdl_pipeline_normalizes(p))
        return fdl_fail(
            FEEDLINE_EINVAL,
            "dtype=u8 cannot hold normalised pixels; use dtype=f32, "
            "f16 or bf16, or leave out normalize (recipes train_u8, eval_u8)");
    if (fdl_option_int(o, FDL_OPT_MAX_SAMPLE_BYTES) > 0)
        return FEEDLINE_OK; /* 0x0: every size */
    return fdl_pipeline_output_size(p, e->dataset->raw_width,
                                    e->dataset->raw_height, &format->width,
                                    &format->height);
}

/* The window exists. Read-ahead would fill the cache with what is dropped. */
static void choose_cache(struct fdl_engine *e)
{
    const struct fdl_options *o = &e->options;
    struct fdl_config_values *c = &e->config;
    struct fdl_keep keep;
    c->cache_budget = option_u64(o, FDL_OPT_CACHE_BUDGET);
    c->cache_keeps = c->cache_budget > 0 ||
                     fdl_option_int(o, FDL_OPT_CACHE) == FDL_CACHE_KEEP;
    if (c->cache_budget == 0)
        c->cache_budget =
            (uint64_t)(CACHE_BUDGET_PART *
                       (double)fdl_machine_get()->memory_limit_bytes);
    if (!c->cache_keeps)
        return;
    uint64_t total = fdl_dataset_bytes(e->dataset);
    fdl_keep_init(&keep, c->cache_budget, total, e->dataset->root);
    fdl_window_set_keep(e->window, &keep);
    e->random_shards |= keep.drops;
    e->reads_ahead &= !keep.drops;
    if (keep.drops)
        fdl_log(FDL_LOG_INFO,
                "cache=keep: %.3g of %.3g GB stay in memory, so %.0f %% of "
                "the bytes will come from there",
                (double)c->cache_budget / 1e9, (double)total / 1e9,
                100 * (double)c->cache_budget / (double)total);
}

/* The depth asked for, or what fits the budgets. */
static int32_t choose_depth(struct fdl_engine *e)
{
    uint32_t asked = option_u32(&e->options, FDL_OPT_DEPTH);
    uint32_t depth = asked ? asked : fdl_budget_depth(e, DEFAULT_DEPTH);
    atomic_store_explicit(&e->depth, depth, memory_order_relaxed);
    return fdl_budget_check(e, depth);
}

/* ---- Create and destroy ------------------------------------------------- */

static void read_ahead(void *user, uint64_t index)
{
    const struct fdl_engine *e = user;
    struct fdl_source source;
    fdl_engine_locate(e, index, &source);
    fdl_read_ahead(e->window, &source);
}

/* On the reader's thread: fills in what the window and the batch need to know
 * of a sample. */
static void resolve(void *user, struct fdl_read *r)
{
    struct fdl_engine *e = user;
    struct fdl_place place;
    fdl_stream_locate(&e->stream, r->sample, &place);
    r->epoch = place.epoch;
    r->ticket = place.ticket;
    r->place = place.slot_place * e->config.views;
    r->copy = place.copy;
    r->index = place.index;
    fdl_engine_locate(e, r->index, &r->source);

    feedline_batch *b = fdl_ring_open(e->ring, place.ticket);
    r->times = &b->times[place.slot_place];
    fdl_slot_describe(b, r->place, fdl_dataset_label(e->dataset, r->index),
                      r->index, FEEDLINE_OK);
    if (e->reads_ahead)
        fdl_ahead(&e->stream, place.epoch, place.position, read_ahead, e);
}

/* Where neighbours may follow each other in the order. */
static void peek(void *user, uint64_t sample, struct fdl_source *out)
{
    const struct fdl_engine *e = user;
    struct fdl_place place;
    fdl_stream_locate(&e->stream, sample, &place);
    fdl_engine_locate(e, place.index, out);
}

static bool gathers(const struct fdl_engine *e)
{
    return e->dataset->extents && e->config.reader != FDL_READER_memory &&
           (e->given || e->sampler.shuffle == FDL_SHUFFLE_NONE);
}

static int32_t make_layout_of_chains(const struct fdl_engine *e,
                                     struct fdl_layout *layout)
{
    struct fdl_output_format formats[FEEDLINE_VIEWS_MAX];
    int32_t status = FEEDLINE_OK;
    for (uint32_t v = 0; v < e->config.views && status >= 0; v++)
        status =
            make_format(e, fdl_pipeline_chain(e->pipeline, v), &formats[v]);
    return status < 0 ? status
                      : fdl_layout_init_chains(layout, e->config.batch_size,
                                               e->config.views, formats);
}

/* Of batches as workers write them: the device may finish them then. */
static int32_t make_layout(const struct fdl_engine *e,
                           const struct fdl_output_format *delivered,
                           struct fdl_layout *layout)
{
    uint64_t most = option_u64(&e->options, FDL_OPT_MAX_SAMPLE_BYTES);
    struct fdl_output_format format = *delivered;
    if (e->no_pixels)
        most = 0;
    if (most > 0 && e->config.views > 1)
        return fdl_fail(FEEDLINE_EINVAL,
                        "views of a sample have one size; leave "
                        "max_sample_bytes at 0");
    if (fdl_pipeline_has_chains(e->pipeline) && !e->no_pixels)
        return make_layout_of_chains(e, layout);
    if (e->finish.device)
        fdl_finish_wire(delivered, &format);
    struct fdl_mix_room mix = {
        .classes = e->mix.num_classes,
        .late_steps = fdl_pipeline_late_steps(e->pipeline),
        .on_device = e->finish.device,
    };
    int32_t status =
        most == 0 && !e->no_pixels
            ? fdl_layout_init(layout, e->config.batch_size, e->config.views,
                              &format, mix.classes > 0 ? &mix : NULL,
                              e->decode.ready)
            : fdl_layout_init_various(layout, e->config.batch_size, &format,
                                      most,
                                      e->config.on_error == FDL_ON_ERROR_SKIP);
    if (status < 0)
        return status;
    layout->delivered = *delivered;
    layout->late = e->finish.late;
    return FEEDLINE_OK;
}

/* The backend, and ring and window, whose sizes follow from the format. */
static int32_t make_path(struct fdl_engine *e,
                         const struct fdl_backend_ops *ops,
                         struct fdl_backend_config *backend_config)
{
    struct fdl_output_format delivered;
    struct fdl_layout layout;
    void *backend;
    int32_t status =
        make_format(e, fdl_pipeline_chain(e->pipeline, 0), &delivered);
    if (status >= 0)
        status = fdl_engine_choose_mix(e, &delivered);
    if (status >= 0)
        status = fdl_engine_choose_finish(e, ops, &delivered,
                                          backend_config->device);
    if (status >= 0)
        status = fdl_engine_choose_decode(e, ops, &delivered,
                                          backend_config->device);
    if (status >= 0)
        status = make_layout(e, &delivered, &layout);
    if (status < 0)
        return status;
    if (e->finish.device)
        fdl_engine_set_finishing(e, &layout, &backend_config->finish);
    if (e->decode.ready)
        fdl_engine_set_makers(&layout, &backend_config->makers);
    const struct fdl_copy_observer *copies = &e->observer.copies;
    backend_config->place = (struct fdl_backend_place){
        .node = e->affinity.node, .cpus = e->affinity.near};
    backend_config->observe = copies->observe;
    backend_config->observer = copies->user;
    status = ops->create(backend_config, &backend);
    if (status < 0)
        return status;
    status = fdl_ring_create(&layout, ops, backend, &e->ring);
    if (status < 0)
        return status;
    e->ring->may_grow =
        fdl_option_int(&e->options, FDL_OPT_HELD) == FDL_HELD_GROW;
    e->ring->kind.masks = (struct fdl_slot_masks){
        .on = e->mask.on,
        .bytes = e->mask.on
                     ? (uint64_t)delivered.width * (uint64_t)delivered.height
                     : 0,
        .width = delivered.width,
        .height = delivered.height,
    };
    e->ring->kind.device_id = (int32_t)backend_config->device;
    e->ring->kind.has_objects = e->dataset->objects != NULL;
    if (e->dataset->objects)
        e->ring->kind.keypoints = e->dataset->objects->keypoints;
    status = fdl_engine_prepare_mix(e);
    if (status >= 0)
        status = fdl_field_set_copy(&e->ring->kind.fields, &e->dataset->fields);
    if (status >= 0 && e->is_encoded)
        status = fdl_field_set_add(&e->ring->kind.fields, "image",
                                   FEEDLINE_FIELD_BYTES);
    if (status < 0)
        return status;
    if (copies->hold)
        copies->hold(copies->user);
    e->ring->copies = *copies;
    status = choose_depth(e);
    if (status < 0)
        return status;
    status =
        fdl_window_create(2 * FDL_MAX_IO_DEPTH + FDL_MAX_WORKERS,
                          e->config.max_file_bytes, resolve, e, &e->window);
    if (status < 0)
        return status;
    choose_cache(e);
    e->chunks =
        fdl_remote_cache_open(&e->options, e->dataset, e->config.memory_budget);
    fdl_window_remote(e->window)->chunks = e->chunks;
    if (gathers(e))
        fdl_window_set_peek(e->window, peek);
    fdl_window_direct(e->window)->mode = choose_direct(e);
    return FEEDLINE_OK;
}

/* Without one images are decoded as ever. */
static void make_entries(struct fdl_engine *e)
{
    const struct fdl_options *o = &e->options;
    const feedline_dataset *ds = e->dataset;
    int64_t asked = fdl_option_int(o, FDL_OPT_JPEG_INDEX);
    bool always = asked == FDL_JPEG_INDEX_TRUE;
    uint64_t budget = option_u64(o, FDL_OPT_JPEG_INDEX_BUDGET);
    if (asked == FDL_JPEG_INDEX_FALSE || e->is_encoded || ds->raw_width > 0)
        return;
    if (budget == 0)
        budget = fdl_machine_get()->memory_limit_bytes / JPEG_INDEX_PART /
                 fdl_options_local_world(o);
    e->entries =
        fdl_entry_store_create(ds->count, budget, ds->fingerprint, always);
    if (!always && e->entries && e->config.epochs == 1 &&
        !fdl_entry_store_is_old(e->entries)) {
        fdl_entry_store_destroy(e->entries);
        e->entries = NULL;
    }
}

static int32_t make_stages(struct fdl_engine *e)
{
    size_t bytes = FDL_MAX_IO_DEPTH * sizeof(*e->read_stages);
    e->read_stages = fdl_pages_alloc(bytes);
    return e->read_stages ? FEEDLINE_OK
                          : fdl_fail_memory(bytes, "read counters");
}

/* Everything, of options and pipeline that are copied. */
static int32_t make_parts(struct fdl_engine *e,
                          const struct fdl_backend_ops *ops,
                          const struct fdl_backend_config *given)
{
    struct fdl_backend_config config = *given;
    int32_t status = choose_affinity(e, given);
    if (status < 0)
        return status;
    read_config(e);
    status = choose_views(e);
    if (status >= 0)
        status = choose_masks(e);
    if (status >= 0 && !e->no_pixels)
        status = check_objects(e);
    if (status >= 0)
        status = make_sampler(e);
    if (status >= 0)
        status = make_order(e);
    if (status >= 0)
        status = make_path(e, ops, &config);
    if (status >= 0)
        status = make_stages(e);
    if (status >= 0)
        make_entries(e);
    if (status >= 0 && e->is_recorded)
        status = fdl_pixel_store_create(FEEDLINE_KEPT_BYTES_MAX, &e->pixels);
    return status;
}

int32_t fdl_engine_create(const struct fdl_options *options,
                          feedline_dataset *ds, const struct fdl_pipeline *p,
                          const struct fdl_backend_ops *backend_ops,
                          const struct fdl_backend_config *backend_config,
                          const struct fdl_observer *observer,
                          struct fdl_engine **out)
{
    struct fdl_engine *e = fdl_alloc_aligned(sizeof(*e));
    if (!e)
        return fdl_fail_memory(sizeof(*e), "an engine");
    memset(e, 0, sizeof(*e));
    if (observer)
        e->observer = *observer;
    fdl_nvtx_init();
    fdl_lock_init(&e->run_lock, FDL_RANK_RUN);
    fdl_lock_init(&e->settings, FDL_RANK_SETTINGS);
    fdl_dataset_ref(ds);
    e->dataset = ds;
    e->gpu = backend_ops->device == FEEDLINE_CUDA
                 ? (int32_t)backend_config->device
                 : -1;

    int32_t status = fdl_failures_init(&e->failures);
    if (status >= 0)
        status = fdl_pool_init(&e->pool);
    if (status >= 0)
        status = fdl_options_copy(&e->options, options);
    if (status >= 0)
        status = fdl_pipeline_copy(p, &e->pipeline);
    if (status >= 0)
        status = make_parts(e, backend_ops, backend_config);
    if (status < 0) {
        fdl_engine_destroy(e);
        return status;
    }
    *out = e;
    return FEEDLINE_OK;
}

void fdl_engine_destroy(struct fdl_engine *e)
{
    if (!e)
        return;
    fdl_pool_fini(&e->pool);
    fdl_window_destroy(e->window);
    fdl_chunk_cache_close(e->chunks);
    fdl_entry_keeper_stop(&e->keeper);
    fdl_entry_store_destroy(e->entries);
    fdl_pixel_store_destroy(e->pixels);
    fdl_ring_unref(e->ring);
    fdl_given_destroy(e->given);
    fdl_pages_free(e->read_stages, FDL_MAX_IO_DEPTH * sizeof(*e->read_stages));
    fdl_pipeline_destroy(e->pipeline);
    fdl_options_fini(&e->options);
    fdl_failures_fini(&e->failures);
    fdl_dataset_unref(e->dataset);
    fdl_lock_destroy(&e->settings);
    fdl_lock_destroy(&e->run_lock);
    free(e);
}
