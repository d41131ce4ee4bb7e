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
 */
#include "profiler/tuner/tuner_own.h"

#define READY_NS     50e3 /* a shorter wait for a batch is none */
#define FADE         0.99 /* for each batch */
#define LEAST_TARGET 2e-4 /* what is less cannot be told from none */
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
struct fdl_knobs fdl_tuner_settled(const struct fdl_tuner *t)
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
    double step = own_step(t), depth = fdl_tuner_settled(t).depth;
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
        .most = fdl_tuner_settled(t),
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

double fdl_tuner_job_stall(const struct fdl_tuner *t)
{
    return fmax(t->job.stall, own_stall(t));
}

double fdl_tuner_job_step(const struct fdl_tuner *t)
{
    return less(t->job.step_ns, own_step(t));
}

bool fdl_tuner_job_loses(const struct fdl_tuner *t)
{
    return t->job.ranks > 1 && RULE(JOB) &&
           fdl_tuner_job_stall(t) > t->limits.target;
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
    double step = fdl_tuner_job_step(t);
    if (fdl_tuner_job_loses(t) && step > 0)
        t->best.g = fmin(t->best.g, step);
}
