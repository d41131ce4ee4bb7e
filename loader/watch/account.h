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

#include "base/lock.h"
#include "loader/stream/observer.h"
#include "loader/watch/notable.h"
#include "loader/watch/zero.h"
#include "profiler/measure/ledger.h"
#include "profiler/measure/pace.h"
#include "profiler/measure/stage.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fdl_books {
    /* The consumer's thread writes these. */
    int64_t returned_ns; /* end of the last next() or start() */
    struct {             /* since the last batch, in calls without one */
        int64_t user_ns, wait_ns, wall_ns, fetch_ns;
    } turn;
    int64_t started_ns;
    _Atomic uintptr_t thread; /* phases.c; 0: not known yet */
    _Atomic int32_t tid;      /* of the thread that called next last */
    _Atomic uint32_t inside;  /* 1: it is in next() now */

    struct fdl_lock lock; /* guards the rest */
    struct fdl_ledger ledger;
    struct fdl_ledger_scratch *scratch;
    int64_t user_ns, api_ns;
    int64_t booked_ns; /* user_ns includes time up to here, at least to
                          returned_ns */
    int64_t reset_ns;  /* of the statistics; earlier time does not count */
    struct fdl_notable notable;
    struct fdl_pace pace;
    int64_t first_batch_ns;
    uint64_t batches, samples;
    uint64_t ledger_ns; /* cost of attribution */
    uint64_t clock_reads;
    struct fdl_stage consume, transfer;
    struct fdl_stats_zero *zero; /* the valid one of zeros, which a reset
                                    exchanges for the other */
    struct fdl_stats_zero zeros[2];
    uint32_t resets; /* of the statistics, ever */
    struct {         /* until the last of them */
        uint64_t batches;
        int64_t user_ns, api_ns, wait_ns, ns[FDL_BUCKETS];
    } past;
};

struct fdl_watch;

/* batch_size: samples of a batch, at most. ENOMEM. */
int32_t fdl_books_init(struct fdl_books *c, uint32_t batch_size);
void fdl_books_fini(struct fdl_books *c);

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

/* A run begins at `now`, and was requested at `asked`: time until then is the
 * program's, from then on the call's. Time before the first run is not counted.
 */
void fdl_account_begin(struct fdl_books *c, int64_t asked, int64_t now);

/* Adds the user's time up to `now`, during a call or when a phase is marked.
 * The consumer's lock is held, here and below. */
void fdl_account_book_user_locked(struct fdl_books *c, int64_t now);

/* Resets all sums at `now`, even in the middle of a step or a call. */
void fdl_account_reset_locked(struct fdl_books *c, int64_t now);

/* The part of [time, ...) that counts: only after the reset. */
int64_t fdl_account_since_locked(const struct fdl_books *c, int64_t time);

/* Adds the call; the ledger already has its wait. Returns when it ended. */
int64_t fdl_account_add_locked(struct fdl_books *c,
                               struct fdl_account_call *call);

/* The hooks of the consumer's thread, see stream/observer.h. */
void fdl_account_called(struct fdl_watch *watch, int64_t now);
void fdl_account_refused(struct fdl_watch *watch);
void fdl_account_returned(struct fdl_watch *watch,
                          const struct fdl_next_record *r);
void fdl_account_broken(struct fdl_watch *watch);

#endif
