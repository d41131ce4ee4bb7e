/* SPDX-License-Identifier: Apache-2.0 */
/* The tuner as members of a JSON object; the keys are in docs/tuner.md. */
#include "loader/report/stats_json.h"

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static void planned(struct fdl_json *j, const char *key, uint32_t value)
{
    if (value)
        fdl_json_int(j, key, value);
    else
        fdl_json_null(j, key);
}

static void decision(struct fdl_json *j, const struct fdl_decision *d,
                     int64_t created_ns)
{
    int64_t time = d->time_ns - created_ns;
    fdl_json_begin_object(j, NULL);
    fdl_json_int(j, "id", (int64_t)d->id);
    fdl_json_double(j, "seconds", time > 0 ? (double)time / 1e9 : 0);
    fdl_json_int(j, "batch", (int64_t)d->batch);
    fdl_json_string(j, "knob", fdl_knob_name(d->knob));
    fdl_json_int(j, "before", d->before);
    fdl_json_int(j, "after", d->after);
    fdl_json_string(j, "reason", fdl_reason_name(d->reason));
    fdl_json_string(j, "why", d->why);
    fdl_json_double(j, "predicted", d->predicted);
    fdl_json_double(j, "measured", d->measured);
    fdl_json_double(j, "error", d->error);
    fdl_json_double(j, "stall_before", d->stall_before);
    fdl_json_double(j, "stall_after", d->stall_after);
    fdl_json_string(j, "outcome", fdl_outcome_name(d->outcome));
    fdl_json_end_object(j);
}

static void list_decisions(struct fdl_json *j, struct fdl_control *c)
{
    struct fdl_decision d;
    int64_t created_ns;
    fdl_json_begin_array(j, "decisions");
    for (uint32_t i = 0; fdl_control_decision(c, i, &d, &created_ns); i++)
        decision(j, &d, created_ns);
    fdl_json_end_array(j);
}

static void converged(struct fdl_json *j, const struct feedline_tuner_info *t)
{
    if (t->converged) {
        fdl_json_int(j, "converged_batch", (int64_t)t->converged_batch);
        fdl_json_double(j, "converged_seconds", seconds(t->converged_ns));
        return;
    }
    fdl_json_null(j, "converged_batch");
    fdl_json_null(j, "converged_seconds");
}

void fdl_tuner_json(struct fdl_control *c, bool decisions, struct fdl_json *j)
{
    struct feedline_tuner_info t;
    int64_t cpu_ns;
    uint64_t ticks;
    fdl_control_info(c, &t);
    fdl_control_cost(c, &cpu_ns, &ticks);
    fdl_json_string(j, "mode", t.mode);
    fdl_json_string(j, "state", t.state);
    fdl_json_int(j, "workers", t.workers);
    fdl_json_int(j, "depth", t.depth);
    fdl_json_int(j, "io_depth", t.io_depth);
    fdl_json_string(j, "finish", t.finish ? "device" : "host");
    planned(j, "planned_workers", t.planned_workers);
    planned(j, "planned_depth", t.planned_depth);
    planned(j, "planned_io_depth", t.planned_io_depth);
    converged(j, &t);
    fdl_json_double(j, "target", t.target);
    fdl_json_double(j, "stall", t.stall);
    fdl_json_string(j, "stall_of", t.on_device ? "device" : "host");
    fdl_json_string(j, "limited_by", t.limited_by);
    fdl_json_double(j, "batches_per_second", t.batches_per_second);
    fdl_json_double(j, "step_seconds", t.step_ns / 1e9);
    fdl_json_double(j, "sample_seconds", t.sample_ns / 1e9);
    fdl_json_double(j, "cpu_share", t.cpu_share);
    fdl_json_double(j, "cores", t.cores);
    fdl_json_int(j, "memory_bytes", (int64_t)t.memory_bytes);
    fdl_json_int(j, "memory_budget", (int64_t)t.memory_budget);
    fdl_json_int(j, "trials", (int64_t)t.trials);
    fdl_json_int(j, "kept", (int64_t)t.kept);
    fdl_json_int(j, "rolled_back", (int64_t)t.rolled_back);
    fdl_json_double(j, "credit_seconds", seconds(t.credit_ns));
    fdl_json_double(j, "spent_seconds", seconds(t.spent_ns));
    fdl_json_double(j, "cpu_seconds", (double)cpu_ns / 1e9);
    fdl_json_string(j, "profile", t.profile);
    fdl_json_int(j, "n_decisions", (int64_t)t.decisions);
    if (decisions)
        list_decisions(j, c);
}
