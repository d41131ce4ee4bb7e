/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Did it help? Two measurements are compared by the logarithms of their rates
 * and the errors of both. A change counts when it is above DELTA by SIGMAS
 * standard errors.
 *
 * Rates are of delivered batches, but where a stock of finished ones runs down
 * (tuner_window.c); going down, there must have been time for it to do so.
 */
#include "profiler/tuner_own.h"

/* One or two blocks have no spread; that of the trial's is as good. */
static double error_of(const struct fdl_tuner_estimate *ref,
                       const struct fdl_tuner_estimate *e)
{
    if (ref->blocks >= 3 || ref->blocks == 0)
        return ref->error;
    return e->error * sqrt((double)e->blocks / ref->blocks);
}

/* Fed before and now: the consumer sets the pace, and what workers make is
 * compared with that. */
static bool stays_fed(const struct fdl_tuner *t,
                      const struct fdl_tuner_estimate *ref,
                      const struct fdl_tuner_estimate *e)
{
    return ref->stall <= t->limits.target && e->stall <= t->limits.target &&
           ref->taken > 0 && e->taken > 0;
}

/* Of what is taken comes so much from a stock that is not made again. */
static double lacks(const struct fdl_tuner_estimate *e)
{
    if (e->blocked >= FDL_TUNER_SPARE || !(e->produced > 0))
        return 0;
    return fmax(log(e->taken / e->produced), 0);
}

enum fdl_tuner_verdict fdl_tuner_compare(const struct fdl_tuner *t,
                                         const struct fdl_tuner_estimate *ref,
                                         const struct fdl_tuner_estimate *e,
                                         bool up, double *gain, double *error)
{
    double x = e->rate;
    *gain = 0;
    *error = 1;
    if (!(x > 0) || !(ref->rate > 0))
        return FDL_VERDICT_OPEN;
    double d = log(x) - log(ref->rate);
    double sd = hypot(error_of(ref, e), e->error) + 1e-9;
    bool fed = !up && stays_fed(t, ref, e);
    if (fed)
        d = log(e->taken / ref->taken);
    *gain = expm1(d);
    *error = sd;
    /* A stock must have had time to run out. */
    bool outlasted = up || e->blocked >= FDL_TUNER_SPARE ||
                     e->batches >= 1.5 * (double)t->knobs.depth;
    if (e->blocks < 3)
        return FDL_VERDICT_OPEN;
    if (outlasted && d - DELTA > SIGMAS * sd)
        return FDL_VERDICT_BETTER;
    if (-d - DELTA > SIGMAS * sd)
        return FDL_VERDICT_WORSE;
    if (fed && lacks(e) - DELTA > SIGMAS * hypot(e->error, e->made_error))
        return FDL_VERDICT_WORSE;
    if (fed && lacks(e) > DELTA)
        return FDL_VERDICT_OPEN;
    if (e->blocks >= 6 && outlasted && sd < DELTA / SIGMAS)
        return FDL_VERDICT_EQUAL;
    return FDL_VERDICT_OPEN;
}

bool fdl_tuner_acceptable(const struct fdl_tuner *t,
                          const struct fdl_tuner_estimate *ref,
                          const struct fdl_tuner_estimate *e,
                          enum fdl_tuner_verdict v, bool up)
{
    double target = t->limits.target;
    if (v == FDL_VERDICT_BETTER)
        return true;
    if (v == FDL_VERDICT_WORSE)
        return false;
    if (up) {
        if (t->limits.strict)
            return false;
        /* The wait for a batch, not its share: that hardly moves while it is
         * nearly everything. */
        return (ref->stall > target && e->stall <= target) ||
               (e->rate > ref->rate * (1 + DELTA) &&
                e->stall / e->rate < 0.8 * ref->stall / ref->rate);
    }
    double d = log(e->rate / ref->rate);
    /* While it waits, fewer must be as good beyond doubt: many small doubts
     * add up to a loss. Where the model says that they lose, they must even
     * look better, by more than the error. */
    if (e->stall > target && t->trial.by_model && v != FDL_VERDICT_EQUAL &&
        d < hypot(ref->error, e->error))
        return false;
    if (e->stall > target)
        return d >= -DELTA / 2 && (v == FDL_VERDICT_EQUAL ||
                                   d - hypot(ref->error, e->error) >= -DELTA);
    /* Fed: the consumer sets the pace. What differs is the noise of its steps,
     * or that workers slow it; a stock that runs down will show as waiting. */
    double doubt = fmin(2 * hypot(ref->error, e->error), 2 * DELTA);
    double unsure = fmin(SIGMAS * hypot(e->error, e->made_error), 4 * DELTA);
    return log(e->taken / ref->taken) >= -fmax(DELTA / 2, doubt) &&
           lacks(e) <= fmax(DELTA, unsure);
}
