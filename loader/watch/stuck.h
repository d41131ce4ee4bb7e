/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers that hang: at one sample for longer than option stuck_after, in a
 * custom operation, a decoder, or a read; and reads of the reader's own that
 * never come back. Nothing can be done about them from here, but they are not
 * waited for in silence:
 *
 *     watch thread, each beat --> list --> the log, once, and when it goes on
 *                                  |-----> get_stuck, stats_json, page, metrics
 *                                  +-----> verdict WORKER_STUCK
 *
 * What a worker is at is a few relaxed words (progress.h); of the reader's
 * reads the window and the stamps of their batches tell. A look takes the
 * ring's lock for as long as it takes to read a few of these.
 */
#ifndef FDL_LOADER_STUCK_H
#define FDL_LOADER_STUCK_H

#include "base/json.h"
#include "profiler/verdict/verdict.h"

#include <feedline/tuning.h>

#include <stdbool.h>
#include <stdint.h>

struct fdl_watch;

/* Subscribes to the monitor, which it lives as long as. */
int32_t fdl_stuck_create(struct fdl_watch *watch);

/* END behind the last one. Any thread. */
int32_t fdl_stuck_get(struct fdl_watch *watch, uint32_t index,
                      struct feedline_stuck_worker *out);
uint32_t fdl_stuck_count(struct fdl_watch *watch);

/* "stuck_workers" of an object. */
void fdl_stuck_json(struct fdl_watch *watch, struct fdl_json *j);

/* The worst of them: what the next batch waits for, if it does for one. */
void fdl_stuck_evidence(struct fdl_watch *watch, struct fdl_evidence *out);

/* A run cannot end because of this worker: says so in the log. */
void fdl_stuck_tell_stop(struct fdl_watch *watch, uint32_t worker);

#endif
