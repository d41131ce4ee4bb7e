/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second thread that makes the calls that any thread may make: it turns
 * knobs, reads options, statistics, draws, the tuner's diary and what hangs,
 * interrupts, and gives batches back. It sleeps until it is sent, and is then
 * under way while the consumer makes its next call.
 */
#ifndef FDL_TESTS_ERRANDS_H
#define FDL_TESTS_ERRANDS_H

#include "tests/loader/fixture.h"

#include <pthread.h>
#include <semaphore.h>

enum errand {
    ERRAND_WORKERS,
    ERRAND_DEPTH,
    ERRAND_IO_DEPTH,
    ERRAND_STATS,
    ERRAND_RESET,
    ERRAND_VERDICT,
    ERRAND_STUCK,
    ERRAND_DRAW,
    ERRAND_OPTIONS,
    ERRAND_TUNER,
    ERRAND_INTERRUPT,
    ERRANDS, /* that may be drawn at random */
    ERRAND_RELEASE = ERRANDS,
    ERRAND_QUIT
};

struct errands {
    pthread_t thread;
    feedline_loader *loader;
    sem_t room, work; /* one errand at a time, which these hand over: */
    enum errand errand;
    int64_t value;
    feedline_batch *batch;
    char failed[256]; /* first error; for after the join */
};

void errands_start(struct errands *e, feedline_loader *l);

/* Waits for the errand before. value: of a knob; batch: to release, or NULL. */
void errands_send(struct errands *e, enum errand errand, int64_t value,
                  feedline_batch *batch);

/* Waits for the last one; none may have failed. */
void errands_stop(struct errands *e);

#endif
