/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stalls of a watched loader. From outside only the use of the cores is
 * visible. If the workers are processes, that divides their time as our own
 * threads' time is divided, and the same rules judge it; before those about the
 * work itself, DEPTH_LIMITED if they told that they had nothing to do for a
 * fifth of their time, and keep up on average. Otherwise there are
 * the waiting thread, other threads and other processes. In order, from causes
 * outside the program's control to the unknown:
 *
 *   CPU_THROTTLED             the quota was used up for 5 % of the time
 *   OVERSUBSCRIBED            other processes had the cores, and it queued
 *   PREP_BOUND_TUNABLE        workers, or the thread itself, were on a core
 *                             most of the time, and cores are free; or it
 *                             slept, and there can be more workers
 *   PREP_BOUND_CPU_SATURATED  they computed, and no core is free
 *   ITERABLE_BOUND            otherwise: it waits itself, or nothing is known
 */
#include "profiler/verdict/verdict_own.h"

#include <math.h>
#include <string.h>

#define THROTTLED    0.05 /* of wall */
#define ON_CORE      0.60 /* of its workers' time, or of the wait */
#define NO_CORE_FREE 0.90 /* of the usable cores */
#define OTHERS       0.20 /* of the usable cores, and half a core */
#define QUEUED       0.20 /* of the time, each of them, for a core */
#define SPARE        1.10
#define HELD_UP      0.20 /* of the workers' time, without work */
#define CAPACITY     1.10 /* of the consumer's demand */
#define REGULAR      0.50 /* of the stall, in waits of the usual length */

static const char cheaper[] =
    "The cores are used up: make batches cheaper (smaller images, fewer "
    "operations, a faster decoder), or use more cores.";

/* The cores that make batches. */
struct makers {
    double workers; /* 0: the waiting thread makes them */
    double cores;   /* of child processes, other threads, or that one */
    double on_core; /* of their time */
};

static void find_makers(const struct fdl_facts *f, struct makers *m)
{
    const struct fdl_evidence *e = f->e;
    double wall = (double)e->wall_ns;
    double own = fdl_facts_ratio((double)e->wait_cpu_ns, f->stalled_ns);
    m->workers = fmax(e->workers, e->outside_processes);
    m->cores = fmax(e->outside_process_cores, 0);
    if (e->outside_processes == 0)
        m->cores = fmax(e->foreign_cores, 0);
    if (m->workers > 0 && m->cores > 0) {
        m->on_core = fdl_facts_ratio(m->cores, fmin(m->workers, f->cpus));
        return;
    }
    m->on_core = own;
    m->cores = fdl_facts_ratio((double)e->wait_cpu_ns, wall);
    if (own >= ON_CORE)
        m->workers = 0;
}

static bool others_take_cores(const struct fdl_facts *f)
{
    double own = fmax(f->e->outside_process_cores, 0);
    return f->e->outside_queued >= QUEUED &&
           f->e->outside_cores >= fmax(OTHERS * f->cpus, 0.5) &&
           f->cores_taken * f->cpus + own >= NO_CORE_FREE * f->cpus;
}

static void say_makers(const struct fdl_facts *f, const struct makers *m,
                       struct fdl_draft *d)
{
    fdl_say(d, "; %s took that time", fdl_say_name(f->e->outside).at);
    if (m->workers > 0 && m->cores > 0)
        fdl_say(d, ": its %s used %s of %s",
                fdl_say_count(m->workers, "worker", "workers").at,
                fdl_say_number(m->cores, true).at, fdl_say_cores(f).at);
    else if (f->e->wait_cpu_ns > 0)
        fdl_say(d, ", and was on a core of the thread that waits for %s of it",
                fdl_say_percent(m->on_core).at);
    fdl_say(d, ".");
    fdl_note(d, "makers", m->workers);
    fdl_note(d, "maker_cores", m->cores);
    fdl_note(d, "on_core", m->on_core);
    fdl_note(d, "cpus_usable", f->cpus);
}

/* How many would keep up with the consumer, with a tenth to spare. */
static double enough(const struct fdl_facts *f, const struct makers *m)
{
    double paused = fmax((double)f->e->gap_ns, 0);
    double user = fmax((double)f->e->wall_ns - f->stalled_ns - paused, 1);
    double busy = m->cores * (double)f->e->wall_ns;
    double most = fmax(f->cpus - fmin(fmax(f->e->consumer_cores, 0), 1), 1);
    return fmax(fmin(ceil(SPARE * busy / user), floor(most + 0.05)), 1);
}

static void say_busy(const struct fdl_facts *f, const struct makers *m,
                     struct fdl_draft *d)
{
    const char *option = f->e->outside_option;
    double want = enough(f, m);
    say_makers(f, m, d);
    if (m->workers >= want || f->cpus < 2) {
        d->v.code = "PREP_BOUND_CPU_SATURATED";
        fdl_act(d, "%s", cheaper);
        return;
    }
    d->v.code = "PREP_BOUND_TUNABLE";
    if (option)
        fdl_act(d, "Set %s=%.0f: there are cores left.", option, want);
    else if (m->workers > 0)
        fdl_act(d, "Let %.0f workers make batches: there are cores left.",
                want);
    else
        fdl_act(d, "Make batches ahead, on other threads or in other "
                   "processes: there are cores left.");
}

/* It has an option for workers, and no workers yet. */
static bool can_have_workers(const struct fdl_facts *f)
{
    return f->e->outside_option && f->e->workers == 0;
}

static void say_idle(const struct fdl_facts *f, const struct makers *m,
                     struct fdl_draft *d)
{
    d->v.code = "ITERABLE_BOUND";
    say_makers(f, m, d);
    if (can_have_workers(f)) {
        d->v.code = "PREP_BOUND_TUNABLE";
        fdl_act(d,
                "Set %s: while one waits, others work, and the program does "
                "too.",
                fdl_say_set(f, "workers", fmax(f->cpus, 2)).at);
    } else if (m->workers > 0 && m->cores > 0)
        fdl_act(d, "Its workers are mostly not on a core: look at what they "
                   "wait for (storage, network, a lock, each other).");
    else
        fdl_act(d, "Look inside it: it waits for something itself (storage, "
                   "network, other processes, a lock). Let it prefetch.");
}

static void judge_unseen(const struct fdl_facts *f, struct fdl_draft *d)
{
    struct makers m;
    find_makers(f, &m);
    if (f->throttled >= THROTTLED) {
        d->v.code = "CPU_THROTTLED";
        fdl_say(d, "; the CPU quota was spent for %s of the time.",
                fdl_say_percent(f->throttled).at);
        fdl_act_on_quota(f, d);
        fdl_note(d, "throttled", f->throttled);
    } else if (others_take_cores(f)) {
        d->v.code = "OVERSUBSCRIBED";
        fdl_say(d,
                "; other processes used %s of %s, and the threads that make "
                "batches waited for a core %s of the time.",
                fdl_say_number(f->e->outside_cores, true).at,
                fdl_say_cores(f).at, fdl_say_percent(f->e->outside_queued).at);
        fdl_act(d, "Other jobs on this machine take the cores: run fewer at "
                   "once, or give each its own cores.");
        fdl_note(d, "outside_cores", f->e->outside_cores);
        fdl_note(d, "queued", f->e->outside_queued);
    } else if (m.on_core >= ON_CORE) {
        say_busy(f, &m, d);
    } else {
        say_idle(f, &m, d);
    }
}

/* ---- Workers that are processes ------------------------------------------ */

/* Batches are ready, and each call takes so long all the same. */
static bool is_regular(const struct fdl_facts *f)
{
    const struct fdl_evidence *e = f->e;
    double usual = e->usual_wait_ns * (double)e->batches;
    return f->blocked >= HELD_UP && usual >= REGULAR * f->stalled_ns;
}

/* Finished batches are unpacked by the waiting thread, and sent to it. */
static bool judge_handover(const struct fdl_facts *f, struct fdl_draft *d)
{
    double own = fdl_facts_ratio((double)f->e->wait_cpu_ns, f->stalled_ns);
    bool regular = is_regular(f);
    if (own < ON_CORE && !regular)
        return false;
    d->v.code = "ITERABLE_BOUND";
    if (regular)
        fdl_say(d,
                ", %s a batch, on %s, which had nothing to do for %s of "
                "their time",
                fdl_say_duration(f->e->usual_wait_ns).at, fdl_say_workers(f).at,
                fdl_say_percent(f->blocked).at);
    fdl_say(d, ", and was on a core of the thread that waits for %s of it.",
            fdl_say_percent(own).at);
    fdl_act(d, "Receiving batches takes this time, not making them: hand over "
               "less (fewer or smaller tensors, uint8 instead of floats), and "
               "less often (larger batches).");
    fdl_note(d, "on_core", own);
    fdl_note(d, "blocked", f->blocked);
    return true;
}

/* They could feed the consumer on average, and some have nothing to do. */
static bool judge_uneven(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    double busy = (double)e->worker_busy_ns / fmax((double)e->batches, 1);
    if (f->blocked < HELD_UP || f->workers * f->step_ns < CAPACITY * busy)
        return false;
    d->v.code = "DEPTH_LIMITED";
    fdl_say(
        d,
        " on %s, which had nothing to do for %s of their time: they keep up "
        "on average, and some batches come late.",
        fdl_say_workers(f).at, fdl_say_percent(f->blocked).at);
    fdl_act(d, "Let them work further ahead (in torch prefetch_factor, which "
               "is 2 if it is not set), so that batches that take longer start "
               "earlier.");
    fdl_note(d, "blocked", f->blocked);
    fdl_note(d, "step_seconds", f->step_ns / 1e9);
    return true;
}

static void act_on_work(const struct fdl_facts *f, struct fdl_draft *d)
{
    double share = fdl_told_part(f);
    if (share == 0)
        fdl_act(d, "%s", cheaper);
    else
        fdl_act(d,
                "Make %s cheaper, which takes %s of the workers' time: cache "
                "its results, use a faster library, vectorise loops, make "
                "images smaller; or use more cores.",
                fdl_say_name(f->e->op.name).at, fdl_say_percent(share).at);
}

/* The texts of the rules for our own workers, without what only those can do.
 */
static void judge_processes(const struct fdl_facts *f, struct fdl_draft *d)
{
    double gain = d->v.predicted_gain;
    fdl_say(d, "; %s took that time", fdl_say_name(f->e->outside).at);
    d->v.predicted_gain = 0; /* unknown: what the cores would give */
    if (fdl_judge_throttled(f, d))
        return;
    if (fdl_judge_cores(f, d)) {
        fdl_act_on_operation(f, d);
        return;
    }
    d->v.predicted_gain = gain;
    if (judge_handover(f, d) || judge_uneven(f, d))
        return;
    fdl_judge_work(f, d);
    if (strcmp(d->v.code, "PREP_BOUND_CPU_SATURATED") == 0) {
        d->v.action[0] = '\0';
        act_on_work(f, d);
    }
}

void fdl_judge_outside(const struct fdl_facts *f, struct fdl_draft *d)
{
    if (f->e->worker_busy_ns > 0)
        judge_processes(f, d);
    else
        judge_unseen(f, d);
}
