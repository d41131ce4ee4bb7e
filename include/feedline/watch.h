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
 * A watch is a feedline_loader that makes no batches: every function for
 * statistics, verdicts, phases (feedline.h), traces (traces.h) and texts
 * (tuning.h) accepts it, loaderbench top shows it, and feedline_loader_destroy
 * destroys it. It knows nothing of the inside of the other loader: all of the
 * wait is residual_ns of feedline_wait_stats and its other parts are 0, and
 * there are no workers and no slow samples; what its workers do is known as far
 * as it is told (feedline_watch_spent, feedline_watch_idle). Functions that
 * need batches of the loader's own (start, next, begin, set_position, restore
 * ...) are ESTATE.
 *
 * feedline_watch_begin and _end are for the thread that calls the other
 * loader's next; threads otherwise as for a loader. Statuses and strings as in
 * feedline.h.
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

/* Of cfg, the options stats_log, metrics, stats_interval, live, rank, world and
 * those whose names begin with trace count; NULL: the defaults. def NULL:
 * nothing is known. EINVAL: an invalid device, or struct_size not set; ENOMEM.
 */
FEEDLINE_API int32_t feedline_watch_create(const feedline_config *cfg,
                                           const struct feedline_watch_def *def,
                                           feedline_loader **out);

/* Call it right before the other loader's next: from here on the consumer
 * waits. ESTATE: there was a begin without an end, or `w` is not a watch. */
FEEDLINE_API int32_t feedline_watch_begin(feedline_loader *w);

/* Call it right after the other loader's next. status: FEEDLINE_OK, for a batch
 * of this many samples and bytes (0: not known); FEEDLINE_END, at the end of an
 * epoch; anything else for a call that brought no batch, whose wait then counts
 * with the next one. ESTATE: no begin. A begin and an end together cost one to
 * three microseconds. */
FEEDLINE_API int32_t feedline_watch_end(feedline_loader *w, int32_t status,
                                        uint64_t samples, uint64_t bytes);

/* feedline_watch_end for callers that, like an interpreter, do other things
 * between these calls and the other loader's next: that lasted from began_ns to
 * ended_ns of CLOCK_MONOTONIC. EINVAL: these are not in order between begin and
 * now; the begin still waits for an end. */
FEEDLINE_API int32_t feedline_watch_end_at(feedline_loader *w, int32_t status,
                                           uint64_t samples, uint64_t bytes,
                                           int64_t began_ns, int64_t ended_ns);

/* Where the workers of the other loader spend their time, added to what was
 * told before: wall_ns of one of them in a function of the program's, cpu_ns of
 * it on a core. what: "train.py:14 in vignette", copied, truncated to 63 bytes;
 * 64 functions are told apart; NULL: in none of them. Verdicts and
 * explanations name it, and the statistics list it among the operations. Any
 * thread. EINVAL: not 0 <= cpu_ns <= wall_ns. */
FEEDLINE_API int32_t feedline_watch_spent(feedline_loader *w, const char *what,
                                          int64_t wall_ns, int64_t cpu_ns);

/* Adds to the time for which one of the workers had nothing to do, as enough
 * batches were ready. A share of the time told: tell what they spend as well
 * (feedline_watch_spent). Then verdicts know whether fewer workers would do,
 * and whether too few batches are made ahead; where nothing is told, workers
 * count as busy. Any thread. EINVAL: idle_ns is below 0. */
FEEDLINE_API int32_t feedline_watch_idle(feedline_loader *w, int64_t idle_ns);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FEEDLINE_WATCH_H */
