/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader: what it is made of, and its life.
 *
 *            claim            take            sample_done      next()
 *   sampler ------> reader ----------> worker ----------> ring ----> consumer
 *      ^   resolve   (window: exact      (decoder: straight   ^           |
 *      |              order, limit)       into the slot)      |           |
 *      +------------------ issue: samples may be read <-------+- release -+
 *
 * Two objects carry everything between threads: the read window, per sample
 * and lock-free, and the slot ring, per batch and under a lock. A run begins
 * with start and ends with stop, which joins every thread but the one that
 * watches (monitor.h); that goes on until the loader is destroyed.
 */
#ifndef FDL_LOADER_ENGINE_H
#define FDL_LOADER_ENGINE_H

#include "base/clock.h"
#include "base/lock.h"
#include "base/status.h"
#include "base/terms.h"
#include "loader/options.h"
#include "loader/order/given.h"
#include "loader/read/reader.h"
#include "loader/report/exports.h"
#include "loader/report/tracing.h"
#include "loader/stream/failure.h"
#include "loader/stream/finish_choice.h"
#include "loader/stream/ring.h"
#include "loader/stream/worker.h"
#include "loader/tune/control.h"
#include "loader/watch/monitor.h"
#include "loader/watch/notable.h"
#include "loader/watch/outside.h"
#include "loader/watch/stats.h"
#include "profiler/measure/copy_fit.h"
#include "profiler/measure/ledger.h"
#include "profiler/measure/pace.h"
#include "profiler/measure/stage.h"
#include "profiler/trace/trace.h"
#include "profiler/verdict/verdict.h"

#include <pthread.h>
#include <stdatomic.h>

struct fdl_config_values { /* of the options, resolved */
    uint32_t batch_size;   /* images */
    uint32_t channels;
    uint32_t views; /* images of each sample */
    enum fdl_on_error on_error;
    uint64_t max_failures;
    uint64_t epochs;
    _Atomic uint64_t seed; /* with order=given that of the epoch */
    uint64_t memory_budget;
    uint64_t max_file_bytes;
    enum fdl_reader_kind reader;
};

/* What the consumer's thread alone touches, but for `lock`. */
struct fdl_consumer {
    bool at_end;         /* END is due before the next batch */
    bool finished;       /* END for ever */
    uint64_t epoch;      /* of the batches handed out now */
    uint64_t position;   /* delivered of it, this rank */
    bool told_kept;      /* that the program keeps batches */
    int32_t failed;      /* status of the error that ended the run */
    int64_t returned_ns; /* end of the last next() or start() */
    struct {             /* since the last batch, in calls without one */
        int64_t user_ns, wait_ns, wall_ns, fetch_ns;
    } turn;
    int64_t started_ns;
    _Atomic uintptr_t thread; /* phases.c; 0: not known yet */
    _Atomic int32_t tid;      /* of the thread that called next last */
    _Atomic uint32_t inside;  /* 1: it is in next() now */

    /* Statistics, read by any thread. */
    struct fdl_lock books; /* guards the rest */
    struct fdl_ledger ledger;
    struct fdl_ledger_scratch *scratch;
    int64_t user_ns, api_ns;
    int64_t booked_ns; /* user_ns is up to here, at least to returned_ns */
    int64_t reset_ns;  /* of the statistics; what was before is not theirs */
    struct fdl_notable notable;
    struct fdl_pace pace;
    int64_t first_batch_ns;
    uint64_t batches, samples;
    uint64_t ledger_ns; /* cost of attribution */
    uint64_t clock_reads;
    struct fdl_stage consume, transfer;
    struct fdl_stats_zero *zero; /* the valid one of zeros, which a reset
                                    exchanges for the other */
    struct fdl_stats_zero zeros[2];
    uint32_t resets; /* of the statistics, ever */
    struct {         /* until the last of them */
        uint64_t batches;
        int64_t user_ns, api_ns, wait_ns, ns[FDL_BUCKETS];
    } past;
    struct fdl_verdict verdict; /* the last one asked for */
};

struct feedline_loader {
    uint32_t fork_generation;
    feedline_dataset *dataset;
    struct fdl_pipeline *pipeline;
    struct fdl_options options; /* as given; of the knobs as asked for now:
                                   written under run_lock and settings */
    struct fdl_config_values config;
    struct fdl_sampler sampler;
    struct fdl_stream stream;
    struct fdl_given *given;     /* NULL: order=own */
    struct fdl_outside *outside; /* NULL: it makes its batches itself */

    struct fdl_ring *ring;
    struct fdl_window *window;
    struct fdl_pool pool;

    struct fdl_device_watch *watch;  /* empty with device=host */
    struct fdl_finish_choice finish; /* constant */
    struct fdl_copy_fit fit;         /* of the device; 0: not measured */

    const struct fdl_reader_ops *reader_ops;
    struct fdl_reader *reader;     /* written under run_lock and settings */
    struct fdl_stage *read_stages; /* [FDL_MAX_IO_DEPTH] */

    /* Whoever starts or stops threads, or makes or frees memory of batches: one
     * at a time, for as long as that takes. Statistics never ask for it. */
    struct fdl_lock run_lock;
    struct fdl_lock settings; /* numbers only, so it is never held for long:
                                 options, the reader's pointer, the lives of
                                 workers' threads */
    _Atomic uint32_t workers, depth, io_depth;
    _Atomic int32_t reader_kind; /* enum fdl_reader_kind; AUTO before a run */
    bool running;
    uint64_t range; /* of the run, transfer/nvtx.h */
    bool stopped;   /* by the caller: next does not start by itself */

    _Atomic bool interrupted;
    struct fdl_failures failures;
    struct fdl_slow slow;

    struct fdl_monitor *monitor; /* its thread runs from the first start on */
    struct fdl_control *control; /* its thread runs with a run */
    struct fdl_consumer consumer;
    struct fdl_trace_ring *consumer_ring; /* notes of the consumer's thread */
    struct fdl_tracing tracing;
    struct fdl_exports exports; /* page, log, metrics */
};

/* backend_config: the device, and a script; the rest is filled in here. */
int32_t fdl_loader_create(const struct fdl_options *options,
                          feedline_dataset *ds, const struct fdl_pipeline *p,
                          const struct fdl_backend_ops *backend_ops,
                          const struct fdl_backend_config *backend_config,
                          feedline_loader **out);
void fdl_loader_destroy(feedline_loader *l);

/* A run that begins at `position` (over all ranks) of `epoch`. Stops the one
 * that is under way. */
int32_t fdl_loader_begin(feedline_loader *l, uint64_t epoch, uint64_t position);

/* With order=given: an epoch of which nothing is known. Goes on with the run
 * that is under way, if that has delivered all it was given. */
int32_t fdl_loader_begin_given(feedline_loader *l, uint64_t epoch,
                               uint64_t seed, uint64_t position);
uint64_t fdl_loader_seed(const feedline_loader *l);
void fdl_loader_stop(feedline_loader *l);

/* ERANGE: what a depth takes, and what would help. */
int32_t fdl_loader_fail_budget(const feedline_loader *l, uint32_t depth,
                               uint64_t batch_bytes);

/* Read-ahead follows from workers and I/O depth; `run_lock` is held. */
void fdl_loader_set_limit_locked(feedline_loader *l);

/* knobs.c. Any thread; apply: `run_lock` is held, a run is under way. What
 * cannot be had is said in the log, and what is in force then is as close to it
 * as could be. */
void fdl_loader_in_force(const feedline_loader *l, struct fdl_knobs *out);
void fdl_loader_apply_locked(feedline_loader *l, const struct fdl_knobs *want);
int32_t fdl_loader_set_knob(feedline_loader *l, uint32_t option, int64_t value);
int32_t fdl_loader_value(const feedline_loader *l, const char *key,
                         int64_t *out);

/* Options in the words of the program's interface; constant. */
const struct fdl_terms *fdl_loader_terms(const feedline_loader *l);

/* What was asked for: of a knob 0 is auto, and it may change at any moment. */
int64_t fdl_loader_asked(const feedline_loader *l, uint32_t option);
int32_t fdl_loader_config_json(const feedline_loader *l, struct fdl_json *j);

/* consumer.c */
int32_t fdl_consumer_next(feedline_loader *l, int64_t timeout_ns,
                          feedline_batch **out);

/* ESTATE: no run is under way, and why. */
int32_t fdl_consumer_check_run(const feedline_loader *l);
bool fdl_consumer_stands_at(feedline_loader *l, uint64_t epoch);
void fdl_consumer_position(const feedline_loader *l, uint64_t *epoch,
                           uint64_t *position);

/* To look at a loader takes locks in it; it is const to the caller alone. */
static inline feedline_loader *fdl_loader_writable(const feedline_loader *l)
{
    return (feedline_loader *)(uintptr_t)l;
}

/* Workers that were ever made, which all are there for any thread. */
static inline uint32_t fdl_pool_born(const struct fdl_pool *pool)
{
    /* acquire: pairs with fdl_pool_set_active. */
    return atomic_load_explicit(&pool->n_workers, memory_order_acquire);
}

#endif
