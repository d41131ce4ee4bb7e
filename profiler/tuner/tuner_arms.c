/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What earlier settings did. An arm is a number of workers and the rate that
 * was measured with it; arms are comparable under the same conditions only, so
 * each carries the era it was measured in, and a change of conditions begins a
 * new one.
 *
 * The guard: while the consumer waits, and an arm of this era did clearly
 * better than what is in force, not long ago, that arm is put back. It is what
 * keeps a wrong decision from costing for long.
 */
#include "profiler/tuner/tuner_own.h"

#define GUARD_WINDOWS 4u

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
    a->window = t->era_windows;
    a->rate = exp((1 - weight) * log(a->rate) + weight * log(rate));
}

/* Conditions may drift too slowly to be seen as a change. */
static bool fresh(const struct fdl_tuner *t, const struct fdl_tuner_arm *a)
{
    return a->era == t->era &&
           (t->era_windows - a->window <= LASTING || !RULE(FRESH));
}

/* What failed long ago, and as long as the next trial is put off by failures,
 * may have failed by chance. */
static bool remembered(const struct fdl_tuner *t, const struct fdl_tuner_arm *a)
{
    double age = t->era_windows - a->window;
    return a->era == t->era &&
           (age <= fmax(4 * LASTING, t->backoff) || !RULE(AGED));
}

double fdl_tuner_fed_rate(const struct fdl_tuner *t)
{
    return remembered(t, &t->fed) && RULE(ANCHOR) ? t->fed.rate : 0;
}

uint32_t fdl_tuner_arm_better(const struct fdl_tuner *t)
{
    const struct fdl_tuner_arm *here = &t->arms[t->knobs.workers];
    if (t->best.stall <= t->limits.target || t->at_arm < GUARD_WINDOWS ||
        here->era != t->era)
        return 0;
    uint32_t best = t->knobs.workers;
    uint32_t most = fdl_tuner_most_of_share(t, &t->best);
    for (uint32_t n = t->limits.workers_min; n <= most; ++n)
        if (fresh(t, &t->arms[n]) && t->arms[n].rate > t->arms[best].rate)
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
        if (k != n && remembered(t, &t->arms[k]) && t->arms[k].rate < least &&
            RULE(USELESS))
            return true;
    return false;
}
