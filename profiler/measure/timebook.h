/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of one thread, without gaps: each span from one stamp to the next is
 * attributed to what the thread did in it. The thread is the only writer. Any
 * other thread may read at any time, and gets sums up to that very moment,
 * since the kind of the open span is known.
 *
 *     begin(WORK)  mark   begin(STARVED)     mark      begin(WORK)    read
 *          |-- work --|---------- starved ------|--------- work ......|
 *
 * A thread that ends closes its book; the next one may reopen it, and the sums
 * continue. Time between close and open is not attributed.
 */
#ifndef FDL_PROFILER_TIMEBOOK_H
#define FDL_PROFILER_TIMEBOOK_H

#include <stdatomic.h>
#include <stdint.h>

enum fdl_spent {
    FDL_SPENT_WORK = 0,
    FDL_SPENT_READ,
    FDL_SPENT_BLOCKED,
    FDL_SPENT_STARVED,
    FDL_SPENT_PARKED,
    FDL_SPENT_KINDS
};

/* Zeroed memory is a closed, empty book. */
struct fdl_timebook {
    _Atomic uint64_t version; /* odd: being written */
    _Atomic int64_t stamp;    /* end of the last span; 0: closed */
    _Atomic int64_t ns[FDL_SPENT_KINDS];
    _Atomic uint32_t kind; /* of the open span */
};

struct fdl_spent_times {
    int64_t ns[FDL_SPENT_KINDS];
};

/* For the writer. Time from `now` on is of this kind. */
void fdl_timebook_open(struct fdl_timebook *b, enum fdl_spent kind,
                       int64_t now);

/* The open span is of this kind. Returns the kind before. */
enum fdl_spent fdl_timebook_begin(struct fdl_timebook *b, enum fdl_spent kind);

/* Ends the open span at `now` and opens the next, of the same kind. Time that
 * runs backwards counts as none. Returns the span's length. */
int64_t fdl_timebook_mark(struct fdl_timebook *b, int64_t now);

/* The end of the last span; the writer's own. */
int64_t fdl_timebook_stamp(const struct fdl_timebook *b);
void fdl_timebook_close(struct fdl_timebook *b, int64_t now);

/* Any thread: all spans, and the open one until `now`. */
void fdl_timebook_read(const struct fdl_timebook *b, int64_t now,
                       struct fdl_spent_times *out);

#endif
