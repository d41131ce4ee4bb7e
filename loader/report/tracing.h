/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The notes of a loader: who writes them where, and how they get out.
 *
 *   thread            ring                 notes
 *   worker            fdl_worker.notes     read, decode, custom, augment
 *   consumer          l->consumer_ring     wait, step, phase, counters
 *   under its lock    fdl_ring.notes       issue, ready, release
 *   the backend's     fdl_device_watch     copy, finish
 *   under l->run_lock    here                 decisions
 *
 * The rings are always written. They are read when somebody asks for what led
 * to this moment (fdl_tracing_save), and by the recorder, a thread that exists
 * only with option trace (recorder.h).
 */
#ifndef FDL_LOADER_TRACING_H
#define FDL_LOADER_TRACING_H

#include "profiler/measure/ledger.h"
#include "profiler/trace/trace.h"
#include "profiler/trace/trace_json.h"

#include <feedline/feedline.h>

#include <stdint.h>

struct fdl_recorder;

struct fdl_tracing {
    struct fdl_trace_ring *decisions; /* written under l->run_lock */
    uint32_t runs;

    /* The consumer's thread only. */
    bool has_step; /* a batch was delivered since the last call of next */
    uint64_t step_ticket;
    uint64_t delivered; /* batches, over all runs */
    int64_t counted_ns; /* of the last counters */

    struct fdl_recorder *recorder;  /* NULL without option trace */
    struct fdl_recorder *recording; /* of feedline_loader_record, or NULL */
};

/* l->tracing and l->consumer_ring. EINVAL, ERANGE, EIO: the options of the
 * trace, and its file. After everything else of the loader. */
int32_t fdl_tracing_create(feedline_loader *l);

/* Ends the trace: its file is complete then. No thread of the loader runs. */
void fdl_tracing_destroy(feedline_loader *l);

/* `run_lock` is held and no thread runs: what is noted from now on is of a new
 * run. */
void fdl_tracing_begin_run(feedline_loader *l);

/* The consumer's thread: next() was called; it waited from begin to end, and
 * `before` is the ledger without that; it returned at `now` with a batch. */
void fdl_tracing_called(feedline_loader *l, int64_t called);
void fdl_tracing_waited(feedline_loader *l, uint64_t ticket, int64_t begin,
                        int64_t end, const struct fdl_ledger *before);
void fdl_tracing_returned(feedline_loader *l, uint64_t ticket, int64_t now,
                          int64_t wait);

/* `run_lock` is held: a setting was changed while the loader exists, or the
 * change was judged; id: of decision_log.h. */
void fdl_tracing_decided_locked(feedline_loader *l, uint64_t id, bool judged);

/* Memory of the rings. */
uint64_t fdl_tracing_bytes(const feedline_loader *l);

/* Places of the rings of a loader; those of workers come last, by number. */
enum fdl_tracing_ring {
    FDL_RING_CONSUMER = 0,
    FDL_RING_BATCHES,
    FDL_RING_DEVICE,
    FDL_RING_DECISIONS,
    FDL_RING_WORKERS
};

/* How many there are now, and one of them (NULL: without memory). Any thread.
 */
uint32_t fdl_tracing_ring_count(const feedline_loader *l);
const struct fdl_trace_ring *fdl_tracing_ring(const feedline_loader *l,
                                              uint32_t i);

/* What the text needs to know of the loader. */
void fdl_tracing_describe(const feedline_loader *l, uint32_t categories,
                          struct fdl_trace_json_config *out);

/* What the rings hold now, as a file. EIO, ENOMEM. Any thread. */
int32_t fdl_tracing_save(feedline_loader *l, const char *path);

#endif
