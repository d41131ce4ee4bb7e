/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers: take the oldest sample whose bytes are there, decode and augment it
 * straight into its place in its batch, count it, repeat. No lock, no
 * allocation and no system call on that path, except for a wait when there is
 * nothing to do.
 *
 * Time stamps are shared: the end of one step is the start of the next, so a
 * sample costs the worker two clock reads in addition to the decoder's.
 */
#include "loader/stream/worker.h"

#include "base/atomic.h"
#include "base/clock.h"
#include "base/philox.h"
#include "base/thread.h"
#include "decode/pipeline.h"
#include "loader/read/read_bytes.h"
#include "loader/read/reader_file.h"
#include "loader/stream/engine_own.h"
#include "loader/stream/slot_fields.h"
#include "loader/stream/slot_jobs.h"
#include "loader/stream/slot_mix.h"
#include "loader/stream/slot_objects.h"
#include "loader/stream/worker_fields.h"
#include "loader/stream/worker_jobs.h"
#include "loader/stream/worker_recorded.h"
#include "transfer/nvtx.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Replacements tried for one damaged sample, each drawn anew. With a tenth of
 * the data set damaged, 16 in a row fail once in 10^16. */
#define REPLACEMENT_ATTEMPTS 16

/* ---- One sample --------------------------------------------------------- */

/* Renders one view of the open image, or all that share their draws. */
static int32_t render_view(struct fdl_worker *w, const struct fdl_draw_key *key,
                           const struct fdl_image_info *info, feedline_batch *b,
                           uint32_t place, struct fdl_render_cost *cost)
{
    const struct fdl_layout *layout = b->layout;
    struct fdl_output_format format = layout->format;
    struct fdl_plan plan;
    void *dst;
    int32_t status = fdl_pipeline_draw(w->engine->pipeline, key, info->width,
                                       info->height, &plan);
    if (layout->chains)
        format = layout->view[key->view].format;
    if (status >= 0 && fdl_layout_is_various(layout)) {
        format.width = fdl_plan_width(&plan);
        format.height = fdl_plan_height(&plan);
    }
    if (status >= 0 && layout->left_bytes > 0)
        fdl_slot_leave(b, place, &plan, &format, &dst);
    else if (status >= 0)
        status = fdl_slot_claim(b, place, &format, &dst);
    return status < 0
               ? status
               : fdl_decoder_render(w->decoder, &plan, &format, dst, cost);
}

/* What all views together need of the image. */
static int32_t needed_box(const struct fdl_worker *w, struct fdl_draw_key key,
                          uint32_t views, const struct fdl_image_info *info,
                          struct fdl_box *out)
{
    struct fdl_plan plan;
    for (uint32_t v = 0; v < views; v++) {
        key.view = (int32_t)v;
        int32_t status = fdl_pipeline_draw(w->engine->pipeline, &key,
                                           info->width, info->height, &plan);
        if (status < 0)
            return status;
        if (v == 0)
            *out = plan.geometry.box;
        fdl_box_join(out, &plan.geometry.box);
    }
    return FEEDLINE_OK;
}

/* Decoded once, with each view's plan drawn twice: it depends on nothing but
 * the key. */
static int32_t render_chains(struct fdl_worker *w, struct fdl_draw_key key,
                             const struct fdl_image_info *info,
                             feedline_batch *b, uint32_t place,
                             struct fdl_render_cost *cost)
{
    uint32_t views = b->layout->views;
    struct fdl_render_cost sum = {0}, one = {0};
    struct fdl_box box;
    int32_t status = needed_box(w, key, views, info, &box);
    if (status >= 0)
        status = fdl_decoder_keep(w->decoder, &box, b->layout->format.channels,
                                  &sum);
    for (uint32_t v = 0; v < views && status >= 0; v++) {
        key.view = (int32_t)v;
        status = render_view(w, &key, info, b, place + v, &one);
        sum.augment_ns += one.decode_ns + one.augment_ns;
        sum.clock_reads += one.clock_reads;
        sum.truncated |= one.truncated;
    }
    if (status >= 0)
        *cost = sum;
    return status;
}

/* For a device that decodes, as far as it can. */
static int32_t place_for_device(struct fdl_worker *w,
                                const struct fdl_draw_key *key,
                                const struct fdl_image_info *info,
                                struct fdl_encoded *encoded, feedline_batch *b,
                                uint32_t place, struct fdl_render_cost *cost)
{
    const struct fdl_engine *e = w->engine;
    const struct fdl_job_tools tools = {
        .decoder = w->decoder,
        .entries = e->entries,
        .notes = w->notes,
        .payload = w->payload,
        .payload_bytes = w->payload_bytes,
        .jobs = fdl_load(&e->decode.device),
        .checks = e->config.checksums != FDL_CHECKSUMS_FALSE,
    };
    struct fdl_plan plan;
    int32_t status =
        fdl_pipeline_draw(e->pipeline, key, info->width, info->height, &plan);
    return status < 0 ? status
                      : fdl_worker_place_image(&tools, encoded, key->sample,
                                               &plan, b, place, cost);
}

/* Opens the image of the sample in r and renders it; objects may be NULL. */
static int32_t render_image(struct fdl_worker *w, const struct fdl_read *r,
                            struct fdl_laid_objects *objects, feedline_batch *b,
                            uint32_t place, struct fdl_render_cost *cost)
{
    const struct fdl_engine *e = w->engine;
    struct fdl_encoded encoded;
    struct fdl_image_info info;
    fdl_read_pad(r);
    fdl_read_encoded(r, &encoded);
    fdl_entry_store_begin(e->entries, r->index, w->notes, &encoded);
    int32_t status = fdl_decoder_open(w->decoder, &encoded, &info);
    if (status < 0)
        return status;
    if (r != &w->spare) {
        w->made.width = (uint32_t)info.width;
        w->made.height = (uint32_t)info.height;
    }
    struct fdl_draw_key key = {
        .seed = fdl_engine_seed(e),
        .epoch = r->epoch,
        .sample = r->index,
        .copy = r->copy,
        .view = FDL_EVERY_VIEW,
        .channels = b->layout->format.channels,
        .objects = objects ? &objects->objects : NULL,
    };
    if (b->layout->jobs)
        status = place_for_device(w, &key, &info, &encoded, b, place, cost);
    else if (b->layout->chains)
        status = render_chains(w, key, &info, b, place, cost);
    else
        status = render_view(w, &key, &info, b, place, cost);
    fdl_decoder_abort(w->decoder);
    fdl_entry_store_end(e->entries, r->index, w->notes, cost);
    if (status < 0 || !w->masks)
        return status;
    if (objects) /* draws may depend on where they were */
        fdl_slot_objects_lay(w->engine->dataset, r->index, objects);
    return fdl_worker_render_mask(w, &key, &info, b, place, cost);
}

/* What was made of a sample that is replaced does not count. */
static int32_t render_recorded(struct fdl_worker *w, const struct fdl_read *r,
                               struct fdl_render_cost *cost)
{
    const struct fdl_recorded_tools tools = {w->decoder, w->engine->entries,
                                             w->notes, &w->recorded,
                                             w->engine->pixels};
    w->made = (struct fdl_recorded_made){0};
    return fdl_worker_render_recorded(&tools, r, cost, &w->made);
}

/* Renders the sample in r to its place; the detail is this thread's error line.
 */
static int32_t render(struct fdl_worker *w, const struct fdl_read *r,
                      feedline_batch *b, uint32_t place,
                      struct fdl_render_cost *cost)
{
    const struct fdl_engine *e = w->engine;
    struct fdl_laid_objects objects;
    bool has_objects = e->ring->kind.has_objects;
    if (r->status < 0)
        return fdl_fail(r->status, "%s", r->reason);
    int32_t status = r->verified
                         ? FEEDLINE_OK
                         : fdl_read_verify(e->dataset, r, e->is_encoded);
    if (status >= 0 && e->ring->kind.fields.n > 0)
        status = fdl_worker_take_fields(w, r, b, place);
    if (status >= 0 && has_objects)
        status =
            fdl_slot_objects_take(w->engine->dataset, r->index, b, &objects);
    if (status >= 0 && e->is_recorded)
        status = render_recorded(w, r, cost);
    else if (status >= 0 && !e->is_encoded)
        status =
            render_image(w, r, has_objects ? &objects : NULL, b, place, cost);
    if (status >= 0 && has_objects)
        fdl_slot_objects_put(w->engine->dataset, r->index, b, place, &objects);
    return status;
}

static uint64_t record_failure(struct fdl_worker *w, const struct fdl_read *r,
                               int32_t status)
{
    struct fdl_failures *all = &w->engine->failures;
    struct feedline_failure failure = {
        .status = status,
        .epoch = r->epoch,
        .sample_index = (int64_t)r->index,
        .reason = fdl_last_error(),
    };
    /* A name may be made for it, and lives as long as the data set. */
    if (fdl_failures_count(all) < FDL_FAILURES_KEPT)
        failure.path = fdl_dataset_name(w->engine->dataset, r->index);
    return fdl_failures_add(all, &failure);
}

/* Bytes of the data set's sample `index`, until fdl_read_release. */
static void read_spare(struct fdl_worker *w, const struct fdl_read *like,
                       uint64_t index)
{
    struct fdl_read *spare = &w->spare;
    spare->index = index;
    spare->epoch = like->epoch;
    spare->copy = like->copy;
    spare->ticket = like->ticket;
    spare->place = like->place;
    spare->status = FEEDLINE_OK;
    fdl_progress_enter(&w->at, like, index, FDL_STEP_READ);
    fdl_engine_locate(w->engine, index, &spare->source);
    if (spare->source.data) {
        spare->data = spare->source.data;
        spare->size = spare->readable = (uint64_t)spare->source.length;
        return;
    }
    fdl_read_file(w->engine->window, spare);
}

/* Reports the cost of the previous attempt, which belongs to no other. */
static void begin_attempt(struct fdl_worker *w, struct fdl_render_cost *cost)
{
    const struct fdl_observer *o = &w->engine->observer;
    if (o->attempt)
        o->attempt(w->books, cost);
    memset(cost->custom, 0, sizeof(cost->custom));
}

static int32_t replace(struct fdl_worker *w, const struct fdl_read *r,
                       feedline_batch *b, struct fdl_render_cost *cost)
{
    struct fdl_engine *e = w->engine;
    uint32_t place = r->place;
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; i < REPLACEMENT_ATTEMPTS; i++) {
        uint64_t index =
            fdl_sampler_replacement(&e->sampler, r->epoch, r->index, i);
        read_spare(w, r, index);
        fdl_progress_enter(&w->at, r, index, FDL_STEP_DECODE);
        begin_attempt(w, cost);
        status = render(w, &w->spare, b, place, cost);
        fdl_read_release(e->window, &w->spare);
        if (status >= 0) {
            fdl_slot_describe(b, place, fdl_dataset_label(e->dataset, index),
                              index, FEEDLINE_REPLACED);
            return FEEDLINE_OK;
        }
    }
    return fdl_fail(status, "%s, and %d replacements drawn for it failed too",
                    fdl_last_error(), REPLACEMENT_ATTEMPTS);
}

/* Ends the batch with this thread's error line, after the path. */
static void end_batch(const struct fdl_worker *w, feedline_batch *b,
                      const struct fdl_read *r, int32_t status)
{
    fdl_fail(status, "%s: %s", fdl_dataset_name(w->engine->dataset, r->index),
             fdl_last_error());
    fdl_ring_sample_error(b, r->place, status, fdl_last_error());
}

/* Applies on_error. The error line still describes the failure. */
static void handle_failure(struct fdl_worker *w, const struct fdl_read *r,
                           feedline_batch *b, int32_t status,
                           struct fdl_render_cost *cost)
{
    struct fdl_engine *e = w->engine;
    uint64_t total = record_failure(w, r, status);
    if (e->config.max_failures && total > e->config.max_failures) {
        fdl_fail(status,
                 "%s; with it %" PRIu64 " samples failed, more than "
                 "max_failures=%" PRIu64,
                 fdl_last_error(), total, e->config.max_failures);
        end_batch(w, b, r, status);
        return;
    }
    switch (e->config.on_error) {
    case FDL_ON_ERROR_RAISE:
        end_batch(w, b, r, status);
        break;
    case FDL_ON_ERROR_ZERO:
        if (b->layout->jobs)
            fdl_slot_blank_job(b, r->place);
        else
            fdl_slot_blank(b, r->place);
        fdl_slot_fields_blank(b, r->place);
        fdl_slot_describe(b, r->place, fdl_dataset_label(e->dataset, r->index),
                          r->index, status);
        break;
    case FDL_ON_ERROR_SKIP:
        status = replace(w, r, b, cost);
        if (status < 0)
            end_batch(w, b, r, status);
        break;
    }
}

/* Collects a sample's record before its entry in the window is free. */
static void describe(const struct fdl_worker *w, const struct fdl_read *r,
                     const feedline_batch *b, struct fdl_sample_record *out)
{
    const struct fdl_output_format *f = &b->layout->format;
    const struct fdl_recorded_made *m = &w->made;
    uint64_t pixel = (uint64_t)f->channels * fdl_dtype_bytes(f->dtype);
    bool recorded = w->engine->is_recorded;
    *out = (struct fdl_sample_record){
        .ticket = r->ticket,
        .epoch = r->epoch,
        .sequence = b->range.sequence,
        .index = r->index,
        .place = r->place / w->engine->config.views,
        .width = m->width,
        .height = m->height,
        .bytes = r->size,
        .made = recorded ? m->bytes : fdl_slot_sample_bytes(b, r->place),
        .source = recorded ? m->source : (uint64_t)m->width * m->height,
        .output =
            recorded ? m->output : fdl_slot_sample_bytes(b, r->place) / pixel,
        .read_start = fdl_load(&r->times->read_start),
        .read_done = fdl_load(&r->times->read_done),
    };
}

/* The last pass of the images that can be made now: its time is that of the
 * sample which they waited for. */
static void mix(feedline_batch *b, uint32_t place, struct fdl_render_cost *cost)
{
    int64_t begin = fdl_now_ns();
    fdl_slot_mix(b, place);
    cost->mix_ns += fdl_now_ns() - begin;
    cost->clock_reads += 2;
}

static void work_on(struct fdl_worker *w, struct fdl_read *r, int64_t begin)
{
    struct fdl_engine *e = w->engine;
    feedline_batch *b = fdl_ring_slot(e->ring, r->ticket);
    struct fdl_render_cost cost = {0};
    struct fdl_sample_times *times = r->times;
    struct fdl_sample_record record;
    w->made = (struct fdl_recorded_made){0};
    fdl_progress_enter(&w->at, r, r->index, FDL_STEP_DECODE);
    atomic_store_explicit(&times->work_start, begin, memory_order_relaxed);
    fdl_nvtx_push(FDL_NVTX_DECODE, r->ticket, 1);
    int32_t status = render(w, r, b, r->place, &cost);
    if (status < 0)
        handle_failure(w, r, b, status, &cost);
    if (b->layout->classes > 0)
        mix(b, r->place, &cost);
    fdl_nvtx_pop();
    describe(w, r, b, &record);
    fdl_window_free(e->window, r);

    record.begin = begin;
    record.end = fdl_now_ns();
    record.cost = &cost;
    record.failed = status < 0;
    fdl_progress_leave(&w->at);
    fdl_timebook_mark(&w->time, record.end);
    atomic_store_explicit(&times->work_done, record.end, memory_order_relaxed);
    uint64_t scratch = fdl_decoder_memory(w->decoder) + w->payload_bytes +
                       fdl_recorded_memory_bytes(&w->recorded);
    if (w->masks)
        scratch += fdl_decoder_memory(w->masks);
    atomic_store_explicit(&w->scratch_bytes, scratch, memory_order_relaxed);
    if (e->observer.sample)
        e->observer.sample(w->books, &record);
    fdl_ring_sample_done(b, record.place);
}

/* ---- The thread --------------------------------------------------------- */

static bool is_parked(const struct fdl_worker *w)
{
    const struct fdl_pool *pool = &w->engine->pool;
    /* acquire: pairs with fdl_pool_set_active, for the event's sake. */
    return w->id >= atomic_load_explicit(&pool->active, memory_order_acquire);
}

static bool is_stopping(const struct fdl_worker *w)
{
    return fdl_window_is_closed(w->engine->window);
}

/* The window's waker wakes one worker, and each that claims a sample the next
 * one, before it reads: all are awake before the first file is there. */
static void wake_next(struct fdl_worker *w)
{
    struct fdl_window *window = w->engine->window;
    if (fdl_window_has_room(window))
        fdl_event_notify(fdl_window_ready(window), 1);
}

/* Claims the next sample and reads it on this thread. */
static bool read_one(struct fdl_worker *w)
{
    struct fdl_engine *e = w->engine;
    struct fdl_read *r = fdl_window_claim(e->window);
    if (!r)
        return false;
    wake_next(w);
    enum fdl_spent before = fdl_timebook_begin(&w->time, FDL_SPENT_READ);
    fdl_progress_enter(&w->at, r, r->index, FDL_STEP_READ);
    e->reader_ops->read_now(e->reader, r);
    fdl_progress_leave(&w->at);
    if (r->status < 0)
        fdl_counter_add(&w->read.errors, 1);
    uint64_t bytes = r->size, ahead = r->ahead;
    int64_t busy = fdl_timebook_mark(&w->time, fdl_now_ns());
    fdl_timebook_begin(&w->time, before);
    /* From here on another worker may own it, and its stamps may be those of
     * another batch. */
    fdl_window_complete(e->window, r);
    fdl_stage_item(&w->read, busy, bytes);
    fdl_stage_read(&w->read, busy, bytes, ahead);
    fdl_stage_storage(&w->read);
    fdl_counter_add(&w->read.clock_reads, 3);
    return true;
}

/* The next sample, from the window or, with a reader that has no threads,
 * straight from the sampler. */
static struct fdl_read *take(struct fdl_worker *w)
{
    struct fdl_engine *e = w->engine;
    struct fdl_read *r = fdl_window_take(e->window);
    if (r || !e->reader_ops->read_now)
        return r;
    while (!r && read_one(w))
        r = fdl_window_take(e->window);
    return r;
}

static void park(struct fdl_worker *w)
{
    struct fdl_engine *e = w->engine;
    /* Passes on a wake-up that was meant for a worker. */
    fdl_event_notify(fdl_window_ready(e->window), 1);
    fdl_timebook_begin(&w->time, FDL_SPENT_PARKED);
    uint32_t key = fdl_event_prepare(&e->pool.unpark);
    if (!is_parked(w) || is_stopping(w))
        fdl_event_cancel(&e->pool.unpark);
    else
        fdl_event_wait(&e->pool.unpark, key, -1);
    fdl_timebook_mark(&w->time, fdl_now_ns());
    fdl_timebook_begin(&w->time, FDL_SPENT_WORK);
}

/* Sleeps until there may be work; returns a sample that came in between. */
static struct fdl_read *wait_for_work(struct fdl_worker *w)
{
    struct fdl_window *window = w->engine->window;
    struct fdl_event *ready = fdl_window_ready(window);
    bool starved = fdl_window_has_reads(window);
    fdl_timebook_begin(&w->time,
                       starved ? FDL_SPENT_STARVED : FDL_SPENT_BLOCKED);
    uint32_t key = fdl_event_prepare(ready);
    struct fdl_read *r = take(w);
    if (r || is_parked(w) || is_stopping(w))
        fdl_event_cancel(ready);
    else
        fdl_event_wait(ready, key, -1);
    /* What take() read here is already attributed. */
    int64_t waited = fdl_timebook_mark(&w->time, fdl_now_ns());
    fdl_timebook_begin(&w->time, FDL_SPENT_WORK);
    if (w->engine->observer.waited)
        w->engine->observer.waited(w->books, waited, starved);
    return r;
}

static void work_until_stopped(struct fdl_worker *w)
{
    while (!is_stopping(w)) {
        if (is_parked(w)) {
            park(w);
            continue;
        }
        struct fdl_read *r = take(w);
        if (!r)
            r = wait_for_work(w);
        /* Not before its bytes were there: this thread may have read them. */
        if (r) {
            int64_t now = fdl_timebook_stamp(&w->time);
            work_on(w, r, FDL_MAX(now, fdl_load(&r->times->read_done)));
        }
    }
}

static void begin_thread(struct fdl_worker *w)
{
    fdl_timebook_open(&w->time, FDL_SPENT_WORK, fdl_now_ns());
    fdl_lock(&w->engine->settings);
    pthread_getcpuclockid(pthread_self(), &w->cpu_clock);
    atomic_store_explicit(&w->tid, fdl_thread_id(), memory_order_relaxed);
    fdl_unlock(&w->engine->settings);
}

static void end_thread(struct fdl_worker *w)
{
    fdl_progress_leave(&w->at);
    fdl_lock(&w->engine->settings);
    uint64_t cpu_ns = fdl_load(&w->past_cpu_ns) + (uint64_t)fdl_thread_cpu_ns();
    /* release: pairs with fdl_engine_worker_thread; whoever sees this thread's
     * time there does not see its id any more. */
    atomic_store_explicit(&w->tid, 0, memory_order_relaxed);
    atomic_store_explicit(&w->past_cpu_ns, cpu_ns, memory_order_release);
    w->died_ns = fdl_now_ns();
    fdl_timebook_close(&w->time, w->died_ns);
    /* release: pairs with life_of; died_ns is there. */
    atomic_store_explicit(&w->life, FDL_WORKER_DONE, memory_order_release);
    fdl_unlock(&w->engine->settings);
    fdl_event_notify(&w->engine->pool.ended, UINT32_MAX);
}

static const char *operation_of(const struct fdl_worker *w)
{
    uint32_t step = atomic_load_explicit(&w->at.step, memory_order_relaxed);
    if (step < FDL_STEP_CUSTOM)
        return "another place";
    return fdl_pipeline_custom_name(w->engine->pipeline,
                                    step - FDL_STEP_CUSTOM);
}

/* The thread ends here unexpectedly: a custom operation called pthread_exit, or
 * let itself be cancelled. Its batch will never be complete, so next() ends the
 * run with this reason. */
static void exit_early(void *arg)
{
    struct fdl_worker *w = arg;
    struct fdl_engine *e = w->engine;
    fdl_read_release(e->window, &w->spare);
    w->exited_in = operation_of(w);
    end_thread(w);
    /* release: pairs with fdl_pool_exited. */
    atomic_store_explicit(&e->pool.exited, w, memory_order_release);
    fdl_event_notify(&e->ring->ready, UINT32_MAX);
}

void *fdl_worker_main(void *arg)
{
    struct fdl_worker *w = arg;
    int before;
    /* It cannot be ended in the middle of our own code. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    begin_thread(w);
    pthread_cleanup_push(exit_early, w);
    work_until_stopped(w);
    pthread_cleanup_pop(0);
    end_thread(w);
    return NULL;
}
