/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the tuner, for callers. */
#include "loader/tune/control_own.h"

#include <string.h>

static const char *const modes[] = {"off", "observe", "auto"};

static uint64_t positive(int64_t ns)
{
    return ns > 0 ? (uint64_t)ns : 0;
}

static void add_status(const struct fdl_tuner_status *s,
                       struct feedline_tuner_info *out)
{
    out->converged = s->converged;
    out->planned_workers = s->planned.workers;
    out->planned_depth = s->planned.depth;
    out->planned_io_depth = s->planned.io_depth;
    out->on_device = s->on_device;
    out->state = fdl_tuner_state_name(s->state);
    out->limited_by = s->limited_by ? s->limited_by : "";
    out->converged_batch = s->converged_batch;
    out->converged_ns = positive(s->converged_ns);
    out->trials = s->trials;
    out->kept = s->kept;
    out->rolled_back = s->rolled_back;
    out->credit_ns = positive(s->credit_ns);
    out->spent_ns = positive(s->spent_ns);
    out->stall = s->stall;
    out->batches_per_second = s->rate;
    out->step_ns = s->step_ns;
    out->sample_ns = s->work_ns;
    out->cpu_share = s->cpu_share;
}

/* No run has begun yet. */
static void fill_cold(const struct fdl_control *c,
                      struct feedline_tuner_info *out)
{
    out->state = c->mode == FDL_TUNER_OFF
                     ? "off"
                     : fdl_tuner_state_name(FDL_TUNER_WARMUP);
    out->limited_by = "";
}

void fdl_control_info(struct fdl_control *c, struct feedline_tuner_info *out)
{
    struct fdl_knobs now;
    struct fdl_tuner_status status;
    fdl_engine_in_force(c->engine, &now);
    fdl_lock(&c->lock);
    *out = (struct feedline_tuner_info){
        .struct_size = sizeof(*out),
        .workers = now.workers,
        .depth = now.depth,
        .io_depth = now.io_depth,
        .finish = fdl_engine_finish(c->engine)->device,
        .mode = modes[c->mode],
        .profile = c->profile_note,
        .target = fdl_option_double(fdl_engine_options(c->engine),
                                    FDL_OPT_TUNER_TARGET),
        .cores = c->cores,
        .memory_bytes = fdl_knobs_memory(&c->limits, &now),
        .memory_budget = fdl_engine_config(c->engine)->memory_budget,
    };
    if (c->tuner) {
        fdl_tuner_get(c->tuner, &status);
        add_status(&status, out);
        if (status.cores > 0)
            out->cores = status.cores;
    } else {
        fill_cold(c, out);
    }
    out->decisions = c->log.n;
    fdl_unlock(&c->lock);
}

uint32_t fdl_control_workers_max(struct fdl_control *c)
{
    fdl_lock(&c->lock);
    uint32_t most = c->limits.workers_max;
    fdl_unlock(&c->lock);
    return most;
}

void fdl_control_found(struct fdl_control *c, struct fdl_tuner_found *out)
{
    *out = (struct fdl_tuner_found){.limited_by = ""};
    fdl_lock(&c->lock);
    if (c->tuner)
        fdl_tuner_get_found(c->tuner, out);
    fdl_unlock(&c->lock);
    if (c->mode != FDL_TUNER_AUTO)
        memset(out->owns, 0, sizeof(out->owns));
}
