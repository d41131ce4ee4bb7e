/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are these still the conditions that were measured? Two numbers are
 * followed: a worker's work for a batch, and the rate. Each has a slow
 * reference and the variance of its logarithm about it; a shift counts when it
 * is large, unlikely, and there twice in a row.
 *
 * While the consumer waits two more are: the share of their work that workers
 * queue for a core, and the cores that others use. Few workers hardly feel that
 * somebody takes cores or leaves, yet another number of them is right then.
 *
 * One kind cannot wait for two windows: a consumer that was fed and starves.
 * Two blocks with a large stall are enough there (tuner.c asks after each
 * block).
 */
#include "profiler/tuner/tuner_own.h"

#define SHIFT_WORK   0.25
#define SHIFT_RATE   0.15
#define SHIFT_OTHERS 0.25 /* of the cores granted */
#define SHIFT_QUEUED 0.1  /* a difference: it is a part itself */
#define UNLIKELY     4.0  /* standard deviations */

static double first_variance(double spread, unsigned blocks)
{
    double of_mean = blocks ? spread * spread / blocks : 0;
    return fmax(0.0025, 4 * of_mean);
}

void fdl_tuner_change_begin(struct fdl_tuner *t,
                            const struct fdl_tuner_estimate *e)
{
    double rate_spread = e->error * sqrt((double)e->blocks);
    t->ref_g = e->g;
    t->ref_work = e->work;
    t->ref_rate = e->rate;
    t->var_work = first_variance(e->g_spread, WINDOW_BLOCKS) + 0.0025;
    t->var_rate = first_variance(rate_spread, WINDOW_BLOCKS);
    t->ref_queued = e->queued;
    t->ref_others = e->others;
    t->var_queued = 0.0004;
    t->suspicious = 0;
}

static double shift(double now, double ref)
{
    return now > 0 && ref > 0 ? log(now / ref) : 0;
}

static bool far(double by, double least, double variance)
{
    return fabs(by) > least && fabs(by) > UNLIKELY * sqrt(variance);
}

static void follow(double *ref, double *variance, double now, double by)
{
    *variance = 0.9 * *variance + 0.1 * by * by + 1e-6;
    *ref = *ref > 0 ? 0.9 * *ref + 0.1 * now : now;
}

bool fdl_tuner_change_seen(struct fdl_tuner *t,
                           const struct fdl_tuner_estimate *e)
{
    double work = shift(e->work, t->ref_work);
    double rate = shift(e->rate, t->ref_rate);
    double queued = e->queued - t->ref_queued;
    double others = fabs(e->others - t->ref_others) / t->limits.cores;
    bool waits = t->best.stall > t->limits.target;
    if ((far(work, SHIFT_WORK, t->var_work) && RULE(SHIFT_WORK)) ||
        (far(rate, SHIFT_RATE, t->var_rate) && RULE(SHIFT_RATE)) ||
        (waits &&
         ((far(queued, SHIFT_QUEUED, t->var_queued) && RULE(SHIFT_QUEUED)) ||
          (others > SHIFT_OTHERS && RULE(SHIFT_OTHERS)))))
        return ++t->suspicious >= 2;
    t->suspicious = 0;
    t->ref_g += 0.1 * (e->g - t->ref_g);
    follow(&t->ref_work, &t->var_work, e->work, work);
    follow(&t->ref_rate, &t->var_rate, e->rate, rate);
    t->ref_others += 0.1 * (e->others - t->ref_others);
    follow(&t->ref_queued, &t->var_queued, e->queued, queued);
    return false;
}
