/* SPDX-License-Identifier: Apache-2.0 */
#include "store/patience.h"

#include "base/compiler.h"

#include <string.h>

#define SHORT_PAUSE_NS ((int64_t)10000000)    /* 10 ms */
#define FIRST_PAUSE_NS ((int64_t)100000000)   /* 0.1 s */
#define MOST_PAUSE_NS  ((int64_t)20000000000) /* 20 s */
#define MOST_ASKED_S   60

/* Short pauses: before these tries, one for so many answers that were good. */
#define SHORT_TRIES 4u
#define SHORT_PRICE 10u
#define SHORT_FIRST (16u * SHORT_PRICE)
#define SHORT_MOST  (100u * SHORT_PRICE)

#define LEAST_LATE_NS   ((int64_t)50000000)   /* less is no straggler */
#define FIRST_LATE_NS   ((int64_t)1000000000) /* while nothing is known */
#define LATE_TIMES      2
#define LEAST_KNOWN     20u
#define FORGET          4096u /* then each counts half */
#define PER_DOUBLING    4u
#define FIRST_BUCKET_NS ((int64_t)1000000) /* 1 ms */

#define SPARE_SHARE ((int64_t)20) /* hedges: 1 / 20 of the bytes */
#define SPARE_FIRST ((int64_t)4 << 20)
#define SPARE_MOST  ((int64_t)64 << 20)
#define USUAL_BYTES ((int64_t)256 << 10) /* as long as none is known */

void fdl_patience_init(struct fdl_patience *p, uint64_t seed)
{
    memset(p, 0, sizeof(*p));
    fdl_rng_init(&p->rng, seed, 0, 0, 0);
    p->spare_bytes = SPARE_FIRST;
    p->spare = SHORT_FIRST;
}

/* ---- Pauses -------------------------------------------------------------- */

static bool is_short(struct fdl_patience *p, uint32_t tries)
{
    if (tries > SHORT_TRIES || p->spare < SHORT_PRICE)
        return false;
    p->spare -= SHORT_PRICE;
    return true;
}

int64_t fdl_patience_pause_ns(struct fdl_patience *p, uint32_t tries,
                              int64_t asked_s)
{
    uint32_t doublings = FDL_MIN(tries > 0 ? tries - 1 : 0, 16u);
    int64_t first = is_short(p, tries) ? SHORT_PAUSE_NS : FIRST_PAUSE_NS;
    int64_t most = FDL_MIN(MOST_PAUSE_NS, first << doublings);
    int64_t pause = (int64_t)(fdl_rng_uniform(&p->rng) * (double)most);
    if (asked_s > 0) /* and not all of them at that moment */
        pause += FDL_MIN(asked_s, (int64_t)MOST_ASKED_S) * 1000000000;
    return pause;
}

/* ---- What requests take -------------------------------------------------- */

/* 0: whatever there is; 1: up to 64 KiB; each of the others 8 times as much. */
static uint32_t size_of(int64_t asked)
{
    uint32_t size = 1;
    if (asked < 0)
        return 0;
    for (asked >>= 16; asked > 0 && size + 1 < FDL_PATIENCE_SIZES; asked >>= 3)
        size++;
    return size;
}

/* Where a bucket ends. */
static int64_t end_of(uint32_t bucket)
{
    int64_t from = FIRST_BUCKET_NS << bucket / PER_DOUBLING;
    return from + from / PER_DOUBLING * (bucket % PER_DOUBLING);
}

/* What 95 of 100 of them took at most; of fewer than 20, all. */
static int64_t most_took(const struct fdl_patience_size *s)
{
    uint32_t sum = 0, bucket = 0;
    while (bucket + 1 < FDL_PATIENCE_BUCKETS &&
           (sum += s->took[bucket]) < s->n - s->n / 20)
        bucket++;
    return end_of(bucket);
}

/* Of few the longest may be short by chance. */
static int64_t slow_of(const struct fdl_patience_size *s)
{
    int64_t slow = LATE_TIMES * most_took(s);
    if (s->n >= LEAST_KNOWN)
        return slow;
    return FDL_MAX(slow, FDL_MIN(FIRST_LATE_NS, slow * LEAST_KNOWN / s->n));
}

static void forget(struct fdl_patience_size *s)
{
    s->n = 0;
    s->bytes /= 2;
    for (uint32_t i = 0; i < FDL_PATIENCE_BUCKETS; i++)
        s->n += s->took[i] /= 2;
}

static void learn(struct fdl_patience_size *s, uint64_t bytes, int64_t ns)
{
    uint32_t bucket = 0;
    while (bucket + 1 < FDL_PATIENCE_BUCKETS && end_of(bucket) < ns)
        bucket++;
    s->took[bucket]++;
    s->bytes += bytes;
    if (++s->n >= FORGET)
        forget(s);
    s->slow_ns = slow_of(s);
}

void fdl_patience_learn(struct fdl_patience *p, int64_t asked, uint64_t bytes,
                        int64_t ns)
{
    if (asked < 0) {
        learn(&p->sizes[0], bytes, ns);
        asked = (int64_t)bytes;
    }
    learn(&p->sizes[size_of(asked)], bytes, ns);
    p->spare_bytes =
        FDL_MIN(SPARE_MOST, p->spare_bytes + (int64_t)bytes / SPARE_SHARE);
    p->spare = FDL_MIN(SHORT_MOST, p->spare + 1);
}

/* ---- Who is late --------------------------------------------------------- */

/* Of requests for as much; if they are few and those for more are not, of
 * those. */
static const struct fdl_patience_size *known_for(const struct fdl_patience *p,
                                                 int64_t asked)
{
    uint32_t own = size_of(asked);
    for (uint32_t i = own; own > 0 && i < FDL_PATIENCE_SIZES; i++)
        if (p->sizes[i].n >= LEAST_KNOWN)
            return &p->sizes[i];
    return &p->sizes[own];
}

/* As long as few are known, one that brings bytes is not late: it may be all
 * that the line can do. */
static int64_t after(const struct fdl_patience *p,
                     const struct fdl_patience_wait *w, int64_t least)
{
    const struct fdl_patience_size *s = known_for(p, w->asked);
    int64_t from = s->n < LEAST_KNOWN ? w->moved_ns : w->began_ns;
    return from + FDL_MAX(least, s->n > 0 ? s->slow_ns : FIRST_LATE_NS);
}

int64_t fdl_patience_slow_at(const struct fdl_patience *p,
                             const struct fdl_patience_wait *w)
{
    return after(p, w, 0);
}

int64_t fdl_patience_late_at(const struct fdl_patience *p,
                             const struct fdl_patience_wait *w)
{
    return after(p, w, LEAST_LATE_NS);
}

bool fdl_patience_spend(struct fdl_patience *p, int64_t asked)
{
    const struct fdl_patience_size *s = &p->sizes[size_of(asked)];
    if (asked < 0)
        asked = s->n > 0 ? (int64_t)(s->bytes / s->n) : USUAL_BYTES;
    bool may = asked <= p->spare_bytes;
    if (may)
        p->spare_bytes -= asked;
    return may;
}
