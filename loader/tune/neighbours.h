/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other loaders that draw from the same cores, and what is left of them for
 * this one. Each of several loaders gains by more workers, for the scheduler
 * deals out by threads, and all of them lose by it: three on two cores ended
 * with nine workers, and were 7 % slower than with three. So each takes what is
 * its share, and tries no more.
 *
 *     /proc/PID/fd -> live page   workers on a core, and queueing for one
 *     /proc/PID/cgroup, affinity  do they draw from the same grant?
 *          |
 *          v
 *     wants  0.3  1.0  2.0   of 4 cores, and we want all:
 *     level  0.3  1.0 [1.35]  max-min: who wants less than the level has it all
 *
 * A want is what a loader uses and what it queues for. By use alone a loader
 * that is crowded out would look like one that wants little.
 *
 * Seen are loaders of the same user with a page (option live), in this
 * namespace of processes.
 */
#ifndef FDL_LOADER_NEIGHBOURS_H
#define FDL_LOADER_NEIGHBOURS_H

#include <feedline/live.h>

#include <stdbool.h>
#include <stdint.h>

/* More are not looked at. */
#define FDL_NEIGHBOURS_MAX 64u

struct fdl_neighbour {
    int32_t pid;
    uint32_t loader;
    int64_t started_unix_ns;
    feedline_live *live;
    bool own;      /* the page of the loader that looks */
    bool listed;   /* by the last walk */
    double weight; /* of its want, what falls on our cores */

    int64_t updated_ns; /* of the page that was read last; 0: none yet */
    int64_t cpu_ns, queued_ns, process_ns;
    double cpu, queued, process; /* cores, since the page before */
    bool known;                  /* want is: */
    double want;                 /* cores, smoothed */
};

/* Zeroed memory is empty. One thread at a time. */
struct fdl_neighbours {
    uint32_t n;
    struct fdl_neighbour all[FDL_NEIGHBOURS_MAX];
};

/* How this loader is to be told from the others. */
struct fdl_neighbour_self {
    const char *root; /* of the machine's files (machine.h) */
    uint32_t loader;  /* number of its page; UINT32_MAX: it has none */
    bool by_quota;    /* its cores are those of a control group's quota, not of
                         its affinity */
};

/* A walk through /proc: new ones are added, those that went are forgotten. What
 * cannot be looked at is no neighbour. true: there are new ones. */
bool fdl_neighbours_find(struct fdl_neighbours *n,
                         const struct fdl_neighbour_self *self);

/* Reads the pages of those that were found. */
void fdl_neighbours_look(struct fdl_neighbours *n, int64_t now);

/* What the others want of our cores, those that are known; and how many. */
uint32_t fdl_neighbours_wants(const struct fdl_neighbours *n,
                              double wants[FDL_NEIGHBOURS_MAX]);

void fdl_neighbours_forget(struct fdl_neighbours *n);

/* What of `granted` is left for one more, that would take everything: the level
 * to which all can be filled. Sorts wants. */
double fdl_neighbours_share(double granted, double *wants, uint32_t n);

/* The part of the grant to go by now: that of what was seen, where it differs
 * from `before` by enough to begin anew for it. n: of wants that count, 0: all
 * is ours. */
double fdl_neighbours_part(double before, double granted, double *wants,
                           uint32_t *n);

#endif
