/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Did it help? Two measurements are compared by the logarithms of their rates
 * and the errors of both. A change counts when it is above DELTA by SIGMAS
 * standard errors.
 *
 * Rates are of delivered batches, except where a stock of finished ones runs
 * down (tuner_window.c).
 */
#include "profiler/tuner/tuner_own.h"

/* One or two blocks have no spread; that of the trial's is as good. */
static double error_of(const struct fdl_tuner_estimate *ref,
                       const struct fdl_tuner_estimate *e)
{
    if (ref->blocks >= 3 || ref->blocks == 0 || !RULE(FEW_BLOCKS))
        return ref->error;
    return e->error * sqrt((double)e->blocks / ref->blocks);
}

enum fdl_tuner_verdict fdl_tuner_compare(const struct fdl_tuner_estimate *ref,
                                         const struct fdl_tuner_estimate *e,
                                         double *gain, double *error)
{
    double x = e->rate;
    *gain = 0;
    *error = 1;
    if (!(x > 0) || !(ref->rate > 0))
        return FDL_VERDICT_OPEN;
    double d = log(x) - log(ref->rate);
    double sd = hypot(error_of(ref, e), e->error) + 1e-9;
    *gain = expm1(d);
    *error = sd;
    if (e->blocks < 3)
        return FDL_VERDICT_OPEN;
    if (d - DELTA > SIGMAS * sd)
        return FDL_VERDICT_BETTER;
    if (-d - DELTA > SIGMAS * sd)
        return FDL_VERDICT_WORSE;
    if (e->blocks >= 6 && sd < DELTA / SIGMAS)
        return FDL_VERDICT_EQUAL;
    return FDL_VERDICT_OPEN;
}

/* More workers than fill the cores: nothing but a proof speaks for them. */
static bool beyond_cores(const struct fdl_tuner *t,
                         const struct fdl_tuner_estimate *ref)
{
    return t->trial.knob == FDL_KNOB_WORKERS &&
           t->trial.after.workers > fdl_tuner_saturation(t, ref);
}

/* The error of its pace. Blocks differ by the noise of its steps, and few of
 * them may look more alike than they are. */
static double pace_error(const struct fdl_tuner_estimate *ref,
                         const struct fdl_tuner_estimate *e)
{
    return fmax(e->error, ref->g_spread / sqrt(e->blocks));
}

/* The consumer sets the pace: what differs is the noise of its steps, or that
 * workers slow it, or that more of them are done sooner and rest. It is fed,
 * so there is time to tell. If it failed before, the mean of both counts. */
enum fdl_tuner_verdict fdl_tuner_still_fed(const struct fdl_tuner *t,
                                           const struct fdl_tuner_estimate *e)
{
    const struct fdl_tuner_estimate *ref = &t->trial.reference;
    const struct fdl_tuner_arm *arm = &t->arms[t->knobs.workers];
    double rate = e->rate;
    if (arm->era == t->era && RULE(ALL_KNOWN))
        rate = sqrt(rate * arm->rate);
    double d = log(rate / fmax(ref->rate, fdl_tuner_fed_rate(t)));
    double doubt = 2 * hypot(pace_error(ref, ref), pace_error(ref, e));
    if (e->blocks < 6)
        return FDL_VERDICT_OPEN;
    if (d - doubt > -FED_LOSS)
        return FDL_VERDICT_BETTER;
    if (d + doubt < -FED_LOSS)
        return FDL_VERDICT_WORSE;
    if (e->batches < FED_BATCHES)
        return FDL_VERDICT_OPEN;
    return d >= -FED_LOSS ? FDL_VERDICT_BETTER : FDL_VERDICT_WORSE;
}

bool fdl_tuner_acceptable(const struct fdl_tuner *t,
                          const struct fdl_tuner_estimate *ref,
                          const struct fdl_tuner_estimate *e,
                          enum fdl_tuner_verdict v, bool up)
{
    if (v == FDL_VERDICT_BETTER)
        return true;
    if (v == FDL_VERDICT_WORSE)
        return false;
    double target = fdl_tuner_target(t);
    double d = log(e->rate / ref->rate);
    double doubt = hypot(ref->error, e->error);
    if (t->trial.divides)
        return d > fmax(DELTA, doubt);
    /* The wait for a batch, not its share: that hardly moves while it is nearly
     * everything. */
    if (up)
        return (ref->stall > target && e->stall <= target &&
                RULE(ACCEPT_FED)) ||
               (e->rate > ref->rate * (1 + DELTA) &&
                e->stall / e->rate < 0.8 * ref->stall / ref->rate &&
                !beyond_cores(t, ref) && RULE(ACCEPT_GAIN));
    /* It was fed and waits now. Rates cannot tell: its steps may just have been
     * shorter. */
    if (ref->stall <= target && e->stall > 2 * target && RULE(STAYS_FED))
        return false;
    return d >= -DELTA / 2;
}
