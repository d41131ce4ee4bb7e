/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The diary of a loader's settings: what the tuner changed and what the program
 * did, in one order. The tuner keeps its own decisions and judges them later;
 * this takes them over as they come, and notices each that was judged, so that
 * trace, live page and log can tell of both.
 */
#ifndef FDL_LOADER_DECISION_LOG_H
#define FDL_LOADER_DECISION_LOG_H

#include "profiler/tuner/tuner.h"

#include <stdbool.h>
#include <stdint.h>

#define FDL_DECISIONS_KEPT 256u

struct fdl_logged_decision {
    struct fdl_decision d; /* its id is the place in this log */
    uint64_t tuner_id;     /* of the tuner; UINT64_MAX: the program's */
};

/* Zeroed memory is empty. Who owns it has a lock for it. */
struct fdl_decision_log {
    struct fdl_logged_decision kept[FDL_DECISIONS_KEPT]; /* id % so many */
    uint64_t n;                                          /* ever */
    uint64_t taken;   /* decisions of the tuner that were looked at */
    uint64_t pending; /* ids below are judged, or can never be */
};

/* judged: it was told before, and has an outcome now. */
typedef void fdl_decision_told(void *user, const struct fdl_decision *d,
                               bool judged);

/* What the tuner did since the last call. */
void fdl_decision_log_take(struct fdl_decision_log *log,
                           const struct fdl_tuner *tuner,
                           fdl_decision_told *tell, void *user);

/* The tuner's decisions until now are about something that is here already. */
void fdl_decision_log_skip(struct fdl_decision_log *log,
                           const struct fdl_tuner *tuner);

/* A decision of the program; d->id is given here. */
void fdl_decision_log_add(struct fdl_decision_log *log, struct fdl_decision *d);

/* NULL: there is none of this id, or not any more. */
const struct fdl_decision *fdl_decision_log_find(
    const struct fdl_decision_log *log, uint64_t id);

/* Id of the oldest that is kept; n if there is none. */
uint64_t fdl_decision_log_first(const struct fdl_decision_log *log);

#endif
