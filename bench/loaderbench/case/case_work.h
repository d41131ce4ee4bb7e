/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of a story on each sample, as a custom operation: so many
 * milliseconds of sleep, as of a call that waits for something, or of CPU time.
 *
 * With a gate it is done only while the consumer waits for a batch, which is
 * what loading without workers is: nothing happens ahead.
 */
#ifndef LOADERBENCH_CASE_WORK_H
#define LOADERBENCH_CASE_WORK_H

#include <feedline/feedline.h>

#include <pthread.h>
#include <stdbool.h>

struct case_work {
    double ms;  /* of each sample */
    bool spin;  /* on a core; else it sleeps */
    bool exact; /* what a sleep took too long, the thread's next one is shorter,
                   so that a batch takes what it should */
    bool gated;

    /* Guarded by lock: is_open. opened: it has become true. */
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool is_open;
};

void case_work_init(struct case_work *w, double ms);
void case_work_fini(struct case_work *w);

/* As the operation "work"; w outlives the loaders. */
int32_t case_work_register(struct case_work *w, feedline_pipeline *p);

void case_work_open(struct case_work *w);
void case_work_shut(struct case_work *w);

/* Sleeps of this thread, and of those that it starts from now on, end when they
 * should and not 50 us later. */
void case_sleep_sharply(void);

/* To a point on tool_seconds(). */
void case_sleep_until(double seconds);

#endif
