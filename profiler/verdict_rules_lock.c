/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock that all calls of a custom operation share, as those have that are
 * written in the language of an interpreter with one. Workers that wait for it
 * look as if they worked, and more of them only wait longer: what gets done is
 * the work of those that do not wait, on average.
 *
 *     worker 1   decode | wait | blur ==== | decode | wait ...
 *     worker 2   decode | blur ==== | decode | wait ...
 *     worker 3   wait ........... | blur ==== | decode ...
 */
#include "profiler/verdict_own.h"

#include <math.h>

#define LOCKED 0.20 /* of busy time */

/* Without the lock each worker gets that much more done, as far as there are
 * cores for it. */
static double gain_without(const struct fdl_facts *f)
{
    double gain = f->locked / fmax(1 - f->locked, 1 / (1 + MAX_GAIN));
    if (f->worker_cores > 0)
        gain = fmin(gain, fmax(f->cpus / f->worker_cores - 1, 0));
    return gain;
}

bool fdl_judge_lock(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    double useful = fmax(ceil(f->workers * (1 - f->locked)), 1);
    if (f->locked < LOCKED || f->locked < f->off_core || !e->lock_name)
        return false;
    d->v.code = "LOCK_BOUND";
    d->v.predicted_gain = fmin(d->v.predicted_gain, gain_without(f));
    fdl_say(d,
            " on %s, which wait for a lock that all calls of custom operation "
            "%s share (an interpreter's): %s of their time.",
            fdl_say_workers(f).at, fdl_say_name(e->lock_name).at,
            fdl_say_percent(f->locked).at);
    fdl_act(d, "Move the work to C, or to calls that let go of the lock; use a "
               "free-threaded interpreter");
    if (useful < f->workers)
        fdl_act(d, "; or fewer workers: %.0f get as much done", useful);
    fdl_act(d, ".");
    fdl_note(d, "lock", f->locked);
    fdl_note_name(d, "lock_name", e->lock_name);
    fdl_note(d, "workers", f->workers);
    fdl_note(d, "cpus_usable", f->cpus);
    fdl_note(d, "worker_cores", f->worker_cores);
    fdl_note(d, "off_core", f->off_core);
    return true;
}
