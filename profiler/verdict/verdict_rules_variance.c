/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers that could feed the consumer on average, and do not: one sample is
 * slow while later batches are ready, or there is no room to get ahead.
 */
#include "profiler/verdict/verdict_own.h"

#include <math.h>

#define PASSED   0.50 /* of waits of 50 us or more */
#define NO_ROOM  0.05 /* of worker time */
#define HELD_UP  0.20 /* of worker time, while there is a stall */
#define CAPACITY 1.10 /* of the consumer's demand */

static void say_slow(const struct fdl_facts *f, struct fdl_draft *d)
{
    d->v.code = "HEAD_OF_LINE";
    fdl_say(d,
            " on %s, which had no room for results for %s of their time: a "
            "later batch was ready at %s of the waits.",
            fdl_say_workers(f).at, fdl_say_percent(f->blocked).at,
            fdl_say_percent(f->passed).at);
    fdl_act(d, "Look at the list of slow samples");
    if (f->e->memory_limited) {
        fdl_act(d, "; the memory budget has no room for more batches ahead.");
        return;
    }
    fdl_act(d, ", and raise %s, so that workers can get ahead of them.",
            fdl_say_option(f, "depth").at);
    d->v.moves.depth = 1;
    d->instead = "Look at the list of slow samples.";
}

/* The depth is twice what the slowest batch needs, and the consumer still
 * waits: slots are missing. */
static bool is_held(const struct fdl_facts *f)
{
    const struct fdl_evidence *e = f->e;
    return !f->device && e->ticket_tail_ns > 0 &&
           2 * (double)e->ticket_tail_ns < e->depth * f->step_ns;
}

static void say_depth(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    fdl_say(d, " on %s, which had no room for results for %s of their time",
            fdl_say_workers(f).at, fdl_say_percent(f->blocked).at);
    if (e->ticket_tail_ns > 0 && f->step_ns > 0)
        fdl_say(d, ": batches take up to %s, and %s ahead last %s",
                fdl_say_duration((double)e->ticket_tail_ns).at,
                fdl_say_count(e->depth, "batch", "batches").at,
                fdl_say_duration(e->depth * f->step_ns).at);
    fdl_say(d, ".");
    if (is_held(f)) {
        d->v.code = "CONSUMER_HOLDS_SLOTS";
        fdl_say(d, " They start late because the consumer holds their slots.");
        fdl_act_on_held(f, d);
        return;
    }
    if (e->memory_limited) {
        d->v.code = "MEMORY_LIMITED";
        fdl_act(d,
                "Raise %s, or use smaller batches: there is no room for "
                "more batches ahead.",
                fdl_say_memory(f).at);
        return;
    }
    d->v.code = "DEPTH_LIMITED";
    d->v.moves.depth = 1;
    fdl_act(d, "Raise %s, so that batches that take longer start earlier.",
            fdl_say_option(f, "depth").at);
}

/* Workers that could feed the consumer on average, and wait for room. */
static bool varies(const struct fdl_facts *f)
{
    const struct fdl_evidence *e = f->e;
    double busy = (double)e->worker_busy_ns / fmax((double)e->batches, 1);
    if (f->blocked >= HELD_UP)
        return true;
    return f->blocked > NO_ROOM && busy > 0 && e->depth > 0 &&
           f->workers * f->step_ns / busy > CAPACITY &&
           (double)e->ticket_tail_ns > e->depth * f->step_ns && f->step_ns > 0;
}

bool fdl_judge_variance(const struct fdl_facts *f, struct fdl_draft *d)
{
    bool passed = f->passed >= PASSED && f->blocked > NO_ROOM;
    if (!passed && !varies(f))
        return false;
    if (passed)
        say_slow(f, d);
    else
        say_depth(f, d);
    fdl_note(d, "blocked", f->blocked);
    fdl_note(d, "passed", f->passed);
    fdl_note(d, "depth", f->e->depth);
    fdl_note(d, "step_seconds", f->step_ns / 1e9);
    fdl_note(d, "ticket_tail_seconds", (double)f->e->ticket_tail_ns / 1e9);
    fdl_note(d, "slow_stall_seconds", (double)f->e->slow_stall_ns / 1e9);
    return true;
}
