/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of the tuner.
 *
 *   WARMUP ---> MEASURE ---> HOLD <---------- kept ----+
 *                  ^          |  \                     |
 *                  |          |   something to try     |
 *          guard, limits,     |          \             |
 *          somebody set it    |        SETTLE ---> TRIAL
 *                  |          |          ^             |
 *                  +--SETTLE--+          +-taken back--+
 *                                     (SETTLE ---> HOLD)
 *
 * Everything here goes from one reading to the next; nothing waits. FROZEN may
 * come over any state: the consumer is away (evaluation, a checkpoint), nothing
 * is learned, and what was under way goes on behind it.
 */
#include "profiler/tuner/tuner_own.h"

#include <stdlib.h>

#define WARM_BATCHES 4.0
#define SOON_NS      1e9
#define COPIES       8.0 /* to take a mean of */
#define HURRY_NS     2e9
#define FAR_OFF      0.2 /* a stall that needs no exact measurement */

/* What the latest window counts of what is known. */
#define LATEST         0.3
#define LATEST_OF_PACE 0.08

struct fdl_tuner *fdl_tuner_create(const struct fdl_tuner_limits *limits,
                                   const struct fdl_knobs *start, bool warm)
{
    struct fdl_tuner *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->limits = *limits;
    fdl_tuner_sane_limits(&t->limits);
    t->knobs = *start;
    fdl_tuner_fit(&t->limits, &t->knobs);
    t->want = t->planned = t->start = t->knobs;
    t->warm = warm;
    t->era = 1;
    t->backoff = t->due = BACKOFF_LEAST;
    t->noise = UINT64_C(0x9e3779b97f4a7c15) * (start->workers + 1u);
    for (unsigned i = 0; i < 3; i++)
        if (!fdl_tuner_rule(FDL_RULE_NOISE_0 + i))
            t->noise ^= (uint64_t)0x5bd1e995 << i;
    return t;
}

void fdl_tuner_destroy(struct fdl_tuner *t)
{
    free(t);
}

/* New conditions: what was learned of settings is of old ones. */
static void new_era(struct fdl_tuner *t)
{
    ++t->era;
    ++t->changes;
    t->backoff = t->due = BACKOFF_LEAST;
    t->era_windows = 0;
    t->held = t->at_arm = 0;
    t->storage_limit = t->reads_failed = false;
    t->transfer_limit = t->device_limit = false;
    t->splits_tried = 0;
    t->has_seen = false;
    t->converged = false;
    t->replan = true;
}

/* A depth that may not grow as far, as batches take more memory than before, is
 * no other condition unless it is in force. */
static bool same_limits(const struct fdl_tuner_limits *a,
                        const struct fdl_tuner_limits *b)
{
    return a->workers_min == b->workers_min &&
           a->workers_max == b->workers_max && a->depth_min == b->depth_min &&
           a->io_depth_min == b->io_depth_min &&
           a->io_depth_max == b->io_depth_max && a->target == b->target;
}

static void note_limits(struct fdl_tuner *t, const struct fdl_knobs *from,
                        const struct fdl_knobs *to, bool bounds)
{
    const struct fdl_tuner_limits *l = &t->limits;
    for (int k = 0; k < FDL_KNOBS; ++k) {
        enum fdl_knob knob = (enum fdl_knob)k;
        if (fdl_knob_get(to, knob) == fdl_knob_get(from, knob))
            continue;
        fdl_tuner_note(
            t, knob, to, bounds ? FDL_REASON_LIMIT : FDL_REASON_MEMORY,
            "%.1f cores, %u to %u workers, %.0f MB", l->cores, l->workers_min,
            l->workers_max, (double)l->memory_bytes / 1e6);
    }
}

/* A trial that is interrupted is undone. */
static void begin_anew(struct fdl_tuner *t, bool conditions, bool bounds)
{
    struct fdl_knobs back, to;
    t->asked_from = t->n_decisions;
    fdl_tuner_trial_abandon(t, &back);
    if (conditions)
        new_era(t);
    to = back;
    fdl_tuner_fit(&t->limits, &to);
    note_limits(t, &back, &to, bounds);
    enum fdl_tuner_state was = t->state;
    fdl_tuner_ask(t, &to, FDL_TUNER_MEASURE);
    if (was == FDL_TUNER_WARMUP || was == FDL_TUNER_FROZEN)
        t->state = was;
    if (was == FDL_TUNER_FROZEN)
        t->thaw = FDL_TUNER_SETTLE;
}

void fdl_tuner_set_limits(struct fdl_tuner *t,
                          const struct fdl_tuner_limits *limits)
{
    struct fdl_tuner_limits l = *limits, old = t->limits;
    fdl_tuner_sane_limits(&l);
    bool bounds = !same_limits(&l, &old);
    bool cores = fabs(l.cores - old.cores) > 0.02 * old.cores;
    t->limits = l;
    struct fdl_knobs to = t->want;
    fdl_tuner_fit(&l, &to);
    if (bounds || cores || !fdl_knobs_equal(&to, &t->want))
        begin_anew(t, cores || bounds, bounds);
}

/* ---- From reading to reading -------------------------------------------- */

/* Looks what to do with what was just measured of the setting in force. */
static void decide(struct fdl_tuner *t)
{
    fdl_tuner_enter(t, FDL_TUNER_HOLD);
    if (fdl_tuner_next(t))
        return;
    if (!t->converged) {
        t->converged = true;
        t->converged_batch = t->moved_batch;
        t->converged_ns = t->moved_ns;
    }
}

static void warm_up(struct fdl_tuner *t, const struct fdl_tuner_sums *s)
{
    struct fdl_tuner_sums *w = &t->window.total;
    if ((double)t->batch <= s->batches) /* until the first one came */
        return;
    fdl_tuner_add(w, s);
    /* There is no stock to fill where the consumer waits anyway. */
    bool waits = w->batches >= WARM_BATCHES && w->wait_ns > 0.1 * w->step_ns &&
                 RULE(WARM_EARLY);
    if (waits || w->batches >= fmax(WARM_BATCHES, (double)t->knobs.depth))
        fdl_tuner_enter(t, FDL_TUNER_MEASURE);
}

static bool measured(const struct fdl_tuner *t,
                     const struct fdl_tuner_estimate *e)
{
    struct fdl_knobs plan;
    if (t->warm && e->stall <= t->limits.target)
        return e->blocks >= 3;
    fdl_tuner_plan(t, e, &plan);
    /* Far off: the plan cannot be wrong by that much. */
    if (e->stall > FAR_OFF && e->blocked < 0.05 &&
        plan.workers >= 1.3 * t->knobs.workers && RULE(JUMP_AT_ONCE))
        return true;
    /* More reads cost little and are tried in any case; slow batches make long
     * blocks. */
    bool reads = e->starved > 0.2 && plan.io_depth > t->knobs.io_depth;
    bool soon = reads ? e->blocks >= 3 || e->wall_ns >= SOON_NS
                      : e->blocks >= 3 && e->wall_ns >= HURRY_NS;
    if (e->stall > FAR_OFF && soon && RULE(SOON))
        return true;
    return (e->blocks >= 6 && e->error < 0.01) || e->blocks >= MEASURE_BLOCKS;
}

static void measure(struct fdl_tuner *t)
{
    struct fdl_tuner_estimate e;
    fdl_tuner_estimate_of(t, &t->window, &e);
    if (!measured(t, &e))
        return;
    t->best = t->latest = e;
    fdl_tuner_arm_note(t, t->knobs.workers, e.rate, 0.5);
    fdl_tuner_change_begin(t, &e);
    t->replan = t->abandoned < 2;
    decide(t);
}

static bool go_back(struct fdl_tuner *t)
{
    struct fdl_knobs to = t->knobs;
    uint32_t n = fdl_tuner_arm_better(t);
    if (n == 0)
        return false;
    to.workers = n;
    fdl_tuner_fit(&t->limits, &to);
    if (to.workers != n || (t->has_seen && fdl_knobs_equal(&to, &t->seen)))
        return false;
    if (!RULE(GUARD))
        return false;
    ++t->guarded;
    fdl_tuner_back_off(t);
    t->asked_from = t->n_decisions;
    fdl_tuner_note(t, FDL_KNOB_WORKERS, &to, FDL_REASON_GUARD,
                   "%u workers delivered %.2f batches/s, %u deliver %.2f", n,
                   1e9 * t->arms[n].rate, t->knobs.workers,
                   1e9 * t->arms[t->knobs.workers].rate);
    t->arms[n].rate *= 0.99;
    fdl_tuner_ask(t, &to, FDL_TUNER_MEASURE);
    return true;
}

/* It was fed and starves: two blocks are enough to know. */
static bool starves_suddenly(struct fdl_tuner *t)
{
    struct fdl_tuner_window one;
    struct fdl_tuner_estimate e;
    memset(&one, 0, sizeof(one));
    fdl_tuner_window_add(&one, &t->window.last);
    fdl_tuner_estimate_of(t, &one, &e);
    bool lacks = e.blocked < 0.05 && (e.busy > 0.9 || e.starved > 0.3);
    if (t->best.stall > t->limits.target || !e.valid || !lacks ||
        e.stall < fmax(0.1, 5 * t->limits.target)) {
        t->starving_blocks = 0;
        return false;
    }
    if (!RULE(SUDDEN))
        return false;
    if (++t->starving_blocks == 1)
        t->window = one;
    return t->starving_blocks >= 2;
}

/* What a consumer that is fed takes is its own pace, and known the better the
 * longer it is watched. */
static double weight_of_rate(const struct fdl_tuner *t,
                             const struct fdl_tuner_estimate *e)
{
    double all = (double)t->best.blocks + e->blocks;
    if (fmax(t->best.stall, e->stall) > t->limits.target || !RULE(FED_PACE))
        return LATEST;
    return fmin(fmax(e->blocks / all, LATEST_OF_PACE), LATEST);
}

static void hold(struct fdl_tuner *t)
{
    struct fdl_tuner_estimate e;
    bool sudden = starves_suddenly(t);
    if (!sudden && t->window.n < WINDOW_BLOCKS)
        return;
    fdl_tuner_estimate_of(t, &t->window, &e);
    t->latest = e;
    if (sudden || fdl_tuner_change_seen(t, &e)) {
        if (!(fabs(log(e.work / t->flat.work)) < 0.25))
            t->flat.workers = 0;
        new_era(t);
        t->best = e;
        fdl_tuner_arm_note(t, t->knobs.workers, e.rate, 0.5);
        fdl_tuner_change_begin(t, &e);
        decide(t);
        return;
    }
    ++t->held;
    ++t->era_windows;
    if (fdl_tuner_bridge(t))
        return;
    /* One odd window proves nothing, and would spoil what is known. */
    if (t->suspicious > 0 && RULE(SUSPICIOUS)) {
        fdl_tuner_enter(t, FDL_TUNER_HOLD);
        return;
    }
    ++t->at_arm;
    fdl_tuner_arm_note(t, t->knobs.workers, e.rate, LATEST);
    fdl_tuner_estimate_mix(&t->best, &e, LATEST, weight_of_rate(t, &e));
    if (!go_back(t))
        decide(t);
}

static void settle(struct fdl_tuner *t, const struct fdl_tuner_sums *s)
{
    if (!fdl_knobs_equal(&t->want, &t->knobs)) {
        t->waited += s->batches;
        return;
    }
    t->waited = 0;
    t->settle_batches -= s->batches;
    t->settle_ns -= s->wall_ns;
    if (t->trial.on || t->rolling_back)
        fdl_tuner_charge(t, s);
    if (t->settle_batches > 0 || t->settle_ns > 0)
        return;
    if (t->rolling_back) {
        fdl_tuner_charge_done(t);
        t->rolling_back = false;
    }
    fdl_tuner_enter(t, t->next);
}

static bool away(struct fdl_tuner *t, const struct fdl_tuner_reading *r)
{
    bool is = t->ref_g > 0 && (double)r->away_ns > 10 * t->ref_g &&
              (double)r->away_ns > BLOCK_NS && RULE(AWAY);
    if (is && t->state != FDL_TUNER_FROZEN) {
        t->thaw = t->state;
        t->state = FDL_TUNER_FROZEN;
    } else if (!is && t->state == FDL_TUNER_FROZEN) {
        t->state = t->thaw;
        memset(&t->window.open, 0, sizeof(t->window.open));
    }
    return is;
}

static bool block_added(struct fdl_tuner *t, const struct fdl_tuner_sums *s)
{
    if (!fdl_tuner_window_add(&t->window, s))
        return false;
    fdl_tuner_long_add(t, &t->window.last);
    fdl_tuner_job_block(t, &t->window.last);
    return true;
}

/* Copies are reported after the batch, so they are counted by themselves. */
static void see_copies(struct fdl_tuner *t)
{
    const struct fdl_tuner_reading *r = &t->last;
    struct fdl_tuner_copies *c = &t->copies;
    if (!c->begun || r->copied_batches < c->batches || r->copy_ns < c->ns ||
        r->make_ns < c->made_ns)
        *c = (struct fdl_tuner_copies){.begun = true,
                                       .batches = r->copied_batches,
                                       .ns = r->copy_ns,
                                       .made_ns = r->make_ns};
    double n = (double)(r->copied_batches - c->batches);
    c->batch_ns = n < COPIES ? 0 : (double)(r->copy_ns - c->ns) / n;
    c->make_ns = n < COPIES ? 0 : (double)(r->make_ns - c->made_ns) / n;
}

void fdl_tuner_observe(struct fdl_tuner *t,
                       const struct fdl_tuner_reading *reading)
{
    struct fdl_tuner_sums s;
    bool broken;
    bool grew = fdl_tuner_difference(t, reading, &s, &broken);
    if (broken)
        fdl_tuner_window_reset(&t->window);
    if (away(t, reading))
        return;
    if (t->pause_seen)
        memset(&t->window.open, 0, sizeof(t->window.open));
    t->pause_seen = false;
    if (!grew)
        return;
    see_copies(t);
    fdl_tuner_job_see(t, &s);
    t->elapsed_ns += s.wall_ns;
    switch (t->state) {
    case FDL_TUNER_WARMUP:
        warm_up(t, &s);
        break;
    case FDL_TUNER_SETTLE:
        settle(t, &s);
        break;
    case FDL_TUNER_MEASURE:
        if (block_added(t, &s))
            measure(t);
        break;
    case FDL_TUNER_TRIAL:
        fdl_tuner_charge(t, &s);
        if (block_added(t, &s) && fdl_tuner_trial_step(t) &&
            t->state == FDL_TUNER_TRIAL)
            decide(t);
        break;
    case FDL_TUNER_HOLD:
        if (block_added(t, &s))
            hold(t);
        break;
    case FDL_TUNER_FROZEN:
        break;
    }
}

/* Epochs may be shorter than a trial: closed blocks, and a trial, go on in the
 * next run. */
void fdl_tuner_pause(struct fdl_tuner *t)
{
    t->has_last = false;
    t->copies.begun = false; /* others may make the images from now on */
    memset(&t->window.open, 0, sizeof(t->window.open));
    switch (t->state) {
    case FDL_TUNER_MEASURE:
    case FDL_TUNER_TRIAL:
    case FDL_TUNER_HOLD:
        t->next = t->state;
        t->go_on = true;
        t->settle_batches = SETTLE_BATCHES;
        t->settle_ns = FDL_TUNER_SETTLE_NS;
        t->state = FDL_TUNER_SETTLE;
        break;
    case FDL_TUNER_FROZEN:
        t->state = t->thaw;
        break;
    default:
        break;
    }
}
