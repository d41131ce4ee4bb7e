/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread "feedline-tune", which drives the tuner (profiler/tuner/tuner.h)
 * during a run.
 *
 *     tick  |--25 ms--|--25 ms--| ...      |---100 ms---| nothing to do
 *             read the counters (control_reading.c)
 *             tuner: observe, propose
 *             apply the settings
 *             tuner: applied; decisions to trace, live page and log
 *
 * It takes no lock that a worker takes per sample. A tick costs some
 * microseconds plus one per worker; if that would exceed a two-hundredth of the
 * time, ticks are less frequent.
 *
 * Knobs that the user gave as numbers are the user's: their bounds are that
 * number. Knobs that are auto are the tuner's; a value that the program sets
 * while the loader runs takes the knob away from it until the program sets 0.
 *
 * The thread lives from begin to stop. What the tuner learned stays until the
 * loader is destroyed. If the thread or the tuner's memory cannot be had, the
 * loader keeps its settings, and the log says so.
 */
#ifndef FDL_LOADER_CONTROL_H
#define FDL_LOADER_CONTROL_H

#include "profiler/tuner/tuner.h"
#include "profiler/tuner/tuner_found.h"

#include <feedline/live.h>
#include <feedline/tuning.h>

#include <stdbool.h>
#include <stdint.h>

struct fdl_control;
struct fdl_engine;
struct fdl_watch;

/* Creates a tuner that does not run yet, and sets the workers and the depth
 * that the engine begins with. Engine and watch outlive it. ERANGE: bounds that
 * contradict each other. ENOMEM. */
int32_t fdl_control_create(struct fdl_engine *engine, struct fdl_watch *watch,
                           struct fdl_control **out);
void fdl_control_destroy(struct fdl_control *c);

/* The number of this loader's own live page, which no neighbour has. Before the
 * first run. */
void fdl_control_set_page(struct fdl_control *c, uint32_t number);

/* The number of the job whose rank this is, the same on all of them; 0: none.
 * After set_page. */
void fdl_control_set_job(struct fdl_control *c, uint64_t job);

/* A run has begun; without the engine's run_lock. */
void fdl_control_begin(struct fdl_control *c);

/* Joins the thread; before a run ends, without the engine's run_lock. */
void fdl_control_end(struct fdl_control *c);

/* false: nothing would choose a knob that is auto. Constant. */
bool fdl_control_is_on(const struct fdl_control *c);

/* It changes knobs, since some are auto. Any thread. */
bool fdl_control_tunes(const struct fdl_control *c);

/* knobs.c: the program turns a knob, or (value 0) hands it to the tuner.
 * ESTATE, ERANGE. Any thread. */
int32_t fdl_control_set_knob(struct fdl_control *c, uint32_t option,
                             int64_t value);

/* control_job.c, any thread: what this rank tells, what the program heard of
 * all of them, and what counts of that and of the pages. */
void fdl_control_tell(struct fdl_control *c, struct fdl_tuner_job *out);
void fdl_control_hear(struct fdl_control *c, const struct fdl_tuner_job *job);
void fdl_control_heard(struct fdl_control *c, struct fdl_tuner_job *out);

/* ---- What it did; any thread --------------------------------------------- */

void fdl_control_info(struct fdl_control *c, struct feedline_tuner_info *out);

/* All false and 0 while no run has begun. owns: false for each knob where the
 * tuner does not act on its own. */
void fdl_control_found(struct fdl_control *c, struct fdl_tuner_found *out);

/* index: from the oldest that is kept. false: there is none. created_ns: what
 * its time counts from. */
bool fdl_control_decision(struct fdl_control *c, uint32_t index,
                          struct fdl_decision *out, int64_t *created_ns);

/* The settings when the first run began, and the cores granted then, 0: not
 * known. false: none has begun. */
bool fdl_control_began(struct fdl_control *c, struct fdl_knobs *out,
                       double *cores);

/* Cores granted, this loader's share of them, and the loaders that share them.
 */
void fdl_control_shared(struct fdl_control *c, double *granted, double *cores,
                        uint32_t *others);

/* The tuner's upper bound of workers; 0: no run has begun. */
uint32_t fdl_control_workers_max(struct fdl_control *c);

/* The last decisions in words, such as "workers 2 -> 4 (why)", cut if need be,
 * oldest first. Returns how many. */
uint32_t fdl_control_lines(struct fdl_control *c,
                           char out[FEEDLINE_LIVE_DECISIONS][128]);

/* By its id, for the trace. */
bool fdl_control_find(struct fdl_control *c, uint64_t id,
                      struct fdl_decision *out);

/* Batches delivered over all runs, as last reported to the tuner. */
uint64_t fdl_control_batches(struct fdl_control *c);

/* CPU time of the thread so far, and its ticks. */
void fdl_control_cost(const struct fdl_control *c, int64_t *cpu_ns,
                      uint64_t *ticks);

/* ---- For tests ----------------------------------------------------------- */

/* The folder of the machine's files from now on (machine.h); "" is the real
 * one. */
void fdl_control_set_root(struct fdl_control *c, const char *root);

#endif
