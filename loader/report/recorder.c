/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder of a trace; see recorder.h. */
#include "loader/report/recorder.h"

#include "base/clock.h"
#include "base/event.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/thread.h"
#include "loader/report/tracing.h"
#include "loader/watch/watcher.h"
#include "profiler/trace/trace_file.h"
#include "profiler/trace/trace_schedule.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A ring lasts 4096 notes. The beat follows how full the fullest one was: at
 * 20000 notes a second of one worker, 1/16 of a ring are 13 ms. */
#define BEAT_FIRST_NS INT64_C(5000000)
#define BEAT_LEAST_NS INT64_C(500000)
#define BEAT_MOST_NS  INT64_C(50000000)
#define LINGER_NS     INT64_C(200000000) /* for what has not ended yet */
#define TEXT_ENOUGH   (UINT64_C(1) << 18)
#define FLUSH_NS      INT64_C(100000000) /* a killed process loses so much */

/* Steps that are recorded without a gap between them. */
struct span {
    int64_t begin, end; /* end INT64_MAX: not over */
};

/* The one under way and those before, as long as notes of them may come. */
#define SPANS 4u

#define COPIES_END (UINT64_MAX / 2)

struct fdl_recorder {
    const struct fdl_sources *from;
    struct fdl_trace_schedule schedule;
    struct fdl_thread thread;
    struct fdl_event changed;
    _Atomic bool broken; /* the file takes no more */
    bool is_recording;   /* of the caller's, without a schedule */
    struct fdl_event copied;
    _Atomic uint64_t copies; /* rounds over all rings; COPIES_END: no more */

    /* The consumer's thread only. */
    bool begun;
    uint64_t step;
    enum fdl_trace_action action;
    int64_t mark_ns; /* end of the program's last step */
    uint64_t seen[FDL_RING_WORKERS + FDL_MAX_WORKERS]; /* heads, see catch_up */

    struct fdl_lock lock; /* guards the next five */
    struct span spans[SPANS];
    uint32_t n_spans;
    bool warming, over, stopping;

    /* The recorder's thread only, while it runs. */
    struct fdl_trace_json *json;
    struct fdl_trace_file file;
    bool has_file;
    uint64_t lost;
    bool copying; /* the rings were copied without a pause */
    uint64_t next[FDL_RING_WORKERS + FDL_MAX_WORKERS];
    struct fdl_trace_note *notes;
    uint64_t n_notes, notes_capacity;
    struct fdl_trace_part parts[FDL_RING_WORKERS + FDL_MAX_WORKERS];
    uint64_t offsets[FDL_RING_WORKERS + FDL_MAX_WORKERS]; /* of parts */
};

/* ---- Steps -------------------------------------------------------------- */

static bool is_recorded(enum fdl_trace_action action)
{
    return action == FDL_TRACE_RECORD || action == FDL_TRACE_RECORD_AND_SAVE;
}

static void open_span_locked(struct fdl_recorder *r, int64_t now)
{
    if (r->n_spans == SPANS) {
        memmove(r->spans, r->spans + 1, (SPANS - 1) * sizeof(r->spans[0]));
        r->n_spans--;
    }
    r->spans[r->n_spans++] = (struct span){now, INT64_MAX};
}

static void close_span_locked(struct fdl_recorder *r, int64_t now)
{
    if (r->n_spans > 0 && r->spans[r->n_spans - 1].end == INT64_MAX)
        r->spans[r->n_spans - 1].end = now;
}

void fdl_recorder_step(struct fdl_recorder *r, uint64_t step, int64_t now)
{
    if (r->begun && r->step == step)
        return;
    enum fdl_trace_action before = r->begun ? r->action : FDL_TRACE_NONE;
    bool over = fdl_trace_is_over(&r->schedule, step);
    r->begun = true;
    r->step = step;
    r->action = fdl_trace_action_at(&r->schedule, step);
    bool was = is_recorded(before), is = is_recorded(r->action);
    if (was == is && (is || before == r->action) && !over)
        return;
    fdl_lock(&r->lock);
    bool changed = !r->over;
    if (was && !is)
        close_span_locked(r, now);
    if (is && !was)
        open_span_locked(r, now);
    r->warming = r->action == FDL_TRACE_WARMUP;
    r->over = over;
    fdl_unlock(&r->lock);
    if (changed)
        fdl_event_notify(&r->changed, 1);
}

/* What the consumer said, at one moment. */
struct view {
    struct span spans[SPANS];
    uint32_t n_spans;
    bool warming, over, stopping;
};

static void look(struct fdl_recorder *r, struct view *v)
{
    fdl_lock(&r->lock);
    memcpy(v->spans, r->spans, sizeof(v->spans));
    v->n_spans = r->n_spans;
    v->warming = r->warming;
    v->over = r->over;
    v->stopping = r->stopping;
    fdl_unlock(&r->lock);
}

/* ---- Copying ------------------------------------------------------------ */

static bool is_inside(const struct view *v, const struct fdl_trace_note *note)
{
    for (uint32_t i = 0; i < v->n_spans; i++)
        if (note->begin_ns >= v->spans[i].begin &&
            note->begin_ns < v->spans[i].end)
            return true;
    return false;
}

static bool reserve_notes(struct fdl_recorder *r, uint64_t n)
{
    if (n <= r->notes_capacity)
        return true;
    struct fdl_trace_note *notes = realloc(r->notes, n * sizeof(*notes));
    if (!notes)
        return false;
    r->notes = notes;
    r->notes_capacity = n;
    return true;
}

/* New notes of ring i that are recorded, behind those of the rings before.
 * Returns how many of the ring's were new. */
static uint64_t copy_ring(struct fdl_recorder *r, uint32_t i)
{
    struct view v;
    const struct fdl_trace_ring *ring = fdl_watch_ring(r->from->watch, i);
    uint64_t lost = 0, before = r->next[i];
    struct fdl_trace_part *part = &r->parts[i];
    *part = (struct fdl_trace_part){.writer = i};
    r->offsets[i] = r->n_notes;
    if (!reserve_notes(r, r->n_notes + FDL_TRACE_NOTES)) {
        r->next[i] = fdl_trace_ring_head(ring);
        r->lost += r->next[i] - before;
        return 0;
    }
    struct fdl_trace_note *out = r->notes + r->n_notes;
    uint32_t n = fdl_trace_ring_copy(ring, &r->next[i], out, &lost);
    /* What was overwritten before the rings were watched is not missed. */
    if (r->copying)
        r->lost += lost;
    /* Now and not before: a step opens its span first and is noted later. */
    look(r, &v);
    for (uint32_t k = 0; k < n; k++)
        if (is_inside(&v, &out[k]))
            out[part->n++] = out[k];
    r->n_notes += part->n;
    return r->next[i] - before;
}

/* All rings; the consumer's first, so that all that led to its notes is there.
 * Returns the most new notes that one ring had. */
static uint64_t copy_rings(struct fdl_recorder *r)
{
    uint32_t n = fdl_watch_ring_count(r->from->watch);
    uint64_t most = 0;
    r->n_notes = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t fresh = copy_ring(r, i);
        if (r->copying)
            most = FDL_MAX(most, fresh);
    }
    for (uint32_t i = 0; i < n; i++)
        r->parts[i].notes = r->notes + r->offsets[i];
    r->copying = true;
    if (r->n_notes > 0)
        fdl_trace_json_notes(r->json, r->parts, n);
    return most;
}

/* ---- Writing ------------------------------------------------------------ */

static struct fdl_trace_end end_of(const struct fdl_recorder *r)
{
    return (struct fdl_trace_end){.steps = r->is_recording
                                               ? fdl_trace_json_marks(r->json)
                                               : fdl_trace_json_steps(r->json),
                                  .lost = r->lost};
}

/* What there is of text goes to the file. */
static void flush(struct fdl_recorder *r)
{
    const char *text;
    uint64_t length;
    struct fdl_trace_end end = end_of(r);
    if (!fdl_trace_json_text(r->json, &text, &length))
        r->lost++;
    if (length > 0 && fdl_trace_file_add(&r->file, text, length, &end) < 0) {
        fdl_log(FDL_LOG_WARNING, "%s", fdl_last_error());
        fdl_clear_error();
        atomic_store_explicit(&r->broken, true, memory_order_relaxed);
    }
    fdl_trace_json_clear(r->json);
}

static void finish(struct fdl_recorder *r)
{
    if (!r->has_file)
        return;
    r->has_file = false;
    if (!atomic_load_explicit(&r->broken, memory_order_relaxed)) {
        fdl_trace_json_end(r->json);
        flush(r);
    }
    struct fdl_trace_end end = end_of(r);
    if (fdl_trace_file_finish(&r->file, &end) < 0) {
        fdl_log(FDL_LOG_WARNING, "%s", fdl_last_error());
        fdl_clear_error();
    }
    if (r->lost > 0)
        fdl_log(FDL_LOG_WARNING,
                "the trace lacks %" PRIu64 " notes that were overwritten "
                "before they were copied",
                r->lost);
}

/* ---- The thread --------------------------------------------------------- */

/* When the last span ended, INT64_MAX while it goes on, 0 if there is none. */
static int64_t last_end(const struct view *v)
{
    return v->n_spans ? v->spans[v->n_spans - 1].end : 0;
}

static bool is_busy(const struct view *v, int64_t now)
{
    int64_t end = last_end(v);
    return v->warming || end == INT64_MAX || (end && now < end + LINGER_NS);
}

static int64_t next_beat(int64_t beat, uint64_t most)
{
    if (most > FDL_TRACE_NOTES / 4)
        beat /= 2;
    else if (most < FDL_TRACE_NOTES / 16)
        beat += beat / 2;
    return FDL_MIN(FDL_MAX(beat, BEAT_LEAST_NS), BEAT_MOST_NS);
}

static bool is_due(const struct fdl_recorder *r, int64_t since_ns)
{
    const char *text;
    uint64_t length;
    fdl_trace_json_text(r->json, &text, &length);
    return length > TEXT_ENOUGH || (length > 0 && since_ns >= FLUSH_NS);
}

/* Release: the rings were read before. */
static void tell_copied(struct fdl_recorder *r, uint64_t rounds)
{
    atomic_fetch_add_explicit(&r->copies, rounds, memory_order_release);
    fdl_event_notify(&r->copied, 1);
}

static void *recorder_main(void *arg)
{
    struct fdl_recorder *r = arg;
    int64_t beat = BEAT_FIRST_NS, flushed_ns = 0;
    struct view v;
    for (;;) {
        uint32_t key = fdl_event_prepare(&r->changed);
        int64_t now = fdl_now_ns();
        look(r, &v);
        bool busy = is_busy(&v, now);
        if (v.stopping || (v.over && !busy) ||
            atomic_load_explicit(&r->broken, memory_order_relaxed)) {
            fdl_event_cancel(&r->changed);
            break;
        }
        /* A pause: what happens in it is not copied. */
        if (!busy) {
            r->copying = false;
            flush(r);
        }
        uint64_t most = busy ? copy_rings(r) : 0;
        tell_copied(r, 1);
        if (is_due(r, now - flushed_ns)) {
            flush(r);
            flushed_ns = now;
        }
        beat = next_beat(beat, most);
        fdl_event_wait(&r->changed, key, busy ? beat : -1);
    }
    if (last_end(&v) != 0)
        copy_rings(r);
    finish(r);
    tell_copied(r, COPIES_END);
    return NULL;
}

/* ---- Life --------------------------------------------------------------- */

static void read_schedule(const struct fdl_options *o,
                          struct fdl_trace_schedule *out)
{
    *out = (struct fdl_trace_schedule){
        .skip_first = (uint64_t)fdl_option_int(o, FDL_OPT_TRACE_SKIP_FIRST),
        .wait = (uint64_t)fdl_option_int(o, FDL_OPT_TRACE_WAIT),
        .warmup = (uint64_t)fdl_option_int(o, FDL_OPT_TRACE_WARMUP),
        .active = (uint64_t)fdl_option_int(o, FDL_OPT_TRACE_ACTIVE),
        .repeat = (uint64_t)fdl_option_int(o, FDL_OPT_TRACE_REPEAT),
    };
}

/* The head is in the file from the beginning. */
static int32_t begin_file(struct fdl_recorder *r, const char *path, bool exact)
{
    const struct fdl_options *o = fdl_engine_options(r->from->engine);
    struct fdl_trace_end end = {0};
    const char *text;
    uint64_t length;
    int32_t status = fdl_trace_file_open(
        &r->file, path, (uint64_t)fdl_option_int(o, FDL_OPT_TRACE_LIMIT),
        exact);
    if (status < 0)
        return status;
    r->has_file = true;
    fdl_trace_json_head(r->json);
    if (!fdl_trace_json_text(r->json, &text, &length))
        return fdl_fail_memory(1024, "the text of a trace");
    status = fdl_trace_file_add(&r->file, text, length, &end);
    if (status < 0) {
        fdl_trace_file_discard(&r->file);
        r->has_file = false;
        return status;
    }
    fdl_trace_json_clear(r->json);
    return FEEDLINE_OK;
}

/* exact: as of fdl_trace_file_open. */
static int32_t create(const struct fdl_sources *from, const char *path,
                      bool exact, uint32_t categories,
                      struct fdl_recorder **out)
{
    struct fdl_trace_json_config config;
    struct fdl_recorder *r = calloc(1, sizeof(*r));
    int32_t status;
    if (!r)
        return fdl_fail_memory(sizeof(*r), "the recorder of a trace");
    r->from = from;
    r->file.fd = -1;
    fdl_lock_init(&r->lock, FDL_RANK_RECORDER);
    fdl_event_init(&r->changed);
    fdl_event_init(&r->copied);
    read_schedule(fdl_engine_options(from->engine), &r->schedule);
    fdl_tracing_describe(from, categories, &config);
    status = fdl_trace_json_create(&config, &r->json);
    if (status >= 0)
        status = begin_file(r, path, exact);
    if (status < 0) {
        if (r->has_file)
            fdl_trace_file_discard(&r->file);
        r->has_file = false;
        fdl_recorder_destroy(r);
        return status;
    }
    *out = r;
    return FEEDLINE_OK;
}

int32_t fdl_recorder_create(const struct fdl_sources *from,
                            struct fdl_recorder **out)
{
    const struct fdl_options *o = fdl_engine_options(from->engine);
    const char *path = fdl_option_text(o, FDL_OPT_TRACE);
    uint32_t categories;
    int32_t status = fdl_trace_categories_parse(
        fdl_option_text(o, FDL_OPT_TRACE_CATEGORIES), &categories);
    *out = NULL;
    return status < 0 || path[0] == '\0'
               ? status
               : create(from, path, false, categories, out);
}

int32_t fdl_recorder_begin(const struct fdl_sources *from, const char *path,
                           int64_t since_ns, struct fdl_recorder **out)
{
    struct fdl_recorder *r;
    int32_t status = create(from, path, true, FDL_CATEGORY_ALL, &r);
    if (status < 0)
        return status;
    r->is_recording = true;
    r->mark_ns = since_ns;
    fdl_lock(&r->lock);
    open_span_locked(r, since_ns);
    fdl_unlock(&r->lock);
    *out = r;
    fdl_recorder_start(r);
    return FEEDLINE_OK;
}

/* Whether a ring has a quarter that was written since the last round which it
 * is certain to be in; notes where all rings are now. */
static bool is_behind(struct fdl_recorder *r, uint64_t *heads, uint32_t n)
{
    bool behind = false;
    for (uint32_t i = 0; i < n; i++) {
        heads[i] = fdl_trace_ring_head(fdl_watch_ring(r->from->watch, i));
        behind |= heads[i] - r->seen[i] > FDL_TRACE_NOTES / 4;
    }
    return behind;
}

/* Waits for the recorder where it could be too late on a busy machine. A round
 * under way may have passed a ring already, so the next one counts. */
static void catch_up(struct fdl_recorder *r)
{
    uint64_t heads[FDL_RING_WORKERS + FDL_MAX_WORKERS];
    uint32_t n = fdl_watch_ring_count(r->from->watch);
    if (!r->thread.running || !is_behind(r, heads, n))
        return;
    uint64_t wanted =
        atomic_load_explicit(&r->copies, memory_order_relaxed) + 2;
    for (;;) {
        uint32_t key = fdl_event_prepare(&r->copied);
        /* Pairs with tell_copied. */
        if (atomic_load_explicit(&r->copies, memory_order_acquire) >= wanted)
            break;
        fdl_event_notify(&r->changed, 1);
        fdl_event_wait(&r->copied, key, -1);
    }
    fdl_event_cancel(&r->copied);
    memcpy(r->seen, heads, n * sizeof(heads[0]));
}

void fdl_recorder_mark(struct fdl_recorder *r, uint64_t number, int64_t now)
{
    catch_up(r);
    fdl_trace_note(r->from->watch->books.notes.ring, FDL_TRACE_MARK, r->mark_ns,
                   now - r->mark_ns, number, FDL_TRACE_NO_SAMPLE, 0);
    r->mark_ns = now;
}

void fdl_recorder_end(struct fdl_recorder *r, bool at_mark)
{
    fdl_lock(&r->lock);
    close_span_locked(r, at_mark ? r->mark_ns : fdl_now_ns());
    fdl_unlock(&r->lock);
    fdl_recorder_destroy(r);
}

void fdl_recorder_start(struct fdl_recorder *r)
{
    if (!r || r->thread.running || !r->has_file)
        return;
    if (fdl_thread_start(&r->thread, "feedline-trace", recorder_main, r) < 0) {
        fdl_log(FDL_LOG_WARNING, "no trace: %s", fdl_last_error());
        fdl_clear_error();
    }
}

void fdl_recorder_destroy(struct fdl_recorder *r)
{
    if (!r)
        return;
    fdl_lock(&r->lock);
    close_span_locked(r, fdl_now_ns());
    r->stopping = true;
    fdl_unlock(&r->lock);
    fdl_event_notify(&r->changed, 1);
    fdl_thread_join(&r->thread);
    finish(r); /* if there was no thread */
    fdl_lock_destroy(&r->lock);
    fdl_trace_json_destroy(r->json);
    free(r->notes);
    free(r);
}
