/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sim/story.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct sim_story {
    FILE *f;
    uint64_t said;   /* decisions below were written as they were made */
    uint64_t judged; /* of decisions below the outcome was written */
    enum fdl_tuner_state state;
    bool converged;
};

static FILE *where;

void sim_story_to(FILE *f)
{
    where = f;
}

struct sim_story *sim_story_begin(const struct fdl_knobs *start)
{
    if (!where)
        return NULL;
    struct sim_story *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->f = where;
    fprintf(t->f, "start: workers %u, depth %u, io_depth %u\n", start->workers,
            start->depth, start->io_depth);
    return t;
}

static void say_decision(FILE *f, const struct fdl_decision *d)
{
    fprintf(f,
            "%10.2f s %7" PRIu64 "  %s %" PRId64 " -> %" PRId64 " (%s): %s\n",
            (double)d->time_ns / 1e9, d->batch, fdl_knob_name(d->knob),
            d->before, d->after, fdl_reason_name(d->reason), d->why);
}

static void say_outcome(FILE *f, const struct fdl_decision *d)
{
    fprintf(f, "%10.2f s          %s %" PRId64 " -> %" PRId64 ": %s",
            (double)d->judged_ns / 1e9, fdl_knob_name(d->knob), d->before,
            d->after, fdl_outcome_name(d->outcome));
    if (!isnan(d->predicted))
        fprintf(f, ", predicted %+.1f %%", 100 * d->predicted);
    if (!isnan(d->measured))
        fprintf(f, ", measured %+.1f +- %.1f %%", 100 * d->measured,
                100 * d->error);
    fprintf(f, ", stall %.1f -> %.1f %%\n", 100 * d->stall_before,
            100 * d->stall_after);
}

static bool is_judged(enum fdl_decision_outcome o)
{
    return o == FDL_OUTCOME_KEPT || o == FDL_OUTCOME_ROLLED_BACK ||
           o == FDL_OUTCOME_ABANDONED;
}

/* Outcomes come in order, as one thing is tried at a time. */
static void look_at_outcomes(struct sim_story *t, const struct fdl_tuner *tuner)
{
    while (t->judged < t->said) {
        struct fdl_decision d;
        if (fdl_tuner_decision(tuner, t->judged, &d)) {
            if (d.outcome == FDL_OUTCOME_PENDING)
                return;
            if (is_judged(d.outcome))
                say_outcome(t->f, &d);
        }
        t->judged++;
    }
}

static void say_state(struct sim_story *t, const struct fdl_tuner_status *s)
{
    fprintf(t->f,
            "                      %s%s: workers %u, depth %u, io_depth %u, "
            "stall %.2f %%, step %.2f ms, work %.3f ms (%.0f %% on a core), "
            "%.2f batches/s, cores %.1f%s%s\n",
            fdl_tuner_state_name(s->state), s->converged ? ", converged" : "",
            s->knobs.workers, s->knobs.depth, s->knobs.io_depth, 100 * s->stall,
            s->step_ns / 1e6, s->work_ns / 1e6, 100 * s->cpu_share, s->rate,
            s->cores, *s->limited_by ? ", limited by " : "", s->limited_by);
}

void sim_story_look(struct sim_story *t, const struct fdl_tuner *tuner)
{
    if (!t)
        return;
    look_at_outcomes(t, tuner);
    struct fdl_tuner_status s;
    fdl_tuner_get(tuner, &s);
    for (; t->said < s.decisions; t->said++) {
        struct fdl_decision d;
        if (fdl_tuner_decision(tuner, t->said, &d))
            say_decision(t->f, &d);
    }
    if (s.state != t->state || s.converged != t->converged)
        say_state(t, &s);
    t->state = s.state;
    t->converged = s.converged;
}

void sim_story_end(struct sim_story *t, const struct fdl_tuner *tuner)
{
    if (!t)
        return;
    struct fdl_tuner_status s;
    fdl_tuner_get(tuner, &s);
    look_at_outcomes(t, tuner);
    say_state(t, &s);
    fprintf(t->f,
            "end: %" PRIu64 " decisions, %" PRIu64 " trials, %" PRIu64
            " kept, %" PRIu64 " rolled back, %" PRIu64 " guarded, %" PRIu64
            " changes seen, %" PRIu64 " oddities; credit %.2f s, spent %.2f "
            "s\n",
            s.decisions, s.trials, s.kept, s.rolled_back, s.guarded, s.changes,
            s.oddities, (double)s.credit_ns / 1e9, (double)s.spent_ns / 1e9);
    free(t);
}
