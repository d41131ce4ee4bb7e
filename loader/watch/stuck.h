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
 * What each worker and read is at the engine tells (snapshot.h).
 */
#ifndef FDL_LOADER_STUCK_H
#define FDL_LOADER_STUCK_H

#include "base/json.h"
#include "profiler/verdict/verdict.h"

#include <feedline/tuning.h>

#include <stdbool.h>
#include <stdint.h>

struct fdl_engine;
struct fdl_monitor;

/* Subscribes to the monitor, and lives as long as it. */
int32_t fdl_stuck_create(const struct fdl_engine *engine,
                         struct fdl_monitor *monitor);

/* END past the last one. Any thread. */
int32_t fdl_stuck_get(const struct fdl_engine *engine, uint32_t index,
                      struct feedline_stuck_worker *out);
uint32_t fdl_stuck_count(const struct fdl_engine *engine);

/* "stuck_workers" of an object. */
void fdl_stuck_json(const struct fdl_engine *engine, struct fdl_json *j);

/* The worst of them: the one that the next batch waits for, if any. */
void fdl_stuck_evidence(const struct fdl_engine *engine,
                        struct fdl_evidence *out);

/* A run cannot end because of this worker: reports it in the log. */
void fdl_stuck_tell_stop(const struct fdl_engine *engine, uint32_t worker);

#endif
