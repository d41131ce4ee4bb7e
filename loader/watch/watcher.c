/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that watches an engine: its life, and the hooks; see watcher.h. */
#include "loader/watch/watcher.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "decode/pipeline.h"
#include "loader/stream/engine.h"
#include "loader/stream/snapshot.h"
#include "loader/watch/account.h"
#include "loader/watch/stuck.h"

#include <stdlib.h>

/* ---- Notes --------------------------------------------------------------- */

uint32_t fdl_watch_ring_count(const struct fdl_watch *watch)
{
    return FDL_RING_WORKERS + fdl_engine_worker_count(watch->engine);
}

static struct fdl_trace_ring *ring_at(const struct fdl_watch *watch, uint32_t i)
{
    switch (i) {
    case FDL_RING_CONSUMER:
        return watch->books.notes.ring;
    case FDL_RING_BATCHES:
        return fdl_engine_notes(watch->engine);
    case FDL_RING_DEVICE:
        return watch->device->notes;
    case FDL_RING_DECISIONS:
        return watch->decisions;
    default:
        return watch->workers[i - FDL_RING_WORKERS]->notes;
    }
}

const struct fdl_trace_ring *fdl_watch_ring(const struct fdl_watch *watch,
                                            uint32_t i)
{
    return ring_at(watch, i);
}

uint64_t fdl_watch_ring_bytes(const struct fdl_watch *watch)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < fdl_watch_ring_count(watch); i++)
        bytes += fdl_trace_ring_bytes(ring_at(watch, i));
    return bytes;
}

void fdl_watch_decided_locked(struct fdl_watch *watch, uint64_t id, bool judged)
{
    fdl_trace_note(watch->decisions, FDL_TRACE_DECISION, fdl_now_ns(),
                   (int64_t)id, 0, FDL_TRACE_NO_SAMPLE, judged);
}

/* ---- Hooks --------------------------------------------------------------- */

static struct fdl_books *books_of(void *watch)
{
    return &((struct fdl_watch *)watch)->books;
}

FDL_HOT void fdl_watch_called(void *watch, int64_t now)
{
    fdl_account_called(books_of(watch), now);
}

static void refused(void *watch)
{
    fdl_account_refused(books_of(watch));
}

FDL_HOT static void returned(void *watch, const struct fdl_next_record *r)
{
    fdl_account_returned(books_of(watch), r);
}

static void broken(void *watch)
{
    fdl_account_broken(books_of(watch));
}

static void is_short(void *watch)
{
    fdl_monitor_hurry(((struct fdl_watch *)watch)->monitor);
}

static int32_t worker_made(void *user, uint32_t id, void **books)
{
    struct fdl_watch *watch = user;
    uint32_t customs =
        fdl_pipeline_custom_count(fdl_engine_pipeline(watch->engine));
    int32_t status = fdl_worker_books_create(customs, &watch->books.slow,
                                             &watch->workers[id]);
    *books = watch->workers[id];
    return status;
}

/* While the threads still answer. */
static void stopping(void *user)
{
    struct fdl_watch *watch = user;
    fdl_monitor_look(watch->monitor);
}

/* No thread runs: later notes belong to a new run. */
void fdl_watch_beginning(void *user)
{
    struct fdl_watch *watch = user;
    watch->books.notes.has_step = false;
    for (uint32_t i = 0; i < fdl_watch_ring_count(watch); i++)
        fdl_trace_ring_set_run(ring_at(watch, i), watch->runs);
    watch->runs++;
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

/* Zeroed memory. batch_size: samples of a batch, at most. `engine` is set
 * later, before the first call of next(). ENOMEM. */
static int32_t init_books(struct fdl_books *c, uint32_t batch_size)
{
    fdl_lock_init(&c->lock, FDL_RANK_BOOKS);
    fdl_slow_init(&c->slow);
    c->zero = &c->zeros[0];
    c->notes.ring = fdl_trace_ring_create();
    return fdl_ledger_scratch_create(batch_size, &c->scratch);
}

static void fini_books(struct fdl_books *c)
{
    fdl_ledger_scratch_destroy(c->scratch);
    fdl_trace_ring_destroy(c->notes.ring);
    fdl_slow_fini(&c->slow);
    fdl_lock_destroy(&c->lock);
}

int32_t fdl_watch_init(struct fdl_watch *watch, uint32_t batch_size,
                       struct fdl_observer *observer)
{
    int32_t status = init_books(&watch->books, batch_size);
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
        .is_short = is_short,
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
    watch->books.engine = engine;
    watch->decisions = fdl_trace_ring_create();
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
    fdl_trace_ring_destroy(watch->decisions);
    free(watch->outside);
    fdl_device_watch_unref(watch->device);
    fini_books(&watch->books);
}
