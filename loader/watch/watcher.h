/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that watches an engine: the books of the consumer and of the
 * workers, the device's ledger, the monitor's thread, and notes for the trace.
 * The engine reports to it (stream/observer.h) and knows nothing of it; a watch
 * around another library's next() (outside.h) has an engine that never runs.
 */
#ifndef FDL_LOADER_WATCHER_H
#define FDL_LOADER_WATCHER_H

#include "loader/options.h"
#include "loader/stream/engine.h"
#include "loader/watch/account.h"
#include "loader/watch/device_watch.h"
#include "loader/watch/monitor.h"
#include "loader/watch/outside.h"
#include "loader/watch/worker_books.h"
#include "profiler/measure/slow.h"
#include "profiler/trace/trace.h"

struct fdl_watch {
    struct fdl_engine *engine;
    struct fdl_books books;
    struct fdl_worker_books *workers[FDL_MAX_WORKERS]; /* of those made */
    struct fdl_slow slow;
    struct fdl_device_watch *device; /* empty with device=host */
    struct fdl_outside *outside;     /* NULL: the engine makes the batches */
    struct fdl_monitor *monitor; /* its thread runs from the first start on */
    struct fdl_notes {
        struct fdl_trace_ring *consumer;  /* of the consumer's thread */
        struct fdl_trace_ring *decisions; /* written under the run_lock */
        uint32_t runs;

        /* The consumer's thread only. */
        bool has_step; /* a batch was delivered since the last call of next */
        uint64_t step_ticket;
        uint64_t delivered; /* batches, over all runs */
        int64_t counted_ns; /* of the last counters */
    } notes;
};

/* Zeroed memory. observer: filled in with the hooks of `watch`, for the engine;
 * afterwards `engine` is set, and start is called. ENOMEM. */
int32_t fdl_watch_init(struct fdl_watch *watch, uint32_t batch_size,
                       struct fdl_observer *observer);

/* The engine exists: creates what probes it. ENOMEM. */
int32_t fdl_watch_attach(struct fdl_watch *watch, struct fdl_engine *engine);

/* Joins the monitor's thread after serving everyone a last time; the engine is
 * stopped but exists. */
void fdl_watch_end(struct fdl_watch *watch);

/* The engine is gone. */
void fdl_watch_fini(struct fdl_watch *watch);

/* Hooks, to be composed with others. */
void fdl_watch_called(void *watch, int64_t now);
void fdl_watch_beginning(void *watch);

/* Reading it takes locks in it; it is const to the caller only. */
static inline struct fdl_watch *fdl_watch_writable(const struct fdl_watch *w)
{
    return (struct fdl_watch *)(uintptr_t)w;
}

#endif
