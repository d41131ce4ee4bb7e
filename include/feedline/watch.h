/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch: feedline's statistics for another loader's batches. Put two calls
 * around any `next`, of another library or of your own loop:
 *
 *     feedline_loader *w;
 *     feedline_watch_create(NULL, NULL, &w);
 *     for (;;) {
 *         feedline_watch_begin(w);
 *         int more = their_next(&batch);
 *         feedline_watch_end(w, more ? FEEDLINE_OK : FEEDLINE_END, 64, 0);
 *         if (!more)
 *             break;
 *         train(batch);
 *     }
 *
 * A watch is a feedline_loader without an engine: every function for
 * statistics, verdicts, phases and traces in feedline.h accepts it, loaderbench
 * top shows it, and feedline_loader_destroy destroys it. It knows
 * nothing of the inside: the parts of feedline_wait_stats are 0 and all of the
 * wait is residual_ns, there are no workers and no slow samples. Functions that
 * need an engine (start, next, begin, set_position, restore ...) are ESTATE.
 *
 * begin and end: one thread at a time, the consumer's; everything else as for a
 * loader. Statuses and strings as in feedline.h.
 */
#ifndef FEEDLINE_WATCH_H
#define FEEDLINE_WATCH_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is watched, as far as known; all but struct_size may be zero. Texts are
 * copied, and truncated to 63 bytes. */
struct feedline_watch_def {
    uint32_t struct_size;
    uint32_t workers;    /* threads or processes that make its batches; 0: the
                         calling thread does, or not known */
    uint32_t batch_size; /* samples of a full batch, for loaderbench top; 0: not
                            known */
    uint32_t reserved;
    const char *name;   /* for people, "DataLoader"; NULL: "the iterable" */
    const char *option; /* how its users set `workers`, "num_workers", for
                           advice; NULL: they cannot */
    const char *device; /* the GPU to query through NVML, "cuda:0"; NULL: none
                         */
};

/* cfg: only stats_log, metrics, stats_interval, live, rank, world and the trace
 * options are used; NULL: the defaults. def NULL: nothing is known. EINVAL: an
 * invalid device, or struct_size not set; ENOMEM. */
FEEDLINE_API int32_t feedline_watch_create(const feedline_config *cfg,
                                           const struct feedline_watch_def *def,
                                           feedline_loader **out);

/* Call right before their next: from here on the consumer waits. ESTATE: a call
 * is in progress (an end is missing), or `w` is not a watch. */
FEEDLINE_API int32_t feedline_watch_begin(feedline_loader *w);

/* Call right after their next. status: FEEDLINE_OK with a batch of this many
 * samples and bytes (0: unknown), FEEDLINE_END at the end of an epoch, else a
 * call without a batch, whose wait is then counted with the next batch. ESTATE:
 * no begin. Costs one to three microseconds with begin. */
FEEDLINE_API int32_t feedline_watch_end(feedline_loader *w, int32_t status,
                                        uint64_t samples, uint64_t bytes);

/* feedline_watch_end for callers that do more than call between their next and
 * ours, such as an interpreter: their next lasted from began_ns to ended_ns of
 * CLOCK_MONOTONIC, both since begin. EINVAL: it did not; the call is still in
 * progress. */
FEEDLINE_API int32_t feedline_watch_end_at(feedline_loader *w, int32_t status,
                                           uint64_t samples, uint64_t bytes,
                                           int64_t began_ns, int64_t ended_ns);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FEEDLINE_WATCH_H */
