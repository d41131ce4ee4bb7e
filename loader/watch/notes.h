/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The notes of a loader, and where they are written.
 *
 *   thread               ring                     notes
 *   worker               fdl_worker_books.notes   read, decode, custom, augment
 *   consumer             notes.consumer           wait, step, phase, counters
 *   under its lock       fdl_ring.notes           issue, ready, release
 *   the backend's        fdl_device_watch         copy, finish
 *   under the run_lock   notes.decisions          decisions
 *
 * The rings are always written. They are read when what led to this moment is
 * requested, and by the recorder of a trace (report/tracing.h).
 */
#ifndef FDL_LOADER_NOTES_H
#define FDL_LOADER_NOTES_H

#include "profiler/measure/ledger.h"
#include "profiler/trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_watch;

/* `run_lock` is held and no thread runs: later notes belong to a new run. */
void fdl_notes_begin_run(struct fdl_watch *watch);

/* The consumer's thread: next() was called; it waited from begin to end,
 * `before` being the ledger without that wait; it returned at `now` with a
 * batch. */
void fdl_notes_called(struct fdl_watch *watch, int64_t called);
void fdl_notes_waited(struct fdl_watch *watch, uint64_t ticket, int64_t begin,
                      int64_t end, const struct fdl_ledger *before);
void fdl_notes_returned(struct fdl_watch *watch, uint64_t ticket, int64_t now,
                        int64_t wait);

/* `run_lock` is held: a setting changed while the loader exists, or the change
 * was judged; id: of decision_log.h. */
void fdl_notes_decided_locked(struct fdl_watch *watch, uint64_t id,
                              bool judged);

/* Memory of the rings. */
uint64_t fdl_notes_bytes(const struct fdl_watch *watch);

/* Places of the rings of a loader; those of workers come last, by number. */
enum fdl_notes_ring {
    FDL_RING_CONSUMER = 0,
    FDL_RING_BATCHES,
    FDL_RING_DEVICE,
    FDL_RING_DECISIONS,
    FDL_RING_WORKERS
};

/* How many there are now, and one of them (NULL: without memory). Any thread.
 */
uint32_t fdl_notes_ring_count(const struct fdl_watch *watch);
const struct fdl_trace_ring *fdl_notes_ring(const struct fdl_watch *watch,
                                            uint32_t i);

#endif
