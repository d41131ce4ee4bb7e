/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the program's own reader (feedline/source.h) that are under way in
 * one window, so that closing it can cancel them, and what all calls took:
 *
 *     reader   begin: closed? else list --> callback --> end: unlist
 *     close    closed = true; cancel each that is listed
 *
 * both under the lock, so no call is missed, and none is cancelled that has
 * returned. Where calls begin in the order of the stream, they wait for their
 * turns before.
 */
#ifndef FDL_LOADER_USER_CALLS_H
#define FDL_LOADER_USER_CALLS_H

#include "base/lock.h"
#include "loader/read/call_turns.h"
#include "loader/read/records_ahead.h"

#include <feedline/source.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Calls, how long they took, how long of it on a core, and waiting for a lock
 * that they share. */
struct fdl_user_sums {
    uint64_t calls, wall_ns, cpu_ns, lock_ns;
};

/* One of them; call is the first member. */
struct fdl_user_call {
    struct feedline_read_call call;
    void (*cancel)(struct feedline_read_call *call); /* NULL: cannot be */
    struct fdl_user_call *next, **at;                /* in under_way */
};

struct fdl_user_calls {
    struct fdl_lock lock;
    bool closed;
    struct fdl_user_call *under_way;
    struct fdl_turns turns;
    struct fdl_ahead ahead; /* of the one whose turn it is */
    _Atomic uint64_t calls, wall_ns, cpu_ns, lock_ns;
};

void fdl_user_calls_init(struct fdl_user_calls *u);
void fdl_user_calls_fini(struct fdl_user_calls *u);

/* Asks all under way to return; from now on none begins, until open, when it is
 * the turn of sample 0. */
void fdl_user_calls_close(struct fdl_user_calls *u);
void fdl_user_calls_open(struct fdl_user_calls *u);

/* False: it is closed. */
bool fdl_user_calls_begin(struct fdl_user_calls *u, struct fdl_user_call *c);
void fdl_user_calls_end(struct fdl_user_calls *u, struct fdl_user_call *c);

/* One more has returned. */
void fdl_user_calls_count(struct fdl_user_calls *u, int64_t wall_ns,
                          int64_t cpu_ns, int64_t lock_ns);
void fdl_user_calls_sums(const struct fdl_user_calls *u,
                         struct fdl_user_sums *out);

#endif
