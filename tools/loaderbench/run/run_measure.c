/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer. What it measures begins when the last batch of the warm-up has
 * been given back and ends when the last batch has: each measured batch then
 * has its whole period in the time, however deep the loader works ahead.
 * On a GPU what was queued is waited for at both ends.
 */
#include "tools/loaderbench/library.h"
#include "tools/loaderbench/run/hash.h"
#include "tools/loaderbench/run/run.h"
#include "tools/loaderbench/run/run_consumer.h"
#include "tools/loaderbench/tool_progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PROGRESS_SECONDS 0.2
#define STATE_BYTES      512 /* a saved state has less than 256 */
#define AHEAD            64  /* steps of a kept batch queued on a GPU */

struct measure {
    struct run_setup *setup;
    struct run_counts *counts;
    feedline_loader *loader;
    struct stream_hash *hash; /* NULL without --sink hash */
    struct run_consumer consumer;
    struct timeline timeline;

    feedline_batch *kept; /* for setup->again; NULL: not yet */

    uint64_t epochs; /* to end after; 0: no limit  */
    uint64_t epoch_batches;
    uint64_t batches; /* to end after, with warm-up */
    uint64_t delivered;
    uint64_t epoch;          /* of the last batch */
    double created;          /* the loader */
    double begin, cpu_begin; /* of what is measured */
    double progress;         /* next time to show some */
    bool resumed, finished;
    bool enough; /* for who looks on */
};

static void begin_measuring(struct measure *m)
{
    m->counts->images = 0;
    m->counts->batches = 0;
    m->begin = tool_seconds();
    m->counts->begin_seconds = m->begin - m->created;
    m->cpu_begin = tool_cpu_seconds();
    timeline_begin(&m->timeline, m->begin);
}

/* From the statuses of what was delivered: the loader's own counters run ahead
 * of that. */
static void count_samples(struct measure *m,
                          const struct feedline_batch_info *info)
{
    m->counts->images += info->count;
    m->counts->batches++;
    m->counts->samples += info->count / info->views;
    for (uint32_t i = 0; i < info->count; i += info->views)
        m->counts->failed_samples += info->sample_status[i] != FEEDLINE_OK;
}

static int open_loader(struct measure *m)
{
    struct run_setup *s = m->setup;
    int32_t status =
        feedline_loader_create(s->config, s->dataset, s->pipeline, &m->loader);
    if (status < 0)
        return tool_setup_failed(status);
    m->created = tool_seconds();
    tool_watch_loader(m->loader);
    return run_consumer_join(&m->consumer, m->loader);
}

static void close_loader(struct measure *m)
{
    tool_watch_loader(NULL);
    if (m->loader)
        run_json_failures(m->loader, m->epoch, m->setup->failures);
    feedline_loader_destroy(m->loader);
    m->loader = NULL;
    tool_drain_log();
}

/* --resume-at: what a restarted training job does. */
static int resume(struct measure *m)
{
    char state[STATE_BYTES];
    uint64_t needed;
    m->resumed = true;
    int32_t status =
        feedline_loader_save(m->loader, state, sizeof(state), &needed);
    if (status < 0)
        return tool_run_failed(status);
    close_loader(m);
    int rc = open_loader(m);
    if (rc != TOOL_DONE)
        return rc;
    status = feedline_loader_restore(m->loader, state);
    uint64_t epoch = 0, position = 0;
    if (status >= 0)
        status = feedline_loader_get_position(m->loader, &epoch, &position);
    if (status < 0)
        return tool_run_failed(status);
    /* The first loader's END was still to come; the second begins after it. */
    m->finished = m->epochs && epoch >= m->epochs;
    return TOOL_DONE;
}

/* The limits of the run, once the length of an epoch is known. A run that is
 * no longer than its warm-up is measured from its beginning. */
static int set_limits(struct measure *m)
{
    const struct run_options *o = &m->setup->options;
    struct feedline_epoch_info epoch = {.struct_size = sizeof(epoch)};
    int32_t status = feedline_loader_get_epoch_info(m->loader, &epoch);
    if (status < 0)
        return tool_setup_failed(status);
    m->epochs = o->epochs;
    m->epoch_batches = epoch.batches;
    m->counts->warmup_batches = o->warmup;
    if (o->epochs &&
        (double)o->warmup >= (double)o->epochs * (double)epoch.batches)
        m->counts->warmup_batches = 0;
    m->batches = o->batches ? o->batches + m->counts->warmup_batches : 0;
    return TOOL_DONE;
}

/* Of what is measured, by the limit that comes first; NAN within the warm-up,
 * whose length says nothing. */
static double part_done(const struct measure *m, double seconds)
{
    const struct run_options *o = &m->setup->options;
    uint64_t warmup = m->counts->warmup_batches;
    double part = 0, done = (double)m->counts->batches;
    double epochs = (double)m->epochs * (double)m->epoch_batches;
    if (m->delivered <= warmup && warmup > 0)
        return (double)NAN;
    if (o->seconds > 0)
        part = seconds / o->seconds;
    if (m->batches)
        part = fmax(part, done / (double)(m->batches - warmup));
    if (epochs > (double)warmup)
        part = fmax(part, done / (epochs - (double)warmup));
    return part;
}

static void show_progress(struct measure *m)
{
    double now = tool_seconds();
    if (now < m->progress || m->setup->watch)
        return; /* who looks on shows more */
    m->progress = now + PROGRESS_SECONDS;
    double seconds = now - m->begin;
    char rest[PROGRESS_REST];
    const struct run_part *of = &m->setup->part;
    double part = part_done(m, seconds);
    if (of->size > 0)
        progress_rest(of->from + (isnan(part) ? 0 : fmin(part, 1) * of->size),
                      of->begin, rest);
    else
        progress_rest(part, m->begin, rest);
    progress_line("%s%" PRIu64 " images, %.0f images/s%s", m->setup->label,
                  m->counts->images,
                  seconds > 0 ? (double)m->counts->images / seconds : 0, rest);
}

static void clear_progress(const struct measure *m)
{
    if (m->progress > 0)
        progress_line("%s", "");
}

/* From here on the batch is all that there is: the loader does nothing. */
static int keep(struct measure *m, feedline_batch *batch)
{
    m->kept = batch;
    int32_t status = feedline_loader_stop(m->loader);
    return status < 0 ? tool_run_failed(status) : TOOL_DONE;
}

/* The step. Nothing but the loader's slots would keep the host from queueing
 * far ahead of a GPU. */
static int take(struct measure *m, feedline_batch *batch, double delivered)
{
    bool last = m->delivered + 1 >= m->counts->warmup_batches;
    if (!m->setup->again || !last)
        return run_consumer_take(&m->consumer, batch, delivered);
    int rc = m->kept ? TOOL_DONE : keep(m, batch);
    if (rc == TOOL_DONE)
        rc = run_consumer_work(&m->consumer, batch, delivered);
    if (rc == TOOL_DONE && m->delivered % AHEAD == 0)
        rc = run_consumer_drain(&m->consumer);
    return rc;
}

static int32_t next(struct measure *m, feedline_batch **out)
{
    *out = m->kept;
    return m->kept ? FEEDLINE_OK : feedline_loader_next(m->loader, -1, out);
}

static int consume(struct measure *m, feedline_batch *batch)
{
    double delivered = tool_seconds();
    struct feedline_batch_info info = {.struct_size = sizeof(info)};
    int32_t status = feedline_batch_get_info(batch, &info);
    if (status == FEEDLINE_OK && m->hash)
        status = stream_hash_add(m->hash, batch, &info);
    if (status < 0) {
        if (batch != m->kept)
            feedline_batch_release(batch);
        return tool_run_failed(status);
    }
    m->epoch = info.epoch;
    count_samples(m, &info);
    int rc = take(m, batch, delivered);
    if (rc != TOOL_DONE)
        return rc;

    m->delivered++;
    if (m->delivered == m->counts->warmup_batches) {
        rc = run_consumer_drain(&m->consumer);
        if (rc != TOOL_DONE)
            return rc;
        feedline_loader_reset_stats(m->loader);
        begin_measuring(m);
    }
    if (m->delivered > m->counts->warmup_batches)
        timeline_note(&m->timeline, m->loader, tool_seconds(),
                      m->counts->images);
    show_progress(m);
    const struct run_watch *watch = m->setup->watch;
    if (watch && m->delivered > m->counts->warmup_batches)
        m->enough = watch->batch(watch->self, m->loader,
                                 tool_seconds() - m->begin, m->counts->images);
    return TOOL_DONE;
}

static int consume_in_turn(struct measure *m, feedline_batch *batch)
{
    pthread_mutex_t *turn = m->setup->turn;
    if (turn)
        pthread_mutex_lock(turn);
    int rc = consume(m, batch);
    if (turn)
        pthread_mutex_unlock(turn);
    return rc;
}

static bool at_limit(const struct measure *m)
{
    const struct run_options *o = &m->setup->options;
    if (m->finished || m->enough || (m->batches && m->delivered >= m->batches))
        return true;
    return o->seconds > 0 && m->delivered > m->counts->warmup_batches &&
           tool_seconds() - m->begin >= o->seconds;
}

/* Until a limit, Ctrl-C or an error. */
static int consume_all(struct measure *m, double created)
{
    const struct run_options *o = &m->setup->options;
    while (!at_limit(m)) {
        feedline_batch *batch = NULL;
        int32_t status = next(m, &batch);
        if (status == FEEDLINE_OK) {
            if (!m->delivered)
                m->counts->first_batch_seconds = tool_seconds() - created;
            int rc = consume_in_turn(m, batch);
            if (rc == TOOL_DONE && !m->resumed && o->resume_at &&
                m->delivered == o->resume_at)
                rc = resume(m);
            if (rc != TOOL_DONE)
                return rc;
        } else if (status == FEEDLINE_END) {
            if (m->epoch + 1 == m->epochs)
                break;
        } else if (status < 0) {
            clear_progress(m);
            return tool_run_failed(status);
        }
        if (tool_interrupted()) {
            m->counts->interrupted = true;
            break;
        }
    }
    return TOOL_DONE;
}

/* While there is the loader that it is about. */
static void make_table(struct run_setup *setup, feedline_loader *l)
{
    const char *by = setup->options.table;
    struct library_table table = {l, by};
    if (!by)
        return;
    if (strcmp(by, "path") == 0)
        table.sort_by = NULL;
    free(setup->table);
    library_text(LIBRARY_TABLE, &table, &setup->table);
}

int run_measure(struct run_setup *setup, json_t **out,
                struct run_counts *counts)
{
    struct measure m = {.setup = setup, .counts = counts};
    memset(counts, 0, sizeof(*counts));
    timeline_init(&m.timeline);
    *out = NULL;
    int rc = run_consumer_init(&m.consumer, setup->device,
                               setup->options.consumer_ms);
    m.consumer.in_series = setup->turn != NULL;
    double created = tool_seconds();
    if (rc == TOOL_DONE)
        rc = open_loader(&m);
    if (rc == TOOL_DONE)
        rc = set_limits(&m);
    if (rc == TOOL_DONE && setup->options.sink &&
        strcmp(setup->options.sink, "hash") == 0) {
        m.hash = stream_hash_create();
        if (!m.hash)
            rc = tool_no_memory();
    }
    if (rc != TOOL_DONE)
        goto out;
    begin_measuring(&m);
    rc = consume_all(&m, created);
    if (rc == TOOL_DONE)
        rc = run_consumer_drain(&m.consumer);
    if (rc != TOOL_DONE)
        goto out;
    counts->seconds = tool_seconds() - m.begin;
    counts->cpu_seconds = tool_cpu_seconds() - m.cpu_begin;
    clear_progress(&m);
    /* Stopped within the warm-up: nothing was measured. */
    if (m.delivered < counts->warmup_batches)
        counts->images = counts->batches = 0;
    else
        timeline_end(&m.timeline, m.loader, m.begin + counts->seconds,
                     counts->images);
    if (m.hash)
        stream_hash_text(m.hash, counts->hash);
    *out = run_json_one(m.loader, setup, counts, &m.timeline);
    make_table(setup, m.loader);
    if (setup->watch)
        rc = setup->watch->end(setup->watch->self, m.loader);
out:
    feedline_batch_release(m.kept);
    close_loader(&m);
    run_consumer_fini(&m.consumer);
    stream_hash_destroy(m.hash);
    timeline_fini(&m.timeline);
    return rc;
}
