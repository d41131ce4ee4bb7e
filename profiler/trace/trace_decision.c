/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A change of a setting as it stands in a trace. It is there twice: when it was
 * made, with what was expected of it, and when it was judged, with what came of
 * it. The note of 32 bytes has its number only; the rest is in the diary of the
 * loader, which keeps the last ones.
 */
#include "profiler/trace/trace_decision.h"

#include "base/json.h"

#include <stdio.h>

void fdl_trace_decision_name(const struct fdl_decision *d, bool judged,
                             char out[FDL_TRACE_DECISION_NAME_BYTES])
{
    snprintf(out, FDL_TRACE_DECISION_NAME_BYTES, "%s%s%s",
             d ? fdl_knob_name(d->knob) : "decision", d && judged ? " " : "",
             d && judged ? fdl_outcome_name(d->outcome) : "");
}

void fdl_trace_decision_args(const struct fdl_decision *d, uint64_t id,
                             bool judged, char out[FDL_TRACE_DECISION_BYTES])
{
    struct fdl_json j;
    uint64_t needed;
    fdl_json_init(&j, out, FDL_TRACE_DECISION_BYTES);
    fdl_json_begin_object(&j, NULL);
    if (d) {
        fdl_json_int(&j, "value", d->after);
        fdl_json_int(&j, "before", d->before);
        fdl_json_string(&j, "reason", fdl_reason_name(d->reason));
        fdl_json_string(&j, "why", d->why);
        fdl_json_double(&j, "predicted", d->predicted);
        fdl_json_double(&j, "stall_before", d->stall_before);
    }
    if (d && judged) {
        fdl_json_string(&j, "outcome", fdl_outcome_name(d->outcome));
        fdl_json_double(&j, "measured", d->measured);
        fdl_json_double(&j, "error", d->error);
        fdl_json_double(&j, "stall_after", d->stall_after);
    }
    fdl_json_int(&j, "id", (int64_t)id);
    fdl_json_end_object(&j);
    fdl_json_finish(&j, &needed); /* words of 160 bytes fit, however quoted */
}
