/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stall of the long run. Every ten seconds everything stops for one: a
 * garbage collection, an object store, a network file system. A window with
 * such a hiccup looks like other conditions and the next one does not, so it is
 * left out of what is known of a setting; but it is waited for all the same.
 * Only depth helps, and depth cannot harm, so this is a rule and no trial.
 */
#include "profiler/tuner_own.h"

#define FADE   0.97 /* for each window: it remembers some thirty */
#define BURSTS 2u   /* one can be anything */
#define MARGIN 1.25

void fdl_tuner_long_add(struct fdl_tuner *t, const struct fdl_tuner_estimate *e)
{
    struct fdl_tuner_long *r = &t->run;
    double wait = e->stall * e->wall_ns;
    r->wait_ns = FADE * r->wait_ns + wait;
    r->step_ns = FADE * r->step_ns + e->wall_ns;
    if (e->stall <= fmax(0.05, 3 * t->limits.target))
        return;
    ++r->bursts;
    r->worst_ns = fmax(r->worst_ns, wait);
}

double fdl_tuner_long_stall(const struct fdl_tuner *t)
{
    return t->run.step_ns > 0 ? t->run.wait_ns / t->run.step_ns : 0;
}

uint32_t fdl_tuner_long_depth(const struct fdl_tuner *t)
{
    const struct fdl_tuner_long *r = &t->run;
    bool fed = t->best.stall <= t->limits.target;
    if (!fed || r->bursts < BURSTS || !(t->best.g > 0) ||
        fdl_tuner_long_stall(t) <= t->limits.target)
        return 0;
    double more = ceil(MARGIN * r->worst_ns / t->best.g);
    return fdl_tuner_clamp((double)t->knobs.depth + more, 0,
                           t->limits.depth_max);
}
