/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bucket of a double is its exponent and the first five bits of its
 * fraction. High quantiles are looked for from above, a few buckets away.
 */
#include "tail.h"

#include <string.h>

#define FIRST (995u << 5) /* 2^-28, exponent and fraction */

static uint32_t bucket_of(double seconds)
{
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof(bits));
    uint64_t b = bits >> 47;
    if (seconds <= 0 || b < FIRST)
        return 0;
    return b - FIRST < SIM_TAIL_BUCKETS ? (uint32_t)(b - FIRST)
                                        : SIM_TAIL_BUCKETS - 1;
}

static double upper_edge(uint32_t bucket)
{
    uint64_t bits = (uint64_t)(bucket + FIRST + 1) << 47;
    double edge;
    memcpy(&edge, &bits, sizeof(edge));
    return edge;
}

void sim_tail_add(struct sim_tail *t, double seconds)
{
    uint32_t b = bucket_of(seconds);
    if (t->total[0] >= t->per_generation) {
        memcpy(t->count[1], t->count[0], sizeof(t->count[1]));
        memset(t->count[0], 0, sizeof(t->count[0]));
        t->total[1] = t->total[0];
        t->top[1] = t->top[0];
        t->total[0] = t->top[0] = 0;
    }
    t->count[0][b]++;
    t->total[0]++;
    if (b > t->top[0])
        t->top[0] = b;
}

double sim_tail_quantile(const struct sim_tail *t, double q)
{
    uint64_t total = (uint64_t)t->total[0] + t->total[1];
    double above = (1 - q) * (double)total;
    uint64_t seen = 0;
    uint32_t b = t->top[0] > t->top[1] ? t->top[0] : t->top[1];
    if (total == 0)
        return 0;
    for (;; b--) {
        seen += t->count[0][b] + t->count[1][b];
        if ((double)seen > above || b == 0)
            return upper_edge(b);
    }
}
