/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several loaders on one machine, each in a process of its own with a consumer
 * that takes what it gets: what several training jobs in one container are.
 *
 *   crew_start ---> crew_static, crew_search, crew_tuned, ... ---> crew_stop
 *
 * Every process keeps two loaders, one whose workers are set and one with a
 * tuner; while one is measured the other is stopped.
 */
#ifndef LOADERBENCH_CASE_CREW_H
#define LOADERBENCH_CASE_CREW_H

#include "bench/loaderbench/case/case_photos.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CREW_MAX 16

/* What one loader did in the time in which all were measured. */
struct crew_answer {
    int32_t rc; /* an exit status */
    bool converged;
    uint64_t converged_batch;
    double converged_seconds;
    double images_per_second, wait_fraction;
    double cores; /* CPU time, of the process's wall time */
    int64_t workers, depth;
};

struct crew {
    uint32_t n;
    int64_t batch_size;
    const struct case_photos *photos;
    pid_t pids[CREW_MAX];
    int sockets[CREW_MAX];
    void *shared;            /* by all processes: */
    _Atomic uint32_t *found; /* tuners that are done */
};

/* Starts the processes. An exit status; stop in any case. */
int crew_start(struct crew *c, uint32_t n, int64_t batch_size,
               const struct case_photos *photos);
void crew_stop(struct crew *c);

/* So many workers in each, for `seconds` after a warm-up. answers: n. */
int crew_static(struct crew *c, const int64_t *workers, double seconds,
                struct crew_answer *answers);

/* A tuner in each, until all are done or `patience` is over. */
int crew_search(struct crew *c, double patience, struct crew_answer *answers);

/* These tuned ones for `seconds`. */
int crew_tuned(struct crew *c, double seconds, struct crew_answer *answers);

/* What a process does; for crew.c. Returns when the socket is closed. */
void crew_work(struct crew *c, int socket);

enum crew_task { CREW_STATIC, CREW_SEARCH, CREW_TUNED };

struct crew_order {
    enum crew_task task;
    int64_t workers;
    double begin, end; /* on tool_seconds(), the same for all */
};

#endif
