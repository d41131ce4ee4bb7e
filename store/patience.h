/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long to wait for a server: before the same is asked again, and before it
 * is asked a second time beside the first (a hedge). One thread at a time.
 *
 * A hedge is sent once a request has taken twice as long as 95 of 100 of its
 * size did, and only while hedges together are few of the bytes that came: what
 * makes all requests slow cannot double them.
 */
#ifndef FDL_STORE_PATIENCE_H
#define FDL_STORE_PATIENCE_H

#include "base/philox.h"

#include <stdbool.h>
#include <stdint.h>

#define FDL_PATIENCE_SIZES   4u
#define FDL_PATIENCE_BUCKETS 64u

struct fdl_patience {
    struct fdl_rng rng;
    /* By size and duration: 4 buckets for each doubling from 1 ms on. */
    uint32_t took[FDL_PATIENCE_SIZES][FDL_PATIENCE_BUCKETS];
    uint32_t n[FDL_PATIENCE_SIZES];
    int64_t spare_bytes; /* that hedges may cost */
};

void fdl_patience_init(struct fdl_patience *p, uint64_t seed);

/* Before try `tries` (from 1): anything from 0 on, on average twice as long as
 * before the one before; at least what the server asked for (-1: nothing), as
 * long as that is sensible. */
int64_t fdl_patience_pause_ns(struct fdl_patience *p, uint32_t tries,
                              int64_t asked_s);

/* A request for so many bytes has taken so long. */
void fdl_patience_learn(struct fdl_patience *p, uint64_t bytes, int64_t ns);

/* When a request takes longer than others, and when it is late, so that it may
 * be asked for twice; INT64_MAX: too few are known. */
int64_t fdl_patience_slow_ns(const struct fdl_patience *p, uint64_t bytes);
int64_t fdl_patience_late_ns(const struct fdl_patience *p, uint64_t bytes);

/* Whether so many bytes may be asked for twice; they are then paid for. */
bool fdl_patience_spend(struct fdl_patience *p, uint64_t bytes);

#endif
