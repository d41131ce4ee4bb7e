/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two locks, in this order: `looking` is held during a probe, which may take as
 * long as the kernel takes to answer; `lock` guards the copy of the results,
 * and is held only for the length of a copy. So callers that want numbers never
 * wait for a probe, and the GPU's driver, which may hang, is called by the
 * monitor's thread alone, with no lock at all.
 */
#include "loader/watch/monitor.h"

#include "base/clock.h"
#include "base/event.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/status.h"
#include "base/thread.h"
#include "loader/watch/gpu_watch.h"

#include <stdatomic.h>
#include <stdlib.h>

#define BEATS_OF_A_SECOND 4u

struct seat {
    struct fdl_subscriber who;
    int64_t due; /* when it is next served */
};

struct fdl_monitor {
    struct fdl_thread thread;
    struct fdl_event wake;
    _Atomic bool stopping, hurried;
    bool begun; /* the first run was */

    struct seat seats[FDL_SUBSCRIBERS_MAX]; /* constant once begun, but due */
    uint32_t n_seats;

    struct fdl_lock looking; /* guards look */
    struct fdl_look *look;
    struct fdl_gpu_watch *gpu; /* the thread's own */

    struct fdl_lock lock; /* guards the two below */
    struct fdl_watched watched;
    struct fdl_gpu_watched gpu_watched;
};

/* ---- Looking ------------------------------------------------------------ */

static void publish_locked(struct fdl_monitor *m)
{
    fdl_lock(&m->lock);
    m->watched = *fdl_look_watched(m->look);
    fdl_unlock(&m->lock);
}

void fdl_monitor_look(struct fdl_monitor *m)
{
    fdl_lock(&m->looking);
    fdl_look_now(m->look, fdl_now_ns());
    publish_locked(m);
    fdl_unlock(&m->looking);
}

static void look_at_gpu(struct fdl_monitor *m)
{
    struct fdl_gpu_watched gpu;
    fdl_gpu_watch_look(m->gpu, fdl_now_ns(), &gpu);
    fdl_lock(&m->lock);
    m->gpu_watched = gpu;
    fdl_unlock(&m->lock);
}

void fdl_monitor_get(struct fdl_monitor *m, struct fdl_watched *out,
                     struct fdl_gpu_watched *gpu)
{
    fdl_lock(&m->lock);
    *out = m->watched;
    if (gpu)
        *gpu = m->gpu_watched;
    fdl_unlock(&m->lock);
}

void fdl_monitor_begin_reset(struct fdl_monitor *m)
{
    fdl_lock(&m->looking);
}

void fdl_monitor_end_reset(struct fdl_monitor *m)
{
    fdl_look_reset(m->look, fdl_now_ns());
    publish_locked(m);
    fdl_unlock(&m->looking);
}

/* ---- The thread --------------------------------------------------------- */

static bool is_stopping(struct fdl_monitor *m)
{
    /* acquire: pairs with fdl_monitor_destroy, for the event's sake. */
    return atomic_load_explicit(&m->stopping, memory_order_acquire);
}

static void serve(struct fdl_monitor *m, int64_t now)
{
    for (uint32_t i = 0; i < m->n_seats; i++) {
        struct seat *s = &m->seats[i];
        if (now < s->due)
            continue;
        s->due = now - s->due < s->who.interval_ns ? s->due + s->who.interval_ns
                                                   : now + s->who.interval_ns;
        s->who.serve(s->who.user, false);
    }
}

void fdl_monitor_hurry(struct fdl_monitor *m)
{
    atomic_store_explicit(&m->hurried, true, memory_order_relaxed);
    fdl_event_notify(&m->wake, UINT32_MAX);
}

static bool was_hurried(struct fdl_monitor *m)
{
    return atomic_exchange_explicit(&m->hurried, false, memory_order_relaxed);
}

/* Those in a hurry are served in between. */
static void sleep_until(struct fdl_monitor *m, int64_t time)
{
    for (;;) {
        int64_t left = time - fdl_now_ns();
        if (left <= 0)
            return;
        uint32_t key = fdl_event_prepare(&m->wake);
        bool stopping = is_stopping(m), hurried = was_hurried(m);
        if (!stopping && !hurried) {
            fdl_event_wait(&m->wake, key, left);
            continue;
        }
        fdl_event_cancel(&m->wake);
        if (stopping)
            return;
        serve(m, fdl_now_ns());
    }
}

static void *watch_main(void *arg)
{
    struct fdl_monitor *m = arg;
    int64_t next = fdl_now_ns();
    for (uint32_t beat = 0; !is_stopping(m); beat++) {
        fdl_monitor_look(m);
        if (beat % BEATS_OF_A_SECOND == 0)
            look_at_gpu(m);
        int64_t now = fdl_now_ns();
        serve(m, now);
        next += FDL_BEAT_NS;
        if (next < now) /* late: skip the beats in between */
            next = now + FDL_BEAT_NS;
        sleep_until(m, next);
    }
    return NULL;
}

/* ---- Its life ----------------------------------------------------------- */

int32_t fdl_monitor_create(const struct fdl_engine *engine,
                           struct fdl_books *books,
                           struct fdl_worker_books *const *workers,
                           struct fdl_monitor **out)
{
    struct fdl_monitor *m = calloc(1, sizeof(*m));
    if (!m)
        return fdl_fail_memory(sizeof(*m), "the monitor");
    fdl_event_init(&m->wake);
    fdl_lock_init(&m->looking, FDL_RANK_LOOKING);
    fdl_lock_init(&m->lock, FDL_RANK_MONITOR);
    int32_t status = fdl_look_create(engine, books, workers, &m->look);
    if (status >= 0)
        status = fdl_gpu_watch_create(engine, &m->gpu);
    if (status < 0) {
        fdl_monitor_destroy(m);
        return status;
    }
    m->watched = *fdl_look_watched(m->look);
    fdl_gpu_watched_init(&m->gpu_watched);
    *out = m;
    return FEEDLINE_OK;
}

int32_t fdl_monitor_subscribe(struct fdl_monitor *m,
                              const struct fdl_subscriber *s)
{
    if (m->n_seats == FDL_SUBSCRIBERS_MAX)
        return fdl_fail(FEEDLINE_ERANGE, "the monitor serves up to %u",
                        FDL_SUBSCRIBERS_MAX);
    fdl_assert(!m->begun);
    m->seats[m->n_seats++].who = *s;
    return FEEDLINE_OK;
}

int32_t fdl_monitor_start(struct fdl_monitor *m)
{
    if (m->thread.running)
        return FEEDLINE_OK;
    if (!m->begun) {
        int64_t now = fdl_now_ns();
        fdl_monitor_begin_reset(m); /* earlier time belongs to no run */
        fdl_monitor_end_reset(m);
        for (uint32_t i = 0; i < m->n_seats; i++)
            m->seats[i].due = now + m->seats[i].who.interval_ns;
    }
    m->begun = true;
    int32_t status =
        fdl_thread_start(&m->thread, "feedline-watch", watch_main, m);
    if (status < 0)
        fdl_log(FDL_LOG_WARNING,
                "%s; the live page, the statistics log and the metrics "
                "are written only once, at the end",
                fdl_last_error());
    return status;
}

static void end_service(struct fdl_monitor *m)
{
    if (m->begun)
        fdl_monitor_look(m);
    for (uint32_t i = 0; i < m->n_seats; i++) {
        struct fdl_subscriber *s = &m->seats[i].who;
        if (m->begun)
            s->serve(s->user, true);
        if (s->close)
            s->close(s->user);
    }
}

void fdl_monitor_destroy(struct fdl_monitor *m)
{
    if (!m)
        return;
    /* release: pairs with is_stopping. */
    atomic_store_explicit(&m->stopping, true, memory_order_release);
    fdl_event_notify(&m->wake, UINT32_MAX);
    fdl_thread_join(&m->thread);
    end_service(m);
    fdl_gpu_watch_destroy(m->gpu);
    fdl_look_destroy(m->look);
    fdl_lock_destroy(&m->lock);
    fdl_lock_destroy(&m->looking);
    free(m);
}
