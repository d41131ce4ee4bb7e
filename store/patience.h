/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long to wait for a server: before the same is asked again, and before it
 * is asked a second time beside the first (a hedge). One thread at a time; it
 * is told what time it is.
 *
 * A hedge is sent once a request has taken twice as long as 95 of 100 that
 * asked for as much did; while few of them are known, once it has been silent
 * for longer than that, the longer the fewer are known. And only while hedges
 * together are few of the bytes that came: what makes all requests slow cannot
 * double them.
 *
 * The first pauses are short, as long as few requests fail: then it was bad
 * luck, and the next try is as good as any. Where many fail the server has too
 * much to do, and pauses double from 0.1 s on.
 */
#ifndef FDL_STORE_PATIENCE_H
#define FDL_STORE_PATIENCE_H

#include "base/philox.h"

#include <stdbool.h>
#include <stdint.h>

#define FDL_PATIENCE_SIZES   5u
#define FDL_PATIENCE_BUCKETS 64u

/* Requests for about as much. */
struct fdl_patience_size {
    /* By duration: 4 buckets for each doubling from 1 ms on. */
    uint32_t took[FDL_PATIENCE_BUCKETS];
    uint32_t n;
    uint64_t bytes;  /* of all of them */
    int64_t slow_ns; /* see fdl_patience_slow_at */
};

struct fdl_patience {
    struct fdl_rng rng;
    struct fdl_patience_size
        sizes[FDL_PATIENCE_SIZES]; /* 0: not known before */
    int64_t spare_bytes;           /* that hedges may cost */
    uint32_t spare;                /* of short pauses, see patience.c */
};

/* A request under way. */
struct fdl_patience_wait {
    int64_t asked;              /* bytes; -1: all that there are */
    int64_t began_ns, moved_ns; /* moved: its last byte came */
};

void fdl_patience_init(struct fdl_patience *p, uint64_t seed);

/* Before try `tries` (from 1): anything from 0 on, on average twice as long as
 * before the one before; at least what the server asked for (-1: nothing), as
 * long as that is sensible. */
int64_t fdl_patience_pause_ns(struct fdl_patience *p, uint32_t tries,
                              int64_t asked_s);

/* It has brought so many bytes, and took so long. */
void fdl_patience_learn(struct fdl_patience *p, int64_t asked, uint64_t bytes,
                        int64_t ns);

/* From when on a request takes longer than others, and is late, so that it may
 * be asked for twice. */
int64_t fdl_patience_slow_at(const struct fdl_patience *p,
                             const struct fdl_patience_wait *w);
int64_t fdl_patience_late_at(const struct fdl_patience *p,
                             const struct fdl_patience_wait *w);

/* Whether so much may be asked for twice; it is then paid for. */
bool fdl_patience_spend(struct fdl_patience *p, int64_t asked);

#endif
