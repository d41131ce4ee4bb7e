/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several loaders on one machine, each in a process of its own with a consumer
 * that takes what it gets: what several training jobs in one container are.
 */
#ifndef LOADERBENCH_CASE_CREW_H
#define LOADERBENCH_CASE_CREW_H

#include "tools/loaderbench/case/case_scene.h"

#define CREW_MAX 16

/* The workers and depth of each; workers 0: a tuner finds them. */
struct crew_setting {
    int64_t workers, depth; /* depth 0: as the loader chooses */
};

/* What one loader did in the time in which all were measured. */
struct crew_answer {
    int32_t rc; /* an exit status */
    double images_per_second, wait_fraction;
    double cores; /* CPU time, of the process's wall time */
    int64_t workers, depth;
    int64_t converged_batch; /* -1: it has not, or there is no tuner */
    double converged_seconds;
};

/* Runs n loaders of the scene, which has its data and was not opened, side by
 * side, each for `seconds`, or until its tuner has settled: the first to finish
 * continue until all have, so that the others are not measured with less
 * competition. answers: n. An exit status. */
int crew_run(const struct case_scene *scene, uint32_t n,
             const struct crew_setting *settings, double seconds,
             struct crew_answer *answers);

#endif
