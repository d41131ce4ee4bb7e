/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other loaders on the same cores, and this loader's share of them. Each of
 * several loaders gains from more workers, since the scheduler divides cores by
 * threads, and all of them lose: three on two cores ended with nine workers, 7
 * % slower than with three. So each takes its share, and tries no more.
 *
 *     /proc/PID/fd -> live page   workers on a core, and queueing for one
 *     /proc/PID/cgroup, affinity  do they draw from the same grant?
 *          |
 *          v
 *     wants  0.3  1.0  2.0   of 4 cores, and we want all:
 *     level  0.3  1.0 [1.35]  max-min: a want below the level is met in full
 *
 * A want is what a loader uses plus what it queues for. By use alone, a loader
 * that is crowded out would look like one that wants little.
 *
 * Visible are loaders of the same user with a live page (option live), in this
 * PID namespace.
 */
#ifndef FDL_LOADER_NEIGHBOURS_H
#define FDL_LOADER_NEIGHBOURS_H

#include <feedline/live.h>

#include <stdbool.h>
#include <stdint.h>

/* More are ignored. */
#define FDL_NEIGHBOURS_MAX 64u

struct fdl_neighbour {
    int32_t pid;
    uint32_t loader;
    int64_t started_unix_ns;
    feedline_live *live;
    bool own;      /* our own page */
    bool listed;   /* by the last walk */
    double weight; /* fraction of its want that falls on our cores */

    int64_t updated_ns; /* of the last page read; 0: none yet */
    int64_t cpu_ns, queued_ns, process_ns;
    double cpu, queued, process; /* cores, since the previous page */
    bool known;                  /* want is: */
    double want;                 /* cores, smoothed */
};

/* Zeroed memory is empty. One thread at a time. */
struct fdl_neighbours {
    uint32_t n;
    struct fdl_neighbour all[FDL_NEIGHBOURS_MAX];
};

/* How to tell this loader from the others. */
struct fdl_neighbour_self {
    const char *root; /* of the machine's files (machine.h) */
    uint32_t loader;  /* number of its page; UINT32_MAX: it has none */
    bool by_quota;    /* its cores are those of a control group's quota, not of
                         its affinity */
};

/* Walks through /proc: adds new loaders, forgets those that are gone. What
 * cannot be read is no neighbour. true: there are new ones. */
bool fdl_neighbours_find(struct fdl_neighbours *n,
                         const struct fdl_neighbour_self *self);

/* Reads the pages of those found. */
void fdl_neighbours_look(struct fdl_neighbours *n, int64_t now);

/* What the others want of our cores, if known; and how many. */
uint32_t fdl_neighbours_wants(const struct fdl_neighbours *n,
                              double wants[FDL_NEIGHBOURS_MAX]);

void fdl_neighbours_forget(struct fdl_neighbours *n);

/* What remains of `granted` for one more that would take everything: the level
 * to which all can be filled. Sorts wants. */
double fdl_neighbours_share(double granted, double *wants, uint32_t n);

/* The share of the grant to use: the one just seen, if it differs from `before`
 * by enough to measure anew. n: of wants that count, 0: all is ours. */
double fdl_neighbours_part(double before, double granted, double *wants,
                           uint32_t *n);

#endif
