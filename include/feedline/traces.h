/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces: what each thread of a loader did when, as Chrome JSON for
 * ui.perfetto.dev (docs/trace.md). Loading data does not need it.
 *
 * Statuses and strings as in feedline.h.
 */
#ifndef FEEDLINE_TRACES_H
#define FEEDLINE_TRACES_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every thread of a loader always records events in a ring of its own, which
 * holds the last 4096. This function writes them to `path`, completely or not
 * at all, as Chrome JSON for ui.perfetto.dev. The options whose names begin
 * with trace record whole steps instead. Any thread. EIO names the file. */
FEEDLINE_API int32_t feedline_loader_trace_save(feedline_loader *l,
                                                const char *path);

/* Records everything that begins from since_ns (CLOCK_MONOTONIC; 0: now) until
 * feedline_loader_record_end into `path`, as Chrome JSON. A thread copies the
 * rings meanwhile, so nothing is overwritten; events before the call are there
 * if the rings still have them. The file has its name once it is complete, and
 * is no larger than option trace_limit. Destroying the loader ends a recording.
 * record, record_step and record_end: the consumer's thread. ESTATE: another
 * recording is in progress. ERANGE: since_ns is negative or in the future. EIO
 * names the file. */
FEEDLINE_API int32_t feedline_loader_record(feedline_loader *l,
                                            const char *path, int64_t since_ns);

/* A step of the program ended: the slice "ProfilerStep#number" reaches from the
 * previous step, or the beginning of the recording, to now. ESTATE: no
 * recording is in progress. */
FEEDLINE_API int32_t feedline_loader_record_step(feedline_loader *l,
                                                 uint64_t number);

/* Ends the recording: at the end of its last step if at_step is 1, now if it is
 * 0. ESTATE: no recording is in progress. */
FEEDLINE_API int32_t feedline_loader_record_end(feedline_loader *l,
                                                int32_t at_step);

enum feedline_trace_action {
    FEEDLINE_TRACE_NONE = 0,
    FEEDLINE_TRACE_WARMUP = 1,
    FEEDLINE_TRACE_RECORD = 2,
    FEEDLINE_TRACE_RECORD_AND_SAVE = 3 /* the last step of a cycle */
};

/* What a schedule such as torch.profiler.schedule does in a step, counted from
 * 0: it skips skip_first steps; then follow `repeat` cycles (0: without end) of
 * `wait` idle steps, `warmup` steps and `active` recorded steps. Returns enum
 * feedline_trace_action. Any thread. EINVAL: active is 0. */
FEEDLINE_API int32_t feedline_trace_action(uint64_t skip_first, uint64_t wait,
                                           uint64_t warmup, uint64_t active,
                                           uint64_t repeat, uint64_t step);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FEEDLINE_TRACES_H */
