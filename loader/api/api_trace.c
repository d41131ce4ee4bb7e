/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: traces, recordings and their schedule. */
#include "base/clock.h"
#include "loader/api/api.h"
#include "loader/loader.h"
#include "loader/report/recorder.h"
#include "profiler/trace/trace_schedule.h"

#include <feedline/traces.h>

int32_t feedline_loader_trace_save(feedline_loader *l, const char *path)
{
    int32_t status = fdl_api_enter_loader(l);
    if (status >= 0)
        status = fdl_api_enter(path, "path");
    return status < 0 ? status : fdl_tracing_save(&l->sources, path);
}

int32_t feedline_loader_record(feedline_loader *l, const char *path,
                               int64_t since_ns)
{
    int32_t status = fdl_api_enter_loader(l);
    int64_t now = fdl_now_ns();
    if (status >= 0)
        status = fdl_api_enter(path, "path");
    if (status < 0)
        return status;
    if (since_ns < 0 || since_ns > now)
        return fdl_fail(FEEDLINE_ERANGE,
                        "since_ns is not a past time of CLOCK_MONOTONIC");
    if (l->tracing.recording)
        return fdl_fail(FEEDLINE_ESTATE,
                        "this loader is being recorded already; end that "
                        "recording first");
    return fdl_recorder_begin(&l->sources, path, since_ns ? since_ns : now,
                              &l->tracing.recording);
}

static int32_t enter_recording(const feedline_loader *l)
{
    int32_t status = fdl_api_enter_loader(l);
    if (status >= 0 && !l->tracing.recording)
        status = fdl_fail(FEEDLINE_ESTATE, "this loader is not being recorded");
    return status;
}

int32_t feedline_loader_record_step(feedline_loader *l, uint64_t number)
{
    int32_t status = enter_recording(l);
    if (status >= 0)
        fdl_recorder_mark(l->tracing.recording, number, fdl_now_ns());
    return status;
}

int32_t feedline_loader_record_end(feedline_loader *l, int32_t at_step)
{
    int32_t status = enter_recording(l);
    if (status >= 0) {
        fdl_recorder_end(l->tracing.recording, at_step != 0);
        l->tracing.recording = NULL;
    }
    return status;
}

int32_t feedline_trace_action(uint64_t skip_first, uint64_t wait,
                              uint64_t warmup, uint64_t active, uint64_t repeat,
                              uint64_t step)
{
    const struct fdl_trace_schedule schedule = {
        .skip_first = skip_first,
        .wait = wait,
        .warmup = warmup,
        .active = active,
        .repeat = repeat,
    };
    fdl_clear_error();
    if (active == 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "a schedule records at least 1 step of each cycle");
    return (int32_t)fdl_trace_action_at(&schedule, step);
}
