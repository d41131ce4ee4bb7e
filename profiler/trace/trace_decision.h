/* SPDX-License-Identifier: Apache-2.0 */
/* A change of a setting as it stands in a trace. */
#ifndef FDL_PROFILER_TRACE_DECISION_H
#define FDL_PROFILER_TRACE_DECISION_H

#include "profiler/tuner/tuner.h"

#include <stdbool.h>
#include <stdint.h>

#define FDL_TRACE_DECISION_NAME_BYTES 48
#define FDL_TRACE_DECISION_BYTES      2048

/* "workers", and when it was judged "workers kept". d: NULL, nothing is known
 * of it any more. */
void fdl_trace_decision_name(const struct fdl_decision *d, bool judged,
                             char out[FDL_TRACE_DECISION_NAME_BYTES]);

/* Its args, as one JSON object. */
void fdl_trace_decision_args(const struct fdl_decision *d, uint64_t id,
                             bool judged, char out[FDL_TRACE_DECISION_BYTES]);

#endif
