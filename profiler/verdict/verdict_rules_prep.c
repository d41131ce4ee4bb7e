/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules for stalls caused by preparation: the largest part of the workers'
 * time, and the second if it has a fifth. The quota comes first, since no
 * setting helps against it; samples that vary come before the work itself,
 * since they delay workers that are fast enough.
 */
#include "profiler/verdict/verdict_own.h"

#include <math.h>
#include <string.h>

#define HALF 0.50

/* Two parts of the queueing are reported as one. */
static bool is_told(enum fdl_part lead, enum fdl_part second)
{
    bool queues =
        lead == PART_OWN || lead == PART_FOREIGN || lead == PART_OTHERS;
    return queues && (second == PART_OWN || second == PART_FOREIGN ||
                      second == PART_OTHERS);
}

void fdl_say_second(const struct fdl_facts *f, struct fdl_draft *d,
                    enum fdl_part lead)
{
    static const char *const did[PARTS] = {
        [PART_CORE] = "workers computed",
        [PART_OWN] = "workers queued for cores used by other workers",
        [PART_FOREIGN] = "other threads of this program had their cores",
        [PART_OTHERS] = "other processes had their cores",
        [PART_THROTTLE] = "the CPU quota held them",
        [PART_SLEEP] = "workers slept or waited",
        [PART_LOCK] = "workers waited for a lock",
    };
    enum fdl_part second = fdl_facts_largest(f, lead);
    double part = second == PARTS ? 0 : f->part[second];
    if (f->lock.waits >= CONTRIBUTING && f->lock.waits > part) {
        second = PART_LOCK;
        part = f->lock.waits;
    }
    if (second == PARTS || is_told(lead, second))
        return;
    fdl_say_clause(d, "; for %s of the time %s", fdl_say_percent(part).at,
                   did[second]);
    fdl_note(d, "second", part);
}

/* Samples also look slow if their workers had no core. */
static bool cores_decide(const struct fdl_facts *f)
{
    return f->part[PART_OTHERS] + f->part[PART_FOREIGN] >= HALF;
}

/* Fewer workers gain nothing. */
static double gain_of_cores(const struct fdl_facts *f,
                            const struct fdl_draft *d)
{
    if (d->v.moves.workers)
        return 0;
    double gain = fdl_limit_alone(f, strcmp(d->v.code, "FOREIGN_CPU") == 0);
    return f->lock.waits > 0 ? fmin(gain, f->lock.gain_of_cores) : gain;
}

void fdl_judge_prep(const struct fdl_facts *f, struct fdl_draft *d)
{
    double gain = d->v.predicted_gain;
    d->v.predicted_gain = 0; /* unknown, unless the quota's rule knows it */
    if (fdl_judge_throttled(f, d))
        return;
    d->v.predicted_gain = gain;
    if (!cores_decide(f) && !fdl_lock_is_taken(f) && fdl_judge_variance(f, d)) {
        fdl_limit_gain(f, d, 0);
        return;
    }
    if (fdl_judge_lock(f, d))
        return;
    if (fdl_judge_cores(f, d)) {
        d->v.predicted_gain = fmin(gain, gain_of_cores(f, d));
        return;
    }
    fdl_judge_work(f, d);
}
