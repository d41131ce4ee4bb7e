/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to trace, with the terms and the meaning of torch.profiler.schedule:
 *
 *   skip_first | wait  warmup  active | wait  warmup  active | ... repeat times
 *
 * in steps, counted from 0. A step is one batch: from the call of next() that
 * delivers it to the next call.
 */
#ifndef FDL_PROFILER_TRACE_SCHEDULE_H
#define FDL_PROFILER_TRACE_SCHEDULE_H

#include <feedline/traces.h>

#include <stdbool.h>
#include <stdint.h>

struct fdl_trace_schedule {
    uint64_t skip_first, wait, warmup;
    uint64_t active; /* at least 1 */
    uint64_t repeat; /* 0: no end */
};

enum fdl_trace_action {
    FDL_TRACE_NONE = FEEDLINE_TRACE_NONE,
    FDL_TRACE_WARMUP = FEEDLINE_TRACE_WARMUP,
    FDL_TRACE_RECORD = FEEDLINE_TRACE_RECORD,
    FDL_TRACE_RECORD_AND_SAVE = FEEDLINE_TRACE_RECORD_AND_SAVE
};

enum fdl_trace_action fdl_trace_action_at(const struct fdl_trace_schedule *s,
                                          uint64_t step);

/* No step from this one on is traced. */
bool fdl_trace_is_over(const struct fdl_trace_schedule *s, uint64_t step);

#endif
