/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is tried next, and what comes of it.
 *
 *   it waits      for depth   (workers have time, and yet)     a rule
 *                 for the bus                                  say so
 *                 for reads                                    more reads
 *                 for work    (workers have no time)           the plan
 *                 for a reason the model does not know         a step, up, down
 *   it is fed     with more workers than the plan has          the plan
 *
 * Depth is never tried: more batches ahead cannot delay one of them, so depth
 * grows by rule within the memory, and never shrinks but for memory. Reads and
 * workers are: more can cost more than they bring. What is tried needs credit,
 * what it costs is taken from it while it costs, and each failure doubles the
 * time until the next.
 */
#include "profiler/tuner/tuner_own.h"

#include <stdio.h>

#define LITTLE_SPARE 0.05 /* of the workers' time: they are the bottleneck */
#define BUS_FULL     0.85 /* of the time something is copied */

/* Reproducible, and different for loaders that differ in anything: two that
 * share cores should not try things at the same moments for ever. */
static double jitter(struct fdl_tuner *t)
{
    t->noise = t->noise * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (double)(t->noise >> 40) / (double)(1 << 24);
}

void fdl_tuner_back_off(struct fdl_tuner *t)
{
    if (RULE(BACKOFF))
        t->backoff = fmin(2 * t->backoff, BACKOFF_MOST);
    t->held = 0;
    t->due = RULE(JITTER) ? t->backoff * (0.75 + 0.5 * jitter(t)) : t->backoff;
}

double fdl_tuner_credit(const struct fdl_tuner *t)
{
    double steps = CREDIT_START + CREDIT_CHANGE * (double)t->changes;
    return steps * t->best.g + CREDIT_RATE * t->elapsed_ns - t->spent_ns;
}

/* What costs more than it brings is paid from credit. */
static bool affords(const struct fdl_tuner *t)
{
    return fdl_tuner_credit(t) > CREDIT_TRIAL * t->best.g || !RULE(CREDIT);
}

static bool due(const struct fdl_tuner *t)
{
    return (double)t->held >= t->due && affords(t);
}

/* More depth where the target needs it. */
static void along(const struct fdl_tuner *t, struct fdl_knobs *to)
{
    to->depth = FDL_MAX(t->knobs.depth, fdl_tuner_depth_for(t, &t->best, to));
    fdl_tuner_fit(&t->limits, to);
}

static bool already(const struct fdl_tuner *t, const struct fdl_knobs *to)
{
    return fdl_knobs_equal(to, &t->knobs) ||
           (t->has_seen && fdl_knobs_equal(to, &t->seen));
}

/* The next depth where waits vary, and where more reads are tried: a slow one
 * among them must not stop the others. */
static uint32_t deeper(const struct fdl_tuner *t)
{
    return 2 * t->knobs.depth + 2;
}

static void note_along(struct fdl_tuner *t, const struct fdl_knobs *to,
                       enum fdl_knob tried)
{
    bool rest = to->depth >
                FDL_MAX(t->knobs.depth, fdl_tuner_depth_for(t, &t->best, to));
    if (tried == FDL_KNOB_IO_DEPTH && to->depth == deeper(t))
        fdl_tuner_note(t, FDL_KNOB_DEPTH, to, FDL_REASON_TAIL,
                       "one slow read must not stop the others");
    else if (rest && tried != FDL_KNOB_DEPTH)
        fdl_tuner_note(t, FDL_KNOB_DEPTH, to, FDL_REASON_MEMORY,
                       "what is left of the memory");
    else if (tried != FDL_KNOB_DEPTH && to->depth != t->knobs.depth)
        fdl_tuner_note(
            t, FDL_KNOB_DEPTH, to,
            to->depth > t->knobs.depth ? FDL_REASON_TAIL : FDL_REASON_MEMORY,
            "the slowest samples take %.1f ms, a batch %.1f ms with %u "
            "workers, a step %.1f ms",
            (double)t->last.sample_tail_ns / 1e6,
            t->best.work / 1e6 / to->workers, to->workers, t->best.g / 1e6);
    if (tried != FDL_KNOB_IO_DEPTH && to->io_depth != t->knobs.io_depth)
        fdl_tuner_note(t, FDL_KNOB_IO_DEPTH, to,
                       to->io_depth > t->knobs.io_depth ? FDL_REASON_READS
                                                        : FDL_REASON_MEMORY,
                       "a read takes %.1f ms and a step needs %.1f of them",
                       t->best.read_ns / 1e6, t->best.reads);
}

/* What the utilisation law says of n workers against those in force. */
static double predicted(const struct fdl_tuner *t, uint32_t n)
{
    const struct fdl_tuner_estimate *e = &t->best;
    /* It is not the workers that set the pace: the law says nothing. */
    if (!(e->work > 0) || !(e->rate > 0) || e->starved >= 0.2 || e->fetch > 0.5)
        return NAN;
    double most = e->g > 0 ? 1 / e->g : INFINITY;
    if (isfinite(fdl_tuner_lock_room(e)))
        most = fmin(most, e->rate); /* it is full */
    double had = FDL_MIN((double)n, fdl_tuner_saturation(t, e)) / e->work;
    double gain = fmin(had, most) / e->rate - 1;
    return n < t->knobs.workers ? fmin(gain, 0) : gain;
}

static bool try(struct fdl_tuner *t, enum fdl_knob knob,
                const struct fdl_knobs *to, bool up,
                enum fdl_decision_reason reason, double gain, const char *why)
{
    t->trial = (struct fdl_tuner_trial){.on = true,
                                        .up = up,
                                        .knob = knob,
                                        .before = t->knobs,
                                        .after = *to,
                                        .reference = t->best,
                                        .batch = t->batch,
                                        .now_ns = t->now_ns,
                                        .decision = t->n_decisions};
    t->asked_from = t->n_decisions;
    struct fdl_decision *d = fdl_tuner_note(t, knob, to, reason, "%s", why);
    d->outcome = FDL_OUTCOME_PENDING;
    d->predicted = gain;
    note_along(t, to, knob);
    ++t->trials;
    t->replan = false;
    fdl_tuner_ask(t, to, FDL_TUNER_TRIAL);
    return true;
}

/* The utilisation law, in words. */
static void say_the_law(const struct fdl_tuner *t,
                        const struct fdl_tuner_estimate *e,
                        char why[FDL_DECISION_WHY_BYTES])
{
    double most = fmin(fdl_tuner_saturation(t, e), t->limits.workers_max);
    double busy = e->g > 0 ? e->work / e->g : INFINITY;
    const char *lock =
        isfinite(fdl_tuner_lock_room(e)) ? " beside a shared lock" : "";
    char wanted[64];
    if (busy > most)
        snprintf(wanted, sizeof(wanted),
                 "more than %.0f workers%s would be busy", most, lock);
    else
        snprintf(wanted, sizeof(wanted), "%.1f workers are busy", busy);
    snprintf(why, FDL_DECISION_WHY_BYTES,
             "a batch costs %.1f ms of worker time and one is taken every %.1f "
             "ms: %s; waiting %.1f %% of the time",
             e->work / 1e6, e->g / 1e6, wanted, 100 * e->stall);
}

static bool try_workers(struct fdl_tuner *t, uint32_t n,
                        enum fdl_decision_reason reason)
{
    const struct fdl_tuner_estimate *e = &t->best;
    struct fdl_knobs to = t->planned;
    to.workers = n;
    along(t, &to);
    bool model = reason == FDL_REASON_PLAN_UP ||
                 reason == FDL_REASON_PLAN_DOWN || reason == FDL_REASON_SHRINK;
    if (to.workers == t->knobs.workers || already(t, &to))
        return false;
    bool up = to.workers > t->knobs.workers;
    char why[FDL_DECISION_WHY_BYTES];
    switch (reason) {
    case FDL_REASON_PLAN_UP:
    case FDL_REASON_PLAN_DOWN:
    case FDL_REASON_SHRINK:
        say_the_law(t, e, why);
        break;
    default:
        snprintf(
            why, sizeof(why),
            "the consumer waits %.1f %% of the time and the model does not "
            "explain it: trying %s workers",
            100 * e->stall, up ? "more" : "fewer");
    }
    return try(t, FDL_KNOB_WORKERS, &to, up, reason,
               model ? predicted(t, to.workers) : NAN, why);
}

static void note_variance(struct fdl_tuner *t, const struct fdl_knobs *to)
{
    const struct fdl_tuner_estimate *e = &t->best;
    if (e->blocked >= LITTLE_SPARE)
        fdl_tuner_note(t, FDL_KNOB_DEPTH, to, FDL_REASON_VARIANCE,
                       "workers have time to spare (%.0f %%), and yet the "
                       "consumer waits %.1f %% of the time",
                       100 * e->blocked, 100 * e->stall);
    else
        fdl_tuner_note(t, FDL_KNOB_DEPTH, to, FDL_REASON_VARIANCE,
                       "batches wait for slow reads, with %.1f of %u reads in "
                       "flight; the consumer waits %.1f %% of the time",
                       e->read_ns * e->reads * e->rate, t->knobs.io_depth,
                       100 * e->stall);
}

/* Depth by rule. */
static bool deepen(struct fdl_tuner *t, bool variance)
{
    struct fdl_knobs to = t->knobs;
    uint32_t tail = fdl_tuner_depth_for(t, &t->best, &to);
    uint32_t grown = deeper(t);
    to.depth = FDL_MAX(tail, variance ? grown : to.depth);
    fdl_tuner_fit(&t->limits, &to);
    if (to.depth > t->knobs.depth &&
        !(variance && grown > tail ? RULE(VARIANCE) : RULE(TAIL)))
        return false;
    if (to.depth <= t->knobs.depth || to.workers != t->knobs.workers ||
        to.io_depth != t->knobs.io_depth || already(t, &to))
        return false;
    t->asked_from = t->n_decisions;
    if (tail > t->knobs.depth || !variance)
        note_along(t, &to, FDL_KNOB_WORKERS);
    else
        note_variance(t, &to);
    fdl_tuner_ask(t, &to, FDL_TUNER_HOLD);
    return true;
}

bool fdl_tuner_bridge(struct fdl_tuner *t)
{
    struct fdl_knobs to = t->knobs;
    to.depth = FDL_MAX(to.depth, fdl_tuner_long_depth(t));
    fdl_tuner_fit(&t->limits, &to);
    if (to.depth <= t->knobs.depth || to.workers != t->knobs.workers ||
        to.io_depth != t->knobs.io_depth || already(t, &to))
        return false;
    if (!RULE(BRIDGE))
        return false;
    t->asked_from = t->n_decisions;
    fdl_tuner_note(t, FDL_KNOB_DEPTH, &to, FDL_REASON_TAIL,
                   "now and then the consumer waits for up to %.2g s, %.1f %% "
                   "of the time in all: batches ahead cover that",
                   t->run.worst_ns / 1e9, 100 * fdl_tuner_long_stall(t));
    fdl_tuner_ask(t, &to, FDL_TUNER_HOLD);
    return true;
}

/* By Little's law, as long as a read takes as long as now: up to what the
 * consumer or the workers can take. */
static double of_reads(const struct fdl_tuner *t, uint32_t reads)
{
    const struct fdl_tuner_estimate *e = &t->best;
    double rate = e->rate * reads / t->knobs.io_depth;
    if (e->g > 0)
        rate = fmin(rate, 1 / e->g);
    if (e->work > 0)
        rate = fmin(rate, t->knobs.workers / e->work);
    return e->rate > 0 ? fmax(rate / e->rate - 1, 0) : NAN;
}

static bool more_reads(struct fdl_tuner *t)
{
    struct fdl_knobs to = t->knobs;
    uint32_t most = t->limits.io_depth_max;
    if (to.io_depth >= most) {
        t->storage_limit = true;
        return false;
    }
    to.io_depth = fdl_tuner_clamp(
        fmax((double)t->planned.io_depth, 2.0 * to.io_depth + 2), to.io_depth,
        most);
    to.depth = FDL_MAX(to.depth, fdl_tuner_depth_for(t, &t->best, &to));
    if (t->limits.memory_bytes &&
        fdl_knobs_memory(&t->limits, &to) > t->limits.memory_bytes &&
        RULE(READS_MEMORY))
        to = t->planned; /* of the memory, what each part needs */
    else if (RULE(READS_DEEP))
        to.depth = FDL_MAX(to.depth, deeper(t));
    fdl_tuner_fit(&t->limits, &to);
    if (to.io_depth <= t->knobs.io_depth || already(t, &to))
        return false;
    char why[FDL_DECISION_WHY_BYTES];
    snprintf(why, sizeof(why),
             "workers wait for bytes %.0f %% of their time; a read takes %.1f "
             "ms and a step needs %.1f of them",
             100 * t->best.starved, t->best.read_ns / 1e6, t->best.reads);
    return try(t, FDL_KNOB_IO_DEPTH, &to, true, FDL_REASON_READS,
               of_reads(t, to.io_depth), why);
}

/* Where the memory is full: what one part gives to another. The model divides
 * it by mean times; what reads with a heavy tail and workers that take turns
 * need of it, only a trial can tell. */
static bool divide(struct fdl_tuner *t)
{
    for (unsigned i = 0; i < FDL_TUNER_SPLITS; ++i) {
        enum fdl_tuner_split s = (enum fdl_tuner_split)i;
        struct fdl_knobs to;
        if ((t->splits_tried & 1u << i) || !fdl_tuner_split(t, s, &to) ||
            already(t, &to) || !RULE(DIVIDE))
            continue;
        bool workers = to.workers != t->knobs.workers;
        bool up =
            to.workers > t->knobs.workers || to.io_depth > t->knobs.io_depth;
        enum fdl_knob knob = workers ? FDL_KNOB_WORKERS : FDL_KNOB_IO_DEPTH;
        char why[FDL_DECISION_WHY_BYTES];
        snprintf(why, sizeof(why),
                 "the memory is full and the consumer waits %.1f %%: trying %u "
                 "workers, %u batches and %u reads within it",
                 100 * t->best.stall, to.workers, to.depth, to.io_depth);
        if (!try(t, knob, &to, to.workers >= t->knobs.workers,
                 up ? FDL_REASON_EXPLORE_UP : FDL_REASON_EXPLORE_DOWN, NAN,
                 why))
            return false;
        t->splits_tried |= 1u << i;
        t->trial.divides = true;
        return true;
    }
    return false;
}

/* Up to where steps go. The cores need not be full with as many workers as fill
 * them on average, for work sleeps when it will, and of cores that the consumer
 * wants as well more workers get more: a quarter beyond them, if nobody else
 * uses them. */
static double most_of_steps(const struct fdl_tuner *t)
{
    double most = fdl_tuner_room(t, &t->best);
    double full = fdl_tuner_saturation(t, &t->best);
    if (most >= full && !t->limits.shared &&
        !isfinite(fdl_tuner_lock_room(&t->best)) && RULE(BEYOND))
        most = full + fmax(1, floor(full / 4));
    return fmin(most, (double)t->limits.workers_max);
}

/* A step of a quarter where the model has no word, up and down in turn. What
 * was tried under these conditions is not tried again. */
static bool explore(struct fdl_tuner *t)
{
    uint32_t n = t->knobs.workers, step = FDL_MAX(1u, n / 4);
    double most = most_of_steps(t);
    for (unsigned i = 0; i < 2; ++i) {
        bool up = t->turn++ % 2 == 0;
        uint32_t to = up ? n + step : n > step ? n - step : 1;
        if (up && (double)to > most)
            to = most > (double)n ? (uint32_t)most : n;
        /* While others hold the cores fewer look as good, and are missed when
         * they leave. */
        bool later = !up && fdl_tuner_crowded(t, &t->best) && RULE(NOT_CROWDED);
        if (to == n || to < t->limits.workers_min || later ||
            fdl_tuner_arm_useless(t, to) || !RULE(EXPLORE))
            continue;
        return try_workers(
            t, to, up ? FDL_REASON_EXPLORE_UP : FDL_REASON_EXPLORE_DOWN);
    }
    fdl_tuner_back_off(t);
    return false;
}

/* A stream waits for a copy by itself, so the consumer does not; what it waits
 * for is a slot that has landed. */
static bool bus_is_full(const struct fdl_tuner *t)
{
    return t->copies.batch_ns * t->best.rate > BUS_FULL;
}

/* Nor for its kernels that decode; no worker makes those faster. */
static bool device_is_full(const struct fdl_tuner *t)
{
    return t->copies.make_ns * t->best.rate > BUS_FULL;
}

static bool starving(struct fdl_tuner *t)
{
    const struct fdl_tuner_estimate *e = &t->best;
    bool worked = e->blocked < LITTLE_SPARE && e->starved < 0.2;
    bool fetching = e->starved >= 0.2 || e->fetch > 0.5;
    bool little =
        fetching && e->reads > 0 && t->planned.io_depth > t->knobs.io_depth;
    bool making = device_is_full(t);
    bool crossing = e->transfer > 0.5 || bus_is_full(t) || making;
    t->device_limit |= making;
    t->transfer_limit |= crossing && !making;
    bool spare = e->blocked >= LITTLE_SPARE;
    /* What the last of it brought is not yet in the smoothed stall. */
    bool waits_still = fdl_tuner_waits(t, fdl_tuner_long_stall(t));
    if (spare && (waits_still || !RULE(WAITS_STILL)) && !crossing &&
        deepen(t, true))
        return true;
    bool now = t->replan || due(t);
    uint32_t n = t->planned.workers;
    /* Before depth, which goes along: what is far off cannot wait for it. */
    if (now && n > t->knobs.workers && worked && !making &&
        !fdl_tuner_arm_useless(t, n) && try_workers(t, n, FDL_REASON_PLAN_UP))
        return true;
    if (now && little && !t->storage_limit && RULE(READS_FIRST) &&
        more_reads(t))
        return true;
    if (deepen(t, false))
        return true;
    if (!now || !affords(t))
        return false;
    bool reads = fetching && e->reads > 0;
    if (reads && !t->storage_limit && more_reads(t))
        return true;
    bool loses = predicted(t, n) < -DELTA && RULE(LOSES);
    /* A full memory is planned by how reads were doing just then; one worker
     * fewer is among its divisions, which have to do better. */
    bool full = fdl_tuner_full(t) && RULE(NOT_FULL);
    if (n < t->knobs.workers && RULE(PLAN_DOWN) && !loses && !full &&
        !fdl_tuner_arm_useless(t, n))
        return try_workers(t, n, FDL_REASON_PLAN_DOWN);
    if (!due(t) || crossing)
        return false;
    return divide(t) || (worked && explore(t));
}

/* Down to the plan, once its pace is known well: nothing hurries. */
static bool fed(struct fdl_tuner *t)
{
    uint32_t to = t->planned.workers;
    bool known = t->best.error < PACE_ERROR ||
                 t->best.batches >= PACE_BATCHES || !RULE(FED_PACE);
    if (deepen(t, false))
        return true;
    if (fdl_tuner_job_loses(t))
        return false; /* others wait, and it may have to make up for that */
    return due(t) && known && to < t->knobs.workers &&
           try_workers(t, to, FDL_REASON_SHRINK);
}

/* More workers than fill our part of cores that others share: down by rule, for
 * a trial would call it a loss that they get theirs. */
static bool give_up_what_is_theirs(struct fdl_tuner *t)
{
    struct fdl_knobs to = t->knobs;
    uint32_t most = fdl_tuner_most_of_share(t, &t->best);
    if (to.workers <= most || !RULE(GIVE_UP))
        return false;
    to.workers = fdl_tuner_clamp(fdl_tuner_saturation(t, &t->best),
                                 t->limits.workers_min, to.workers);
    fdl_tuner_fit(&t->limits, &to);
    if (to.workers >= t->knobs.workers || already(t, &to))
        return false;
    t->asked_from = t->n_decisions;
    fdl_tuner_note(t, FDL_KNOB_WORKERS, &to, FDL_REASON_LIMIT,
                   "other loaders share the cores: %.2g are this loader's, and "
                   "a worker uses %.2g",
                   t->limits.cores, t->best.share);
    fdl_tuner_ask(t, &to, FDL_TUNER_MEASURE);
    return true;
}

/* Of those that wait for a lock more than keep it taken: down by rule, for they
 * bring nothing, and a trial would be decided by chance. */
static bool send_the_queue_home(struct fdl_tuner *t)
{
    struct fdl_knobs to = t->knobs;
    double room = fdl_tuner_lock_room(&t->best);
    if (t->best.stall <= t->limits.target || to.workers <= room + 1 ||
        !RULE(QUEUE_HOME))
        return false;
    to.workers = fdl_tuner_clamp(room, t->limits.workers_min, to.workers);
    fdl_tuner_fit(&t->limits, &to);
    if (to.workers >= t->knobs.workers || already(t, &to))
        return false;
    t->asked_from = t->n_decisions;
    fdl_tuner_note(t, FDL_KNOB_WORKERS, &to, FDL_REASON_PLAN_DOWN,
                   "on average %.1f of %u workers wait for a shared lock; %u "
                   "keep it busy",
                   t->best.locked, t->knobs.workers, to.workers);
    fdl_tuner_ask(t, &to, FDL_TUNER_MEASURE);
    return true;
}

bool fdl_tuner_next(struct fdl_tuner *t)
{
    if (!t->best.valid)
        return false;
    fdl_tuner_job_pace(t);
    fdl_tuner_plan(t, &t->best, &t->planned);
    if (give_up_what_is_theirs(t) || send_the_queue_home(t))
        return true;
    bool moved = fdl_tuner_follow(t) || fdl_tuner_bridge(t) ||
                 (fdl_tuner_waits(t, t->best.stall) ? starving(t) : fed(t));
    if (!moved)
        t->replan = false;
    return moved;
}

static void remember_more(struct fdl_tuner *t, bool kept, double gain,
                          double error)
{
    if (t->trial.knob != FDL_KNOB_WORKERS || !t->trial.up)
        return;
    t->more_workers = (struct fdl_tuner_more){
        .judged = true,
        .kept = kept,
        .before = t->trial.before.workers,
        .after = t->trial.after.workers,
        .gain = gain,
        .error = error,
    };
}

static void settle_trial(struct fdl_tuner *t, enum fdl_decision_outcome outcome,
                         const struct fdl_tuner_estimate *e, double gain,
                         double error)
{
    struct fdl_decision *d = fdl_tuner_noted(t, t->trial.decision);
    t->trial.on = false;
    if (e) {
        t->abandoned = 0;
        remember_more(t, outcome == FDL_OUTCOME_KEPT, gain, error);
    }
    if (!d)
        return;
    d->outcome = outcome;
    d->judged_ns = t->last.now_ns;
    if (e) {
        d->measured = gain;
        d->error = error;
        d->stall_after = e->stall;
    }
}

static bool more_reads_tried(const struct fdl_tuner *t)
{
    return t->trial.knob == FDL_KNOB_IO_DEPTH &&
           t->trial.after.io_depth > t->trial.before.io_depth;
}

/* Of one that was fed, and is with fewer. */
static void keep_pace(struct fdl_tuner *t, const struct fdl_tuner_estimate *e)
{
    double before = fmax(t->trial.reference.rate, fdl_tuner_fed_rate(t));
    bool fed = fmax(t->trial.reference.stall, e->stall) <= fdl_tuner_target(t);
    if (fed && !t->trial.up)
        t->fed = (struct fdl_tuner_arm){before, t->era, t->era_windows};
    else if (t->trial.knob == FDL_KNOB_WORKERS)
        t->fed = (struct fdl_tuner_arm){0};
}

static void keep(struct fdl_tuner *t, const struct fdl_tuner_estimate *e)
{
    ++t->kept;
    keep_pace(t, e);
    t->best = *e;
    t->moved_batch = t->trial.batch;
    t->moved_ns = t->trial.now_ns;
    t->backoff = t->due = BACKOFF_LEAST;
    t->replan = true;
    t->held = t->at_arm = 0;
    t->converged = false;
    t->splits_tried = 0;
    /* If fewer reads did better, more are no help. */
    if (t->trial.knob == FDL_KNOB_IO_DEPTH) {
        t->storage_limit = false;
        t->reads_failed = !more_reads_tried(t) && RULE(FEWER_READS);
    }
    fdl_tuner_change_begin(t, e);
}

/* Nothing is learned for good from what could not tell. */
static bool could_tell(double error)
{
    return error < CLEAR || !RULE(CLEAR);
}

static void learn_reads(struct fdl_tuner *t, double error)
{
    if (!more_reads_tried(t) || !could_tell(error) || !RULE(LEARN_READS))
        return;
    t->storage_limit = t->reads_failed = true;
    t->replan = true;
}

/* More workers brought nothing, had cores and did not use them: they wait for
 * something that they share and nobody told us of. Of a lock that is announced
 * the queue says at any time how many it has room for. Workers that queue for a
 * core had none. */
static void learn_scaling(struct fdl_tuner *t,
                          const struct fdl_tuner_estimate *e, double error)
{
    const struct fdl_tuner_estimate *ref = &t->trial.reference;
    bool idle = e->queued < 0.1 &&
                e->cores_used < 0.8 * fdl_tuner_cores(t, e) &&
                e->cores_used < 1.2 * ref->cores_used;
    bool announced = isfinite(fdl_tuner_lock_room(ref));
    if (t->trial.up && idle && could_tell(error) && ref->starved < 0.2 &&
        !announced && RULE(FLAT))
        t->flat = (struct fdl_tuner_flat){t->trial.before.workers, ref->work};
}

static void learn(struct fdl_tuner *t, const struct fdl_tuner_estimate *e,
                  double error)
{
    switch (t->trial.knob) {
    case FDL_KNOB_IO_DEPTH:
        learn_reads(t, error);
        break;
    case FDL_KNOB_WORKERS:
        learn_scaling(t, e, error);
        break;
    default:
        break;
    }
}

static void take_back(struct fdl_tuner *t, const struct fdl_tuner_estimate *e,
                      double error)
{
    ++t->rolled_back;
    learn(t, e, error);
    struct fdl_knobs to = t->trial.before;
    bool slower = t->trial.knob == FDL_KNOB_IO_DEPTH &&
                  e->read_ns > 1.5 * t->trial.reference.read_ns;
    t->asked_from = t->n_decisions;
    fdl_tuner_note(
        t, t->trial.knob, &to,
        slower ? FDL_REASON_LATENCY : FDL_REASON_ROLLBACK,
        "from %.2f batches/s and %.1f %% waiting to %.2f and %.1f %%",
        1e9 * t->trial.reference.rate, 100 * t->trial.reference.stall,
        1e9 * e->rate, 100 * e->stall);
    fdl_tuner_back_off(t);
    t->rolling_back = true;
    fdl_tuner_ask(t, &to, FDL_TUNER_HOLD);
}

void fdl_tuner_charge(struct fdl_tuner *t, const struct fdl_tuner_sums *s)
{
    double lost = s->step_ns - s->batches / t->trial.reference.rate;
    if (isfinite(lost))
        t->lost_ns += lost;
}

void fdl_tuner_charge_done(struct fdl_tuner *t)
{
    if (t->lost_ns > 0)
        t->spent_ns += t->lost_ns;
    t->lost_ns = 0;
}

/* Until a trial that cannot tell is given up. */
static unsigned most_blocks(const struct fdl_tuner *t, double gain,
                            double error)
{
    if (t->trial.divides && fabs(gain) < 2 * error && RULE(DIVIDE_BLOCKS))
        return DIVIDE_BLOCKS;
    if (t->trial.knob == FDL_KNOB_IO_DEPTH && RULE(READ_BLOCKS))
        return READ_BLOCKS;
    return t->trial.up ? UP_BLOCKS : DOWN_BLOCKS;
}

bool fdl_tuner_trial_step(struct fdl_tuner *t)
{
    struct fdl_tuner_estimate e;
    double gain, error;
    bool up = t->trial.up;
    fdl_tuner_estimate_of(t, &t->window, &e);
    enum fdl_tuner_verdict v =
        fdl_tuner_compare(&t->trial.reference, &e, &gain, &error);
    bool feeds = !up && e.stall <= fdl_tuner_target(t);
    if (feeds)
        v = fdl_tuner_still_fed(t, &e);
    if (v == FDL_VERDICT_OPEN &&
        (feeds || e.blocks < most_blocks(t, gain, error)))
        return false;
    fdl_tuner_charge_done(t);
    if (t->trial.knob == FDL_KNOB_WORKERS)
        fdl_tuner_arm_note(t, t->knobs.workers, e.rate, 0.5);
    bool ok = fdl_tuner_acceptable(t, &t->trial.reference, &e, v, up) ||
              !RULE(VERIFY);
    settle_trial(t, ok ? FDL_OUTCOME_KEPT : FDL_OUTCOME_ROLLED_BACK, &e, gain,
                 error);
    t->latest = e;
    if (ok)
        keep(t, &e);
    else
        take_back(t, &e, error);
    return true;
}

static void undo(struct fdl_tuner *t, struct fdl_knobs *back)
{
    enum fdl_knob knob = t->trial.knob;
    fdl_tuner_knob_set(back, knob, fdl_knob_get(&t->trial.before, knob));
    if (!fdl_knobs_equal(back, &t->knobs))
        fdl_tuner_note(t, knob, back, FDL_REASON_ROLLBACK,
                       "conditions changed before it could be judged");
}

void fdl_tuner_trial_abandon(struct fdl_tuner *t, struct fdl_knobs *back)
{
    *back = t->rolling_back ? t->want : t->knobs;
    t->rolling_back = false;
    if (!t->trial.on)
        return;
    undo(t, back);
    fdl_tuner_charge_done(t);
    settle_trial(t, FDL_OUTCOME_ABANDONED, NULL, 0, 0);
    ++t->abandoned;
}
