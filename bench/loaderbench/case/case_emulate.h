/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU where there is none: two engines, one copies and one computes, each for
 * so many milliseconds a batch. Like those of a GPU they work while the host
 * does something else, so they are not threads but points in time up to which
 * each is busy, on an absolute clock:
 *
 *            copy:  |--1--|        |--2--|        |--3--|
 *         compute:        |-----1-----|-----2-----|-----3-----|
 *            host:  next  next        next        next
 *
 * In series the host waits for each batch's copy and computation before it asks
 * for the next batch. Overlapped, it queues both and goes on to the next batch,
 * one ahead of the computation, as a loop with two buffers does.
 */
#ifndef LOADERBENCH_CASE_EMULATE_H
#define LOADERBENCH_CASE_EMULATE_H

#include <feedline/feedline.h>

#include <stdbool.h>
#include <stdint.h>

struct emulated_gpu {
    double copy_ms, compute_ms; /* of a batch */
    bool overlapped;

    double copied, computed; /* when each engine has done what was queued; on
                                tool_seconds() */
    feedline_batch *held;    /* that is being computed with */

    /* Since the last reset. */
    uint64_t steps;
    double begin, idle; /* the compute engine had nothing to do for so long */
};

/* Queues copy and computation of the batch; it is given back when they are
 * done. self: a struct emulated_gpu. 0: an exit status, for case_consumer. */
int emulated_gpu_take(void *self, feedline_batch *batch);

/* Waits until all of it is done. */
void emulated_gpu_drain(struct emulated_gpu *g);

/* Counting begins with the end of what is queued. */
void emulated_gpu_reset(struct emulated_gpu *g);

/* Of the steps since then: the time of one, and the part that it was idle. */
double emulated_gpu_step_ms(const struct emulated_gpu *g);
double emulated_gpu_idle(const struct emulated_gpu *g);

#endif
