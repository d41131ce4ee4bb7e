/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits that come in bursts. Storage takes a hundred times as long for one read
 * in a thousand; every ten seconds a garbage collection or a network file
 * system stops everything for one. Most blocks do not wait at all then, and a
 * few wait for long. More workers or reads do not help against that, batches
 * ahead do, and they cannot harm: so this is a rule and no trial.
 */
#include "profiler/tuner/tuner_own.h"

#define FADE   0.996 /* for each block: it remembers some two hundred */
#define LONG   8u    /* blocks in a row are no burst, but other conditions */
#define MARGIN 1.25

static void burst_ends(struct fdl_tuner_long *r)
{
    if (r->length <= LONG)
        r->worst_ns = fmax(r->worst_ns, r->burst_ns);
    r->length = 0;
    r->burst_ns = 0;
}

void fdl_tuner_long_add(struct fdl_tuner *t, const struct fdl_tuner_sums *block)
{
    struct fdl_tuner_long *r = &t->run;
    double wall = fdl_tuner_block_wall(block);
    double stall = fdl_tuner_block_stall(block);
    r->wait_ns = FADE * r->wait_ns + stall * wall;
    r->step_ns = FADE * r->step_ns + wall;
    r->blocks = FADE * r->blocks + 1;
    r->quiet = FADE * r->quiet + (stall <= t->limits.target);
    if (stall <= fmax(0.05, 3 * t->limits.target)) {
        burst_ends(r);
        return;
    }
    ++r->length;
    r->burst_ns += stall * wall;
}

double fdl_tuner_long_stall(const struct fdl_tuner *t)
{
    return t->run.step_ns > 0 ? t->run.wait_ns / t->run.step_ns : 0;
}

uint32_t fdl_tuner_long_depth(const struct fdl_tuner *t)
{
    const struct fdl_tuner_long *r = &t->run;
    if (!(r->worst_ns > 0) || r->quiet < 0.5 * r->blocks || !(t->best.g > 0) ||
        !fdl_tuner_waits(t, fdl_tuner_long_stall(t)))
        return 0;
    double more = ceil(MARGIN * r->worst_ns / t->best.g);
    return fdl_tuner_clamp((double)t->knobs.depth + more, 0,
                           t->limits.depth_max);
}
