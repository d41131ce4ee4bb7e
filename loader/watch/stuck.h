/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers that hang, at one sample for longer than option stuck_after, in a
 * custom operation, a decoder, or a read; and reads of the reader's own that
 * never return. Nothing can be done about them from here, but they are
 * reported:
 *
 *     watch thread, each beat --> list --> the log, once, and when it continues
 *                                  |-----> get_stuck, stats_json, page, metrics
 *                                  +-----> verdict WORKER_STUCK
 *
 * A worker's state is a few relaxed words (progress.h); for the reader's reads,
 * it is the window and the stamps of their batches. A probe takes the ring's
 * lock for as long as it takes to read a few of these.
 */
#ifndef FDL_LOADER_STUCK_H
#define FDL_LOADER_STUCK_H

#include "base/json.h"
#include "profiler/verdict/verdict.h"

#include <feedline/tuning.h>

#include <stdbool.h>
#include <stdint.h>

struct fdl_watch;

/* Subscribes to the monitor, and lives as long as it. */
int32_t fdl_stuck_create(struct fdl_watch *watch);

/* END past the last one. Any thread. */
int32_t fdl_stuck_get(struct fdl_watch *watch, uint32_t index,
                      struct feedline_stuck_worker *out);
uint32_t fdl_stuck_count(struct fdl_watch *watch);

/* "stuck_workers" of an object. */
void fdl_stuck_json(struct fdl_watch *watch, struct fdl_json *j);

/* The worst of them: the one that the next batch waits for, if any. */
void fdl_stuck_evidence(struct fdl_watch *watch, struct fdl_evidence *out);

/* A run cannot end because of this worker: reports it in the log. */
void fdl_stuck_tell_stop(struct fdl_watch *watch, uint32_t worker);

#endif
