/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pread reader: a pool of threads, each with one file at a time.
 *
 *     work    threads with nothing to claim sleep here, woken one at a time:
 *             the window's waker wakes one, and a thread that claimed wakes the
 *             next while there is room, so that few threads serve a window that
 *             only trickles and all of them an empty one
 *     parked  threads beyond the depth sleep here; they exist because the depth
 *             was larger before
 *
 * Threads are created as the depth grows and joined at stop, since a parked
 * thread costs a few kilobytes and no time.
 *
 * What is in the page cache is read without waiting and announced a few samples
 * at a time, at the latest before a read that may wait.
 *
 * No posix_fadvise: a whole file in one pread tells the kernel all it needs.
 *
 * Images of 110 KB in shards cost 19 to 20 us of CPU time each out of the page
 * cache and 22 to 38 us by direct reads, which with many threads are as fast as
 * io_uring (bench/results/2026-11-23-io.md).
 */
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "loader/read/gather.h"
#include "loader/read/reader.h"
#include "loader/read/reader_file.h"
#include "loader/read/user_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The window's two; one more for each read. */
#define CLOCK_READS_PER_ITEM 2

/* Samples that are announced together: one wake-up serves them. Until then no
 * more has passed than it takes to copy so many from the page cache. */
#define MOST_LANDED       4
#define MOST_LANDED_BYTES (256u << 10)

struct io_thread {
    struct fdl_thread thread;
    struct fdl_reader *reader;
    struct fdl_stage *stage;
    uint32_t index;
    uint32_t landed; /* and not announced */
};

struct fdl_reader {
    struct fdl_window *window;
    uint32_t max_depth;
    const struct fdl_cpu_set *cpus; /* as in the configuration */
    struct io_thread *threads;      /* [max_depth] */

    struct fdl_lock lock; /* guards n_threads, and changes of depth */
    uint32_t n_threads;

    _Atomic uint32_t depth; /* threads with a smaller index are active */
    FDL_ALIGNED(FDL_CACHE_LINE) struct fdl_event work;
    struct fdl_event parked;
};

static bool is_parked(const struct io_thread *t)
{
    /* Relaxed: set_depth notifies after the store, see base/event.h. */
    return t->index >=
           atomic_load_explicit(&t->reader->depth, memory_order_relaxed);
}

/* A wake-up that this thread may have consumed is not lost: set_depth wakes all
 * sleepers on `work` after changing the depth. */
static void park(struct io_thread *t)
{
    struct fdl_reader *r = t->reader;
    uint32_t key = fdl_event_prepare(&r->parked);
    if (is_parked(t) && !fdl_window_is_closed(r->window))
        fdl_event_wait(&r->parked, key, -1);
    else
        fdl_event_cancel(&r->parked);
}

/* Before anything that may take longer than a copy. */
static void announce(void *user)
{
    struct io_thread *t = user;
    if (t->landed)
        fdl_window_announce(t->reader->window, t->landed);
    t->landed = 0;
}

/* The next sample to read, or NULL after sleeping: check again. */
static struct fdl_read *claim_or_sleep(struct io_thread *t)
{
    struct fdl_reader *r = t->reader;
    struct fdl_read *read = fdl_window_claim(r->window);
    if (read)
        return read;
    announce(t);

    uint32_t key = fdl_event_prepare(&r->work);
    read = fdl_window_claim(r->window);
    if (read || is_parked(t) || fdl_window_is_closed(r->window)) {
        fdl_event_cancel(&r->work);
        return read;
    }
    bool full = fdl_window_is_full(r->window);
    int64_t begin = fdl_now_ns();
    fdl_event_wait(&r->work, key, -1);
    fdl_counter_add(full ? &t->stage->blocked_ns : &t->stage->starved_ns,
                    (uint64_t)(fdl_now_ns() - begin));
    fdl_counter_add(&t->stage->clock_reads, 2);
    return NULL;
}

static void read_file(struct io_thread *t, struct fdl_read *read)
{
    struct fdl_reader *r = t->reader;
    int fd = fdl_file_take(r->window, read);
    if (fd < 0) {
        announce(t);
        fd = fdl_file_open_patiently(r->window, read->source.path);
    }
    fdl_file_read_from(r->window, read, fd, announce, t);
}

/* read->status is set. */
static void land(struct io_thread *t, struct fdl_read *read)
{
    int64_t begin =
        atomic_load_explicit(&read->times->read_start, memory_order_relaxed);
    uint64_t bytes = fdl_gather_bytes(read), ahead = read->ahead;
    bool failed = read->status != FEEDLINE_OK;
    uint32_t n = fdl_window_publish(read); /* the workers own it from here */
    t->landed += n;
    if (t->landed >= MOST_LANDED || bytes >= MOST_LANDED_BYTES)
        announce(t);
    int64_t own = fdl_now_ns() - begin;
    fdl_stage_items(t->stage, n, own, bytes);
    fdl_stage_read(t->stage, own, bytes, ahead);
    fdl_stage_storage(t->stage);
    fdl_counter_add(&t->stage->clock_reads, n * CLOCK_READS_PER_ITEM + 1);
    if (failed)
        fdl_counter_add(&t->stage->errors, 1);
}

static void read_sample(struct io_thread *t, struct fdl_read *read)
{
    if (read->source.user) {
        announce(t);
        fdl_user_read(t->reader->window, read);
    } else {
        read_file(t, read);
    }
}

/* Each by itself: the one that is damaged fails. */
static void read_apart(struct io_thread *t, struct fdl_read *read)
{
    while (read) {
        struct fdl_read *rest = fdl_gather_detach(read);
        read_sample(t, read);
        land(t, read);
        read = rest;
    }
}

static void serve(struct io_thread *t, struct fdl_read *read)
{
    struct fdl_reader *r = t->reader;
    if (fdl_window_has_room(r->window))
        fdl_event_notify(&r->work, 1);
    read_sample(t, read);
    if (read->status < 0 && read->mate)
        read_apart(t, read);
    else
        land(t, read);
}

static void *io_main(void *arg)
{
    struct io_thread *t = arg;
    while (!fdl_window_is_closed(t->reader->window)) {
        if (is_parked(t)) {
            announce(t);
            park(t);
            continue;
        }
        struct fdl_read *read = claim_or_sleep(t);
        if (read)
            serve(t, read);
    }
    return NULL;
}

static void wake(void *user)
{
    struct fdl_reader *r = user;
    if (!fdl_window_is_closed(r->window)) {
        fdl_event_notify(&r->work, 1);
        return;
    }
    fdl_event_notify(&r->work, UINT32_MAX);
    fdl_event_notify(&r->parked, UINT32_MAX);
}

static int32_t start_thread_locked(struct fdl_reader *r)
{
    struct io_thread *t = &r->threads[r->n_threads];
    char name[32];
    snprintf(name, sizeof(name), "feedline-io-%" PRIu32, r->n_threads);
    int32_t status = fdl_thread_start_on(&t->thread, r->cpus, name, io_main, t);
    if (status == FEEDLINE_OK)
        r->n_threads++;
    return status;
}

/* As many threads as the depth asks for; those that the system refuses are
 * missing, which costs only speed. The error is that of the last one. */
static int32_t apply_depth_locked(struct fdl_reader *r, uint32_t depth)
{
    int32_t status = FEEDLINE_OK;
    while (status == FEEDLINE_OK && r->n_threads < depth)
        status = start_thread_locked(r);
    atomic_store_explicit(&r->depth, depth, memory_order_relaxed);
    fdl_event_notify(&r->work, UINT32_MAX);
    fdl_event_notify(&r->parked, UINT32_MAX);
    return status;
}

static uint32_t clamp_depth(const struct fdl_reader *r, uint32_t depth)
{
    return FDL_MAX(1, FDL_MIN(depth, r->max_depth));
}

static void set_depth(struct fdl_reader *r, uint32_t depth)
{
    fdl_lock(&r->lock);
    if (apply_depth_locked(r, clamp_depth(r, depth)) != FEEDLINE_OK)
        fdl_log(FDL_LOG_WARNING, "%s; reading with %" PRIu32 " threads",
                fdl_last_error(), r->n_threads);
    fdl_unlock(&r->lock);
}

static void destroy(struct fdl_reader *r)
{
    fdl_lock_destroy(&r->lock);
    free(r->threads);
    free(r);
}

static void stop(struct fdl_reader *r)
{
    for (uint32_t i = 0; i < r->n_threads; i++)
        fdl_thread_join(&r->threads[i].thread);
    fdl_window_set_waker(r->window, NULL, NULL);
    destroy(r);
}

static int32_t create(const struct fdl_reader_config *cfg,
                      struct fdl_reader **out)
{
    struct fdl_reader *r = fdl_alloc_aligned(sizeof(*r));
    if (!r)
        return fdl_fail_memory(sizeof(*r), "the reader");
    memset(r, 0, sizeof(*r));
    r->window = cfg->window;
    r->max_depth = FDL_MAX(1, cfg->max_depth);
    r->cpus = cfg->cpus;
    fdl_lock_init(&r->lock, FDL_RANK_READERS);
    fdl_event_init(&r->work);
    fdl_event_init(&r->parked);
    r->threads = calloc(r->max_depth, sizeof(*r->threads));
    if (!r->threads) {
        destroy(r);
        return fdl_fail_memory(cfg->max_depth * sizeof(*r->threads),
                               "the reader's threads");
    }
    for (uint32_t i = 0; i < r->max_depth; i++) {
        r->threads[i].reader = r;
        r->threads[i].stage = &cfg->stages[i];
        r->threads[i].index = i;
    }
    *out = r;
    return FEEDLINE_OK;
}

static int32_t start(const struct fdl_reader_config *cfg,
                     struct fdl_reader **out)
{
    struct fdl_reader *r = NULL;
    int32_t status = create(cfg, &r);
    if (status != FEEDLINE_OK)
        return status;

    fdl_window_set_waker(r->window, wake, r); /* before the threads look */
    fdl_lock(&r->lock);
    status = apply_depth_locked(r, clamp_depth(r, cfg->depth));
    fdl_unlock(&r->lock);
    if (r->n_threads == 0) {
        fdl_window_set_waker(r->window, NULL, NULL);
        destroy(r);
        return status;
    }
    if (status != FEEDLINE_OK)
        fdl_log(FDL_LOG_WARNING, "%s; reading with %" PRIu32 " threads",
                fdl_last_error(), r->n_threads);
    *out = r;
    return FEEDLINE_OK;
}

const struct fdl_reader_ops fdl_reader_pread = {
    .name = "pread",
    .kind = FDL_READER_pread,
    .reads_files = true,
    .default_depth = 4,
    .max_depth = 64, /* threads cost more than ring entries */
    .start = start,
    .set_depth = set_depth,
    .stop = stop,
};
