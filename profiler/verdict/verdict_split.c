/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the workers' time went, and how many workers would help.
 *
 *     busy = core + own + foreign + others + throttle + sleep + lock
 *
 * The kernel reports how long workers queued for a core, not behind whom. The
 * cores were meanwhile used by whoever ran on them, so the queueing is divided
 * in proportion to core use. None of it is our own if our threads need no more
 * cores than there are.
 *
 * A worker that never had to queue would be on a core for core / (core + sleep
 * + lock) of its time. That is its demand, whatever others do to it: eight
 * workers that sleep do not need more cores because a neighbour makes them
 * queue.
 *
 * More workers help until they fill the cores that others leave, until the
 * consumer is fed, up to workers_max, while the quota lasts, and unless the
 * tuner has seen that more of them get no more done.
 */
#include "profiler/verdict/verdict_own.h"

#include <math.h>

#define MANY          0.20 /* of the granted cores, and half a core */
#define WHOLE         0.05 /* of a core: less is not one core more */
#define BUSY_ENOUGH   0.50 /* of its time on a core, for one worker more */
#define ADDS_ENOUGH   0.20 /* of what the others do */
#define MOSTLY        0.50
#define SPARE         1.10 /* of the consumer's demand */
#define QUOTA_SPENT   0.01 /* of wall: more workers would be throttled */
#define NO_GAIN       0.05 /* from more workers */
#define SURE          2.6  /* standard errors: one in 200 */
#define FAR_OFF       0.25 /* of the gain predicted */
#define LOCKED        0.20 /* of busy time */
#define LEAST_OF_CORE 0.001
#define PER_CORE      32 /* workers: the tuner's own limit */

bool fdl_facts_many(const struct fdl_facts *f, double cores)
{
    return cores >= fmax(MANY * f->granted, 0.5);
}

/* ---- The split ---------------------------------------------------------- */

/* Our cores that other processes had. On a larger machine they may run
 * elsewhere, but never on what our own threads use. */
static double cores_of_others(const struct fdl_facts *f, double own)
{
    return fmin(fmax(f->e->outside_cores, 0), fmax(f->cpus - own, 0));
}

static void divide_queueing(struct fdl_facts *f)
{
    const struct fdl_evidence *e = f->e;
    double own = f->worker_cores + fmax(e->consumer_cores, 0);
    double foreign = fmin(fmax(e->foreign_cores, 0), f->cpus);
    f->outside = cores_of_others(f, own + foreign);
    if (f->demand <= f->granted + WHOLE)
        own = 0;
    double all = own + foreign + f->outside;
    f->part[PART_OWN] = f->off_core * fdl_facts_ratio(own, all);
    f->part[PART_FOREIGN] = f->off_core * fdl_facts_ratio(foreign, all);
    f->part[PART_OTHERS] =
        fmax(f->off_core - f->part[PART_OWN] - f->part[PART_FOREIGN], 0);
}

/* If queueing cannot be told from sleeping, time off the core was queueing. */
void fdl_facts_digest_split(struct fdl_facts *f)
{
    const struct fdl_evidence *e = f->e;
    double busy = (double)e->worker_busy_ns, cpu = (double)e->worker_cpu_ns;
    double runq = fmax((double)e->worker_runq_ns, 0);
    double held = fmax((double)e->worker_throttle_ns, 0);
    double steps = f->steps_ns;
    double at_work = steps > 0 && busy > 0 ? busy / steps : f->workers;
    f->wants_core = 1;
    f->part[PART_CORE] = 1;
    f->demand = fmin(at_work, f->workers) + fmax(e->consumer_cores, 0);
    if (!(busy > 0) || !(cpu > 0))
        return;
    if (!(runq > 0 || held > 0 || e->worker_sleep_ns > 0))
        runq = fmax(busy - cpu, 0);
    f->off_core = fdl_facts_ratio(runq, busy);
    double throttle = fdl_facts_ratio(held, busy);
    double core = fmin(cpu / busy, fmax(1 - f->off_core - throttle, 0));
    double sleep = fmax(1 - core - f->off_core - throttle, 0);
    f->part[PART_CORE] = core;
    f->part[PART_THROTTLE] = throttle;
    f->part[PART_SLEEP] = sleep;
    f->wants_core = fmax(fdl_facts_ratio(core, core + sleep), LEAST_OF_CORE);
    f->demand =
        fmin(at_work, f->workers) * f->wants_core + fmax(e->consumer_cores, 0);
    divide_queueing(f);
}

enum fdl_part fdl_facts_largest(const struct fdl_facts *f, enum fdl_part but)
{
    enum fdl_part best = PARTS;
    for (int i = 0; i < PARTS; i++)
        if ((enum fdl_part)i != but && f->part[i] >= CONTRIBUTING &&
            (best == PARTS || f->part[i] > f->part[best]))
            best = (enum fdl_part)i;
    return best;
}

/* ---- How many workers --------------------------------------------------- */

/* Losing the lock would gain more than a core for each worker. */
static bool lock_decides(const struct fdl_facts *f)
{
    return f->lock.waits >= LOCKED && f->lock.gain >= f->lock.gain_of_cores;
}

/* Until now its waits were part of sleeping and queueing. */
static void set_lock_apart(struct fdl_facts *f)
{
    double left = f->lock.waits;
    static const enum fdl_part from[] = {PART_SLEEP, PART_OWN, PART_OTHERS,
                                         PART_FOREIGN};
    for (size_t i = 0; i < FDL_COUNT_OF(from); i++) {
        double taken = fmin(left, f->part[from[i]]);
        f->part[from[i]] -= taken;
        f->part[PART_LOCK] += taken;
        left -= taken;
    }
}

/* Cores for the workers: what the consumer and others leave. A process that
 * sleeps is scheduled soon after it wakes, so a neighbour does not take all of
 * them. */
static double cores_left(const struct fdl_facts *f)
{
    const struct fdl_evidence *e = f->e;
    double consumer = fmin(fmax(e->consumer_cores, 0), f->granted);
    double left = f->granted - consumer - f->outside -
                  fmin(fmax(e->foreign_cores, 0), f->granted);
    double least = f->wants_core < MOSTLY ? f->granted / 2 : WHOLE;
    return fmax(left, least);
}

/* How many would keep the consumer fed; 0: not known. While it waits for
 * decoding it is not fed, whatever the mean says. */
static double needed_workers(const struct fdl_facts *f)
{
    bool waits = f->stall >= FED_STALL && f->share[CAUSE_PREP] >= CONTRIBUTING;
    double busy = (double)f->e->worker_busy_ns *
                  (1 - f->off_core - f->part[PART_THROTTLE]);
    if (!(busy > 0) || !(f->step_ns > 0) || f->e->batches == 0)
        return 0;
    double needed = ceil(SPARE * busy / (double)f->e->batches / f->step_ns);
    return fmax(needed, waits ? f->workers + 1 : 1);
}

/* A number that was given is its own bound; the user may raise it. */
static double most_workers(const struct fdl_facts *f)
{
    const struct fdl_evidence *e = f->e;
    double most = fmax(PER_CORE * f->cpus, f->workers);
    bool bound =
        e->workers_max > 0 && (e->workers_auto || e->workers_max > f->workers);
    return bound ? fmin(e->workers_max, most) : most;
}

static bool queues_most(const struct fdl_facts *f)
{
    double q = f->part[PART_OWN] + f->part[PART_FOREIGN] + f->part[PART_OTHERS];
    return q >= CONTRIBUTING && q >= f->part[PART_CORE] &&
           q >= f->part[PART_SLEEP] && q >= f->part[PART_LOCK] &&
           q >= f->part[PART_THROTTLE];
}

/* A trial under way counts once what it was begun for is far out of reach. An
 * unfair mutex delays single samples, and the error is large for long. */
static bool scales(const struct fdl_facts *f)
{
    const struct fdl_evidence *e = f->e;
    double enough = fmax(FAR_OFF * e->tried_predicted, NO_GAIN);
    if (e->trying)
        return e->tried_gain + SURE * e->tried_error >= enough;
    return e->tried_workers <= f->workers || e->tried_gain >= NO_GAIN;
}

/* The last worker must be worth having. */
static double whole_workers(double filling)
{
    double whole = floor(filling), rest = filling - whole;
    bool one_more = rest >= fmin(BUSY_ENOUGH, ADDS_ENOUGH * whole);
    return fmax(whole + one_more, 1);
}

void fdl_facts_digest_room(struct fdl_facts *f)
{
    bool shared = lock_decides(f);
    if (shared)
        set_lock_apart(f);
    f->queues_most = queues_most(f);
    f->filling = cores_left(f) / f->wants_core;
    f->saturated_workers = whole_workers(f->filling);
    f->scales = scales(f);
    double useful = f->saturated_workers, needed = needed_workers(f);
    if (needed > 0)
        useful = fmin(useful, needed);
    useful = fmin(useful, most_workers(f));
    if (!f->scales || shared || f->queues_most ||
        (f->throttled >= QUOTA_SPENT && f->wants_core >= MOSTLY))
        useful = fmin(useful, f->workers);
    f->useful_workers = useful;
}
