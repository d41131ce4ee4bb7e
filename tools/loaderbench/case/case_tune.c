/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tuner at work in a story: as `tune` follows it, and besides what was in
 * force, for how long, and how fast the loop went with it.
 */
#include "tools/loaderbench/case/case.h"
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/tune/tune.h"

#include <stdlib.h>

/* For how long the tuner has to report that nothing is left to improve. */
#define STAYS_SECONDS 1.0

struct way {
    struct tune_follow follow;
    json_t *steps;
    int64_t workers, depth; /* in force */

    /* What was delivered until now, and until the setting came into force. */
    struct mark {
        double seconds;
        uint64_t batches, images;
    } now, since;
};

static void end_step(struct way *w)
{
    double seconds = w->now.seconds - w->since.seconds;
    double batches = (double)(w->now.batches - w->since.batches);
    double images = (double)(w->now.images - w->since.images);
    if (batches > 0 && seconds > 0)
        json_array_append_new(
            w->steps,
            json_pack("{s:I, s:I, s:I, s:f, s:I, s:f, s:f}", "workers",
                      (json_int_t)w->workers, "depth", (json_int_t)w->depth,
                      "batch", (json_int_t)w->since.batches, "seconds",
                      w->since.seconds, "batches", (json_int_t)batches,
                      "step_ms", 1e3 * seconds / batches, "images_per_second",
                      images / seconds));
    w->since = w->now;
}

static bool note_batch(void *self, feedline_loader *l, double seconds,
                       uint64_t images)
{
    struct way *w = self;
    int64_t workers = w->workers, depth = w->depth;
    feedline_loader_get_int(l, "workers", &workers);
    feedline_loader_get_int(l, "depth", &depth);
    if (workers != w->workers || depth != w->depth)
        end_step(w);
    w->workers = workers;
    w->depth = depth;
    w->now = (struct mark){seconds, w->now.batches + 1, images};
    return tune_follow_batch(&w->follow, l, seconds, images);
}

static int note_end(void *self, feedline_loader *l)
{
    struct way *w = self;
    end_step(w);
    return tune_follow_end(&w->follow, l);
}

static void tell(struct way *w, const json_t *run, struct case_result *r)
{
    json_object_set_new(r->more, "search",
                        json_pack("{s:I, s:f, s:f, s:O}", "batches",
                                  (json_int_t)doc_int(run, "result.batches"),
                                  "seconds", doc_or_0(run, "result.seconds"),
                                  "images_per_second",
                                  doc_or_0(run, "result.images_per_second"),
                                  "steps", w->steps));
    json_object_set(r->more, "tuner", json_object_get(run, "tuner"));
    r->explained = w->follow.story;
    if (w->follow.ended_settled) {
        r->after.converged_batch = doc_int(run, "tuner.converged_batch");
        r->after.converged_seconds = doc_or_0(run, "tuner.converged_seconds");
    }
}

int case_tune(struct run_setup *s, double patience, struct case_result *r)
{
    struct way w = {.follow = {.open_ended = true, .hold = STAYS_SECONDS},
                    .steps = json_array()};
    const struct run_watch watch = {note_batch, note_end, &w};
    const struct run_options options = s->options;
    struct run_counts counts = {.interrupted = false};
    json_t *run = NULL;
    int rc = case_set(s, "auto", 0, 0);
    s->options.seconds = patience;
    s->options.warmup = 0;
    s->watch = &watch;
    if (rc == TOOL_DONE)
        rc = run_measure(s, &run, &counts);
    s->watch = NULL;
    s->options = options;
    if (rc == TOOL_DONE) {
        tell(&w, run, r);
        rc = counts.interrupted
                 ? TOOL_INTERRUPTED
                 : case_set(s, "off", doc_int(run, "tuner.workers"),
                            doc_int(run, "tuner.depth"));
    } else {
        free(w.follow.story);
    }
    json_decref(w.steps);
    json_decref(run);
    return rc;
}
