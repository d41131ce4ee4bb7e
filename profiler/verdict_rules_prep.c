/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why decoding holds it up. From what nobody can work around to what one thread
 * more would cure: the quota, samples that vary, a lock that all wait for,
 * cores that others took, too few workers, too few cores.
 */
#include "profiler/verdict_own.h"

#include <math.h>

#define OFF_CORE      0.10 /* of busy time */
#define THROTTLED     0.05 /* of wall: it is the cause */
#define THROTTLED_BIT 0.01 /* of wall: more workers would be held back */
#define NO_CORE_FREE  0.90 /* of the usable cores */
#define OTHERS        0.20 /* of the usable cores, and half a core */
#define PASSED        0.50 /* of waits of 50 us or more */
#define NO_ROOM       0.05 /* of worker time */
#define HELD_UP       0.20 /* of worker time, while there is a stall */
#define CAPACITY      1.10 /* of what the consumer takes */
#define MOSTLY        0.50

static bool many(const struct fdl_facts *f, double cores)
{
    return cores >= fmax(OTHERS * f->cpus, 0.5);
}

static bool too_many_own(const struct fdl_facts *f)
{
    return f->workers * f->wants_core > f->cpus + 0.05;
}

static bool cores_are_short(const struct fdl_facts *f)
{
    return f->off_core >= OFF_CORE || f->cores_taken >= NO_CORE_FREE;
}

static void say_throttled(const struct fdl_facts *f, struct fdl_draft *d)
{
    d->v.code = "CPU_THROTTLED";
    fdl_say(d, "the CPU quota was spent for %s of the time, with %s on %s.",
            fdl_say_percent(f->throttled).at, fdl_say_workers(f).at,
            fdl_say_cores(f).at);
    if (too_many_own(f)) {
        fdl_act(d,
                "Use no more workers than the quota feeds: %.0f; or raise "
                "the quota.",
                f->cpus);
        d->v.tuner = true;
    } else {
        fdl_act(d, "Raise the CPU quota of the container, or let other threads "
                   "in it do less.");
    }
    fdl_note(d, "throttled", f->throttled);
    fdl_note(d, "workers", f->workers);
    fdl_note(d, "cpus_usable", f->cpus);
}

/* Threads of this process that are not the loader's. */
static bool judge_foreign(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    bool own = too_many_own(f) && f->worker_cores > e->foreign_cores;
    if (!many(f, e->foreign_cores) || !cores_are_short(f) || own)
        return false;
    d->v.code = "FOREIGN_CPU";
    fdl_say(d, "; threads of this process that are not the loader's");
    if (e->foreign_name[0])
        fdl_say(d, ", %s first,", fdl_say_name(e->foreign_name).at);
    fdl_say(d, " used %s of %s.", fdl_say_number(e->foreign_cores, true).at,
            fdl_say_cores(f).at);
    fdl_act(d, "Limit those threads: OMP_NUM_THREADS=1, MKL_NUM_THREADS=1, "
               "torch.set_num_threads(1).");
    fdl_note(d, "foreign_cores", e->foreign_cores);
    if (e->foreign_name[0])
        fdl_note_name(d, "foreign_name", e->foreign_name);
    fdl_note(d, "off_core", f->off_core);
    fdl_note(d, "cores_taken", f->cores_taken);
    fdl_note(d, "cpus_usable", f->cpus);
    return true;
}

static void say_oversubscribed(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    bool outside = many(f, e->outside_cores);
    d->v.code = "OVERSUBSCRIBED";
    fdl_say(d, ", with %s on %s", fdl_say_workers(f).at, fdl_say_cores(f).at);
    if (f->off_core > 0)
        fdl_say(d, "; workers had work but no core for %s of their time",
                fdl_say_percent(f->off_core).at);
    if (outside)
        fdl_say(d, "; other processes used %s cores",
                fdl_say_number(e->outside_cores, true).at);
    fdl_say(d, ".");
    if (too_many_own(f)) {
        fdl_act(d, "Use fewer workers: %.0f, one for each usable core.",
                f->cpus);
        d->v.tuner = true;
    } else if (outside) {
        fdl_act(d, "Other jobs on this machine take the cores: run fewer at "
                   "once, or give each its own cores.");
    } else {
        fdl_act(d, "Other threads take the cores: set OMP_NUM_THREADS=1 for "
                   "the training process, or stop other jobs on this machine.");
    }
    fdl_note(d, "workers", f->workers);
    fdl_note(d, "cpus_usable", f->cpus);
    fdl_note(d, "off_core", f->off_core);
    fdl_note(d, "outside_cores", e->outside_cores);
}

static bool judge_throttled(const struct fdl_facts *f, struct fdl_draft *d)
{
    bool more = f->workers < f->saturated_workers;
    if (f->throttled < THROTTLED && !(f->throttled >= THROTTLED_BIT && more))
        return false;
    fdl_say(d, "; ");
    say_throttled(f, d);
    return true;
}

static bool judge_cores(const struct fdl_facts *f, struct fdl_draft *d)
{
    bool others = many(f, f->e->outside_cores) || f->workers < f->cpus;
    if (judge_foreign(f, d))
        return true;
    if (f->off_core < OFF_CORE || !(too_many_own(f) || others))
        return false;
    say_oversubscribed(f, d);
    return true;
}

static void say_slow(const struct fdl_facts *f, struct fdl_draft *d)
{
    d->v.code = "HEAD_OF_LINE";
    fdl_say(d,
            " on %s, which had no room for results for %s of their time: a "
            "later batch was ready at %s of the waits.",
            fdl_say_workers(f).at, fdl_say_percent(f->blocked).at,
            fdl_say_percent(f->passed).at);
    fdl_act(d, "Look at the list of slow samples, and store these smaller; %s.",
            f->e->memory_limited
                ? "the memory budget allows no more depth"
                : "raise depth, so that workers can get ahead of them");
    d->v.tuner = !f->e->memory_limited;
}

/* Twice the depth that the slowest batch needs, and the consumer waits all the
 * same: the slots are not there. */
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
        fdl_say(d, " So they begin late: the consumer holds their slots.");
        fdl_act(d, "Release each batch before asking for the next, or raise "
                   "depth.");
        return;
    }
    if (e->memory_limited) {
        d->v.code = "MEMORY_LIMITED";
        fdl_act(d, "Raise the memory budget, or use smaller batches: the "
                   "budget allows no more depth.");
        return;
    }
    d->v.code = "DEPTH_LIMITED";
    d->v.tuner = true;
    fdl_act(d, "Raise depth, so that batches that take longer are begun "
               "earlier.");
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

static void note_workers(const struct fdl_facts *f, struct fdl_draft *d)
{
    fdl_note(d, "workers", f->workers);
    fdl_note(d, "cpus_usable", f->cpus);
    fdl_note(d, "workers_that_fit", f->saturated_workers);
    fdl_note(d, "wants_core", f->wants_core);
    fdl_note(d, "off_core", f->off_core);
    fdl_note(d, "worker_cores", f->worker_cores);
}

static void say_tunable(const struct fdl_facts *f, struct fdl_draft *d)
{
    d->v.code = "PREP_BOUND_TUNABLE";
    d->v.predicted_gain =
        fmin(d->v.predicted_gain, f->saturated_workers / f->workers - 1);
    d->v.tuner = true;
    fdl_say(d, " on %s", fdl_say_workers(f).at);
    if (f->wants_core < MOSTLY)
        fdl_say(d, ", which used a core for %s of their time",
                fdl_say_percent(f->wants_core).at);
    fdl_say(d, ".");
    if (f->wants_core < MOSTLY)
        fdl_act(d,
                "Use more workers than cores: %s of them would fill the "
                "cores.",
                fdl_say_number(f->saturated_workers, false).at);
    else
        fdl_act(d, "Use more workers: %.0f cores are usable and %.0f %s used.",
                f->cpus, f->workers, f->workers == 1 ? "is" : "are");
}

static void say_saturated(const struct fdl_facts *f, struct fdl_draft *d)
{
    double custom =
        fdl_facts_ratio((double)f->e->custom_ns, (double)f->e->worker_busy_ns);
    d->v.code = "PREP_BOUND_CPU_SATURATED";
    fdl_say(d, " on %s with %s", fdl_say_workers(f).at, fdl_say_cores(f).at);
    if (f->worker_cores > 0)
        fdl_say(d, ", of which they used %s",
                fdl_say_number(f->worker_cores, true).at);
    fdl_say(d, ".");
    if (custom >= MOSTLY)
        fdl_act(d,
                "Make the custom operations cheaper, which take %s of the "
                "workers' time, or use a machine with more cores.",
                fdl_say_percent(custom).at);
    else
        fdl_act(d, "Make images cheaper to decode (store them nearer to the "
                   "size that is trained on), let the GPU finish them "
                   "(finish=device), or use a machine with more cores.");
}

void fdl_judge_prep(const struct fdl_facts *f, struct fdl_draft *d)
{
    double gain = d->v.predicted_gain;
    d->v.predicted_gain = 0; /* nobody can tell what the cores would give */
    if (judge_throttled(f, d))
        return;
    d->v.predicted_gain = gain;
    if (fdl_judge_variance(f, d) || fdl_judge_lock(f, d))
        return;
    d->v.predicted_gain = 0;
    if (judge_cores(f, d))
        return;
    d->v.predicted_gain = gain;
    if (f->workers < f->saturated_workers)
        say_tunable(f, d);
    else
        say_saturated(f, d);
    note_workers(f, d);
}

void fdl_judge_wake(const struct fdl_facts *f, struct fdl_draft *d)
{
    /* Who else may use the cores does not matter where workers get theirs. */
    bool no_core =
        f->worker_cores > 0 ? f->off_core >= OFF_CORE : f->workers >= f->cpus;
    d->v.predicted_gain = 0;
    if (judge_throttled(f, d) || judge_cores(f, d))
        return;
    if (no_core) {
        say_oversubscribed(f, d);
        if (f->workers == f->cpus && f->cpus > 1 && !d->v.tuner) {
            d->v.action[0] = 0;
            d->v.tuner = true;
            fdl_act(d,
                    "Use fewer workers: %.0f, so that the consumer has a "
                    "core.",
                    f->cpus - 1);
        }
        return;
    }
    d->v.code = "OUT_OF_SCOPE";
    fdl_say(d, ": the consumer's thread was slow to run, and the loader is not "
               "the cause.");
    fdl_act(d, "Look at what else runs on the consumer's core.");
    fdl_note(d, "off_core", f->off_core);
    fdl_note(d, "cores_taken", f->cores_taken);
}

bool fdl_judge_quota(const struct fdl_facts *f, struct fdl_draft *d)
{
    if (f->throttled < (f->stall < FED_STALL ? THROTTLED : THROTTLED_BIT))
        return false;
    fdl_say(d, "Beside that, ");
    say_throttled(f, d);
    return true;
}
