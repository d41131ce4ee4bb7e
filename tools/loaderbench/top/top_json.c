/* SPDX-License-Identifier: Apache-2.0 */
/* A moment of the live view as JSON; what is not known is null. */
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/stat.h"
#include "tools/loaderbench/tool.h"
#include "tools/loaderbench/top/top.h"

static json_t *known(double x)
{
    return x >= 0 ? json_real(x) : json_null();
}

static json_t *parts(const struct top_part *part, size_t n)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++)
        json_object_set_new(object, part[i].key, known(part[i].fraction));
    return object;
}

static json_t *gpu_json(const struct feedline_live_stats *s)
{
    if (!s->has_gpu)
        return json_null();
    json_t *gpu = json_object();
    stat_json(gpu, "gpu", s, 0);
    json_object_set_new(gpu, "throttle", json_string(s->gpu_throttle));
    return gpu;
}

static json_t *machine_json(const struct feedline_live_stats *s,
                            const struct top_rates *r)
{
    json_t *machine =
        json_pack("{s:o, s:o, s:o}", "cpu_cores", known(r->cpu_cores),
                  "throttled_fraction", known(r->throttled),
                  "machine_busy_fraction", known(r->machine));
    stat_json(machine, "machine", s, 0);
    return machine;
}

static json_t *planned(uint32_t value)
{
    return value ? json_integer(value) : json_null();
}

/* Null: the page is of a version that says nothing of it. */
static json_t *tuner_json(const struct feedline_live_stats *s)
{
    if (!s->tuner.mode[0])
        return json_null();
    return json_pack("{s:s, s:s, s:b, s:o, s:o, s:o, s:s, s:o, s:o, s:I}",
                     "mode", s->tuner.mode, "state", s->tuner.state,
                     "converged", (int)(s->tuner.converged != 0),
                     "planned_workers", planned(s->tuner.planned_workers),
                     "planned_depth", planned(s->tuner.planned_depth),
                     "planned_io_depth", planned(s->tuner.planned_io_depth),
                     "limited_by", s->tuner.limited_by, "stall",
                     known(s->tuner.stall), "target", known(s->tuner.target),
                     "n_decisions", (json_int_t)s->tuner.decisions);
}

json_t *top_json(const struct feedline_live_info *info,
                 const struct feedline_live_stats *now,
                 const struct top_rates *r)
{
    json_t *doc = document_new("top");
    json_t *decisions = json_array(), *queue = json_object();
    stat_json(queue, "queue", now, 0);
    for (uint32_t i = 0; i < now->n_decisions; i++)
        json_array_append_new(decisions, json_string(now->decisions[i]));
    json_t *rest = json_pack(
        "{s:{s:i, s:i, s:s}, s:f, s:{s:I, s:I, s:I}, s:{s:f, s:f, s:f, s:f},"
        " s:{s:o, s:o, s:o}, s:o,"
        " s:o, s:o, s:o, s:{s:s, s:s, s:f, s:s, s:s, s:f}, s:o}",
        "process", "pid", (int)info->pid, "loader", (int)info->loader,
        "command", info->command, "seconds", r->seconds, "total", "batches",
        (json_int_t)now->stats.batches, "images",
        (json_int_t)now->stats.samples, "failed_samples",
        (json_int_t)now->stats.failed_samples, "rates", "images_per_second",
        r->images, "batches_per_second", r->batches, "read_bytes_per_second",
        r->read_bytes, "copied_bytes_per_second", r->copied_bytes, "stall",
        "host_fraction", known(r->stall), "device_fraction",
        known(r->device_idle), "causes", parts(r->causes, r->n_causes), "queue",
        queue, "workers", parts(r->states, r->n_states), "machine",
        machine_json(now, r), "gpu", gpu_json(now), "verdict", "code",
        now->verdict.code, "level", now->verdict.level, "confidence",
        now->verdict.confidence, "sentence", now->verdict.sentence, "action",
        now->verdict.action, "predicted_gain", now->verdict.predicted_gain,
        "decisions", decisions);
    json_object_update(doc, rest);
    json_object_set_new(doc, "tuner", tuner_json(now));
    json_object_set_new(doc, "placement",
                        now->placement[0] ? json_string(now->placement)
                                          : json_null());
    json_object_set_new(doc, "stuck_workers",
                        json_integer((json_int_t)now->stuck_workers));
    json_decref(rest);
    return doc;
}
