/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the notes of a loader (watch/notes.h) get out: when somebody asks for
 * what led to this moment (fdl_tracing_save), and by the recorder, a thread
 * that exists only with option trace (recorder.h).
 */
#ifndef FDL_LOADER_TRACING_H
#define FDL_LOADER_TRACING_H

#include "loader/report/sources.h"
#include "profiler/trace/trace_json.h"

#include <stdint.h>

struct fdl_recorder;

struct fdl_tracing {
    const struct fdl_sources *from; /* NULL: not created */
    struct fdl_recorder *recorder;  /* NULL without option trace */
    struct fdl_recorder *recording; /* of feedline_loader_record, or NULL */
};

/* Zeroed memory. EINVAL, ERANGE, EIO: the options of the trace, and its file.
 */
int32_t fdl_tracing_create(const struct fdl_sources *from,
                           struct fdl_tracing *t);

/* Ends the trace: its file is complete then. No thread of the loader runs. */
void fdl_tracing_destroy(struct fdl_tracing *t);

/* What the text needs to know of the loader. */
void fdl_tracing_describe(const struct fdl_sources *from, uint32_t categories,
                          struct fdl_trace_json_config *out);

/* What the rings hold now, as a file. EIO, ENOMEM. Any thread. */
int32_t fdl_tracing_save(const struct fdl_sources *from, const char *path);

#endif
