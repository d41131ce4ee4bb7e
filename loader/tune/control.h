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

#include "base/json.h"
#include "base/text.h"
#include "loader/options.h"
#include "profiler/tuner/tuner.h"
#include "profiler/tuner/tuner_found.h"

#include <feedline/tuning.h>

#include <stdbool.h>
#include <stdint.h>

struct fdl_control;

/* l->control, and where workers and depth of l begin. ERANGE: bounds that
 * contradict each other. Behind l's ring. */
int32_t fdl_control_create(feedline_loader *l);
void fdl_control_destroy(feedline_loader *l);

/* A run has begun; without l->engine->run_lock. */
void fdl_control_begin(feedline_loader *l);

/* Joins the thread; before a run ends, without l->engine->run_lock. */
void fdl_control_end(feedline_loader *l);

/* false: nothing would choose a knob that is auto. Constant. */
bool fdl_control_is_on(const feedline_loader *l);

/* It changes knobs, since some are auto. Any thread. */
bool fdl_control_tunes(const feedline_loader *l);

/* The program set a knob, or (given: false) returned it. `run_lock` is held,
 * the option is set. */
void fdl_control_set_locked(feedline_loader *l, enum fdl_knob knob,
                            int64_t before, int64_t after, bool given);

/* ---- What it did; any thread --------------------------------------------- */

void fdl_control_info(const feedline_loader *l,
                      struct feedline_tuner_info *out);

/* All false and 0 while no run has begun. owns: false for each knob where the
 * tuner does not act on its own. */
void fdl_control_found(const feedline_loader *l, struct fdl_tuner_found *out);

/* index: from the oldest that is kept. false: there is none. created_ns: what
 * its time counts from. */
bool fdl_control_decision(const feedline_loader *l, uint32_t index,
                          struct fdl_decision *out, int64_t *created_ns);

/* The settings when the first run began, and the cores granted then, 0: not
 * known. false: none has begun. */
bool fdl_control_began(const feedline_loader *l, struct fdl_knobs *out,
                       double *cores);

/* Cores granted, this loader's share of them, and the loaders that share them.
 */
void fdl_control_shared(const feedline_loader *l, double *granted,
                        double *cores, uint32_t *others);

/* The tuner's upper bound of workers; 0: no run has begun. */
uint32_t fdl_control_workers_max(const feedline_loader *l);

/* By its id, for the trace. */
bool fdl_control_find(const feedline_loader *l, uint64_t id,
                      struct fdl_decision *out);

/* Batches delivered over all runs, as last reported to the tuner. */
uint64_t fdl_control_batches(const feedline_loader *l);

/* CPU time of the thread so far, and its ticks. */
void fdl_control_cost(const feedline_loader *l, int64_t *cpu_ns,
                      uint64_t *ticks);

/* tuner_json.c: members "mode", ... of the open object; and "decisions". */
void fdl_tuner_json(const feedline_loader *l, bool decisions,
                    struct fdl_json *j);

/* tuner_text.c */
void fdl_tuner_explain(const feedline_loader *l, struct fdl_text *t);

/* ---- For tests ----------------------------------------------------------- */

/* The folder of the machine's files from now on (machine.h); "" is the real
 * one. */
void fdl_control_set_root(feedline_loader *l, const char *root);

#endif
