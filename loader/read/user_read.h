/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads by the program's own reader (feedline/source.h): room in the buffer ->
 * the callback -> what it did is checked. Threads of the pread reader, workers
 * and checkers call it; to all of them it is one more way to read a sample.
 *
 * A window knows the calls under way, so that closing it can cancel them:
 *
 *     reader   begin: closed? else list --> callback --> unlist
 *     close    closed = true; cancel each that is listed
 *
 * both under the lock, so no call is missed, and none is cancelled that has
 * returned.
 */
#ifndef FDL_LOADER_USER_READ_H
#define FDL_LOADER_USER_READ_H

#include "base/lock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fdl_read;
struct fdl_window;
struct feedline_read_call;

/* Since the window was made: calls, how long they took, how long of it on a
 * core, and waiting for a lock that they share. */
struct fdl_user_sums {
    uint64_t calls, wall_ns, cpu_ns, lock_ns;
};

/* Of a window. */
struct fdl_user_reads {
    struct fdl_lock lock;
    struct user_call *under_way;
    _Atomic uint64_t calls, wall_ns, cpu_ns, lock_ns;
};

void fdl_user_reads_init(struct fdl_user_reads *u);
void fdl_user_reads_fini(struct fdl_user_reads *u);

/* The window is closed: asks all calls under way to return. */
void fdl_user_reads_cancel(struct fdl_user_reads *u);

void fdl_user_reads_sums(const struct fdl_user_reads *u,
                         struct fdl_user_sums *out);

/* All of it, of r->source.user, on the calling thread. Sets r->status. */
void fdl_user_read(struct fdl_window *w, struct fdl_read *r);

/* For callbacks; see feedline/source.h. */
void *fdl_user_read_grow(struct feedline_read_call *call, uint64_t bytes);
int32_t fdl_user_read_fail(struct feedline_read_call *call, int32_t status,
                           const char *reason);
bool fdl_user_read_is_cancelled(const struct feedline_read_call *call);
void fdl_user_read_waited(struct feedline_read_call *call, int64_t ns);

#endif
