/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sticks out of a run: slow samples, long waits and what they were for,
 * gaps in the consumer's steps, and the consumer's phases. The sums and lists
 * are those of profiler/; here they are fed by next() and by the workers.
 *
 * The clock of phases is the consumer's user_ns. Between two calls of next() it
 * is brought up to date whenever a phase begins or ends, so what a phase took
 * is always already in user_ns.
 *
 * `_locked`: the consumer's lock is held; that of the slow samples comes behind
 * it.
 */
#ifndef FDL_LOADER_NOTABLE_H
#define FDL_LOADER_NOTABLE_H

#include "profiler/measure/gaps.h"
#include "profiler/measure/outliers.h"
#include "profiler/measure/phase.h"
#include "profiler/measure/slow.h"
#include "profiler/verdict/verdict.h"

#include <feedline/feedline.h>

struct fdl_books;
struct fdl_watch;

/* Of the consumer, guarded by its lock. */
struct fdl_notable {
    struct fdl_phases phases;
    struct fdl_gaps gaps;
    struct fdl_outliers outliers;
    struct fdl_ledger before; /* at the last delivery */
    int64_t step_ns;          /* user time since then */
    int64_t alone_ns;         /* waited since then for one sample alone */
    uint32_t alone;           /* place of that one */
    bool begun; /* nothing was delivered since the start or the reset: what is
                   under way says nothing about steps and waits */
};

/* A run begins. */
void fdl_notable_begin(struct fdl_watch *watch);

/* A wait [a, b) that the ledger has. */
void fdl_notable_wait_locked(struct fdl_watch *watch,
                             const struct fdl_ticket_times *ticket, int64_t a,
                             int64_t b);

/* A call of next(), after user_ns of the consumer's own; delivered may be NULL.
 * The ledger has its wait. */
void fdl_notable_call_locked(struct fdl_watch *watch, int64_t user_ns,
                             const feedline_batch *delivered);
void fdl_notable_reset_locked(struct fdl_watch *watch);

/* The two halves of that which know nothing of the batch: the step before it
 * and its wait (true: an outlier, to be described by fdl_outliers_keep), and
 * that the next step begins. */
bool fdl_notable_step_locked(struct fdl_books *c, int64_t wait_ns);
void fdl_notable_next_locked(struct fdl_books *c);

/* For the functions of the same names in the public header. */
void fdl_notable_gaps(struct fdl_watch *watch, struct feedline_gap_stats *out);
uint32_t fdl_notable_slow(struct fdl_watch *watch,
                          struct feedline_slow_sample out[FDL_SLOW_KEPT]);

/* What of it a verdict may need: phases, gaps, the rhythm of waits, waits for
 * single samples. */
void fdl_notable_evidence(struct fdl_watch *watch, struct fdl_evidence *out);

#endif
