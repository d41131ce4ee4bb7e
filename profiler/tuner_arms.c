/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What earlier settings did. An arm is a number of workers and the rate that
 * was measured with it; arms are comparable under the same conditions only, so
 * each carries the era it was measured in, and a change of conditions begins a
 * new one.
 *
 * The guard: while the consumer waits, and an arm of this era did clearly
 * better than what is in force, that arm is put back. It is what keeps a wrong
 * decision from costing for long.
 *
 * Probation: fed, it is not the rate of workers that counts but what the
 * consumer takes, and fewer workers are kept after a trial whose error is as
 * large as what they may cost. Each window that they stay makes the error
 * smaller. What they are held against is the fastest of all that they followed,
 * so that several steps of too little to see do not add up.
 */
#include "profiler/tuner_own.h"

#define GUARD_WINDOWS  4u
#define PROBATION_MOST LASTING

void fdl_tuner_arm_note(struct fdl_tuner *t, uint32_t workers, double rate,
                        double weight)
{
    if (workers > FDL_TUNER_WORKERS_MAX || !(rate > 0))
        return;
    struct fdl_tuner_arm *a = &t->arms[workers];
    if (a->era != t->era) {
        memset(a, 0, sizeof(*a));
        a->era = t->era;
        a->rate = rate;
    }
    a->rate = exp((1 - weight) * log(a->rate) + weight * log(rate));
    if (workers == t->knobs.workers) {
        a->depth = t->knobs.depth;
        a->io_depth = t->knobs.io_depth;
    }
}

uint32_t fdl_tuner_arm_better(const struct fdl_tuner *t)
{
    const struct fdl_tuner_arm *here = &t->arms[t->knobs.workers];
    if (t->best.stall <= t->limits.target || t->at_arm < GUARD_WINDOWS ||
        here->era != t->era)
        return 0;
    uint32_t best = t->knobs.workers;
    uint32_t most = fdl_tuner_most_of_share(t, &t->best);
    double room = fmax(fdl_tuner_lock_room(&t->best), best);
    for (uint32_t n = t->limits.workers_min; n <= most && n <= room; ++n)
        if (t->arms[n].era == t->era && t->arms[n].rate > t->arms[best].rate)
            best = n;
    bool clear = t->arms[best].rate * (1 - 2 * DELTA) > here->rate;
    return clear ? best : 0;
}

bool fdl_tuner_arm_useless(const struct fdl_tuner *t, uint32_t workers)
{
    uint32_t n = t->knobs.workers;
    const struct fdl_tuner_arm *here = &t->arms[n];
    if (here->era != t->era)
        return false;
    /* Up must bring something, down must cost nothing; and what is behind an
     * arm that failed is no better than it. */
    double least = here->rate * (workers > n ? 1 + DELTA : 1 - DELTA / 2);
    uint32_t from = FDL_MIN(workers, n), to = FDL_MAX(workers, n);
    for (uint32_t k = from; k <= to; ++k)
        if (k != n && t->arms[k].era == t->era && t->arms[k].rate < least)
            return true;
    return false;
}

void fdl_tuner_probation_begin(struct fdl_tuner *t,
                               const struct fdl_tuner_estimate *reference,
                               uint32_t workers)
{
    struct fdl_tuner_probation *p = &t->probation;
    double ln_taken = log(reference->taken);
    if (p->era == t->era && p->workers > t->knobs.workers &&
        p->ln_taken > ln_taken) {
        p->windows = 0;
        p->sum = p->squares = 0;
        return;
    }
    *p = (struct fdl_tuner_probation){.era = t->era,
                                      .workers = workers,
                                      .ln_taken = ln_taken,
                                      .error = reference->error};
}

void fdl_tuner_probation_see(struct fdl_tuner *t,
                             const struct fdl_tuner_estimate *e)
{
    struct fdl_tuner_probation *p = &t->probation;
    if (p->era != t->era || !(e->taken > 0))
        return;
    if (t->knobs.workers >= p->workers || ++p->windows > PROBATION_MOST) {
        p->era = 0;
        return;
    }
    double d = log(e->taken) - p->ln_taken;
    p->sum += d;
    p->squares += d * d;
}

uint32_t fdl_tuner_probation_failed(const struct fdl_tuner *t)
{
    const struct fdl_tuner_probation *p = &t->probation;
    double n = (double)p->windows;
    if (p->era != t->era || p->windows < GUARD_WINDOWS ||
        t->best.stall > t->limits.target)
        return 0;
    double d = p->sum / n;
    double variance = fmax(p->squares / n - d * d, 0) / (n - 1);
    bool failed = -d > DELTA && -d > 2 * hypot(p->error, sqrt(variance));
    return failed ? p->workers : 0;
}
