/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one file that knows all rooms: it creates an engine, attaches what
 * watches and controls it, and forwards what concerns several of them. The
 * error path of create is destroy.
 */
#include "loader/loader.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/text_hash.h"
#include "base/thread.h"
#include "loader/order/sampler.h"
#include "loader/order/state.h"
#include "loader/report/recorder.h"
#include "loader/watch/account.h"
#include "loader/watch/loader_number.h"
#include "profiler/system/ranks.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Hooks that several share -------------------------------------------- */

/* The loader that a watch is part of. */
static feedline_loader *loader_of(void *watch)
{
    return (feedline_loader *)(void *)((char *)watch -
                                       offsetof(feedline_loader, watch));
}

FDL_HOT static void called(void *watch, int64_t now)
{
    feedline_loader *l = loader_of(watch);
    uint64_t delivered = l->watch.books.notes.delivered;
    fdl_watch_called(&l->watch, now);
    if (l->tracing.recorder)
        fdl_recorder_step(l->tracing.recorder, delivered, now);
}

static void ending(void *watch)
{
    fdl_control_end(loader_of(watch)->control);
}

static void beginning(void *watch)
{
    feedline_loader *l = loader_of(watch);
    fdl_watch_beginning(&l->watch);
    fdl_recorder_start(l->tracing.recorder);
}

/* ---- Create and destroy -------------------------------------------------- */

static int32_t make_engine(feedline_loader *l,
                           const struct fdl_options *options,
                           feedline_dataset *ds, const struct fdl_pipeline *p,
                           const struct fdl_backend_ops *ops,
                           const struct fdl_backend_config *config)
{
    struct fdl_observer observer;
    uint32_t batch = (uint32_t)fdl_option_int(options, FDL_OPT_BATCH_SIZE);
    int32_t status = fdl_watch_init(&l->watch, batch, &observer);
    if (status < 0)
        return status;
    observer.called = called;
    observer.ending = ending;
    observer.beginning = beginning;
    return fdl_engine_create(options, ds, p, ops, config, &observer,
                             &l->engine);
}

/* Where a program deals the samples itself, as torch's samplers do, the engine
 * has all of them, and only the launcher knows which process of a job this is.
 */
static void name_rank(struct fdl_sources *s)
{
    struct fdl_ranks found;
    s->rank = fdl_engine_sampler(s->engine)->rank;
    s->world = fdl_engine_sampler(s->engine)->world;
    if (s->world > 1 || fdl_ranks_find(fdl_ranks_getenv, &found) < 0)
        return;
    s->rank = found.rank;
    s->world = found.world;
}

/* Loaders of the same data with batches of the same size, on ranks of what the
 * launcher calls one job. */
static void number_job(struct fdl_sources *s)
{
    char text[512];
    struct fdl_state state;
    fdl_consumer_state(s->engine, &state);
    int n = snprintf(text, sizeof(text), "%" PRIx64 " %" PRIu64 " %u %u ",
                     state.fingerprint, state.count, s->world,
                     fdl_engine_config(s->engine)->batch_size);
    fdl_ranks_job(fdl_ranks_getenv, text + n, sizeof(text) - (size_t)n);
    bool tells =
        fdl_option_int(fdl_engine_options(s->engine), FDL_OPT_TUNER_JOB);
    s->job = s->world > 1 && tells ? fdl_hash_text(text) : 0;
}

/* The engine exists: what reports are made from, and who makes them. */
static int32_t make_reports(feedline_loader *l)
{
    l->sources = (struct fdl_sources){
        .engine = l->engine,
        .watch = &l->watch,
        .control = l->control,
        .number = l->number,
        .started_ns = fdl_now_ns(),
    };
    name_rank(&l->sources);
    number_job(&l->sources);
    int32_t status = fdl_tracing_create(&l->sources, &l->tracing);
    if (status >= 0)
        status = fdl_exports_init(&l->exports, &l->sources);
    if (status < 0)
        return status;
    if (l->exports.page)
        fdl_control_set_page(l->control, l->number);
    fdl_control_set_job(l->control, l->sources.job);
    return FEEDLINE_OK;
}

int32_t fdl_loader_create(const struct fdl_options *options,
                          feedline_dataset *ds, const struct fdl_pipeline *p,
                          const struct fdl_backend_ops *backend_ops,
                          const struct fdl_backend_config *backend_config,
                          feedline_loader **out)
{
    feedline_loader *l = fdl_alloc_aligned(sizeof(*l));
    if (!l)
        return fdl_fail_memory(sizeof(*l), "a loader");
    memset(l, 0, sizeof(*l));
    l->fork_generation = fdl_fork_generation();
    l->number = fdl_loader_number_take();
    int32_t status =
        make_engine(l, options, ds, p, backend_ops, backend_config);
    if (status >= 0)
        status = fdl_control_create(l->engine, &l->watch, &l->control);
    if (status >= 0)
        status = fdl_watch_attach(&l->watch, l->engine);
    if (status >= 0)
        status = make_reports(l);
    if (status < 0) {
        fdl_loader_destroy(l);
        return status;
    }
    *out = l;
    return FEEDLINE_OK;
}

void fdl_loader_destroy(feedline_loader *l)
{
    if (l->engine)
        fdl_engine_stop(l->engine);
    fdl_watch_end(&l->watch);
    fdl_tracing_destroy(&l->tracing);
    fdl_exports_fini(&l->exports);
    fdl_control_destroy(l->control);
    fdl_engine_destroy(l->engine);
    fdl_watch_fini(&l->watch);
    fdl_loader_number_give(l->number);
    free(l);
}

/* ---- Runs ---------------------------------------------------------------- */

/* A run has begun that was requested at `asked`. */
static void open_books(feedline_loader *l, int64_t asked)
{
    fdl_account_begin(&l->watch.books, asked, fdl_now_ns());
    fdl_control_begin(l->control);
}

int32_t fdl_loader_begin(feedline_loader *l, uint64_t epoch, uint64_t position)
{
    int64_t asked = fdl_now_ns();
    fdl_monitor_start(l->watch.monitor); /* the run works without it */
    int32_t status = fdl_engine_begin(l->engine, epoch, position);
    if (status >= 0)
        open_books(l, asked);
    return status;
}

int32_t fdl_loader_begin_given(feedline_loader *l, uint64_t epoch,
                               uint64_t seed, uint64_t position)
{
    bool anew = false;
    int64_t asked = fdl_now_ns();
    fdl_monitor_start(l->watch.monitor);
    int32_t status =
        fdl_engine_begin_given(l->engine, epoch, seed, position, &anew);
    if (status >= 0 && anew)
        open_books(l, asked);
    return status;
}
