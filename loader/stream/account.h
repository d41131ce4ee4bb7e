/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer's account: one call of next() after the other, and what the
 * program did in between. A loader's own next() and a watch around somebody
 * else's (outside.h) keep it in the same way.
 *
 *   returned ---- user ----> called -- api --> waiting -- wait --> ready -- api
 *
 * Wall = user + wait + api holds to the nanosecond. Calls that come back
 * without a batch belong to the turn of the batch that comes in the end.
 */
#ifndef FDL_LOADER_ACCOUNT_H
#define FDL_LOADER_ACCOUNT_H

#include "profiler/measure/pace.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_consumer;

/* One call of next(). */
struct fdl_account_call {
    int64_t called;
    int64_t wait_ns;
    int64_t waited;   /* when the wait ended: what follows is our own cost */
    int64_t fetch_ns; /* of the wait, for reads */
    bool delivered;
    uint64_t bytes;            /* of the batch */
    struct fdl_pace_call pace; /* of the batch, without its times */
};

/* A run begins at `now`, and was asked for at `asked`: the time until then is
 * the program's, from then on it is the call's. What was before the first run
 * is nobody's. */
void fdl_account_begin(struct fdl_consumer *c, int64_t asked, int64_t now);

/* The user's time up to `now`, while a call is under way or a phase is marked.
 * The consumer's lock is held, here and below. */
void fdl_account_book_user_locked(struct fdl_consumer *c, int64_t now);

/* All sums begin anew at `now`, also in the middle of a step or a call. */
void fdl_account_reset_locked(struct fdl_consumer *c, int64_t now);

/* The part of [time, ...) that counts: what was before the reset does not. */
int64_t fdl_account_since_locked(const struct fdl_consumer *c, int64_t time);

/* Adds the call; the ledger has its wait already. Returns when it ended. */
int64_t fdl_account_add_locked(struct fdl_consumer *c,
                               struct fdl_account_call *call);

#endif
