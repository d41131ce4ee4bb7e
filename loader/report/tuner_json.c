/* SPDX-License-Identifier: Apache-2.0 */
/* The tuner as members of a JSON object; the keys are in docs/tuner.md. */
#include "loader/report/stat_rows.h"
#include "loader/report/stats_json.h"

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
        fdl_json_double(j, "converged_seconds", (double)t->converged_ns / 1e9);
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
    fdl_stat_json(j, FDL_STAT_TUNER, &t, 0);
    fdl_json_string(j, "finish", t.finish ? "device" : "host");
    fdl_json_string(j, "stall_of", t.on_device ? "device" : "host");
    converged(j, &t);
    fdl_json_double(j, "cpu_seconds", (double)cpu_ns / 1e9);
    if (decisions)
        list_decisions(j, c);
}
