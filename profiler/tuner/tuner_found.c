/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/tuner/tuner_found.h"

#include "profiler/tuner/tuner_own.h"

/* Until it can be judged, which takes some seconds where batches are slow. */
static struct fdl_tuner_more under_way(const struct fdl_tuner *t)
{
    struct fdl_tuner_more m = {0};
    struct fdl_tuner_estimate e;
    if (!t->trial.on || !t->trial.up || t->trial.knob != FDL_KNOB_WORKERS ||
        t->state != FDL_TUNER_TRIAL)
        return m;
    fdl_tuner_estimate_of(t, &t->window, &e);
    if (e.blocks < 3)
        return m;
    fdl_tuner_compare(&t->trial.reference, &e, &m.gain, &m.error);
    m.before = t->trial.before.workers;
    m.after = t->trial.after.workers;
    return m;
}

static double predicted(const struct fdl_tuner *t)
{
    struct fdl_decision d;
    return fdl_tuner_decision(t, t->trial.decision, &d) ? d.predicted : NAN;
}

void fdl_tuner_get_found(const struct fdl_tuner *t, struct fdl_tuner_found *out)
{
    const struct fdl_tuner_limits *l = &t->limits;
    struct fdl_tuner_status status;
    fdl_tuner_get(t, &status);
    *out = (struct fdl_tuner_found){
        .owns = {[FDL_KNOB_WORKERS] = l->workers_min < l->workers_max,
                 [FDL_KNOB_DEPTH] = l->depth_min < l->depth_max,
                 [FDL_KNOB_IO_DEPTH] = l->io_depth_min < l->io_depth_max},
        .more_workers = t->more_workers,
        .trying_more_workers = under_way(t),
        .trying_predicted = predicted(t),
        .more_reads_failed = t->reads_failed,
        .limited_by = status.limited_by,
        .converged = status.converged,
    };
}
