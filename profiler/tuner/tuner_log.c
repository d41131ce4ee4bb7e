/* SPDX-License-Identifier: Apache-2.0 */
/* What is told: decisions, a ring of the last ones; where it stands; and what
 * everything is called. */
#include "profiler/tuner/tuner_own.h"

#include <stdarg.h>
#include <stdio.h>

int64_t fdl_knob_get(const struct fdl_knobs *k, enum fdl_knob knob)
{
    switch (knob) {
    case FDL_KNOB_WORKERS:
        return k->workers;
    case FDL_KNOB_DEPTH:
        return k->depth;
    default:
        return k->io_depth;
    }
}

void fdl_tuner_knob_set(struct fdl_knobs *k, enum fdl_knob knob, int64_t x)
{
    switch (knob) {
    case FDL_KNOB_WORKERS:
        k->workers = (uint32_t)x;
        break;
    case FDL_KNOB_DEPTH:
        k->depth = (uint32_t)x;
        break;
    default:
        k->io_depth = (uint32_t)x;
        break;
    }
}

struct fdl_decision *fdl_tuner_note(struct fdl_tuner *t, enum fdl_knob knob,
                                    const struct fdl_knobs *to,
                                    enum fdl_decision_reason reason,
                                    const char *why, ...)
{
    struct fdl_decision *d =
        &t->decisions[t->n_decisions % FDL_TUNER_DECISIONS];
    memset(d, 0, sizeof(*d));
    d->id = t->n_decisions++;
    d->time_ns = t->last.now_ns;
    d->batch = t->batch;
    d->knob = knob;
    d->before = fdl_knob_get(&t->knobs, knob);
    d->after = fdl_knob_get(to, knob);
    d->reason = reason;
    d->outcome = FDL_OUTCOME_RULE;
    d->predicted = d->measured = d->error = NAN;
    d->stall_before = t->best.valid ? t->best.stall : NAN;
    d->stall_after = NAN;
    va_list ap;
    va_start(ap, why);
    vsnprintf(d->why, sizeof(d->why), why, ap);
    va_end(ap);
    return d;
}

struct fdl_decision *fdl_tuner_noted(struct fdl_tuner *t, uint64_t id)
{
    if (id >= t->n_decisions || t->n_decisions - id > FDL_TUNER_DECISIONS)
        return NULL;
    return &t->decisions[id % FDL_TUNER_DECISIONS];
}

bool fdl_tuner_decision(const struct fdl_tuner *t, uint64_t id,
                        struct fdl_decision *out)
{
    if (id >= t->n_decisions || t->n_decisions - id > FDL_TUNER_DECISIONS)
        return false;
    *out = t->decisions[id % FDL_TUNER_DECISIONS];
    return true;
}

static bool no_memory_for_more(const struct fdl_tuner *t)
{
    struct fdl_knobs more = t->knobs;
    more.depth += more.depth < t->limits.depth_max;
    return t->limits.memory_bytes &&
           fdl_knobs_memory(&t->limits, &more) > t->limits.memory_bytes;
}

/* More workers are of no use. Only workers with something to do can have used
 * up the cores. */
static const char *limit_of_workers(const struct fdl_tuner *t)
{
    const struct fdl_tuner_estimate *e = &t->best;
    double useful = fdl_tuner_room(t, e);
    bool lock = fdl_tuner_lock_room(e) <= useful;
    bool full = (double)t->knobs.workers + 0.5 >= useful;
    if ((full && lock) || (lock && e->locked >= 1))
        return "lock";
    if (t->flat.workers && t->knobs.workers >= t->flat.workers)
        return "scaling";
    if (full)
        return fdl_tuner_crowded(t, e) ? "others" : "cores";
    if (t->knobs.workers == t->limits.workers_max && e->blocked < 0.05)
        return "bound";
    return "";
}

static const char *limit_of(const struct fdl_tuner *t)
{
    const struct fdl_tuner_estimate *e = &t->best;
    bool starved = e->starved >= 0.2 || e->fetch > 0.5;
    if (!e->valid || e->stall <= t->limits.target)
        return "";
    if (t->device_limit)
        return "device";
    if (t->transfer_limit)
        return "transfer";
    if (t->storage_limit ||
        (starved && t->knobs.io_depth >= t->limits.io_depth_max))
        return "storage";
    const char *by = starved ? "" : limit_of_workers(t);
    return *by == '\0' && no_memory_for_more(t) ? "memory" : by;
}

void fdl_tuner_get(const struct fdl_tuner *t, struct fdl_tuner_status *out)
{
    const struct fdl_tuner_estimate *e = &t->best;
    struct fdl_tuner_estimate first = t->latest;
    double size = t->batch_size ? t->batch_size : 1;
    double credit = fdl_tuner_credit(t);
    memset(out, 0, sizeof(*out));
    if (!first.valid) /* nothing was decided yet: what there is */
        fdl_tuner_estimate_of(t, &t->window, &first);
    out->state = t->state;
    out->knobs = t->knobs;
    out->planned = t->planned;
    out->converged = t->converged;
    out->converged_batch = t->converged ? t->converged_batch : 0;
    out->converged_ns = t->converged ? t->converged_ns : 0;
    out->decisions = t->n_decisions;
    out->trials = t->trials;
    out->kept = t->kept;
    out->rolled_back = t->rolled_back;
    out->guarded = t->guarded;
    out->changes = t->changes;
    out->oddities = t->oddities;
    out->credit_ns = (int64_t)fmax(fmin(credit, 9e18), -9e18);
    out->spent_ns = (int64_t)fmin(t->spent_ns, 9e18);
    out->on_device = e->on_device;
    out->stall = fmax(first.stall, fdl_tuner_long_stall(t));
    out->step_ns = e->g;
    out->work_ns = e->work / size;
    out->cpu_share = e->share;
    out->rate = 1e9 * first.rate;
    out->cores = fdl_tuner_cores(t, e);
    out->memory_bytes = fdl_knobs_memory(&t->limits, &t->knobs);
    out->limited_by = limit_of(t);
}

const char *fdl_tuner_state_name(enum fdl_tuner_state s)
{
    static const char *const names[] = {"warmup", "measure", "settle",
                                        "trial",  "hold",    "frozen"};
    return (size_t)s < FDL_COUNT_OF(names) ? names[s] : "";
}

const char *fdl_knob_name(enum fdl_knob k)
{
    static const char *const names[FDL_KNOBS] = {"workers", "depth",
                                                 "io_depth"};
    return (size_t)k < FDL_COUNT_OF(names) ? names[k] : "";
}

const char *fdl_reason_name(enum fdl_decision_reason r)
{
    static const char *const names[FDL_REASONS] = {
        "plan_up",  "plan_down", "explore_up", "explore_down",
        "rollback", "guard",     "tail",       "variance",
        "shrink",   "reads",     "latency",    "memory",
        "limit",    "job",       "applied",    "program"};
    return (size_t)r < FDL_COUNT_OF(names) ? names[r] : "";
}

const char *fdl_outcome_name(enum fdl_decision_outcome o)
{
    static const char *const names[FDL_OUTCOMES] = {
        "pending", "kept", "rolled_back", "rule", "proposed", "abandoned"};
    return (size_t)o < FDL_COUNT_OF(names) ? names[o] : "";
}
