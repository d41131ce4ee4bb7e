/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock shared by all calls of a custom operation, such as an interpreter's.
 * Workers that wait for it seem to work, and more of them only wait longer.
 *
 *     worker 1   decode | wait | blur ==== | decode | wait ...
 *     worker 2   decode | blur ==== | decode | wait ...
 *     worker 3   wait ........... | blur ==== | decode ...
 *
 * If cores are scarce, the same workers also queue for cores, and which of the
 * two slows them down cannot be told from which is longer: a holder of the lock
 * without a core keeps all others waiting for the lock; a waiter is woken now
 * and then to ask again, and queues for a core to do so. So both remedies are
 * tried on paper. Without the lock, the waits for it disappear as far as there
 * are cores. With a core for each worker, the queueing outside the lock and by
 * its holder disappears, and with the holder's share the same fraction of what
 * others waited for the lock; but never more gets done than one holder can do.
 *
 * An operation reports how long it waited to begin. An interpreter may release
 * its lock in between (every 5 ms in Python), and those waits go unreported. If
 * nearly every call found the lock taken, calls were off their core for no
 * other reason; the same holds if they fill just one core and some reported a
 * wait. A call that finds the lock free proves little: a thread that releases
 * the lock often takes it again before others wake, especially with few cores.
 */
#include "profiler/verdict/verdict_own.h"

#include <math.h>

#define LOCKED    0.20 /* of busy time */
#define TAKEN     0.80 /* of the calls */
#define ONE_CORE  0.75 /* of wall: calls that hold the lock in turn fill it */
#define EXCLUSIVE 1.10 /* of wall: and do not hold it at the same time */
#define SOME      0.02 /* of the calls' time */

/* The calls of such operations, ns. */
struct calls {
    double wall, cpu, told;
    double queued;  /* for a core, while holding the lock */
    double waited;  /* for the lock; reported or not */
    double outside; /* of the calls: queueing for a core */
};

/* Unreported waits of calls are for the lock. */
static bool is_always_taken(const struct fdl_evidence *e, const struct calls *c)
{
    double wall = (double)e->wall_ns, calls = (double)e->lock.calls;
    if (calls > 0 && (double)e->lock.waits >= TAKEN * calls)
        return true;
    return c->cpu >= ONE_CORE * wall && c->cpu <= EXCLUSIVE * wall &&
           c->told >= SOME * c->wall;
}

static double between(double low, double value, double high)
{
    return fmax(low, fmin(value, high));
}

/* Time off the core in a call, with no reported reason: for a core, for the
 * lock, or asleep. */
static void divide(const struct fdl_facts *f, double runq, struct calls *c)
{
    const struct fdl_evidence *e = f->e;
    double busy = (double)e->worker_busy_ns, wall = (double)e->wall_ns;
    double off = c->wall - c->cpu, untold = off - c->told;
    double left = (busy - c->wall) - ((double)e->worker_cpu_ns - c->cpu);
    c->outside = between(0, runq, fmax(left, 0));
    double queued = fmin(runq - c->outside, off);
    c->queued = off > 0 ? queued * untold / off : 0;
    c->waited = c->told;
    bool taken = is_always_taken(e, c);
    double holders = taken ? c->cpu : c->wall - c->told;
    if (holders <= EXCLUSIVE * wall) /* one at a time; the others only ask */
        c->queued = fmin(c->queued, fmax(wall - c->cpu, 0));
    if (taken)
        c->waited += untold - c->queued;
}

static double without(double part, double whole)
{
    return whole > 0 ? fdl_facts_gain(part, whole) : 0;
}

/* The holder of the lock then has a core. */
static double gain_of_cores(const struct fdl_facts *f, const struct calls *c)
{
    double busy = (double)f->e->worker_busy_ns, wall = (double)f->e->wall_ns;
    double held = c->wall - c->waited, needed = held - c->queued;
    double with = held > 0 ? c->waited * c->queued / held : 0;
    double gain = without(c->outside + c->queued + with, busy);
    if (held > EXCLUSIVE * wall) /* several at a time */
        return gain;
    return fmin(gain, needed > 0 ? fmax(wall / needed - 1, 0) : MAX_GAIN);
}

void fdl_facts_digest_lock(struct fdl_facts *f, double runq)
{
    const struct fdl_evidence *e = f->e;
    double busy = (double)e->worker_busy_ns, wall = (double)e->wall_ns;
    struct calls c = {.wall = between(0, (double)e->lock.wall_ns, busy)};
    if (!e->lock.name || !(c.wall > 0) || !(wall > 0))
        return;
    c.told = between(0, (double)e->lock.wait_ns, c.wall);
    c.cpu = between(0, (double)e->lock.cpu_ns, c.wall - c.told);
    divide(f, runq, &c);
    f->lock.waits = fdl_facts_ratio(c.waited, busy);
    f->lock.calls = fdl_facts_ratio(c.wall, busy);
    f->lock.held = fdl_facts_ratio(c.wall - c.waited, wall);
    f->lock.gain = without(c.waited, busy);
    if (f->worker_cores > 0)
        f->lock.gain =
            fmin(f->lock.gain, fmax(f->cpus / f->worker_cores - 1, 0));
    f->lock.gain_of_cores = gain_of_cores(f, &c);
}

bool fdl_lock_is_taken(const struct fdl_facts *f)
{
    return f->lock.held >= ONE_CORE && f->lock.waits >= LOCKED;
}

bool fdl_judge_lock(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_lock_facts *k = &f->lock;
    double useful = fmax(ceil(f->workers * (1 - k->waits)), 1);
    if (k->waits < LOCKED || k->gain < k->gain_of_cores)
        return false;
    d->v.code = "LOCK_BOUND";
    d->v.predicted_gain = fmin(d->v.predicted_gain, k->gain);
    struct fdl_phrase name = fdl_say_name(f->e->lock.name);
    fdl_say(d,
            " on %s. Custom operation %s takes %s of their time, and %s goes "
            "to waiting for the lock of all its calls (an interpreter's), held "
            "%s of the time.",
            fdl_say_workers(f).at, name.at, fdl_say_percent(k->calls).at,
            fdl_say_percent(k->waits).at, fdl_say_percent(k->held).at);
    fdl_act(d,
            "In place of %s use an operation of this library, or calls on "
            "whole arrays that release the lock (NumPy, OpenCV, C); or a "
            "free-threaded interpreter",
            name.at);
    if (useful < f->workers) {
        fdl_act(d, "; or fewer workers: ");
        fdl_move_workers(f, d, useful);
        fdl_act(d, ", which get as much done");
        d->aside = true;
        d->instead = "Use an operation of this library in its place, or calls "
                     "on whole arrays that release the lock (NumPy, OpenCV, "
                     "C).";
    }
    fdl_act(d, ".");
    fdl_note(d, "lock", k->waits);
    fdl_note(d, "lock_held", k->held);
    fdl_note(d, "lock_calls", k->calls);
    fdl_note_name(d, "lock_name", f->e->lock.name);
    fdl_note(d, "workers", f->workers);
    fdl_note(d, "cpus_usable", f->cpus);
    fdl_note(d, "worker_cores", f->worker_cores);
    fdl_note(d, "off_core", f->off_core);
    return true;
}
