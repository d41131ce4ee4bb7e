/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests of the tuner in a loader share: loaders whose work sleeps, so that
 * more workers always help, however few cores there are and whoever else uses
 * them.
 */
#ifndef FDL_TESTS_CONTROL_RIG_H
#define FDL_TESTS_CONTROL_RIG_H

#include "profiler/tuner/tuner.h"
#include "tests/loader/fixture.h"

#include <feedline/tuning.h>

/* Each sample sleeps for so long; options as of fixture_open. */
feedline_loader *rig_sleepy(feedline_dataset *ds, int64_t sleep_ns,
                            const char *options);

/* Each sample sleeps with a lock that all calls share, and reports the wait. */
feedline_loader *rig_locked(feedline_dataset *ds, int64_t sleep_ns,
                            const char *options);

/* Each sample sleeps with a lock that all calls share, and reports nothing. */
feedline_loader *rig_mutex(feedline_dataset *ds, int64_t sleep_ns,
                           const char *options);

struct feedline_tuner_info rig_info(const feedline_loader *l);
struct fdl_tuner_limits rig_limits(feedline_loader *l);

/* A file of a machine, whose root is the folder "machine" beside the images. */
void rig_put(const struct fixture *f, const char *name, const char *text);

/* A machine of 8 cores in the folder, and the quota of its control group. */
void rig_machine(const struct fixture *f, const char *cpu_max);

/* Takes batches until the tuner has made a decision with these words (NULL:
 * any), and returns it. */
struct feedline_decision rig_await(feedline_loader *l, const char *knob,
                                   const char *outcome);

/* Threads of this process with this name. */
uint32_t rig_threads(const char *name);

/* Until there are n: a thread names itself, and is seen for a moment after it
 * was joined. */
void rig_await_threads(const char *name, uint32_t n);

/* All text of one of the functions that write into a buffer, for free(). */
char *rig_text(int32_t (*get)(const feedline_loader *, char *, uint64_t,
                              uint64_t *),
               const feedline_loader *l);

#endif
