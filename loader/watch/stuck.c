/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and reports what hangs; stuck.h has the picture. */
#include "loader/watch/stuck.h"

#include "base/atomic.h"
#include "base/clock.h"
#include "base/log.h"
#include "loader/stream/engine_own.h"
#include "loader/watch/watcher.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT       64u /* distinguished in the log */
#define READS_MOST 64u /* examined at once */
#define A_READ     UINT32_MAX
#define LATE_BEATS 8 /* a beat as late as this: the process was stopped */

/* One that hangs. */
struct hanging {
    uint32_t worker; /* A_READ: one of the reader's */
    uint32_t step;   /* enum fdl_render_step */
    int32_t tid;
    int64_t since_ns;
    uint64_t epoch, index, ticket;
};

typedef void visitor(void *user, const struct hanging *h);

/* Already reported in the log. */
struct told {
    bool used, said, seen;
    struct hanging who;
};

struct fdl_stuck {
    struct fdl_watch *watch;
    int64_t last_beat_ns;
    struct told told[KEPT]; /* of the thread that watches */
};

/* ---- Looking ------------------------------------------------------------ */

static int64_t patience(const struct fdl_watch *watch)
{
    return fdl_option_int(&watch->engine->options, FDL_OPT_STUCK_AFTER);
}

/* false: it is idle, or was at another sample a moment ago. */
static bool look_at_sample(const struct fdl_worker *w, struct hanging *out)
{
    /* acquire: pairs with the stores of timebook.c and progress.h. */
    int64_t since = atomic_load_explicit(&w->time.stamp, memory_order_acquire);
    uint32_t step = atomic_load_explicit(&w->at.step, memory_order_acquire);
    *out = (struct hanging){
        .worker = w->id,
        .step = step,
        .tid = atomic_load_explicit(&w->tid, memory_order_relaxed),
        .since_ns = since,
        .epoch = fdl_load(&w->at.epoch),
        .index = fdl_load(&w->at.index),
        .ticket = fdl_load(&w->at.ticket),
    };
    return step != FDL_STEP_NONE && since > 0 &&
           atomic_load_explicit(&w->time.stamp, memory_order_acquire) == since;
}

static void visit_workers(struct fdl_watch *watch, int64_t now, int64_t limit,
                          visitor *visit, void *user)
{
    struct fdl_pool *pool = &watch->engine->pool;
    uint32_t n = fdl_pool_born(pool);
    for (uint32_t i = 0; limit > 0 && i < n; i++) {
        const struct fdl_worker *w = pool->workers[i];
        struct hanging h;
        if (look_at_sample(w, &h) && now - h.since_ns > limit)
            visit(user, &h);
    }
}

/* A sample of the run that is being read; the ring's lock is held. */
static bool look_at_read_locked(const struct fdl_ring *ring, uint64_t sample,
                                struct hanging *out)
{
    struct fdl_place place;
    fdl_stream_locate(ring->stream, sample, &place);
    const feedline_batch *b = fdl_ring_slot(ring, place.ticket);
    if (!b || b->ticket != place.ticket || place.ticket >= ring->next_issue)
        return false;
    const struct fdl_sample_times *times = &b->times[place.slot_place];
    *out = (struct hanging){
        .worker = A_READ,
        .step = FDL_STEP_READ,
        .since_ns =
            atomic_load_explicit(&times->read_start, memory_order_relaxed),
        .epoch = place.epoch,
        .index = place.index,
        .ticket = place.ticket,
    };
    return out->since_ns > 0 &&
           atomic_load_explicit(&times->read_done, memory_order_relaxed) == 0;
}

/* The stream belongs to the run as long as the ring has one. */
static void visit_reads(struct fdl_watch *watch, int64_t now, int64_t limit,
                        visitor *visit, void *user)
{
    struct fdl_ring *ring = watch->engine->ring;
    uint64_t samples[READS_MOST];
    struct hanging found[READS_MOST];
    uint32_t n_found = 0;
    if (limit <= 0 || !fdl_reader_has_threads(atomic_load_explicit(
                          &watch->engine->reader_kind, memory_order_relaxed)))
        return; /* then workers read */
    fdl_lock(&ring->lock);
    uint32_t n = ring->stream ? fdl_window_list_reads(watch->engine->window,
                                                      samples, READS_MOST)
                              : 0;
    for (uint32_t i = 0; i < n; i++) {
        struct hanging h;
        if (look_at_read_locked(ring, samples[i], &h) &&
            now - h.since_ns > limit)
            found[n_found++] = h;
    }
    fdl_unlock(&ring->lock);
    for (uint32_t i = 0; i < n_found; i++)
        visit(user, &found[i]);
}

static void visit_all(struct fdl_watch *watch, int64_t now, visitor *visit,
                      void *user)
{
    int64_t limit = patience(watch);
    visit_workers(watch, now, limit, visit, user);
    visit_reads(watch, now, limit, visit, user);
}

/* ---- Words -------------------------------------------------------------- */

static const char *where(const struct fdl_watch *watch, uint32_t step)
{
    static const char *const names[] = {"", "read", "decode", "augment"};
    if (step < FDL_STEP_CUSTOM)
        return names[step];
    return fdl_pipeline_custom_name(watch->engine->pipeline,
                                    step - FDL_STEP_CUSTOM);
}

static const char *path_of(const struct fdl_watch *watch,
                           const struct hanging *h)
{
    struct fdl_source source;
    fdl_dataset_get(watch->engine->dataset, h->index, &source);
    return source.path ? source.path : "";
}

/* Its end, if it is too long. */
static void copy_path(char *to, size_t size, const char *path)
{
    size_t length = strlen(path);
    size_t skip = length < size ? 0 : length - (size - 1);
    memcpy(to, path + skip, length - skip + 1);
}

static void describe(struct fdl_watch *watch, const struct hanging *h,
                     int64_t now, struct feedline_stuck_worker *out)
{
    *out = (struct feedline_stuck_worker){
        .struct_size = sizeof(*out),
        .worker = h->worker,
        .tid = h->tid,
        .stuck_ns = now > h->since_ns ? (uint64_t)(now - h->since_ns) : 0,
        .epoch = h->epoch,
        .sample_index = (int64_t)h->index,
    };
    copy_path(out->path, sizeof(out->path), path_of(watch, h));
    snprintf(out->where, sizeof(out->where), "%s", where(watch, h->step));
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* "sample 17 of epoch 2, PATH" */
static void say_sample(struct fdl_watch *watch, const struct hanging *h,
                       char *to, size_t size)
{
    const char *path = path_of(watch, h);
    snprintf(to, size, "sample %" PRIu64 " of epoch %" PRIu64 "%s%.200s",
             h->index, h->epoch, *path ? ", " : "", path);
}

static void tell(struct fdl_watch *watch, const struct hanging *h, int64_t now)
{
    char sample[300];
    double s = seconds(now - h->since_ns);
    say_sample(watch, h, sample, sizeof(sample));
    if (h->worker == A_READ)
        fdl_log(FDL_LOG_WARNING,
                "a read has been in flight for %.1f s: %s; check the "
                "storage",
                s, sample);
    else
        fdl_log(FDL_LOG_WARNING,
                "worker %" PRIu32 " (thread %" PRId32 ") has been at one "
                "sample for %.1f s, in %s: %s; gdb -p shows where "
                "(threshold: stuck_after)",
                h->worker, h->tid, s, where(watch, h->step), sample);
}

static void tell_end(struct fdl_watch *watch, const struct hanging *h,
                     int64_t now)
{
    char sample[300];
    double s = seconds(now - h->since_ns);
    say_sample(watch, h, sample, sizeof(sample));
    if (h->worker == A_READ)
        fdl_log(FDL_LOG_WARNING, "the stuck read completed after %.1f s: %s", s,
                sample);
    else
        fdl_log(FDL_LOG_WARNING,
                "worker %" PRIu32 " continues after %.1f s in %s: %s",
                h->worker, s, where(watch, h->step), sample);
}

void fdl_stuck_tell_stop(struct fdl_watch *watch, uint32_t worker)
{
    struct hanging h;
    char sample[300];
    if (!look_at_sample(watch->engine->pool.workers[worker], &h))
        return;
    say_sample(watch, &h, sample, sizeof(sample));
    fdl_log(FDL_LOG_WARNING,
            "stopping; waiting for worker %" PRIu32 " (thread %" PRId32
            "), which is in %s for %.1f s: %s",
            worker, h.tid, where(watch, h.step),
            seconds(fdl_now_ns() - h.since_ns), sample);
}

/* ---- Watching ----------------------------------------------------------- */

static bool is_same(const struct hanging *a, const struct hanging *b)
{
    return a->worker == b->worker && a->since_ns == b->since_ns &&
           a->index == b->index;
}

struct beat {
    struct fdl_stuck *stuck;
    int64_t now;
};

/* Reported at the second beat that sees it, as a stopped process would look the
 * same. */
static void notice(void *user, const struct hanging *h)
{
    struct beat *beat = user;
    struct told *free_one = NULL;
    for (uint32_t i = 0; i < KEPT; i++) {
        struct told *t = &beat->stuck->told[i];
        if (!t->used) {
            free_one = free_one ? free_one : t;
            continue;
        }
        if (!is_same(&t->who, h))
            continue;
        t->seen = true;
        if (!t->said)
            tell(beat->stuck->watch, h, beat->now);
        t->said = true;
        return;
    }
    if (free_one)
        *free_one = (struct told){.used = true, .seen = true, .who = *h};
}

static void forget(struct fdl_stuck *s, int64_t now)
{
    for (uint32_t i = 0; i < KEPT; i++) {
        struct told *t = &s->told[i];
        if (t->used && !t->seen) {
            if (t->said)
                tell_end(s->watch, &t->who, now);
            t->used = false;
        }
        t->seen = false;
    }
}

static void serve(void *user, bool last)
{
    struct fdl_stuck *s = user;
    struct beat beat = {.stuck = s, .now = fdl_now_ns()};
    bool late = beat.now - s->last_beat_ns > LATE_BEATS * FDL_BEAT_NS;
    s->last_beat_ns = beat.now;
    if (last)
        return;
    if (late)
        return;
    visit_all(s->watch, beat.now, notice, &beat);
    forget(s, beat.now);
}

int32_t fdl_stuck_create(struct fdl_watch *watch)
{
    struct fdl_stuck *s = calloc(1, sizeof(*s));
    if (!s)
        return fdl_fail_memory(sizeof(*s), "the watch over workers");
    s->watch = watch;
    struct fdl_subscriber who = {.serve = serve, .close = free, .user = s};
    int32_t status = fdl_monitor_subscribe(watch->monitor, &who);
    if (status < 0)
        free(s);
    return status;
}

/* ---- Who asks ----------------------------------------------------------- */

struct search {
    uint32_t index, n;
    struct hanging found;
};

static void count(void *user, const struct hanging *h)
{
    struct search *s = user;
    if (s->n++ == s->index)
        s->found = *h;
}

int32_t fdl_stuck_get(struct fdl_watch *watch, uint32_t index,
                      struct feedline_stuck_worker *out)
{
    struct search s = {.index = index};
    int64_t now = fdl_now_ns();
    visit_all(watch, now, count, &s);
    if (index >= s.n)
        return FEEDLINE_END;
    describe(watch, &s.found, now, out);
    return FEEDLINE_OK;
}

uint32_t fdl_stuck_count(struct fdl_watch *watch)
{
    struct search s = {.index = UINT32_MAX};
    visit_all(watch, fdl_now_ns(), count, &s);
    return s.n;
}

struct writing {
    struct fdl_watch *watch;
    struct fdl_json *j;
    int64_t now;
};

static void write_one(void *user, const struct hanging *h)
{
    struct writing *w = user;
    struct feedline_stuck_worker one;
    describe(w->watch, h, w->now, &one);
    fdl_json_begin_object(w->j, NULL);
    if (h->worker == A_READ)
        fdl_json_null(w->j, "worker");
    else
        fdl_json_int(w->j, "worker", one.worker);
    fdl_json_int(w->j, "tid", one.tid);
    fdl_json_double(w->j, "seconds", seconds((int64_t)one.stuck_ns));
    fdl_json_string(w->j, "where", one.where);
    fdl_json_int(w->j, "epoch", (int64_t)one.epoch);
    fdl_json_int(w->j, "index", one.sample_index);
    fdl_json_string(w->j, "path", one.path);
    fdl_json_end_object(w->j);
}

void fdl_stuck_json(struct fdl_watch *watch, struct fdl_json *j)
{
    struct writing w = {watch, j, fdl_now_ns()};
    fdl_json_begin_array(j, "stuck_workers");
    visit_all(watch, w.now, write_one, &w);
    fdl_json_end_array(j);
}

struct worst {
    uint64_t awaited;
    uint32_t n;
    bool found, awaits;
    struct hanging who;
};

/* What the next batch waits for is worse than the rest. */
static void weigh(void *user, const struct hanging *h)
{
    struct worst *w = user;
    bool awaits = h->ticket == w->awaited;
    w->n++;
    if (w->found && (w->awaits > awaits ||
                     (w->awaits == awaits && w->who.since_ns <= h->since_ns)))
        return;
    w->found = true;
    w->awaits = awaits;
    w->who = *h;
}

void fdl_stuck_evidence(struct fdl_watch *watch, struct fdl_evidence *out)
{
    struct worst w = {
        .awaited = atomic_load_explicit(&watch->engine->ring->awaited,
                                        memory_order_relaxed),
    };
    int64_t now = fdl_now_ns();
    visit_all(watch, now, weigh, &w);
    if (!w.found)
        return;
    out->stuck_workers = w.n;
    out->stuck_awaited = w.awaits;
    out->stuck_ns = FDL_MAX(now - w.who.since_ns, INT64_C(1));
    out->stuck_where = where(watch, w.who.step);
    copy_path(out->stuck_path, sizeof(out->stuck_path), path_of(watch, &w.who));
}
