/* SPDX-License-Identifier: Apache-2.0 */
#include "store/patience.h"

#include "base/compiler.h"

#include <string.h>

#define FIRST_PAUSE_NS ((int64_t)100000000)   /* 0.1 s */
#define MOST_PAUSE_NS  ((int64_t)20000000000) /* 20 s */
#define MOST_ASKED_S   60

#define LEAST_LATE_NS   ((int64_t)200000000) /* 0.2 s: less is no straggler */
#define LATE_TIMES      2
#define LEAST_KNOWN     20u
#define FORGET          4096u /* then each counts half */
#define PER_DOUBLING    4u
#define FIRST_BUCKET_NS ((int64_t)1000000) /* 1 ms */

#define SPARE_SHARE ((int64_t)20) /* hedges: 1 / 20 of the bytes */
#define SPARE_FIRST ((int64_t)4 << 20)
#define SPARE_MOST  ((int64_t)64 << 20)

void fdl_patience_init(struct fdl_patience *p, uint64_t seed)
{
    memset(p, 0, sizeof(*p));
    fdl_rng_init(&p->rng, seed, 0, 0, 0);
    p->spare_bytes = SPARE_FIRST;
}

int64_t fdl_patience_pause_ns(struct fdl_patience *p, uint32_t tries,
                              int64_t asked_s)
{
    uint32_t doublings = FDL_MIN(tries > 0 ? tries - 1 : 0, 16u);
    int64_t most = FDL_MIN(MOST_PAUSE_NS, FIRST_PAUSE_NS << doublings);
    int64_t pause = (int64_t)(fdl_rng_uniform(&p->rng) * (double)most);
    if (asked_s > 0) /* and not all of them at that moment */
        pause += FDL_MIN(asked_s, (int64_t)MOST_ASKED_S) * 1000000000;
    return pause;
}

/* 0: up to 64 KiB; each of the others 8 times as much. */
static uint32_t size_of(uint64_t bytes)
{
    uint32_t size = 0;
    for (bytes >>= 16; bytes > 0 && size + 1 < FDL_PATIENCE_SIZES; bytes >>= 3)
        size++;
    return size;
}

/* Where a bucket ends. */
static int64_t end_of(uint32_t bucket)
{
    int64_t from = FIRST_BUCKET_NS << bucket / PER_DOUBLING;
    return from + from / PER_DOUBLING * (bucket % PER_DOUBLING);
}

void fdl_patience_learn(struct fdl_patience *p, uint64_t bytes, int64_t ns)
{
    uint32_t size = size_of(bytes), bucket = 0;
    while (bucket + 1 < FDL_PATIENCE_BUCKETS && end_of(bucket) < ns)
        bucket++;
    p->took[size][bucket]++;
    p->spare_bytes =
        FDL_MIN(SPARE_MOST, p->spare_bytes + (int64_t)bytes / SPARE_SHARE);
    if (++p->n[size] < FORGET)
        return;
    p->n[size] = 0;
    for (uint32_t i = 0; i < FDL_PATIENCE_BUCKETS; i++)
        p->n[size] += p->took[size][i] /= 2;
}

int64_t fdl_patience_slow_ns(const struct fdl_patience *p, uint64_t bytes)
{
    uint32_t size = size_of(bytes), sum = 0, bucket = 0;
    if (p->n[size] < LEAST_KNOWN)
        return INT64_MAX;
    while (bucket + 1 < FDL_PATIENCE_BUCKETS &&
           (sum += p->took[size][bucket]) < p->n[size] - p->n[size] / 20)
        bucket++;
    return LATE_TIMES * end_of(bucket);
}

int64_t fdl_patience_late_ns(const struct fdl_patience *p, uint64_t bytes)
{
    return FDL_MAX(LEAST_LATE_NS, fdl_patience_slow_ns(p, bytes));
}

bool fdl_patience_spend(struct fdl_patience *p, uint64_t bytes)
{
    bool may = bytes <= INT64_MAX && (int64_t)bytes <= p->spare_bytes;
    if (may)
        p->spare_bytes -= (int64_t)bytes;
    return may;
}
