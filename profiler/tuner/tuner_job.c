/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rank does about waits of the whole job (tuner_pace.c).
 *
 * While the job loses time each rank plans for that step, takes over what
 * another has more of, and gives up no worker. That is done by rule: the rate
 * that a trial is judged by is the job's, whatever this rank does. More depth
 * delays no batch. More reads are as many as Little's law asks for with the
 * least time that a read took, so they do not grow with a queue that they make.
 */
#include "profiler/tuner/tuner_own.h"

#define QUEUES 2.0 /* times the least time of a read: more only wait */

/* What Little's law and the slowest reads ask for at the job's pace. */
static void needs(struct fdl_tuner *t, struct fdl_knobs *out)
{
    struct fdl_tuner_estimate e = t->best;
    *out = (struct fdl_knobs){0};
    if (!e.valid)
        return;
    e.read_ns = t->pace.read_ns;
    fdl_tuner_plan(t, &e, out);
}

/* More of them take longer, so they are not what storage lacks. */
static bool reads_queue(const struct fdl_tuner *t)
{
    return t->storage_limit ||
           (t->best.valid && t->best.read_ns > QUEUES * t->pace.read_ns);
}

static void say(struct fdl_tuner *t, const struct fdl_knobs *to)
{
    static const enum fdl_knob raised[] = {FDL_KNOB_DEPTH, FDL_KNOB_IO_DEPTH};
    const struct fdl_tuner_job *j = &t->job;
    t->asked_from = t->n_decisions;
    for (unsigned i = 0; i < FDL_COUNT_OF(raised); ++i)
        if (fdl_knob_get(to, raised[i]) != fdl_knob_get(&t->knobs, raised[i]))
            fdl_tuner_note(t, raised[i], to, FDL_REASON_JOB,
                           "settings from the job: its %u ranks wait %.1f %% "
                           "in all, a step takes %.1f ms without; at most %u "
                           "batches and %u reads so far",
                           j->ranks, 100 * fdl_tuner_job_stall(t),
                           fdl_tuner_job_step(t) / 1e6, j->most.depth,
                           j->most.io_depth);
}

/* More depth makes nothing of what is being measured wrong. */
static void ask(struct fdl_tuner *t, const struct fdl_knobs *to, bool anew)
{
    struct fdl_tuner_window window = t->window;
    fdl_tuner_ask(t, to,
                  anew || t->state == FDL_TUNER_MEASURE ? FDL_TUNER_MEASURE
                                                        : FDL_TUNER_HOLD);
    if (anew)
        return;
    t->window = window;
    t->go_on = true;
}

bool fdl_tuner_follow(struct fdl_tuner *t)
{
    struct fdl_knobs plan, now = t->knobs, to = fdl_tuner_settled(t), back;
    if (!fdl_tuner_job_loses(t))
        return false;
    fdl_tuner_job_pace(t);
    needs(t, &plan);
    to.depth = FDL_MAX(FDL_MAX(to.depth, plan.depth), t->job.most.depth);
    if (!reads_queue(t))
        to.io_depth =
            FDL_MAX(FDL_MAX(to.io_depth, plan.io_depth), t->job.most.io_depth);
    fdl_tuner_fit(&t->limits, &to);
    bool more = to.depth > now.depth || to.io_depth > now.io_depth;
    bool fewer = to.depth < now.depth || to.io_depth < now.io_depth ||
                 to.workers < fdl_tuner_settled(t).workers;
    if (!more || fewer || (t->has_seen && fdl_knobs_equal(&to, &t->seen)))
        return false;
    bool anew = t->trial.on || to.io_depth > now.io_depth;
    fdl_tuner_trial_abandon(t, &back);
    to.workers = back.workers;
    say(t, &to);
    ask(t, &to, anew);
    return true;
}

void fdl_tuner_hear(struct fdl_tuner *t, const struct fdl_tuner_job *job)
{
    bool free = t->state == FDL_TUNER_MEASURE || t->state == FDL_TUNER_HOLD ||
                t->state == FDL_TUNER_TRIAL;
    t->job = *job;
    if (free && fdl_knobs_equal(&t->want, &t->knobs))
        fdl_tuner_follow(t);
}
