/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model. Workers cover the mean, depth covers the tail:
 *
 *   workers   a batch is `work` of a worker and is wanted every g, so work / g
 *             workers are busy on average (the utilisation law). More are
 *             needed for two reasons: the measurement is off by a few per cent,
 *             and the last worker is a whole one. 3 % and 0.4 of a worker are
 *             as much as 10 % at 5 workers, and do not waste three at 40.
 *             At most what saturates the cores: cores / share on a core, which
 *             is above the cores when work sleeps.
 *   depth     a sample that takes `tail` longer than others delays its batch;
 *             it is not missed if depth * g > tail + the time of a batch. The
 *             lead of batches is not used: where workers are the bottleneck it
 *             is the time in their queue.
 *   io depth  Little's law: reads per second times the time of one
 *
 * work is without waits for a core, so it does not grow with the workers that
 * wait for one. What contention adds to the work itself is measured, and the
 * plan made anew after each move.
 */
#include "profiler/tuner/tuner_own.h"

/* A jump is at most this factor: what is found there is measured first. */
#define JUMP 8.0

/* Batches beside those that workers and reads are at: one that is ready, and
 * one that the last of its samples is missing from. */
#define AHEAD 2.0

/* Of the granted cores: an equal part beside one more who wants them all. */
#define EQUAL 0.5

/* Of their work workers queue for a core: all cores are taken. */
#define QUEUES 0.25

/* Workers that wait for a lock which they share, on average: fewer than
 * LOCK_SEEN are chance. So many more than those at work are enough for it to be
 * taken again as soon as it is free (family lock-bound of bench/sim: within
 * 0.5 %). */
#define LOCK_SEEN   0.3
#define LOCK_QUEUE  2.2
#define LOCK_SPREAD 0.5 /* for each square root of those at work */

double fdl_tuner_cores(const struct fdl_tuner *t,
                       const struct fdl_tuner_estimate *e)
{
    return fmax(t->limits.cores - e->consumer_cores, 0.5);
}

static bool queues(const struct fdl_tuner_estimate *e)
{
    return e->queued - e->throttled > QUEUES;
}

/* What others leave, or was had beside them. */
static double cores_left(const struct fdl_tuner *t,
                         const struct fdl_tuner_estimate *e)
{
    double most = fdl_tuner_cores(t, e), left = most;
    double had = fmax(e->cores_used, EQUAL * most);
    if (t->limits.host_cores > 0 && t->has_host)
        left = t->limits.host_cores - e->others - e->consumer_cores;
    if (queues(e) && RULE(QUEUES_FULL))
        left = 0;
    left = fmax(left, had);
    return left < most && RULE(OTHERS) ? left : most;
}

bool fdl_tuner_crowded(const struct fdl_tuner *t,
                       const struct fdl_tuner_estimate *e)
{
    double most = fdl_tuner_cores(t, e);
    return cores_left(t, e) < 0.8 * most && e->cores_used < 0.8 * most;
}

static double filling(const struct fdl_tuner_estimate *e, double cores)
{
    double of_cores = ceil(cores / fmax(e->share, 0.001) - 0.05);
    return fmin(of_cores, fdl_tuner_lock_room(e));
}

double fdl_tuner_saturation(const struct fdl_tuner *t,
                            const struct fdl_tuner_estimate *e)
{
    return filling(e, fdl_tuner_cores(t, e));
}

double fdl_tuner_room(const struct fdl_tuner *t,
                      const struct fdl_tuner_estimate *e)
{
    double room = filling(e, cores_left(t, e));
    return t->flat.workers ? fmin(room, t->flat.workers) : room;
}

double fdl_tuner_lock_room(const struct fdl_tuner_estimate *e)
{
    if (e->locked < LOCK_SEEN || !RULE(LOCK_ROOM))
        return INFINITY;
    double others = fmax(e->workers * e->busy - e->locked, 0);
    return ceil(others + LOCK_QUEUE + LOCK_SPREAD * sqrt(others));
}

uint32_t fdl_tuner_most_of_share(const struct fdl_tuner *t,
                                 const struct fdl_tuner_estimate *e)
{
    if (!t->limits.shared || !RULE(SHARE))
        return t->limits.workers_max;
    /* A tenth is what the measure of a worker is off by. */
    double n = fmax(1.1 * fdl_tuner_cores(t, e) / fmax(e->share, 0.001), 1);
    return fdl_tuner_clamp(ceil(n - 0.05), t->limits.workers_min,
                           t->limits.workers_max);
}

/* Reads on their way, by Little's law, at the pace that is wanted. */
static double in_flight(const struct fdl_tuner_estimate *e)
{
    return e->g > 0 ? e->reads * e->read_ns / e->g : 0;
}

/* Batches that hold what workers and reads are at, and a few more. */
static double least_depth(const struct fdl_tuner *t,
                          const struct fdl_tuner_estimate *e,
                          const struct fdl_knobs *k)
{
    double size = t->batch_size ? t->batch_size : 1;
    double reads = in_flight(e) > 0 && RULE(DEPTH_READS)
                       ? fmin(1.2 * in_flight(e), (double)k->io_depth)
                       : 0;
    return ceil(((double)k->workers + reads) / size) + AHEAD;
}

uint32_t fdl_tuner_depth_for(const struct fdl_tuner *t,
                             const struct fdl_tuner_estimate *e,
                             const struct fdl_knobs *with)
{
    double least = least_depth(t, e, with);
    double tail = (double)t->last.sample_tail_ns;
    if (t->last.read_tail_ns > 0 && RULE(DEPTH_READ_TAIL))
        tail += (double)t->last.read_tail_ns;
    double batch = e->work / (double)(with->workers ? with->workers : 1);
    double step = fmax(e->g, batch); /* as fast as it can be */
    if (t->storage_limit && e->rate > 0 && RULE(DEPTH_STORAGE))
        step = fmax(step, 1 / e->rate);
    double k = step > 0 ? ceil(1.25 * (tail + batch) / step) + 2 : least;
    return fdl_tuner_clamp(fmax(k, least), t->limits.depth_min,
                           t->limits.depth_max);
}

static uint32_t io_depth_for(const struct fdl_tuner *t,
                             const struct fdl_tuner_estimate *e)
{
    if (!(in_flight(e) > 0))
        return t->knobs.io_depth;
    double q = ceil(1.5 * in_flight(e)) + 2;
    if (t->reads_failed && RULE(READS_CEILING))
        q = fmin(q, (double)t->knobs.io_depth);
    return fdl_tuner_clamp(q, t->limits.io_depth_min, t->limits.io_depth_max);
}

static uint32_t workers_for(const struct fdl_tuner *t,
                            const struct fdl_tuner_estimate *e)
{
    if (!(e->work > 0))
        return t->knobs.workers;
    double g = e->g, work = e->work;
    double wanted =
        g > 0 ? (RULE(MARGIN) ? 1.03 * work / g + 0.4 : work / g) : INFINITY;
    double n = ceil(wanted);
    if (n > fdl_tuner_saturation(t, e) && RULE(SATURATION))
        n = fdl_tuner_saturation(t, e);
    if (n > JUMP * (double)t->knobs.workers && RULE(JUMP))
        n = JUMP * (double)t->knobs.workers;
    /* More only where there is room for them; none are given up for others. */
    double now = (double)t->knobs.workers;
    if (n > now && n > fdl_tuner_room(t, e) && RULE(ROOM))
        n = fmax(now, fmin(n, fdl_tuner_room(t, e)));
    return fdl_tuner_clamp(n, t->limits.workers_min, t->limits.workers_max);
}

/* The fastest pace, as a part of what *most has, for which workers and reads
 * fit beside the batches that they are at. */
static void pace_within(const struct fdl_tuner *t,
                        const struct fdl_tuner_estimate *e,
                        const struct fdl_knobs *most, struct fdl_knobs *out)
{
    const struct fdl_tuner_limits *l = &t->limits;
    struct fdl_knobs k = *most;
    double low = 0, high = 1;
    for (int i = 0; i < 12; ++i) {
        double part = 0.5 * (low + high);
        k.workers = fdl_tuner_clamp(ceil(part * most->workers), l->workers_min,
                                    most->workers);
        k.io_depth = fdl_tuner_clamp(ceil(part * most->io_depth),
                                     l->io_depth_min, most->io_depth);
        k.depth =
            fdl_tuner_clamp(least_depth(t, e, &k), l->depth_min, l->depth_max);
        if (fdl_knobs_memory(l, &k) > l->memory_bytes) {
            high = part;
            continue;
        }
        low = part;
        out->workers = k.workers;
        out->io_depth = k.io_depth;
    }
}

/* Where not everything fits. What is left goes to depth. */
static void within_memory(const struct fdl_tuner *t,
                          const struct fdl_tuner_estimate *e,
                          struct fdl_knobs *out)
{
    struct fdl_knobs most = *out;
    out->workers = t->limits.workers_min;
    out->io_depth = t->limits.io_depth_min;
    pace_within(t, e, &most, out);
    out->depth = fdl_tuner_depth_for(t, e, out);
}

void fdl_tuner_plan(const struct fdl_tuner *t,
                    const struct fdl_tuner_estimate *e, struct fdl_knobs *out)
{
    *out = t->knobs;
    if (!e->valid)
        return;
    out->workers = workers_for(t, e);
    out->io_depth = io_depth_for(t, e);
    out->depth = fdl_tuner_depth_for(t, e, out);
    struct fdl_knobs least = *out;
    least.depth = fdl_tuner_clamp(least_depth(t, e, out), t->limits.depth_min,
                                  t->limits.depth_max);
    if (t->limits.memory_bytes &&
        fdl_knobs_memory(&t->limits, &least) > t->limits.memory_bytes &&
        RULE(PACE))
        within_memory(t, e, out);
    fdl_tuner_fit(&t->limits, out);
}

uint64_t fdl_knobs_memory(const struct fdl_tuner_limits *limits,
                          const struct fdl_knobs *knobs)
{
    double reads = 2.0 * knobs->io_depth + knobs->workers;
    double all = (double)knobs->depth * (double)limits->batch_bytes +
                 (double)limits->spare_bytes +
                 reads * (double)limits->read_bytes +
                 (double)knobs->workers * (double)limits->worker_bytes;
    if (all > 9e18)
        return UINT64_MAX;
    return (uint64_t)knobs->depth * limits->batch_bytes + limits->spare_bytes +
           (2 * (uint64_t)knobs->io_depth + knobs->workers) *
               limits->read_bytes +
           (uint64_t)knobs->workers * limits->worker_bytes;
}

static void shave(const struct fdl_tuner_limits *l, struct fdl_knobs *k,
                  uint32_t *of, uint32_t least, double bytes)
{
    uint64_t now = fdl_knobs_memory(l, k);
    if (now <= l->memory_bytes || *of <= least || !(bytes > 0))
        return;
    double too_many = ceil((double)(now - l->memory_bytes) / bytes);
    *of = fdl_tuner_clamp((double)*of - too_many, least, *of);
    /* The division may be off by one. */
    if (*of > least && fdl_knobs_memory(l, k) > l->memory_bytes)
        --*of;
}

void fdl_tuner_fit(const struct fdl_tuner_limits *l, struct fdl_knobs *k)
{
    k->workers =
        fdl_tuner_clamp((double)k->workers, l->workers_min, l->workers_max);
    k->depth = fdl_tuner_clamp((double)k->depth, l->depth_min, l->depth_max);
    k->io_depth =
        fdl_tuner_clamp((double)k->io_depth, l->io_depth_min, l->io_depth_max);
    if (l->memory_bytes == 0)
        return;
    double batch = (double)l->batch_bytes, read = (double)l->read_bytes;
    double worker = (double)l->worker_bytes + read;
    uint32_t io = FDL_MAX(l->io_depth_min, (k->io_depth + 3) / 4);
    uint32_t depth = FDL_MAX(l->depth_min, FDL_MIN(2u, l->depth_max));
    if (fdl_knobs_memory(l, k) > l->memory_bytes && !RULE(FIT_PARTS)) {
        io = l->io_depth_min;
        depth = l->depth_min;
    }
    shave(l, k, &k->depth, depth, batch);
    shave(l, k, &k->io_depth, io, 2 * read);
    shave(l, k, &k->workers, l->workers_min, worker);
    shave(l, k, &k->depth, l->depth_min, batch);
    shave(l, k, &k->io_depth, l->io_depth_min, 2 * read);
}

static void sane_bounds(uint32_t *least, uint32_t *most, uint32_t floor,
                        uint32_t ceiling)
{
    *most = *most < floor ? floor : *most > ceiling ? ceiling : *most;
    *least = *least < floor ? floor : *least > *most ? *most : *least;
}

void fdl_tuner_sane_limits(struct fdl_tuner_limits *l)
{
    sane_bounds(&l->workers_min, &l->workers_max, 1, FDL_TUNER_WORKERS_MAX);
    sane_bounds(&l->depth_min, &l->depth_max, 1, 1u << 20);
    sane_bounds(&l->io_depth_min, &l->io_depth_max, 0, 1u << 20);
    if (!(l->cores > 0) || !isfinite(l->cores))
        l->cores = 1;
    if (!(l->target > 0.0005))
        l->target = isnan(l->target) ? 0.01 : 0.0005;
    if (l->target > 0.5)
        l->target = 0.5;
}
