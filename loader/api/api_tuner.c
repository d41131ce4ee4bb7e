/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: the tuner. */
#include "loader/api/api.h"
#include "loader/loader.h"
#include "loader/report/explain.h"
#include "loader/report/outside_text.h"
#include "loader/report/stats_json.h"
#include "loader/tune/profile.h"

#include <string.h>

int32_t feedline_loader_get_tuner(const feedline_loader *l,
                                  struct feedline_tuner_info *out)
{
    struct feedline_tuner_info info;
    int32_t status = fdl_api_enter_loader(l);
    if (status >= 0)
        status = fdl_check_out(out);
    if (status < 0)
        return status;
    fdl_control_info(l->control, &info);
    return fdl_copy_out(out, &info, sizeof(info));
}

int32_t feedline_loader_get_decision(const feedline_loader *l, uint32_t index,
                                     struct feedline_decision *out)
{
    struct fdl_decision d;
    int64_t created_ns;
    int32_t status = fdl_api_enter_loader(l);
    if (status >= 0)
        status = fdl_check_out(out);
    if (status < 0)
        return status;
    if (!fdl_control_decision(l->control, index, &d, &created_ns))
        return FEEDLINE_END;
    struct feedline_decision decision = {
        .id = d.id,
        .time_ns =
            d.time_ns > created_ns ? (uint64_t)(d.time_ns - created_ns) : 0,
        .batch = d.batch,
        .before = d.before,
        .after = d.after,
        .predicted = d.predicted,
        .measured = d.measured,
        .error = d.error,
        .stall_before = d.stall_before,
        .stall_after = d.stall_after,
        .knob = fdl_knob_name(d.knob),
        .reason = fdl_reason_name(d.reason),
        .outcome = fdl_outcome_name(d.outcome),
    };
    _Static_assert(sizeof(decision.why) == sizeof(d.why), "words are copied");
    memcpy(decision.why, d.why, sizeof(decision.why));
    return fdl_copy_out(out, &decision, sizeof(decision));
}

int32_t feedline_loader_tuner_json(const feedline_loader *l, char *buf,
                                   uint64_t capacity, uint64_t *needed)
{
    struct fdl_json j;
    int32_t status = fdl_api_enter_loader(l);
    if (status < 0)
        return status;
    fdl_json_init(&j, buf, capacity);
    fdl_json_begin_object(&j, NULL);
    fdl_tuner_json(l->control, true, &j);
    fdl_json_end_object(&j);
    return fdl_json_finish(&j, needed);
}

static int32_t text_of(const feedline_loader *l,
                       void (*write)(const struct fdl_sources *,
                                     struct fdl_text *),
                       char *buf, uint64_t capacity, uint64_t *needed)
{
    struct fdl_text text = {0};
    int32_t status = fdl_api_enter_loader(l);
    if (status < 0)
        return status;
    write(&l->sources, &text);
    status = fdl_text_copy_out(&text, buf, capacity, needed);
    fdl_text_free(&text);
    return status;
}

int32_t feedline_loader_explain(const feedline_loader *l, char *buf,
                                uint64_t capacity, uint64_t *needed)
{
    return text_of(l, fdl_explain, buf, capacity, needed);
}

static void explain_tuner(const struct fdl_sources *from, struct fdl_text *t)
{
    if (from->watch->outside)
        fdl_outside_explain(from->watch, t);
    else
        fdl_tuner_explain(from, t);
}

int32_t feedline_loader_tuner_text(const feedline_loader *l, char *buf,
                                   uint64_t capacity, uint64_t *needed)
{
    return text_of(l, explain_tuner, buf, capacity, needed);
}

int32_t feedline_loader_save_profile(const feedline_loader *l, const char *path)
{
    int32_t status = fdl_api_enter_loader(l);
    if (status >= 0)
        status = fdl_api_enter(path, "path");
    return status < 0 ? status : fdl_profile_save(l->control, path);
}
