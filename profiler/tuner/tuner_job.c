/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of a job. Behind every step all of them wait for the slowest, so a rank
 * that waits for others does not wait for data, and in the next step it is
 * another's turn: what all of them lack none sees by itself. Three numbers of
 * all ranks say it:
 *
 *   stall   added up, the time that the job loses, as long as the waits of two
 *           ranks do not coincide. Above the target nobody is fed
 *   step    where a rank waited long for a batch, the others wait for this
 *           rank, so what it then takes for itself is the step without waits.
 *           Its own times are averaged by the waits before them, and of all
 *           ranks the least counts
 *   most    depth and reads of the rank that has most; and the depth with which
 *           the worst of its waits would not have been
 *
 * While the job loses time each rank plans for that step, takes over what
 * another has more of, and gives up no worker. That is done by rule: the rate
 * that a trial is judged by is the job's, whatever this rank does. More depth
 * delays no batch. More reads are as many as Little's law asks for with the
 * least time that a read took, so they do not grow with a queue that they make.
 */
#include "profiler/tuner/tuner_own.h"

#define READY_NS     50e3 /* a shorter wait for a batch is none */
#define FADE         0.99 /* for each batch */
#define LEAST_TARGET 2e-4 /* what is less cannot be told from none */
#define QUEUES       2.0  /* times the least time of a read: more only wait */
#define RARE         4.0  /* times the mean wait for a batch */
#define MARGIN       1.25

static double less(double a, double b)
{
    return a > 0 && (a < b || !(b > 0)) ? a : b;
}

/* ---- What a rank tells --------------------------------------------------- */

/* A step's own time is booked before the wait for the next batch. */
void fdl_tuner_job_see(struct fdl_tuner *t, const struct fdl_tuner_sums *s)
{
    struct fdl_tuner_pace *p = &t->pace;
    bool device = s->span_ns > 0;
    p->own_ns += device ? fmax(s->span_ns - s->idle_ns, 0) : s->own_ns;
    p->wait_ns += device ? s->idle_ns : s->wait_ns;
    if (!(s->batches > 0))
        return;
    double fade = pow(FADE, s->batches), wait = p->wait_ns / s->batches;
    p->weighted = fade * p->weighted + p->waited_ns * p->own_ns;
    p->weights = fade * p->weights + p->waited_ns * s->batches;
    p->waited_ns = wait > READY_NS ? wait : 0;
    p->held_ns = fade * p->held_ns + p->waited_ns * s->batches;
    p->wall_ns = fade * p->wall_ns + p->own_ns + p->wait_ns;
    p->batches = fade * p->batches + s->batches;
    p->own_ns = p->wait_ns = 0;
    p->worst_ns *= fade;
    if (p->waited_ns < p->worst_ns)
        return;
    p->worst_ns = p->waited_ns;
    p->worst_depth = t->knobs.depth;
}

void fdl_tuner_job_block(struct fdl_tuner *t, const struct fdl_tuner_sums *s)
{
    double read = s->reads > 0 ? s->read_ns / s->reads : 0;
    t->pace.read_ns = less(read, t->pace.read_ns);
}

static double own_stall(const struct fdl_tuner *t)
{
    const struct fdl_tuner_pace *p = &t->pace;
    return p->wall_ns > 0 ? p->held_ns / p->wall_ns : 0;
}

static double own_step(const struct fdl_tuner *t)
{
    const struct fdl_tuner_pace *p = &t->pace;
    return p->weights > 0 ? p->weighted / p->weights : 0;
}

/* Without what is only tried. */
static struct fdl_knobs settled(const struct fdl_tuner *t)
{
    if (t->rolling_back)
        return t->want;
    return t->trial.on ? t->trial.before : t->knobs;
}

/* With which the worst of its waits would not have been, where it is one of a
 * few: of a slow read, say, as comes to one of many ranks in every step. */
static uint32_t depth_of_worst(const struct fdl_tuner *t)
{
    const struct fdl_tuner_pace *p = &t->pace;
    double step = own_step(t), depth = settled(t).depth;
    if (step > 0 && p->worst_ns * p->batches > RARE * p->held_ns)
        depth = fmax(depth, p->worst_depth + ceil(MARGIN * p->worst_ns / step));
    return fdl_tuner_clamp(depth, 0, t->limits.depth_max);
}

void fdl_tuner_tell(const struct fdl_tuner *t, struct fdl_tuner_job *out)
{
    *out = (struct fdl_tuner_job){
        .ranks = 1,
        .stall = own_stall(t),
        .step_ns = own_step(t),
        .most = settled(t),
    };
    out->most.workers = 0;
    out->most.depth = depth_of_worst(t);
}

/* ---- What it hears ------------------------------------------------------- */

void fdl_tuner_job_add(struct fdl_tuner_job *to, const struct fdl_tuner_job *a)
{
    to->ranks += a->ranks;
    if (a->stall > 0)
        to->stall += a->stall;
    to->step_ns = less(a->step_ns, to->step_ns);
    to->most.depth = FDL_MAX(to->most.depth, a->most.depth);
    to->most.io_depth = FDL_MAX(to->most.io_depth, a->most.io_depth);
}

bool fdl_tuner_job_loses(const struct fdl_tuner *t)
{
    return t->job.ranks > 1 && RULE(JOB) &&
           fmax(t->job.stall, own_stall(t)) > t->limits.target;
}

double fdl_tuner_target(const struct fdl_tuner *t)
{
    double all = t->limits.target;
    if (t->job.ranks < 2 || !RULE(JOB))
        return all;
    return fmin(all, fmax(all / t->job.ranks, LEAST_TARGET));
}

bool fdl_tuner_waits(const struct fdl_tuner *t, double stall)
{
    return stall > t->limits.target ||
           (stall > fdl_tuner_target(t) && fdl_tuner_job_loses(t));
}

void fdl_tuner_job_pace(struct fdl_tuner *t)
{
    double step = less(t->job.step_ns, own_step(t));
    if (fdl_tuner_job_loses(t) && step > 0)
        t->best.g = fmin(t->best.g, step);
}

/* ---- What it does -------------------------------------------------------- */

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
                           j->ranks, 100 * fmax(j->stall, own_stall(t)),
                           less(j->step_ns, own_step(t)) / 1e6, j->most.depth,
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
    struct fdl_knobs plan, now = t->knobs, to = settled(t), back;
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
                 to.workers < settled(t).workers;
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
