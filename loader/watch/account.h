/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer's account: each call of next(), and what the program did in
 * between. A loader's own next() and a watch around another library's
 * (outside.h) keep it in the same way.
 *
 *   returned ---- user ----> called -- api --> waiting -- wait --> ready -- api
 *
 * Wall = user + wait + api holds to the nanosecond. Calls that return without a
 * batch belong to the turn of the batch that follows.
 */
#ifndef FDL_LOADER_ACCOUNT_H
#define FDL_LOADER_ACCOUNT_H

#include "loader/stream/observer.h"
#include "loader/watch/books.h"
#include "profiler/measure/pace.h"

#include <stdbool.h>
#include <stdint.h>

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

/* A run began at `now` that was requested at `asked`: time until then is the
 * program's, from then on the call's. Time before the first run is not counted.
 */
void fdl_account_begin(struct fdl_books *c, int64_t asked, int64_t now);

/* Adds the user's time up to `now`, during a call or when a phase is marked.
 * `_locked`: the lock of the books is held. */
void fdl_account_book_user_locked(struct fdl_books *c, int64_t now);

/* Resets all sums at `now`, even in the middle of a step or a call. */
void fdl_account_reset_locked(struct fdl_books *c, int64_t now);

/* The part of [time, ...) that counts: only after the reset. */
int64_t fdl_account_since_locked(const struct fdl_books *c, int64_t time);

/* Adds the call; the ledger already has its wait. Returns when it ended. */
int64_t fdl_account_add_locked(struct fdl_books *c,
                               struct fdl_account_call *call);

/* The hooks of the consumer's thread, see stream/observer.h. */
void fdl_account_called(struct fdl_books *c, int64_t now);
void fdl_account_refused(struct fdl_books *c);
void fdl_account_returned(struct fdl_books *c, const struct fdl_next_record *r);
void fdl_account_broken(struct fdl_books *c);

/* For the function of the same name in the public header. */
int32_t fdl_account_handed_over(struct fdl_books *c, const char *by);

/* The calling thread is the consumer: it called next() last or, before anybody
 * did, asked this first. */
bool fdl_account_is_consumer(struct fdl_books *c);

#endif
