/* SPDX-License-Identifier: Apache-2.0 */
/* The notes of a loader; see tracing.h. */
#include "loader/report/tracing.h"

#include "base/log.h"
#include "loader/engine.h"
#include "loader/report/recorder.h"
#include "loader/tune/control.h"
#include "loader/watch/phases.h"
#include "profiler/trace/trace_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The consumer's notes ----------------------------------------------- */

void fdl_tracing_called(feedline_loader *l, int64_t called)
{
    struct fdl_tracing *t = &l->tracing;
    int64_t returned = l->consumer.returned_ns;
    if (t->has_step)
        fdl_trace_note(l->consumer_ring, FDL_TRACE_STEP, returned,
                       FDL_MAX(called - returned, INT64_C(0)), t->step_ticket,
                       FDL_TRACE_NO_SAMPLE, 0);
    t->has_step = false;
    if (t->recorder)
        fdl_recorder_step(t->recorder, t->delivered, called);
}

void fdl_tracing_waited(feedline_loader *l, uint64_t ticket, int64_t begin,
                        int64_t end, const struct fdl_ledger *before)
{
    const struct fdl_ledger *now = &l->consumer.ledger;
    for (uint32_t i = 0; i < FDL_BUCKETS; i++)
        if (now->ns[i] > before->ns[i])
            fdl_trace_note(l->consumer_ring, FDL_TRACE_CAUSE, begin,
                           now->ns[i] - before->ns[i], ticket,
                           FDL_TRACE_NO_SAMPLE, i);
    fdl_trace_note(l->consumer_ring, FDL_TRACE_WAIT, begin, end - begin, ticket,
                   FDL_TRACE_NO_SAMPLE, 0);
}

static void count(feedline_loader *l, enum fdl_trace_counter counter,
                  int64_t now, int64_t value)
{
    fdl_trace_note(l->consumer_ring, FDL_TRACE_COUNTER, now, value, 0,
                   FDL_TRACE_NO_SAMPLE, (uint32_t)counter);
}

static void count_engine(feedline_loader *l, int64_t now)
{
    uint32_t ready, outstanding;
    fdl_ring_count(l->ring, &ready, &outstanding);
    count(l, FDL_COUNTER_READY, now, ready);
    count(l, FDL_COUNTER_OUTSTANDING, now, outstanding);
    count(l, FDL_COUNTER_WORKERS, now,
          atomic_load_explicit(&l->workers, memory_order_relaxed));
    count(l, FDL_COUNTER_READS, now, fdl_window_reading(l->window));
    if (l->ring->backend_ops->stats)
        count(l, FDL_COUNTER_PINNED_BYTES, now,
              (int64_t)fdl_ring_memory(l->ring));
}

static void count_all(feedline_loader *l, int64_t now, int64_t wait)
{
    struct fdl_tracing *t = &l->tracing;
    int64_t since = FDL_MAX(now - t->counted_ns, INT64_C(1));
    if (!l->outside)
        count_engine(l, now);
    if (t->counted_ns)
        count(l, FDL_COUNTER_STALL_PPM, now,
              (int64_t)(1e6 * (double)FDL_MIN(wait, since) / (double)since));
    t->counted_ns = now;
}

void fdl_tracing_returned(feedline_loader *l, uint64_t ticket, int64_t now,
                          int64_t wait)
{
    struct fdl_tracing *t = &l->tracing;
    t->has_step = true;
    t->step_ticket = ticket;
    t->delivered++;
    if (l->consumer_ring)
        count_all(l, now, wait);
}

void fdl_tracing_decided_locked(feedline_loader *l, uint64_t id, bool judged)
{
    fdl_trace_note(l->tracing.decisions, FDL_TRACE_DECISION, fdl_now_ns(),
                   (int64_t)id, 0, FDL_TRACE_NO_SAMPLE, judged);
}

/* ---- Rings -------------------------------------------------------------- */

uint32_t fdl_tracing_ring_count(const feedline_loader *l)
{
    return FDL_RING_WORKERS + fdl_pool_born(&l->pool);
}

static struct fdl_trace_ring *ring_at(const feedline_loader *l, uint32_t i)
{
    switch (i) {
    case FDL_RING_CONSUMER:
        return l->consumer_ring;
    case FDL_RING_BATCHES:
        return l->ring->notes;
    case FDL_RING_DEVICE:
        return l->watch->notes;
    case FDL_RING_DECISIONS:
        return l->tracing.decisions;
    default:
        return l->pool.workers[i - FDL_RING_WORKERS]->notes;
    }
}

const struct fdl_trace_ring *fdl_tracing_ring(const feedline_loader *l,
                                              uint32_t i)
{
    return ring_at(l, i);
}

uint64_t fdl_tracing_bytes(const feedline_loader *l)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < fdl_tracing_ring_count(l); i++)
        bytes += fdl_trace_ring_bytes(ring_at(l, i));
    return bytes;
}

void fdl_tracing_begin_run(feedline_loader *l)
{
    struct fdl_tracing *t = &l->tracing;
    t->runs++;
    t->has_step = false;
    for (uint32_t i = 0; i < fdl_tracing_ring_count(l); i++)
        fdl_trace_ring_set_run(ring_at(l, i), t->runs - 1);
    fdl_recorder_start(t->recorder);
}

/* ---- What the text needs to know ---------------------------------------- */

static const char *custom_name(const void *user, uint32_t i)
{
    const feedline_loader *l = user;
    return i < fdl_pipeline_custom_count(l->pipeline)
               ? fdl_pipeline_custom_name(l->pipeline, i)
               : NULL;
}

static const char *phase_name(const void *user, uint32_t i)
{
    const feedline_loader *l = user;
    /* A phase that has a note has its name, for ever. */
    return i < FDL_PHASES_MAX ? l->consumer.notable.phases.phases[i].name
                              : NULL;
}

static bool find_decision(const void *user, uint64_t id,
                          struct fdl_decision *out)
{
    return fdl_control_find(user, id, out);
}

void fdl_tracing_describe(const feedline_loader *l, uint32_t categories,
                          struct fdl_trace_json_config *out)
{
    *out = (struct fdl_trace_json_config){
        .categories = categories,
        .pid = (int32_t)getpid(),
        .unix_offset_ns = fdl_trace_unix_offset_ns(),
        .process = "feedline",
        .has_device = l->ring->backend_ops->stats != NULL,
        .custom = custom_name,
        .phase = phase_name,
        .decision = find_decision,
        .user = l,
    };
}

/* ---- What the rings hold now -------------------------------------------- */

/* One memory for all of them: rings * FDL_TRACE_NOTES. */
static void copy_all(const feedline_loader *l, struct fdl_trace_json *json,
                     struct fdl_trace_part *parts, struct fdl_trace_note *notes,
                     uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint64_t next = 0, lost = 0;
        parts[i] = (struct fdl_trace_part){
            .writer = i, .notes = notes + (uint64_t)i * FDL_TRACE_NOTES};
        parts[i].n = fdl_trace_ring_copy(fdl_tracing_ring(l, i), &next,
                                         parts[i].notes, &lost);
    }
    fdl_trace_json_head(json);
    fdl_trace_json_notes(json, parts, n);
    fdl_trace_json_end(json);
}

static int32_t write_file(struct fdl_trace_json *json, const char *path)
{
    struct fdl_trace_file file;
    struct fdl_trace_end end = {.steps = fdl_trace_json_steps(json)};
    const char *text;
    uint64_t length;
    if (!fdl_trace_json_text(json, &text, &length))
        return fdl_fail_memory(length, "the text of a trace");
    int32_t status = fdl_trace_file_open(&file, path, UINT64_MAX, true);
    if (status < 0)
        return status;
    if (!fdl_trace_file_add(&file, text, length, &end)) {
        fdl_trace_file_discard(&file);
        return FEEDLINE_EIO;
    }
    return fdl_trace_file_finish(&file, &end);
}

int32_t fdl_tracing_save(feedline_loader *l, const char *path)
{
    struct fdl_trace_json_config config;
    struct fdl_trace_json *json = NULL;
    uint32_t n = fdl_tracing_ring_count(l);
    uint64_t bytes =
        (uint64_t)n * FDL_TRACE_NOTES * sizeof(struct fdl_trace_note);
    struct fdl_trace_note *notes = malloc(bytes);
    struct fdl_trace_part *parts = calloc(n, sizeof(*parts));
    int32_t status;
    if (!notes || !parts) {
        status = fdl_fail_memory(bytes, "a copy of the rings");
        goto out;
    }
    fdl_tracing_describe(l, FDL_CATEGORY_ALL, &config);
    status = fdl_trace_json_create(&config, &json);
    if (status < 0)
        goto out;
    copy_all(l, json, parts, notes, n);
    status = write_file(json, path);
out:
    fdl_trace_json_destroy(json);
    free(parts);
    free(notes);
    return status;
}

/* ---- Life --------------------------------------------------------------- */

int32_t fdl_tracing_create(feedline_loader *l)
{
    l->consumer_ring = fdl_trace_ring_create();
    l->tracing.decisions = fdl_trace_ring_create();
    return fdl_recorder_create(l, &l->tracing.recorder);
}

void fdl_tracing_destroy(feedline_loader *l)
{
    struct fdl_tracing *t = &l->tracing;
    if (t->has_step)
        fdl_tracing_called(l, fdl_now_ns());
    fdl_recorder_destroy(t->recording);
    fdl_recorder_destroy(t->recorder);
    fdl_trace_ring_destroy(t->decisions);
    fdl_trace_ring_destroy(l->consumer_ring);
}
