/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a loader's settings: what the tuner changed and what the program
 * changed, in one order. The tuner keeps its own decisions and judges them
 * later; this copies them as they come, and notices each one that was judged,
 * so that trace, live page and log can report both.
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

/* Zeroed memory is empty. The owner has a lock for it. */
struct fdl_decision_log {
    struct fdl_logged_decision kept[FDL_DECISIONS_KEPT]; /* id % so many */
    uint64_t n;                                          /* ever */
    uint64_t taken;   /* decisions of the tuner seen so far */
    uint64_t pending; /* ids below are judged, or can never be */
};

/* judged: it was reported before, and now has an outcome. */
typedef void fdl_decision_told(void *user, const struct fdl_decision *d,
                               bool judged);

/* Adds what the tuner did since the last call. */
void fdl_decision_log_take(struct fdl_decision_log *log,
                           const struct fdl_tuner *tuner,
                           fdl_decision_told *tell, void *user);

/* Skips the tuner's decisions until now: they are here already. */
void fdl_decision_log_skip(struct fdl_decision_log *log,
                           const struct fdl_tuner *tuner);

/* Adds a decision of the program; assigns d->id. */
void fdl_decision_log_add(struct fdl_decision_log *log, struct fdl_decision *d);

/* NULL: no such id, or no longer kept. */
const struct fdl_decision *fdl_decision_log_find(
    const struct fdl_decision_log *log, uint64_t id);

/* Id of the oldest one kept; n if none. */
uint64_t fdl_decision_log_first(const struct fdl_decision_log *log);

#endif
