/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread "feedline-watch": four times a second it looks at what the system
 * says of the workers and of the machine (look.h), and serves whoever wants the
 * statistics regularly: the live page, the log, the metrics file. It runs from
 * the first start of a loader until it is destroyed, sleeps in between, and
 * takes no lock that a worker takes for a sample.
 *
 *     beat     |----250 ms----|--------------|--------------|---- ...
 *     look     *              *              *              *
 *     served   live  log      live           live           live metrics
 *
 * Where the thread cannot be started, the loader works without it: looks are
 * then made only when somebody asks for numbers, and subscribers are served
 * once, at the end.
 */
#ifndef FDL_LOADER_MONITOR_H
#define FDL_LOADER_MONITOR_H

#include "loader/watch/gpu_watch.h"
#include "loader/watch/look.h"

#include <feedline/feedline.h>

#include <stdbool.h>
#include <stdint.h>

#define FDL_BEAT_NS         INT64_C(250000000)
#define FDL_SUBSCRIBERS_MAX 8u

struct fdl_monitor;
struct fdl_watch;

/* Who is served. All on the thread of the monitor, one after another, in the
 * order in which they subscribed; they may ask for any statistics, and hold up
 * the others as long as they take. */
struct fdl_subscriber {
    /* last: the loader is being destroyed; what is said now is the last word.
     * Once, after every other call, on the thread that destroys. */
    void (*serve)(void *user, bool last);
    void (*close)(void *user); /* frees user; after the last call. NULL: no */
    void *user;
    int64_t interval_ns; /* rounded up to whole beats; 0: each beat */
};

int32_t fdl_monitor_create(struct fdl_watch *watch, struct fdl_monitor **out);

/* Before the first start. ERANGE: the table is full; nothing is closed then. */
int32_t fdl_monitor_subscribe(struct fdl_monitor *m,
                              const struct fdl_subscriber *s);

/* Starts the thread if it does not run; once a run begins. ENOMEM, ESTATE: the
 * system has no more threads; a line in the log says so. One thread at a time.
 */
int32_t fdl_monitor_start(struct fdl_monitor *m);

/* Joins the thread, which wakes at once, serves everyone a last time and closes
 * them. The loader's other threads are joined already, what they counted is
 * still there. */
void fdl_monitor_destroy(struct fdl_monitor *m);

/* Looks now, on this thread, whatever the beat; for whoever asks for numbers
 * that are up to date. Any thread; takes the consumer's lock. */
void fdl_monitor_look(struct fdl_monitor *m);

/* What was learned since the last reset; a consistent copy. Any thread. gpu:
 * NULL, or its last second. */
void fdl_monitor_get(struct fdl_monitor *m, struct fdl_watched *out,
                     struct fdl_gpu_watched *gpu);

/* A reset of the statistics: between the two nobody looks, and what was learned
 * until the second is forgotten. The consumer's lock is taken inside of them.
 */
void fdl_monitor_begin_reset(struct fdl_monitor *m);
void fdl_monitor_end_reset(struct fdl_monitor *m);

#endif
