/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between wanting and having: what is proposed, in which steps, and what comes
 * of it. Who drives the tuner may do less than was asked, something else, or
 * nothing (mode observe); and somebody else may set a knob at any time. What
 * applied() says is in force, whatever was wanted.
 */
#include "profiler/tuner/tuner_own.h"

/* Batches that were begun before, and are waited for. */
#define SETTLE_MOST 64u

void fdl_tuner_enter(struct fdl_tuner *t, enum fdl_tuner_state s)
{
    t->state = s;
    if (!t->go_on && (s == FDL_TUNER_MEASURE || s == FDL_TUNER_HOLD))
        fdl_tuner_window_reset(&t->window);
    t->go_on = false;
    t->starving_blocks = 0;
}

void fdl_tuner_ask(struct fdl_tuner *t, const struct fdl_knobs *to,
                   enum fdl_tuner_state next)
{
    t->want = *to;
    t->go_on = false;
    t->waited = 0;
    t->next = next;
    t->state = FDL_TUNER_SETTLE;
    t->settle_batches = SETTLE_BATCHES;
    t->settle_ns = FDL_TUNER_SETTLE_NS;
    fdl_tuner_window_reset(&t->window);
}

/* In two steps where both at once could take more than the budget: first what
 * shrinks; the rest when that is there. */
static bool staged(const struct fdl_tuner *t, struct fdl_knobs *out)
{
    *out = t->want;
    if (fdl_knobs_equal(&t->want, &t->knobs))
        return false;
    const struct fdl_knobs *a = &t->knobs, *b = &t->want;
    struct fdl_knobs both = {FDL_MAX(a->workers, b->workers),
                             FDL_MAX(a->depth, b->depth),
                             FDL_MAX(a->io_depth, b->io_depth)};
    both.depth = FDL_MAX(both.depth, t->last.outstanding);
    if (t->limits.memory_bytes == 0 ||
        fdl_knobs_memory(&t->limits, &both) <= t->limits.memory_bytes)
        return true;
    *out = (struct fdl_knobs){FDL_MIN(a->workers, b->workers),
                              FDL_MIN(a->depth, b->depth),
                              FDL_MIN(a->io_depth, b->io_depth)};
    if (fdl_knobs_equal(out, &t->knobs)) {
        /* Not applied before what it held is given back. */
        uint64_t most = fdl_knobs_memory(&t->limits, &t->knobs);
        *out = t->want;
        return t->waited > 64 + t->last.outstanding ||
               (t->last.outstanding <= t->want.depth &&
                t->last.memory_bytes <= most);
    }
    return true;
}

bool fdl_tuner_propose(const struct fdl_tuner *t, struct fdl_knobs *out)
{
    return staged(t, out);
}

/* Something is in force now whose effect is not there yet. */
static void moved(struct fdl_tuner *t, const struct fdl_knobs *to)
{
    double size = t->batch_size ? t->batch_size : 1;
    double before = (double)FDL_MIN(t->last.outstanding, SETTLE_MOST);
    t->settle_batches =
        SETTLE_BATCHES + fmax(ceil(2.0 * to->workers / size), before);
    t->settle_ns = FDL_TUNER_SETTLE_NS;
    if (to->workers != t->knobs.workers)
        t->at_arm = 0;
    t->knobs = *to;
    memset(&t->run, 0, sizeof(t->run));
    if (t->trial.on || t->rolling_back)
        return; /* nothing lasting yet */
    t->converged = false;
    t->moved_batch = t->batch;
    t->moved_ns = t->now_ns;
}

static void only_observed(struct fdl_tuner *t)
{
    for (uint64_t id = t->asked_from; id < t->n_decisions; ++id) {
        struct fdl_decision *d = fdl_tuner_noted(t, id);
        if (d)
            d->outcome = FDL_OUTCOME_PROPOSED;
    }
    t->trial.on = t->rolling_back = false;
    t->seen = t->want;
    t->has_seen = true;
    t->want = t->knobs;
    fdl_tuner_back_off(t);
    fdl_tuner_enter(t, FDL_TUNER_HOLD);
}

/* Other knobs than were asked for. */
static void taken_over(struct fdl_tuner *t, const struct fdl_knobs *in_force)
{
    struct fdl_knobs back;
    bool open = t->trial.on || t->rolling_back;
    enum fdl_knob knob = t->trial.knob;
    int64_t tried = fdl_knob_get(&t->knobs, knob);
    fdl_tuner_trial_abandon(t, &back);
    moved(t, in_force);
    t->want = t->knobs;
    /* What was tried is undone, unless it is that knob which was set. */
    if (open && fdl_knob_get(in_force, knob) == tried)
        fdl_tuner_knob_set(&t->want, knob, fdl_knob_get(&back, knob));
    t->go_on = false;
    t->best.valid = false;
    if (t->state != FDL_TUNER_WARMUP) {
        t->state = FDL_TUNER_SETTLE;
        t->next = FDL_TUNER_MEASURE;
    }
    fdl_tuner_window_reset(&t->window);
}

void fdl_tuner_applied(struct fdl_tuner *t, const struct fdl_knobs *in_force,
                       bool observed)
{
    struct fdl_knobs asked;
    bool open = staged(t, &asked);
    if (observed) {
        if (open)
            only_observed(t);
        return;
    }
    if (fdl_knobs_equal(in_force, &t->knobs) && !open)
        return;
    if (open && fdl_knobs_equal(in_force, &asked)) {
        moved(t, in_force);
        return;
    }
    for (int k = 0; open && k < FDL_KNOBS; ++k) {
        enum fdl_knob knob = (enum fdl_knob)k;
        if (fdl_knob_get(in_force, knob) == fdl_knob_get(&asked, knob))
            continue;
        fdl_tuner_note(t, knob, in_force, FDL_REASON_APPLIED,
                       "asked for %lld, got %lld",
                       (long long)fdl_knob_get(&asked, knob),
                       (long long)fdl_knob_get(in_force, knob));
    }
    if (open && fdl_knobs_equal(in_force, &t->knobs)) {
        /* Refused. Ask for something else, later. */
        struct fdl_knobs back;
        fdl_tuner_trial_abandon(t, &back);
        t->want = t->knobs;
        t->seen = asked;
        t->has_seen = true;
        fdl_tuner_back_off(t);
        fdl_tuner_enter(t, FDL_TUNER_HOLD);
        return;
    }
    taken_over(t, in_force);
}
