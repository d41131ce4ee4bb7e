/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: files in, batches out, and nothing beside it.
 *
 *            claim            take            sample_done      next()
 *   sampler ------> reader ----------> worker ----------> ring ----> consumer
 *      ^   resolve   (window: exact      (decoder: straight   ^           |
 *      |              order, limit)       into the slot)      |           |
 *      +------------------ issue: samples may be read <-------+- release -+
 *
 * Two objects carry everything between threads: the read window, per sample
 * and lock-free, and the slot ring, per batch and under a lock. A run begins
 * with begin and ends with stop, which joins every thread.
 *
 * It knows nobody who watches it. It may be given an observer (observer.h),
 * which it tells what happens, and it answers the questions below.
 */
#ifndef FDL_LOADER_ENGINE_H
#define FDL_LOADER_ENGINE_H

#include "base/json.h"
#include "base/terms.h"
#include "loader/options.h"
#include "loader/stream/observer.h"
#include "profiler/tuner/tuner.h"
#include "transfer/backend.h"

#include <feedline/feedline.h>

#include <stdbool.h>
#include <stdint.h>

struct fdl_engine;
struct fdl_pipeline;

/* observer: copied; NULL: nobody watches. backend_config: the device, a script,
 * and who is told of its copies; the rest is filled in here. */
int32_t fdl_engine_create(const struct fdl_options *options,
                          feedline_dataset *ds, const struct fdl_pipeline *p,
                          const struct fdl_backend_ops *backend_ops,
                          const struct fdl_backend_config *backend_config,
                          const struct fdl_observer *observer,
                          struct fdl_engine **out);

/* It was stopped. */
void fdl_engine_destroy(struct fdl_engine *e);

/* ---- Runs ---------------------------------------------------------------- */

/* A run that begins at `position` (over all ranks) of `epoch`. Stops the one
 * that is under way. */
int32_t fdl_engine_begin(struct fdl_engine *e, uint64_t epoch,
                         uint64_t position);

/* With order=given: an epoch of which nothing is known. *anew: a run begins;
 * else the one that is under way goes on, as it has delivered all it was
 * given. */
int32_t fdl_engine_begin_given(struct fdl_engine *e, uint64_t epoch,
                               uint64_t seed, uint64_t position, bool *anew);
void fdl_engine_stop(struct fdl_engine *e);

/* ---- The consumer (consumer.c) ------------------------------------------- */

int32_t fdl_consumer_next(struct fdl_engine *e, int64_t timeout_ns,
                          feedline_batch **out);

/* ESTATE: no run is under way, and why. */
int32_t fdl_consumer_check_run(const struct fdl_engine *e);
bool fdl_consumer_stands_at(struct fdl_engine *e, uint64_t epoch);
void fdl_consumer_position(const struct fdl_engine *e, uint64_t *epoch,
                           uint64_t *position);

/* ---- Settings (settings.c); any thread ----------------------------------- */

/* apply: `run_lock` is held, a run is under way. What cannot be had is said in
 * the log, and what is in force then is as close to it as could be. */
void fdl_engine_in_force(const struct fdl_engine *e, struct fdl_knobs *out);
void fdl_engine_apply_locked(struct fdl_engine *e,
                             const struct fdl_knobs *want);

/* A knob that the program turns; `run_lock` is held. */
int32_t fdl_engine_turn_locked(struct fdl_engine *e, uint32_t option,
                               int64_t value);

/* What stands in the options; `run_lock` is held. */
int32_t fdl_engine_set_option_locked(struct fdl_engine *e, const char *name,
                                     int64_t value);

/* true: the option is chosen at run time, and is *value. */
bool fdl_engine_chosen(const struct fdl_engine *e, uint32_t option,
                       int64_t *value);
int32_t fdl_engine_value(const struct fdl_engine *e, const char *key,
                         int64_t *out);

/* Options in the words of the program's interface; constant. */
const struct fdl_terms *fdl_engine_terms(const struct fdl_engine *e);

/* What was asked for: of a knob 0 is auto, and it may change at any moment. */
int64_t fdl_engine_asked(const struct fdl_engine *e, uint32_t option);
int32_t fdl_engine_config_json(const struct fdl_engine *e, struct fdl_json *j);
uint64_t fdl_engine_seed(const struct fdl_engine *e);

/* Before the first run: what it begins with. Where the I/O depth is auto it
 * stays from run to run then; 0: the first one begins as the reader likes. */
void fdl_engine_start_with(struct fdl_engine *e, const struct fdl_knobs *start);

/* An engine that never runs stands for another maker of batches. */
void fdl_engine_stand_in(struct fdl_engine *e, uint32_t workers,
                         uint32_t batch_size);

/* Gives back slots that a smaller depth left over, as far as they are free. Now
 * and then, on any thread. */
void fdl_engine_tidy(struct fdl_engine *e);

/* To look at an engine takes locks in it; it is const to the caller alone. */
static inline struct fdl_engine *fdl_engine_writable(const struct fdl_engine *e)
{
    return (struct fdl_engine *)(uintptr_t)e;
}

#endif
