/* SPDX-License-Identifier: Apache-2.0 */
/* When to trace; see trace_schedule.h. Options go up to 2^63 - 1 each, so the
 * length of a cycle is kept from wrapping around. */
#include "profiler/trace/trace_schedule.h"

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t cycle(const struct fdl_trace_schedule *s)
{
    return add(add(s->wait, s->warmup), s->active);
}

bool fdl_trace_is_over(const struct fdl_trace_schedule *s, uint64_t step)
{
    return s->repeat > 0 && step >= s->skip_first &&
           (step - s->skip_first) / cycle(s) >= s->repeat;
}

enum fdl_trace_action fdl_trace_action_at(const struct fdl_trace_schedule *s,
                                          uint64_t step)
{
    if (step < s->skip_first || fdl_trace_is_over(s, step))
        return FDL_TRACE_NONE;
    uint64_t at = (step - s->skip_first) % cycle(s);
    if (at < s->wait)
        return FDL_TRACE_NONE;
    if (at < add(s->wait, s->warmup))
        return FDL_TRACE_WARMUP;
    return at < cycle(s) - 1 ? FDL_TRACE_RECORD : FDL_TRACE_RECORD_AND_SAVE;
}
