/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a cause's action gains at most, if the cause is not all that there is:
 * behind it stands the next limit. Workers that waited for reads have work of
 * their own, and cores for it; so have reads in slots that are all taken.
 *
 *     now      | read ======================== | step |        T
 *     then     | work ========== |                             T'
 *                | step |
 *
 * T' is the longest of what goes on side by side. Numbers that are unknown
 * limit nothing.
 */
#include "profiler/verdict/verdict_own.h"

#include <math.h>

#define MOST_READS   256  /* the bound of io_depth */
#define MOST_BATCHES 1024 /* and of depth */
#define STEP         4    /* times the depth: batches take memory */
#define SPARE        1.25 /* beyond what is needed: reads come unevenly */

/* The gain at which something else is all the time at work. */
struct limit {
    double gain;
    const char *what; /* static */
};

static void lower(struct limit *l, double gain, const char *what)
{
    if (gain >= l->gain)
        return;
    l->gain = gain;
    l->what = what;
}

static double wall_of(const struct fdl_facts *f)
{
    return (double)f->e->wall_ns;
}

/* The gain if the same was done in that time; MAX_GAIN: not known. */
static double gain_in(const struct fdl_facts *f, double ns)
{
    if (!(ns > 0))
        return MAX_GAIN;
    return fmax(fmin(wall_of(f) / ns - 1, MAX_GAIN), 0);
}

/* What the workers need for what they did, never queueing for a core. Those of
 * a watch count as busy where nobody told that they are idle. */
static double by_threads(const struct fdl_facts *f)
{
    if (f->e->outside && !(f->e->worker_blocked_ns > 0))
        return 0;
    double held = fmin(f->off_core + f->part[PART_THROTTLE], 1);
    return (double)f->e->worker_busy_ns * (1 - held) / f->workers;
}

/* gone: of the consumer's time, with the cores that it took. */
static double by_cores(const struct fdl_facts *f, double cores, double gone)
{
    double consumer = fmax(f->e->consumer_cores, 0) * (wall_of(f) - gone);
    if (!(f->worker_cores > 0))
        return 0;
    return (f->worker_cores * f->steps_ns + consumer) / cores;
}

/* Whoever computes all the time leaves half to one that wakes now and then. */
static double cores_for_us(const struct fdl_facts *f)
{
    double left = f->granted - f->outside - fmax(f->e->foreign_cores, 0);
    return fmax(left, f->granted / 2);
}

static struct limit after(const struct fdl_facts *f, double gain, double gone)
{
    struct limit l = {.gain = gain};
    lower(&l, gain_in(f, by_threads(f)), "workers");
    lower(&l, gain_in(f, by_cores(f, cores_for_us(f), gone)), "cores");
    return l;
}

/* From its first read until the consumer is done with it, a batch has a slot.
 * So many of them last that long now; 0: not known. */
static double slots_taken(const struct fdl_facts *f)
{
    const struct fdl_evidence *e = f->e;
    double n = (double)e->batches;
    if (!(e->read_p99_us > 0) || e->batches == 0)
        return 0;
    double cycle = e->read_p99_us * 1e3 + by_threads(f) / n + f->step_ns;
    return cycle * n / wall_of(f);
}

static double gain_of_slots(const struct fdl_facts *f, double depth)
{
    double taken = slots_taken(f);
    bool few = depth <= taken; /* are so slow, and more get by */
    return depth > 0 && taken > 0 && !few ? depth / taken - 1 : MAX_GAIN;
}

static void apply(const struct fdl_facts *f, struct fdl_draft *d,
                  const struct limit *l)
{
    double rate = (double)f->e->samples * 1e9 / wall_of(f);
    if (!(l->gain < d->v.predicted_gain))
        return;
    d->v.predicted_gain = l->gain;
    fdl_note_name(d, "next_limit", l->what);
    fdl_say_last(f, d, " Then the %s are the limit, at %s samples/s.", l->what,
                 fdl_say_number(rate * (1 + l->gain), false).at);
}

void fdl_limit_gain(const struct fdl_facts *f, struct fdl_draft *d, double gone)
{
    struct limit l = after(f, d->v.predicted_gain, gone);
    apply(f, d, &l);
}

/* As many as there are samples for. */
static double most_reads(const struct fdl_facts *f, double depth)
{
    const struct fdl_evidence *e = f->e;
    double batch =
        e->batches ? ceil((double)e->samples / (double)e->batches) : 0;
    return depth * batch > 0 ? fmin(depth * batch, MOST_READS) : MOST_READS;
}

/* More reads at once, each of which takes its time, however many there are, in
 * batches of that depth. */
static double limit_reads(const struct fdl_facts *f, struct fdl_draft *d,
                          double depth)
{
    const struct fdl_evidence *e = f->e;
    struct limit l = after(f, d->v.predicted_gain, 0);
    double now = e->io_depth, most = fmax(most_reads(f, depth), now);
    lower(&l, gain_of_slots(f, depth), "slots");
    if (now > 0)
        lower(&l, most / now - 1, "slots");
    apply(f, d, &l);
    double to = fmin(ceil(SPARE * now * (1 + d->v.predicted_gain)), most);
    return to > now && now > 0 && !(e->tuning && e->io_auto) ? to : 0;
}

static bool sets_depth(const struct fdl_facts *f)
{
    const struct fdl_evidence *e = f->e;
    return e->depth > 0 && !e->memory_limited && !(e->tuning && e->depth_auto);
}

double fdl_limit_reads(const struct fdl_facts *f, struct fdl_draft *d)
{
    return limit_reads(f, d, f->e->depth);
}

double fdl_limit_slow_reads(const struct fdl_facts *f, struct fdl_draft *d,
                            double *depth)
{
    double gain = after(f, d->v.predicted_gain, 0).gain;
    double now = f->e->depth, most = fmin(STEP * now, MOST_BATCHES);
    double to = fmin(ceil(SPARE * slots_taken(f) * (1 + gain)), most);
    *depth = 0;
    if (!sets_depth(f) || to <= now) {
        fdl_limit_gain(f, d, 0);
        return 0;
    }
    *depth = to;
    return limit_reads(f, d, to);
}

double fdl_limit_samples(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    fdl_limit_gain(f, d, 0);
    if (!sets_depth(f) || !(e->reads_under_way > 0))
        return 0;
    double more = fmin(1 + d->v.predicted_gain,
                       fmin(e->io_depth / e->reads_under_way, STEP));
    double to = fmin(ceil(e->depth * more), MOST_BATCHES);
    if (to <= e->depth)
        return 0;
    d->v.predicted_gain = fmin(d->v.predicted_gain, more - 1);
    return to;
}

/* Tenths of a core are what quotas are made of. */
double fdl_limit_quota(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    double to = fmin(ceil(f->demand * 10) / 10, e->cpus_allowed);
    if (!(e->cpu_quota > 0) || to <= e->cpu_quota)
        return 0;
    /* The quota stops the consumer as well, so its steps are what they are
     * without, and not all of the time that it did not wait. */
    double gain = fmin(to / e->cpu_quota - 1,
                       gain_in(f, f->step_ns * (double)e->batches));
    gain = fmin(gain, gain_in(f, by_threads(f)));
    d->v.predicted_gain = fmin(gain, gain_in(f, by_cores(f, to, 0)));
    return to;
}

double fdl_limit_alone(const struct fdl_facts *f, bool foreign)
{
    double kept = foreign ? f->outside : fmax(f->e->foreign_cores, 0);
    double cores = fmax(f->granted - kept, f->granted / 2);
    return fmin(gain_in(f, by_threads(f)), gain_in(f, by_cores(f, cores, 0)));
}

double fdl_limit_awake(const struct fdl_facts *f)
{
    return fmin(fdl_facts_gain(f->part[PART_SLEEP], 1),
                gain_in(f, by_cores(f, f->granted, 0)));
}
