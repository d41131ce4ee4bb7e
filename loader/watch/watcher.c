/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that watches an engine: its life, and the hooks; see watcher.h. */
#include "loader/watch/watcher.h"

#include "loader/watch/notes.h"
#include "loader/watch/stats.h"
#include "loader/watch/stuck.h"

#include <stdlib.h>

/* ---- Hooks --------------------------------------------------------------- */

void fdl_watch_called(void *watch, int64_t now)
{
    fdl_account_called(watch, now);
}

static void refused(void *watch)
{
    fdl_account_refused(watch);
}

static void returned(void *watch, const struct fdl_next_record *r)
{
    fdl_account_returned(watch, r);
}

static void broken(void *watch)
{
    fdl_account_broken(watch);
}

static int32_t worker_made(void *user, uint32_t id, void **books)
{
    struct fdl_watch *watch = user;
    int32_t status = fdl_worker_books_create(fdl_stats_custom_count(watch),
                                             &watch->slow, &watch->workers[id]);
    *books = watch->workers[id];
    return status;
}

/* While the threads still answer. */
static void stopping(void *user)
{
    struct fdl_watch *watch = user;
    fdl_monitor_look(watch->monitor);
}

void fdl_watch_beginning(void *user)
{
    struct fdl_watch *watch = user;
    fdl_notes_begin_run(watch);
    fdl_device_watch_rewind(watch->device);
}

static void late(void *user, uint32_t worker)
{
    struct fdl_watch *watch = user;
    fdl_stuck_tell_stop(watch->engine, worker);
}

static void hold_device(void *device)
{
    fdl_device_watch_ref(device);
}

static void let_go_of_device(void *device)
{
    fdl_device_watch_unref(device);
}

/* ---- Life ---------------------------------------------------------------- */

int32_t fdl_watch_init(struct fdl_watch *watch, uint32_t batch_size,
                       struct fdl_observer *observer)
{
    fdl_slow_init(&watch->slow);
    int32_t status = fdl_books_init(&watch->books, batch_size);
    if (status >= 0)
        status = fdl_device_watch_create(&watch->device);
    if (status < 0)
        return status;
    *observer = (struct fdl_observer){
        .user = watch,
        .copies = {.user = watch->device,
                   .observe = fdl_device_watch_observe,
                   .hold = hold_device,
                   .let_go = let_go_of_device},
        .called = fdl_watch_called,
        .refused = refused,
        .returned = returned,
        .broken = broken,
        .worker_made = worker_made,
        .sample = fdl_worker_books_sample,
        .attempt = fdl_worker_books_attempt,
        .waited = fdl_worker_books_waited,
        .stopping = stopping,
        .beginning = fdl_watch_beginning,
        .late = late,
    };
    return FEEDLINE_OK;
}

static void serve_engine(void *engine, bool last)
{
    if (!last)
        fdl_engine_tidy(engine);
}

int32_t fdl_watch_attach(struct fdl_watch *watch, struct fdl_engine *engine)
{
    struct fdl_subscriber tidy = {.serve = serve_engine, .user = engine};
    watch->engine = engine;
    watch->notes.consumer = fdl_trace_ring_create();
    watch->notes.decisions = fdl_trace_ring_create();
    int32_t status = fdl_monitor_create(engine, &watch->books, watch->workers,
                                        &watch->monitor);
    if (status >= 0)
        status = fdl_stuck_create(engine, watch->monitor);
    if (status >= 0)
        status = fdl_monitor_subscribe(watch->monitor, &tidy);
    return status;
}

void fdl_watch_end(struct fdl_watch *watch)
{
    fdl_monitor_destroy(watch->monitor);
    watch->monitor = NULL;
}

void fdl_watch_fini(struct fdl_watch *watch)
{
    for (uint32_t i = 0; i < FDL_MAX_WORKERS; i++)
        fdl_worker_books_destroy(watch->workers[i]);
    fdl_trace_ring_destroy(watch->notes.decisions);
    fdl_trace_ring_destroy(watch->notes.consumer);
    free(watch->outside);
    fdl_device_watch_unref(watch->device);
    fdl_books_fini(&watch->books);
    fdl_slow_fini(&watch->slow);
}
