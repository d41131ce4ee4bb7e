/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The object behind a watch (feedline/watch.h): a loader whose batches are made
 * by another library. Account, monitor, live page, logs, metrics and trace are
 * any loader's; its engine is one pixel and never runs.
 *
 *     begin: OUT -> TURNING -> INSIDE      end: INSIDE -> TURNING -> OUT
 *
 * The thread that wins the first step is the only one at work until the second,
 * so a program that calls from two threads gets an error and no torn numbers.
 */
#ifndef FDL_LOADER_OUTSIDE_H
#define FDL_LOADER_OUTSIDE_H

#include "loader/watch/functions.h"
#include "profiler/verdict/verdict.h"

#include <feedline/watch.h>

#include <stdatomic.h>
#include <stdbool.h>

#define FDL_OUTSIDE_TEXT 64u /* bytes, with NUL */

struct fdl_watch;
struct fdl_watched;

struct fdl_outside {
    char name[FDL_OUTSIDE_TEXT], option[FDL_OUTSIDE_TEXT]; /* "": not known */

    _Atomic uint32_t state; /* OUT, TURNING, INSIDE */
    bool begun, watching;   /* the first call was; has ended */
    int64_t called, waiting;
    int32_t tid;    /* that called */
    int64_t cpu_ns; /* of that thread, then */
    uint64_t epoch, sequence, tickets;

    /* Since the reset; guarded by the consumer's lock. */
    int64_t wait_cpu_ns;
    struct fdl_functions functions;
};

/* watch->outside, of a loader that was just created and never runs. gpu: number
 * of the one that its batches go to, -1: not known. ENOMEM. */
int32_t fdl_outside_create(struct fdl_watch *watch,
                           const struct feedline_watch_def *def, int32_t gpu);

/* ESTATE, for what needs an engine. */
int32_t fdl_outside_refuse(void);

int32_t fdl_outside_begin(struct fdl_watch *watch);
int32_t fdl_outside_end(struct fdl_watch *watch, int32_t status,
                        uint64_t samples, uint64_t bytes);
/* The wait lasted from began to ended, both since begin. EINVAL: it did not. */
int32_t fdl_outside_end_at(struct fdl_watch *watch, int32_t status,
                           uint64_t samples, uint64_t bytes, int64_t began,
                           int64_t ended);

/* The consumer's own time continues: it is between two calls. Its lock is held.
 */
bool fdl_outside_between_locked(const struct fdl_watch *watch);

/* ---- Any thread; of a loader that has watch->outside -------------------- */

/* See feedline_watch_spent. */
int32_t fdl_outside_spent(struct fdl_watch *watch, const char *what,
                          int64_t wall_ns, int64_t cpu_ns);
/* See feedline_watch_idle. */
int32_t fdl_outside_idle(struct fdl_watch *watch, int64_t idle_ns);

/* What is known of the makers of batches, added to the evidence. */
void fdl_outside_evidence(struct fdl_watch *watch, const struct fdl_watched *w,
                          struct fdl_evidence *out);
void fdl_outside_reset_locked(struct fdl_outside *o);

#endif
