/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and reports what hangs; stuck.h has the picture. */
#include "loader/watch/stuck.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/status.h"
#include "decode/pipeline.h"
#include "loader/options.h"
#include "loader/stream/engine.h"
#include "loader/stream/snapshot.h"
#include "loader/watch/monitor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT       64u /* distinguished in the log */
#define LATE_BEATS 8   /* a beat as late as this: the process was stopped */

typedef void visitor(void *user, const struct fdl_sample_at *s);

/* Already reported in the log. */
struct told {
    bool used, said, seen;
    struct fdl_sample_at who;
};

struct fdl_stuck {
    const struct fdl_engine *engine;
    int64_t last_beat_ns;
    struct told told[KEPT]; /* of the thread that watches */
};

/* ---- Looking ------------------------------------------------------------ */

static void visit_workers(const struct fdl_engine *engine, int64_t before,
                          visitor *visit, void *user)
{
    uint32_t n = fdl_engine_worker_count(engine);
    for (uint32_t i = 0; i < n; i++) {
        struct fdl_sample_at s;
        if (fdl_engine_worker_at(engine, i, &s) && s.since_ns < before)
            visit(user, &s);
    }
}

static void visit_reads(const struct fdl_engine *engine, int64_t before,
                        visitor *visit, void *user)
{
    struct fdl_sample_at reads[FDL_READS_AT_MOST];
    uint32_t n = fdl_engine_reads_at(engine, reads);
    for (uint32_t i = 0; i < n; i++)
        if (reads[i].since_ns < before)
            visit(user, &reads[i]);
}

/* Those that hang. */
static void visit_all(const struct fdl_engine *engine, int64_t now,
                      visitor *visit, void *user)
{
    int64_t patience = fdl_engine_asked(engine, FDL_OPT_STUCK_AFTER);
    if (patience <= 0)
        return;
    visit_workers(engine, now - patience, visit, user);
    visit_reads(engine, now - patience, visit, user);
}

/* ---- Words -------------------------------------------------------------- */

static const char *where(const struct fdl_engine *engine, uint32_t step)
{
    static const char *const names[] = {"", "read", "decode", "augment"};
    if (step < FDL_STEP_CUSTOM)
        return names[step];
    return fdl_pipeline_custom_name(fdl_engine_pipeline(engine),
                                    step - FDL_STEP_CUSTOM);
}

static const char *path_of(const struct fdl_engine *engine,
                           const struct fdl_sample_at *s)
{
    const char *path = fdl_engine_path(engine, s->index);
    return path ? path : "";
}

/* Its end, if it is too long. */
static void copy_path(char *to, size_t size, const char *path)
{
    size_t length = strlen(path);
    size_t skip = length < size ? 0 : length - (size - 1);
    memcpy(to, path + skip, length - skip + 1);
}

static void describe(const struct fdl_engine *engine,
                     const struct fdl_sample_at *h, int64_t now,
                     struct feedline_stuck_worker *out)
{
    *out = (struct feedline_stuck_worker){
        .struct_size = sizeof(*out),
        .worker = h->worker,
        .tid = h->tid,
        .stuck_ns = now > h->since_ns ? (uint64_t)(now - h->since_ns) : 0,
        .epoch = h->epoch,
        .sample_index = (int64_t)h->index,
    };
    copy_path(out->path, sizeof(out->path), path_of(engine, h));
    snprintf(out->where, sizeof(out->where), "%s", where(engine, h->step));
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* "sample 17 of epoch 2, PATH" */
static void say_sample(const struct fdl_engine *engine,
                       const struct fdl_sample_at *h, char *to, size_t size)
{
    const char *path = path_of(engine, h);
    snprintf(to, size, "sample %" PRIu64 " of epoch %" PRIu64 "%s%.200s",
             h->index, h->epoch, *path ? ", " : "", path);
}

static void tell(const struct fdl_engine *engine, const struct fdl_sample_at *h,
                 int64_t now)
{
    char sample[300];
    double s = seconds(now - h->since_ns);
    say_sample(engine, h, sample, sizeof(sample));
    if (h->worker == FDL_BY_READER)
        fdl_log(FDL_LOG_WARNING,
                "a read has been in flight for %.1f s: %s; check the "
                "storage",
                s, sample);
    else
        fdl_log(FDL_LOG_WARNING,
                "worker %" PRIu32 " (thread %" PRId32 ") has been at one "
                "sample for %.1f s, in %s: %s; gdb -p shows where "
                "(threshold: stuck_after)",
                h->worker, h->tid, s, where(engine, h->step), sample);
}

static void tell_end(const struct fdl_engine *engine,
                     const struct fdl_sample_at *h, int64_t now)
{
    char sample[300];
    double s = seconds(now - h->since_ns);
    say_sample(engine, h, sample, sizeof(sample));
    if (h->worker == FDL_BY_READER)
        fdl_log(FDL_LOG_WARNING, "the stuck read completed after %.1f s: %s", s,
                sample);
    else
        fdl_log(FDL_LOG_WARNING,
                "worker %" PRIu32 " continues after %.1f s in %s: %s",
                h->worker, s, where(engine, h->step), sample);
}

void fdl_stuck_tell_stop(const struct fdl_engine *engine, uint32_t worker)
{
    struct fdl_sample_at h;
    char sample[300];
    if (!fdl_engine_worker_at(engine, worker, &h))
        return;
    say_sample(engine, &h, sample, sizeof(sample));
    fdl_log(FDL_LOG_WARNING,
            "stopping; waiting for worker %" PRIu32 " (thread %" PRId32
            "), which is in %s for %.1f s: %s",
            worker, h.tid, where(engine, h.step),
            seconds(fdl_now_ns() - h.since_ns), sample);
}

/* ---- Watching ----------------------------------------------------------- */

static bool is_same(const struct fdl_sample_at *a,
                    const struct fdl_sample_at *b)
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
static void notice(void *user, const struct fdl_sample_at *h)
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
            tell(beat->stuck->engine, h, beat->now);
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
                tell_end(s->engine, &t->who, now);
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
    visit_all(s->engine, beat.now, notice, &beat);
    forget(s, beat.now);
}

int32_t fdl_stuck_create(const struct fdl_engine *engine,
                         struct fdl_monitor *monitor)
{
    struct fdl_stuck *s = calloc(1, sizeof(*s));
    if (!s)
        return fdl_fail_memory(sizeof(*s), "the watch over workers");
    s->engine = engine;
    struct fdl_subscriber who = {.serve = serve, .close = free, .user = s};
    int32_t status = fdl_monitor_subscribe(monitor, &who);
    if (status < 0)
        free(s);
    return status;
}

/* ---- Who asks ----------------------------------------------------------- */

struct search {
    uint32_t index, n;
    struct fdl_sample_at found;
};

static void count(void *user, const struct fdl_sample_at *h)
{
    struct search *s = user;
    if (s->n++ == s->index)
        s->found = *h;
}

int32_t fdl_stuck_get(const struct fdl_engine *engine, uint32_t index,
                      struct feedline_stuck_worker *out)
{
    struct search s = {.index = index};
    int64_t now = fdl_now_ns();
    visit_all(engine, now, count, &s);
    if (index >= s.n)
        return FEEDLINE_END;
    describe(engine, &s.found, now, out);
    return FEEDLINE_OK;
}

uint32_t fdl_stuck_count(const struct fdl_engine *engine)
{
    struct search s = {.index = UINT32_MAX};
    visit_all(engine, fdl_now_ns(), count, &s);
    return s.n;
}

struct writing {
    const struct fdl_engine *engine;
    struct fdl_json *j;
    int64_t now;
};

static void write_one(void *user, const struct fdl_sample_at *h)
{
    struct writing *w = user;
    struct feedline_stuck_worker one;
    describe(w->engine, h, w->now, &one);
    fdl_json_begin_object(w->j, NULL);
    if (h->worker == FDL_BY_READER)
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

void fdl_stuck_json(const struct fdl_engine *engine, struct fdl_json *j)
{
    struct writing w = {engine, j, fdl_now_ns()};
    fdl_json_begin_array(j, "stuck_workers");
    visit_all(engine, w.now, write_one, &w);
    fdl_json_end_array(j);
}

struct worst {
    uint64_t awaited;
    uint32_t n;
    bool found, awaits;
    struct fdl_sample_at who;
};

/* What the next batch waits for is worse than the rest. */
static void weigh(void *user, const struct fdl_sample_at *h)
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

void fdl_stuck_evidence(const struct fdl_engine *engine,
                        struct fdl_evidence *out)
{
    struct worst w = {
        .awaited = fdl_engine_awaited(engine),
    };
    int64_t now = fdl_now_ns();
    visit_all(engine, now, weigh, &w);
    if (!w.found)
        return;
    out->stuck_workers = w.n;
    out->stuck_awaited = w.awaits;
    out->stuck_ns = FDL_MAX(now - w.who.since_ns, INT64_C(1));
    out->stuck_where = where(engine, w.who.step);
    copy_path(out->stuck_path, sizeof(out->stuck_path),
              path_of(engine, &w.who));
}
