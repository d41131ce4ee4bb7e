/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All numbers of a loader at one moment, as the live page and the metrics file
 * show them; and the decisions, a list that both carry.
 */
#ifndef FDL_LOADER_LIVE_GATHER_H
#define FDL_LOADER_LIVE_GATHER_H

#include "base/lock.h"

#include <feedline/live.h>

#include <pthread.h>

/* The last changes of the live knobs, in words. Zeroed memory with an
 * initialised lock is empty. */
struct fdl_decisions {
    struct fdl_lock lock; /* guards the rest */
    uint64_t n;           /* ever; the last FEEDLINE_LIVE_DECISIONS are kept */
    char lines[FEEDLINE_LIVE_DECISIONS][128];
};

/* A line such as "workers 2 -> 4 (why)", cut if need be. Any thread. */
void fdl_decisions_say(struct fdl_decisions *d, const char *line);

/* On the monitor's thread: it asks for the verdict. *out is wholly set. */
void fdl_live_gather(feedline_loader *l, struct feedline_live_stats *out);

#endif
