/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool of workers: how many there are, and their threads' lives.
 *
 *     UNBORN --start--> LIVING --end--> DONE --join--> UNBORN
 *
 * A thread that ends unexpectedly, because a custom operation calls
 * pthread_exit or lets itself be cancelled, leaves a batch that will never be
 * complete: next() reports it and ends the run (exit_early in worker.c).
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "loader/stream/engine_own.h"
#include "loader/stream/worker_jobs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The pool ----------------------------------------------------------- */

int32_t fdl_pool_init(struct fdl_pool *pool)
{
    *pool = (struct fdl_pool){0};
    fdl_event_init(&pool->unpark);
    fdl_event_init(&pool->ended);
    size_t bytes = FDL_MAX_WORKERS * sizeof(struct fdl_worker *);
    pool->workers = calloc(1, bytes);
    if (!pool->workers)
        return fdl_fail_memory(bytes, "the worker table");
    return FEEDLINE_OK;
}

static void worker_destroy(struct fdl_worker *w)
{
    if (!w)
        return;
    fdl_decoder_destroy(w->decoder);
    fdl_decoder_destroy(w->masks);
    fdl_recorded_memory_fini(&w->recorded);
    free(w->notes);
    free(w->payload);
    free(w);
}

static int32_t make_payload(struct fdl_worker *w)
{
    w->payload_bytes = fdl_payload_bytes(&w->engine->ring->kind.layout);
    if (w->payload_bytes > 0)
        w->payload = fdl_alloc_aligned(w->payload_bytes);
    return w->payload || w->payload_bytes == 0
               ? FEEDLINE_OK
               : fdl_fail_memory(w->payload_bytes, "payloads");
}

static int32_t worker_create(struct fdl_engine *e, uint32_t id,
                             struct fdl_worker **out)
{
    struct fdl_worker *w = fdl_alloc_aligned(sizeof(*w));
    if (!w)
        return fdl_fail_memory(sizeof(*w), "a worker");
    memset(w, 0, sizeof(*w));
    w->engine = e;
    w->id = id;
    /* A worker that replaces a sample holds its buffer: waiting for another
     * would be waiting for itself. */
    w->spare.exempt = true;
    w->part.exempt = true;
    struct fdl_decode_limits limits = {0};
    fdl_options_fill(&e->options, &limits);
    if (e->is_recorded) { /* its steps say what becomes of an image */
        limits.stored_mode = FDL_STORED_ANY;
        limits.apply_exif = false;
    }
    int32_t status = fdl_decoder_create(&limits, &w->decoder);
    limits.masks = true;
    if (status >= 0 && e->mask.on)
        status = fdl_decoder_create(&limits, &w->masks);
    if (status >= 0)
        status = make_payload(w);
    if (e->entries)
        w->notes = calloc(1, sizeof(*w->notes));
    if (status >= 0 && e->observer.worker_made)
        status = e->observer.worker_made(e->observer.user, id, &w->books);
    if (status < 0) {
        worker_destroy(w);
        return status;
    }
    fdl_decoder_tell(w->decoder, &w->at.step);
    if (w->masks)
        fdl_decoder_tell(w->masks, &w->at.step);
    *out = w;
    return FEEDLINE_OK;
}

static void set_life_locked(struct fdl_worker *w, enum fdl_worker_life life)
{
    /* Relaxed: except for life_of, the lock orders it. */
    atomic_store_explicit(&w->life, (uint32_t)life, memory_order_relaxed);
}

static int32_t worker_start(struct fdl_worker *w)
{
    struct fdl_lock *settings = &w->engine->settings;
    const struct fdl_cpu_set *cpus = fdl_engine_cpus(w->engine);
    char name[32];
    snprintf(name, sizeof(name), "feedline-dec-%u", w->id);
    fdl_lock(settings);
    w->born_ns = fdl_now_ns();
    set_life_locked(w, FDL_WORKER_LIVING);
    fdl_unlock(settings);
    int32_t status =
        fdl_thread_start_on(&w->thread, cpus, name, fdl_worker_main, w);
    if (status >= 0)
        return FEEDLINE_OK;
    fdl_lock(settings);
    set_life_locked(w, FDL_WORKER_UNBORN);
    fdl_unlock(settings);
    return status;
}

static enum fdl_worker_life life_of(const struct fdl_worker *w)
{
    /* acquire: pairs with end_thread, where settings is not held. */
    return (enum fdl_worker_life)atomic_load_explicit(&w->life,
                                                      memory_order_acquire);
}

static void join(struct fdl_worker *w)
{
    fdl_thread_join(&w->thread);
    fdl_lock(&w->engine->settings);
    w->past_ns += w->died_ns - w->born_ns;
    set_life_locked(w, FDL_WORKER_UNBORN);
    fdl_unlock(&w->engine->settings);
}

int32_t fdl_pool_set_active(struct fdl_engine *e, uint32_t active)
{
    struct fdl_pool *pool = &e->pool;
    int32_t status = FEEDLINE_OK;
    uint32_t n = atomic_load_explicit(&pool->n_workers, memory_order_relaxed);
    uint32_t ready = 0;
    for (; ready < active; ready++) {
        if (ready == n) {
            status = worker_create(e, n, &pool->workers[n]);
            if (status < 0)
                break;
            /* release: readers of statistics see the complete worker. */
            atomic_store_explicit(&pool->n_workers, ++n, memory_order_release);
        }
        struct fdl_worker *w = pool->workers[ready];
        /* The thread may look at `active` before it is set below; it parks and
         * is woken. */
        if (!w->thread.running)
            status = worker_start(w);
        if (status < 0)
            break;
    }
    uint32_t before = atomic_load_explicit(&pool->active, memory_order_relaxed);
    if (status >= 0 || ready > before)
        atomic_store_explicit(&pool->active, ready, memory_order_release);
    fdl_event_notify(&pool->unpark, UINT32_MAX);
    fdl_event_notify(fdl_window_ready(e->window), UINT32_MAX);
    return status;
}

int32_t fdl_pool_check(const struct fdl_pool *pool)
{
    /* acquire: pairs with exit_early. */
    const struct fdl_worker *w =
        atomic_load_explicit(&pool->exited, memory_order_acquire);
    if (!w)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EUSER,
                    "the thread of worker %" PRIu32 " ended in %s: an "
                    "operation must return, and not call pthread_exit",
                    w->id, w->exited_in);
}

/* The thread that stops a run is blocked meanwhile, and its user wants to know
 * why. */
#define STOP_PATIENCE_NS INT64_C(5000000000)

/* Waits until its thread has ended; the observer is notified if that takes
 * long. */
static void wait_for_end(struct fdl_worker *w)
{
    const struct fdl_observer *o = &w->engine->observer;
    struct fdl_pool *pool = &w->engine->pool;
    int64_t patience = fdl_option_int(&w->engine->options, FDL_OPT_STUCK_AFTER);
    patience = patience == 0 ? -1 : FDL_MIN(patience, STOP_PATIENCE_NS);
    for (;;) {
        uint32_t key = fdl_event_prepare(&pool->ended);
        if (life_of(w) != FDL_WORKER_LIVING) {
            fdl_event_cancel(&pool->ended);
            return;
        }
        if (!fdl_event_wait(&pool->ended, key, patience) && patience > 0) {
            if (o->late)
                o->late(o->user, w->id);
            patience = -1;
        }
    }
}

void fdl_pool_stop(struct fdl_engine *e)
{
    struct fdl_pool *pool = &e->pool;
    fdl_event_notify(&pool->unpark, UINT32_MAX);
    fdl_event_notify(fdl_window_ready(e->window), UINT32_MAX);
    uint32_t n = atomic_load_explicit(&pool->n_workers, memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++) {
        struct fdl_worker *w = pool->workers[i];
        if (!w->thread.running)
            continue;
        wait_for_end(w);
        join(w);
    }
    atomic_store_explicit(&pool->active, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->exited, NULL, memory_order_relaxed);
}

int64_t fdl_pool_lived_ns(struct fdl_engine *e, int64_t now, uint32_t *threads)
{
    const struct fdl_pool *pool = &e->pool;
    uint32_t n = atomic_load_explicit(&pool->n_workers, memory_order_acquire);
    int64_t sum = 0;
    *threads = 0;
    fdl_lock(&e->settings);
    for (uint32_t i = 0; i < n; i++) {
        const struct fdl_worker *w = pool->workers[i];
        enum fdl_worker_life life = life_of(w);
        sum += w->past_ns;
        if (life != FDL_WORKER_UNBORN) {
            int64_t end = life == FDL_WORKER_LIVING ? now : w->died_ns;
            sum += FDL_MAX(end - w->born_ns, INT64_C(0));
            ++*threads;
        }
    }
    fdl_unlock(&e->settings);
    return sum;
}

void fdl_pool_fini(struct fdl_pool *pool)
{
    uint32_t n = atomic_load_explicit(&pool->n_workers, memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++)
        worker_destroy(pool->workers[i]);
    free(pool->workers);
}
