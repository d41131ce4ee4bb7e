/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outliers of a run: slow samples, long waits and their causes, gaps in the
 * consumer's steps, and the consumer's phases. The sums and lists are those of
 * profiler/; here next() and the workers feed them.
 *
 * The clock of phases is the consumer's user_ns. Between two calls of next() it
 * is updated whenever a phase begins or ends, so the duration of a phase is
 * always included in user_ns.
 *
 * `_locked`: the lock of the books is held; that of the slow samples is taken
 * after it.
 */
#ifndef FDL_LOADER_NOTABLE_H
#define FDL_LOADER_NOTABLE_H

#include "profiler/measure/ledger.h"
#include "profiler/measure/slow.h"
#include "profiler/verdict/verdict.h"

#include <feedline/feedline.h>

#include <stdbool.h>
#include <stdint.h>

struct fdl_books;

/* A run begins. */
void fdl_notable_begin_locked(struct fdl_books *c);

/* A wait [a, b) already in the ledger. */
void fdl_notable_wait_locked(struct fdl_books *c,
                             const struct fdl_ticket_times *ticket, int64_t a,
                             int64_t b);

/* A call of next(), after user_ns of the consumer's own; delivered may be NULL.
 * The ledger already has its wait. */
void fdl_notable_call_locked(struct fdl_books *c, int64_t user_ns,
                             const feedline_batch *delivered);
void fdl_notable_reset_locked(struct fdl_books *c);

/* The two halves of that which need no batch: the step before it and its wait
 * (true: an outlier, to be described by fdl_outliers_keep), and the start of
 * the next step. */
bool fdl_notable_step_locked(struct fdl_books *c, int64_t wait_ns);
void fdl_notable_next_locked(struct fdl_books *c);

/* For the functions of the same names in the public header. */
void fdl_notable_gaps(struct fdl_books *c, struct feedline_gap_stats *out);
uint32_t fdl_notable_slow(struct fdl_books *c,
                          struct feedline_slow_sample out[FDL_SLOW_KEPT]);

/* What a verdict may need: phases, gaps, the period of waits, waits for single
 * samples. */
void fdl_notable_evidence(struct fdl_books *c, struct fdl_evidence *out);

#endif
