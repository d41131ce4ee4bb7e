/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that watches an engine: the books of the consumer and of the
 * workers, the device's ledger, the monitor's thread, and notes for the trace.
 * The engine reports to it (stream/observer.h) and knows nothing of it; a watch
 * around another library's next() (outside.h) has an engine that never runs.
 *
 *     stats.h, costs.h, phases.h, outside.h    questions and commands, on top
 *     watcher.h                                all of it, and the hooks
 *     monitor.h, stuck.h                       the thread and what it serves
 *     look.h, gpu_watch.h                      probes
 *     account.h, notable.h, notes.h            keep the books
 *     books.h, worker_books.h, device_watch.h  plain data
 */
#ifndef FDL_LOADER_WATCHER_H
#define FDL_LOADER_WATCHER_H

#include "loader/options.h"
#include "loader/stream/observer.h"
#include "loader/watch/books.h"
#include "loader/watch/device_watch.h"
#include "loader/watch/monitor.h"
#include "loader/watch/worker_books.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_engine;
struct fdl_outside;

struct fdl_watch {
    struct fdl_engine *engine;
    struct fdl_books books;
    struct fdl_worker_books *workers[FDL_MAX_WORKERS]; /* of those made */
    struct fdl_device_watch *device; /* empty with device=host */
    struct fdl_outside *outside;     /* NULL: the engine makes the batches */
    struct fdl_monitor *monitor; /* its thread runs from the first start on */
    struct fdl_trace_ring *decisions; /* notes; written under the run_lock */
    uint32_t runs;
};

/* Zeroed memory. observer: filled in with the hooks of `watch`, for the engine;
 * attach follows. ENOMEM. */
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

/* ---- Notes for the trace ------------------------------------------------- */

/*
 *   thread               ring                     notes
 *   worker               fdl_worker_books.notes   read, decode, custom, augment
 *   consumer             fdl_books.notes          wait, step, phase, counters
 *   under its lock       the engine's             issue, ready, release
 *   the backend's        fdl_device_watch.notes   copy, finish
 *   under the run_lock   decisions                decisions
 *
 * The rings are always written. They are read when what led to this moment is
 * requested, and by the recorder of a trace (report/tracing.h).
 */
enum fdl_watch_rings { /* those of workers come last, by number */
                       FDL_RING_CONSUMER = 0,
                       FDL_RING_BATCHES,
                       FDL_RING_DEVICE,
                       FDL_RING_DECISIONS,
                       FDL_RING_WORKERS
};

/* How many there are now, and one of them (NULL: without memory). Any thread.
 */
uint32_t fdl_watch_ring_count(const struct fdl_watch *watch);
const struct fdl_trace_ring *fdl_watch_ring(const struct fdl_watch *watch,
                                            uint32_t i);

/* Memory of all of them. */
uint64_t fdl_watch_ring_bytes(const struct fdl_watch *watch);

/* `run_lock` is held: a setting changed while the loader exists, or the change
 * was judged; id: of decision_log.h. */
void fdl_watch_decided_locked(struct fdl_watch *watch, uint64_t id,
                              bool judged);

#endif
