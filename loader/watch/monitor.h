/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread "feedline-watch": four times a second it probes the system
 * (look.h) and serves subscribers that want statistics regularly: the live
 * page, the log, the metrics file. It runs from the first start of a loader
 * until its destruction, sleeps in between, and takes no lock that workers take
 * per sample.
 *
 *     beat     |----250 ms----|--------------|--------------|---- ...
 *     probe    *              *              *              *
 *     served   live  log      live           live           live metrics
 *
 * If the thread cannot be started, the loader works without it: probes happen
 * only when numbers are requested, and subscribers are served once, at the end.
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

struct fdl_books;
struct fdl_engine;
struct fdl_monitor;
struct fdl_worker_books;

/* A subscriber. All are served on the monitor's thread, one after another, in
 * the order in which they subscribed; they may request any statistics, and
 * delay the others for as long as they take. */
struct fdl_subscriber {
    /* last: the loader is being destroyed, and this is the final call; once,
     * after every other call, on the destroying thread. */
    void (*serve)(void *user, bool last);
    void (*close)(void *user); /* frees user; after the last call. NULL: no */
    void *user;
    int64_t interval_ns; /* rounded up to whole beats; 0: every beat */
};

/* See fdl_look_create. */
int32_t fdl_monitor_create(const struct fdl_engine *engine,
                           struct fdl_books *books,
                           struct fdl_worker_books *const *workers,
                           struct fdl_monitor **out);

/* Before the first start. ERANGE: the table is full; nothing is closed then. */
int32_t fdl_monitor_subscribe(struct fdl_monitor *m,
                              const struct fdl_subscriber *s);

/* Starts the thread if it is not running; when a run begins. ENOMEM, ESTATE:
 * the system has no more threads; a line in the log says so. One thread at a
 * time. */
int32_t fdl_monitor_start(struct fdl_monitor *m);

/* Subscribers that are served on every beat are served at once, without a
 * probe. Any thread. */
void fdl_monitor_hurry(struct fdl_monitor *m);

/* Joins the thread, which wakes at once, serves all subscribers a last time and
 * closes them. The loader's other threads are joined already; their counters
 * still exist. */
void fdl_monitor_destroy(struct fdl_monitor *m);

/* Probes now, on this thread, whatever the beat, for callers that need current
 * numbers. Any thread; takes the consumer's lock. */
void fdl_monitor_look(struct fdl_monitor *m);

/* Results since the last reset; a consistent copy. Any thread. gpu: NULL, or
 * its last second. */
void fdl_monitor_get(struct fdl_monitor *m, struct fdl_watched *out,
                     struct fdl_gpu_watched *gpu);

/* Resets the statistics: there is no probe between the two, and results up to
 * the second are dropped. They take the consumer's lock. */
void fdl_monitor_begin_reset(struct fdl_monitor *m);
void fdl_monitor_end_reset(struct fdl_monitor *m);

#endif
