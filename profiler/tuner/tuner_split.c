/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A memory that is full can hold other settings than the one in force. How much
 * of it batches, reads and workers should have is a question of three numbers,
 * of which the model knows the means: so the neighbours of what it says are
 * tried, each a step along the budget. Reads that are hardly ever on their way
 * have memory for nothing, and where all of them always are they are what is
 * short: only what Little's law allows to help is tried.
 */
#include "profiler/tuner/tuner_own.h"

#define LEAST_DEPTH 2u
#define ALL_IN_USE  0.85
#define MOST_IN_USE 0.6

static bool fits(const struct fdl_tuner *t, const struct fdl_knobs *k)
{
    return fdl_knobs_memory(&t->limits, k) <= t->limits.memory_bytes;
}

bool fdl_tuner_full(const struct fdl_tuner *t)
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

/* Of the reads in force, the part that is on its way on average. */
static double in_use(const struct fdl_tuner *t)
{
    const struct fdl_tuner_estimate *e = &t->best;
    return e->read_ns * e->reads * e->rate / t->knobs.io_depth;
}

static bool reads(const struct fdl_tuner *t, double part, struct fdl_knobs *to)
{
    const struct fdl_tuner_limits *l = &t->limits;
    to->io_depth = fdl_tuner_clamp(part * t->knobs.io_depth, l->io_depth_min,
                                   l->io_depth_max);
    if (!(t->best.reads > 0) || !fill(t, to))
        return false;
    return part < 1 ? to->depth > t->knobs.depth
                    : to->io_depth > t->knobs.io_depth;
}

/* If neither cores nor these workers are enough. */
static bool one_more(const struct fdl_tuner *t, struct fdl_knobs *to)
{
    const struct fdl_tuner_estimate *e = &t->best;
    to->workers = FDL_MIN(t->limits.workers_max, t->knobs.workers + 1);
    return to->workers <= fdl_tuner_saturation(t, e) &&
           e->work > e->g * t->knobs.workers && fill(t, to) &&
           to->workers > t->knobs.workers;
}

/* If the others are enough for the pace that there is. */
static bool one_fewer(const struct fdl_tuner *t, struct fdl_knobs *to)
{
    to->workers = FDL_MAX(t->limits.workers_min, t->knobs.workers - 1);
    return t->best.work * t->best.rate < to->workers && fill(t, to) &&
           to->workers < t->knobs.workers && to->depth > t->knobs.depth;
}

bool fdl_tuner_split(const struct fdl_tuner *t, enum fdl_tuner_split s,
                     struct fdl_knobs *to)
{
    *to = t->knobs;
    if (!fdl_tuner_full(t))
        return false;
    switch (s) {
    case FDL_TUNER_SPLIT_FEWER_READS:
        return in_use(t) < ALL_IN_USE && RULE(IN_USE) &&
               reads(t, 0.5 + 0.5 * in_use(t), to);
    case FDL_TUNER_SPLIT_MORE_READS:
        return in_use(t) > MOST_IN_USE && RULE(IN_USE) && reads(t, 1.5, to);
    case FDL_TUNER_SPLIT_FEWER_WORKERS:
        return one_fewer(t, to);
    default:
        return one_more(t, to);
    }
}
