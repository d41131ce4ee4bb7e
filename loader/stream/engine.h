/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: files in, batches out, and nothing else.
 *
 *            claim            take            sample_done      next()
 *   sampler ------> reader ----------> worker ----------> ring ----> consumer
 *      ^   resolve   (window: exact      (decoder: straight   ^           |
 *      |              order, limit)       into the slot)      |           |
 *      +------------------ issue: samples may be read <-------+- release -+
 *
 * Two objects carry everything between threads: the read window, per sample and
 * lock-free, and the slot ring, per batch and with a lock. A run begins with
 * begin and ends with stop, which joins every thread.
 *
 * It knows nothing of what watches it. It may be given an observer
 * (observer.h), to which it reports what happens, and it answers questions
 * (snapshot.h).
 */
#ifndef FDL_LOADER_ENGINE_H
#define FDL_LOADER_ENGINE_H

#include "base/json.h"
#include "base/terms.h"
#include "loader/options.h"
#include "loader/read/reader.h"
#include "loader/stream/observer.h"
#include "profiler/tuner/tuner.h"
#include "transfer/backend.h"

#include <feedline/feedline.h>

#include <stdbool.h>
#include <stdint.h>

struct fdl_affinity;
struct fdl_numa_bytes;
struct fdl_cpu_set;
struct fdl_engine;
struct fdl_failures;
struct fdl_decode_choice;
struct fdl_finish_choice;
struct fdl_given;
struct fdl_pipeline;
struct fdl_ring;
struct fdl_sampler;
struct fdl_state;
struct fdl_window;

struct fdl_config_values { /* of the options, resolved */
    uint32_t batch_size;   /* images */
    uint32_t channels;
    uint32_t views; /* images of each sample */
    enum fdl_on_error on_error;
    uint64_t max_failures;
    enum fdl_checksums checksums;
    uint64_t epochs;
    _Atomic uint64_t seed; /* with order=given that of the epoch */
    uint64_t memory_budget;
    uint64_t cache_budget; /* in force with cache_keeps; 0: not known */
    bool cache_keeps;
    _Atomic uint64_t device_memory_budget; /* 0: not known before a run */
    uint64_t max_file_bytes;
    enum fdl_reader_kind reader;
};

/* observer: copied; NULL: none. backend_config: the device, a script, and the
 * observer of its copies; the rest is filled in here. */
int32_t fdl_engine_create(const struct fdl_options *options,
                          feedline_dataset *ds, const struct fdl_pipeline *p,
                          const struct fdl_backend_ops *backend_ops,
                          const struct fdl_backend_config *backend_config,
                          const struct fdl_observer *observer,
                          struct fdl_engine **out);

/* It was stopped. */
void fdl_engine_destroy(struct fdl_engine *e);

/* ---- Runs ---------------------------------------------------------------- */

/* Begins a run at `position` (over all ranks) of `epoch`. Stops the current
 * one. */
int32_t fdl_engine_begin(struct fdl_engine *e, uint64_t epoch,
                         uint64_t position);

/* With order=given: begins an epoch with nothing appended yet. *anew: a run
 * begins; else the current one continues, as it has delivered everything
 * appended. */
int32_t fdl_engine_begin_given(struct fdl_engine *e, uint64_t epoch,
                               uint64_t seed, uint64_t position, bool *anew);
void fdl_engine_stop(struct fdl_engine *e);

/* ---- The consumer (consumer.c) ------------------------------------------- */

int32_t fdl_consumer_next(struct fdl_engine *e, int64_t timeout_ns,
                          feedline_batch **out);

/* feedline_loader_peek. */
int32_t fdl_consumer_peek(const struct fdl_engine *e, uint32_t ahead,
                          feedline_batch **out);

/* feedline_loader_deliver. */
int32_t fdl_consumer_deliver(struct fdl_engine *e, feedline_batch *b);

/* The next call of next, or the current one, returns INTERRUPTED. Any thread,
 * and signal handlers. */
void fdl_consumer_interrupt(struct fdl_engine *e);

/* Idle time is measured on this stream: feedline_loader_set_stream. */
void fdl_consumer_set_stream(struct fdl_engine *e, void *stream);

/* Stops the run for good: next() does not begin another. */
void fdl_consumer_stop(struct fdl_engine *e);

/* next() has to begin a run where the stream stands: nobody did yet, or a
 * restart failed. */
bool fdl_consumer_may_begin(const struct fdl_engine *e);

/* With order=given: feedline_loader_append. */
int32_t fdl_consumer_append(struct fdl_engine *e, const uint64_t *indices,
                            const uint32_t *copies, uint32_t count);

/* With order=given: feedline_loader_expect. */
int32_t fdl_consumer_expect(struct fdl_engine *e, uint32_t count,
                            uint64_t *ticket);

/* A run is in progress. The consumer's thread, or `run_lock` is held. */
bool fdl_consumer_runs(const struct fdl_engine *e);

/* ESTATE: no run is in progress, and why. */
int32_t fdl_consumer_check_run(const struct fdl_engine *e);
bool fdl_consumer_stands_at(struct fdl_engine *e, uint64_t epoch);
void fdl_consumer_position(const struct fdl_engine *e, uint64_t *epoch,
                           uint64_t *position);

/* Position and stream, as a saved state has them. */
void fdl_consumer_state(const struct fdl_engine *e, struct fdl_state *out);

/* ---- Settings (settings.c); any thread ----------------------------------- */

/* apply: `run_lock` is held, a run is in progress. What cannot be had is
 * logged, and the settings in force are as close as possible. */
void fdl_engine_in_force(const struct fdl_engine *e, struct fdl_knobs *out);
void fdl_engine_apply_locked(struct fdl_engine *e,
                             const struct fdl_knobs *want);

/* The program turns a knob; `run_lock` is held. */
int32_t fdl_engine_turn_locked(struct fdl_engine *e, uint32_t option,
                               int64_t value);

/* Holds `run_lock`: meanwhile no run begins or ends, and no knob is turned. Not
 * for statistics, as it may take as long as a start or a stop. */
void fdl_engine_lock(struct fdl_engine *e);
void fdl_engine_unlock(struct fdl_engine *e);

/* The options' values; `run_lock` is held. */
int32_t fdl_engine_set_option_locked(struct fdl_engine *e, const char *name,
                                     int64_t value);

/* true: the option is chosen at run time, and is *value. */
bool fdl_engine_chosen(const struct fdl_engine *e, uint32_t option,
                       int64_t *value);
int32_t fdl_engine_value(const struct fdl_engine *e, const char *key,
                         int64_t *out);

/* Option names in the terms of the program's interface; constant. */
const struct fdl_terms *fdl_engine_terms(const struct fdl_engine *e);

/* The requested value: 0 means auto for a knob, and it may change at any
 * moment. */
int64_t fdl_engine_asked(const struct fdl_engine *e, uint32_t option);
int32_t fdl_engine_config_json(const struct fdl_engine *e, struct fdl_json *j);
uint64_t fdl_engine_seed(const struct fdl_engine *e);

/* Before the first run: its initial settings. If the I/O depth is auto it then
 * stays from run to run; 0: the first one begins with the reader's default. */
void fdl_engine_start_with(struct fdl_engine *e, const struct fdl_knobs *start);

/* An engine that never runs stands in for a watched loader, whose numbers these
 * are; gpu: where its batches go, -1: not known. */
void fdl_engine_stand_in(struct fdl_engine *e, uint32_t workers,
                         uint32_t batch_size, int32_t gpu);

/* Its observer is told that a run begins, and that next() was called. */
void fdl_engine_stand_in_begin(struct fdl_engine *e);
void fdl_engine_stand_in_called(const struct fdl_engine *e, int64_t now);

/* Makes slots for as many batches ahead as depth asks for if the program keeps
 * more than usual, and frees those that are left over. From time to time, on
 * any thread but the consumer's. */
void fdl_engine_tidy(struct fdl_engine *e);

/* ---- Its parts (parts.c) ------------------------------------------------- */

/* None of these is ever exchanged for another. What a part may be asked, and on
 * which thread, its own header says. */
struct fdl_ring *fdl_engine_ring(const struct fdl_engine *e);
struct fdl_window *fdl_engine_window(const struct fdl_engine *e);
struct fdl_failures *fdl_engine_failures(const struct fdl_engine *e);
const struct fdl_pipeline *fdl_engine_pipeline(const struct fdl_engine *e);
const feedline_dataset *fdl_engine_dataset(const struct fdl_engine *e);
const struct fdl_sampler *fdl_engine_sampler(const struct fdl_engine *e);

/* NULL: order=own. */
struct fdl_given *fdl_engine_given(const struct fdl_engine *e);

/* Constant, except that knobs may be asked with fdl_engine_asked only. */
const struct fdl_options *fdl_engine_options(const struct fdl_engine *e);
const struct fdl_config_values *fdl_engine_config(const struct fdl_engine *e);
const struct fdl_finish_choice *fdl_engine_finish(const struct fdl_engine *e);

/* One thread may change it, where it is measured. */
struct fdl_decode_choice *fdl_engine_decoding(const struct fdl_engine *e);

/* Where its threads run. cpus: NULL: anywhere. */
const struct fdl_affinity *fdl_engine_affinity(const struct fdl_engine *e);
const struct fdl_cpu_set *fdl_engine_cpus(const struct fdl_engine *e);

/* Where the pinned memory of its first run lies. NULL: not known, or of no
 * matter: one NUMA node, no GPU, or none whose node is known. */
const struct fdl_numa_bytes *fdl_engine_pinned(const struct fdl_engine *e);

/* Batches are copied to a device that keeps statistics. */
bool fdl_engine_has_device(const struct fdl_engine *e);

/* How many reads the reader can have in flight; 0: it decides that itself.
 * `run_lock` is held. */
uint32_t fdl_engine_max_io_depth_locked(const struct fdl_engine *e);

/* Reading an engine takes locks in it; it is const to the caller only. */
static inline struct fdl_engine *fdl_engine_writable(const struct fdl_engine *e)
{
    return (struct fdl_engine *)(uintptr_t)e;
}

#endif
