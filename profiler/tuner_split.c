/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A memory that is full can hold other settings than the one in force. How much
 * of it batches, reads and workers should have is a question of three numbers,
 * of which the model knows the means: so the neighbours of what it says are
 * tried, each a step along the budget.
 */
#include "profiler/tuner_own.h"

#define LEAST_DEPTH 2u

static bool fits(const struct fdl_tuner *t, const struct fdl_knobs *k)
{
    return fdl_knobs_memory(&t->limits, k) <= t->limits.memory_bytes;
}

/* Nothing more goes into it. */
static bool full(const struct fdl_tuner *t)
{
    struct fdl_knobs more = t->knobs;
    ++more.depth;
    return t->limits.memory_bytes > 0 && !fits(t, &more);
}

/* As many batches as there is room for. */
static bool fill(const struct fdl_tuner *t, struct fdl_knobs *k)
{
    uint32_t least =
        FDL_MAX(t->limits.depth_min, FDL_MIN(LEAST_DEPTH, t->limits.depth_max));
    k->depth = least;
    if (!fits(t, k))
        return false;
    double room =
        (double)(t->limits.memory_bytes - fdl_knobs_memory(&t->limits, k));
    double batch = (double)t->limits.batch_bytes;
    double more = batch > 0 ? floor(room / batch) : 0;
    k->depth = fdl_tuner_clamp(least + more, least, t->limits.depth_max);
    return true;
}

bool fdl_tuner_split(const struct fdl_tuner *t, enum fdl_tuner_split s,
                     struct fdl_knobs *to)
{
    const struct fdl_tuner_limits *l = &t->limits;
    const struct fdl_tuner_estimate *e = &t->best;
    const struct fdl_knobs *k = &t->knobs;
    *to = *k;
    if (!full(t))
        return false;
    switch (s) {
    case FDL_TUNER_SPLIT_FEWER_READS:
        to->io_depth = FDL_MAX(l->io_depth_min, k->io_depth / 2);
        return e->reads > 0 && fill(t, to) && to->depth > k->depth;
    case FDL_TUNER_SPLIT_MORE_READS:
        to->io_depth = FDL_MIN(l->io_depth_max, k->io_depth * 2);
        return e->reads > 0 && fill(t, to) && to->io_depth > k->io_depth;
    default: /* if neither cores nor these workers are enough */
        to->workers = FDL_MIN(l->workers_max, k->workers + 1);
        return to->workers <= fdl_tuner_saturation(t, e) &&
               e->work > e->g * k->workers && fill(t, to) &&
               to->workers > k->workers;
    }
}
