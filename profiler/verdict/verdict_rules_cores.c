/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has the cores: an exhausted quota, other threads of this process, other
 * processes, or more workers than there are cores. Each is the cause if it
 * takes more of the workers' time than anything else does.
 */
#include "profiler/verdict/verdict_own.h"

#include <math.h>

#define OFF_CORE      0.10 /* of busy time: cores are short */
#define THROTTLED     0.05 /* of wall: it is the cause */
#define THROTTLED_BIT 0.01 /* of wall: more workers would be throttled */
#define NO_CORE_FREE  0.90 /* of the usable cores */
#define TOO_MANY      0.05 /* of a core */
#define LEAST_FOREIGN 0.30 /* of a core, if most queue for it */

/* Workers and consumer alone need more cores than there are. */
static bool too_many_own(const struct fdl_facts *f)
{
    return f->workers * f->wants_core > f->granted + TOO_MANY;
}

static double workers_that_fit(const struct fdl_facts *f)
{
    return fmax(floor(f->granted / f->wants_core + TOO_MANY), 1);
}

/* ---- The quota ---------------------------------------------------------- */

static void say_quota(const struct fdl_facts *f, struct fdl_draft *d)
{
    d->v.code = "CPU_THROTTLED";
    fdl_say(d, "the CPU quota");
    if (f->e->cpu_quota > 0)
        fdl_say(d, " (%s)", fdl_say_cores(f).at);
    fdl_say(d, " was spent for %s of the time",
            fdl_say_percent(f->throttled).at);
    fdl_note(d, "throttled", f->throttled);
    fdl_note(d, "workers", f->workers);
    fdl_note(d, "cpus_usable", f->cpus);
    fdl_note(d, "cpu_quota", f->e->cpu_quota);
}

void fdl_act_on_quota(const struct fdl_facts *f, struct fdl_draft *d)
{
    if (f->e->outside) {
        fdl_act(d,
                "Raise the CPU quota of the container, or run no more threads "
                "and processes in it than %s can.",
                fdl_say_cores(f).at);
        return;
    }
    double fit = workers_that_fit(f), to = fdl_limit_quota(f, d);
    d->instead = "Raise the CPU quota of the container, or let other threads "
                 "in it do less.";
    fdl_act(d, "Raise the CPU quota of the container");
    if (to > 0)
        fdl_act(d, " to %s cores", fdl_say_number(to, true).at);
    if (!too_many_own(f) || fit >= f->workers) {
        fdl_act(d, ", or let other threads in it do less.");
        return;
    }
    fdl_act(d, ", or use fewer workers: ");
    fdl_move_workers(f, d, fit);
    fdl_act(d, ", as many as it can run.");
    d->aside = true;
}

/* The part of the workers' time that the quota took; if the kernel does not
 * report it, that of a core. */
static double throttled_part(const struct fdl_facts *f)
{
    return fmax(f->part[PART_THROTTLE], fmin(f->throttled / f->cpus, 1));
}

bool fdl_judge_throttled(const struct fdl_facts *f, struct fdl_draft *d)
{
    double part = throttled_part(f);
    bool more = f->workers < f->saturated_workers;
    if (f->throttled < THROTTLED && !(f->throttled >= THROTTLED_BIT && more))
        return false;
    if (f->part[PART_SLEEP] > part || f->part[PART_LOCK] > part ||
        f->part[PART_OTHERS] > part || f->part[PART_FOREIGN] > part)
        return false;
    fdl_say(d, "; ");
    say_quota(f, d);
    fdl_say(d, ", with %s", fdl_say_workers(f).at);
    if (!(f->e->cpu_quota > 0))
        fdl_say(d, " on %s", fdl_say_cores(f).at);
    fdl_say_second(f, d, PART_THROTTLE);
    fdl_say(d, ".");
    fdl_act_on_quota(f, d);
    return true;
}

/* It stops the consumer's thread too, so it need not show as a stall of the
 * loader. */
bool fdl_judge_quota(const struct fdl_facts *f, struct fdl_draft *d)
{
    if (f->throttled < (f->stall < FED_STALL ? THROTTLED : THROTTLED_BIT))
        return false;
    fdl_say(d, "Every thread of the container stood still, the program's own "
               "too, while ");
    say_quota(f, d);
    fdl_say(d, ".");
    fdl_act_on_quota(f, d);
    if (f->throttled >= THROTTLED * f->cpus)
        d->weight = fmin(f->throttled / f->cpus, 1);
    return true;
}

/* ---- Other threads ------------------------------------------------------ */

static double queueing(const struct fdl_facts *f)
{
    return f->part[PART_OWN] + f->part[PART_FOREIGN] + f->part[PART_OTHERS];
}

/* Other threads and processes leave no core for one more worker. */
static bool no_core_left(const struct fdl_facts *f)
{
    return f->cores_taken >= NO_CORE_FREE &&
           f->part[PART_SLEEP] < f->part[PART_CORE] &&
           f->part[PART_LOCK] < f->part[PART_CORE];
}

static bool is_foreign(const struct fdl_facts *f)
{
    double foreign = fmax(f->e->foreign_cores, 0);
    if (foreign >= fmax(CONTRIBUTING * f->granted, LEAST_FOREIGN) &&
        f->part[PART_FOREIGN] > f->part[PART_OWN] &&
        f->part[PART_FOREIGN] > f->part[PART_OTHERS])
        return true;
    if (!fdl_facts_many(f, foreign) || foreign < f->outside)
        return false;
    return !too_many_own(f) || foreign > f->worker_cores;
}

/* Threads of this process that are not the loader's. */
static void say_foreign(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    d->v.code = "FOREIGN_CPU";
    fdl_say(d, "; threads of this process that are not the loader's");
    if (e->foreign_name[0])
        fdl_say(d, ", %s first,", fdl_say_name(e->foreign_name).at);
    fdl_say(d, " used %s of %s", fdl_say_number(e->foreign_cores, true).at,
            fdl_say_cores(f).at);
    fdl_say_second(f, d, PART_FOREIGN);
    fdl_say(d, ".");
    fdl_act(d, "Limit those threads: OMP_NUM_THREADS=1, MKL_NUM_THREADS=1, "
               "torch.set_num_threads(1).");
    fdl_note(d, "foreign_cores", e->foreign_cores);
    if (e->foreign_name[0])
        fdl_note_name(d, "foreign_name", e->foreign_name);
    fdl_note(d, "off_core", f->off_core);
    fdl_note(d, "cores_taken", f->cores_taken);
    fdl_note(d, "cpus_usable", f->cpus);
}

/* ---- Other processes, or too many workers ------------------------------- */

/* Unless others had more of the cores than we had. */
static bool is_own(const struct fdl_facts *f)
{
    return too_many_own(f) && f->part[PART_OWN] >= f->part[PART_OTHERS];
}

static void act_on_cores(const struct fdl_facts *f, struct fdl_draft *d)
{
    double fit = workers_that_fit(f);
    if (is_own(f) && fit < f->workers) {
        fdl_act(d, "Use fewer workers: ");
        fdl_move_workers(f, d, fit);
        fdl_act(d, ", as many as the cores can run.");
        d->instead = "More threads want to run than there are cores: run less "
                     "at once.";
    } else if (fdl_facts_many(f, f->outside)) {
        fdl_act(d, "Other jobs on this machine take the cores: run fewer at "
                   "once, or give each its own cores.");
    } else {
        fdl_act(d, "Other threads take the cores: set OMP_NUM_THREADS=1 for "
                   "the training process, or stop other jobs on this machine.");
    }
}

static void say_oversubscribed(const struct fdl_facts *f, struct fdl_draft *d)
{
    d->v.code = "OVERSUBSCRIBED";
    fdl_say(d, ", with %s on %s", fdl_say_workers(f).at, fdl_say_cores(f).at);
    if (f->off_core > 0)
        fdl_say(d, "; workers had work but no core for %s of their time",
                fdl_say_percent(queueing(f)).at);
    if (fdl_facts_many(f, f->outside))
        fdl_say(d, "; other processes used %s cores",
                fdl_say_number(f->outside, true).at);
    if (f->e->custom_ns > 0)
        fdl_say_operation(f, d);
    fdl_say_second(f, d, PART_OTHERS);
    fdl_say(d, ".");
    act_on_cores(f, d);
    fdl_note(d, "workers", f->workers);
    fdl_note(d, "cpus_usable", f->cpus);
    fdl_note(d, "off_core", f->off_core);
    fdl_note(d, "behind_own", f->part[PART_OWN]);
    fdl_note(d, "behind_others", f->part[PART_OTHERS]);
    fdl_note(d, "outside_cores", f->e->outside_cores);
}

bool fdl_judge_cores(const struct fdl_facts *f, struct fdl_draft *d)
{
    bool leads = f->queues_most;
    if (is_foreign(f) && (leads || no_core_left(f))) {
        say_foreign(f, d);
        return true;
    }
    if (!leads)
        return false;
    say_oversubscribed(f, d);
    return true;
}

/* ---- The consumer is woken late ----------------------------------------- */

/* Its thread was runnable and did not run. As long as workers get cores of
 * their own, it does not matter who else may use them. */
static bool cores_are_short(const struct fdl_facts *f)
{
    if (f->worker_cores > 0)
        return queueing(f) >= OFF_CORE;
    return f->workers >= f->cpus;
}

static void leave_a_core(const struct fdl_facts *f, struct fdl_draft *d)
{
    fdl_act(d, "Use fewer workers: ");
    fdl_move_workers(f, d, f->cpus - 1);
    fdl_act(d, ", so that the consumer has a core.");
    d->instead = "Give the consumer a core of its own.";
}

void fdl_judge_wake(const struct fdl_facts *f, struct fdl_draft *d)
{
    d->v.predicted_gain = 0;
    if (fdl_judge_throttled(f, d))
        return;
    if (is_foreign(f) && (cores_are_short(f) || no_core_left(f))) {
        say_foreign(f, d);
        return;
    }
    if (cores_are_short(f)) {
        say_oversubscribed(f, d);
        if (f->workers == f->cpus && f->cpus > 1 && !d->v.moves.workers &&
            f->wants_core > 0.5 && !fdl_facts_many(f, f->outside)) {
            d->v.action[0] = 0;
            leave_a_core(f, d);
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
