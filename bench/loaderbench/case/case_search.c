/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watching a tuner at work: what was in force, for how long, and how fast the
 * loop went with it, until it stays where it is.
 */
#include "bench/loaderbench/case/case.h"
#include "bench/loaderbench/case/case_loader.h"
#include "bench/loaderbench/library.h"
#include "bench/loaderbench/tool.h"

#include <stdlib.h>
#include <string.h>

/* So long it has to say that nothing is left to be improved. */
#define STAYS_SECONDS 1.0
#define STAYS_BATCHES 16
#define LOOK_SECONDS  0.02

struct way {
    feedline_loader *loader;
    struct case_search *out;
    double begin, next_look;

    /* The setting in force, and since when. */
    struct case_rate step;
    double step_begin;

    /* Since when it has been converged; 0: it is not. */
    double converged_since;
    uint64_t converged_batches;
};

static void end_step(struct way *w, double now)
{
    struct case_rate *s = &w->step;
    struct case_rate *whole = &w->out->whole;
    s->seconds = now - w->step_begin;
    if (s->batches)
        json_array_append_new(
            w->out->steps,
            json_pack("{s:I, s:I, s:I, s:f, s:I, s:f, s:f}", "workers",
                      (json_int_t)s->workers, "depth", (json_int_t)s->depth,
                      "batch", (json_int_t)(whole->batches - s->batches),
                      "seconds", w->step_begin - w->begin, "batches",
                      (json_int_t)s->batches, "step_ms", case_step_ms(s),
                      "images_per_second", case_images_per_second(s)));
    w->step_begin = now;
    s->batches = s->images = 0;
}

/* Notes what is in force; a change ends a step. */
static void look(struct way *w, double now)
{
    int64_t workers = w->step.workers, depth = w->step.depth;
    feedline_loader_get_int(w->loader, "workers", &workers);
    feedline_loader_get_int(w->loader, "depth", &depth);
    if (workers == w->step.workers && depth == w->step.depth)
        return;
    end_step(w, now);
    w->step.workers = workers;
    w->step.depth = depth;
}

static bool stays(struct way *w, double now)
{
    struct feedline_tuner_info info = {.struct_size = sizeof(info)};
    if (feedline_loader_get_tuner(w->loader, &info) < 0 || !info.converged) {
        w->converged_since = 0;
        return false;
    }
    struct case_search *s = w->out;
    if (w->converged_since <= 0) {
        w->converged_since = now;
        w->converged_batches = s->whole.batches;
    }
    s->converged = now - w->converged_since >= STAYS_SECONDS &&
                   s->whole.batches - w->converged_batches >= STAYS_BATCHES;
    s->converged_batch = info.converged_batch;
    s->converged_seconds = 1e-9 * (double)info.converged_ns;
    return s->converged;
}

int case_search(feedline_loader *l, const struct case_consumer *consumer,
                double patience, struct case_search *out)
{
    struct way w = {.loader = l, .out = out, .begin = tool_seconds()};
    struct case_rate *whole = &out->whole;
    int rc = TOOL_DONE;
    bool done = false;
    memset(out, 0, sizeof(*out));
    out->steps = json_array();
    look(&w, w.begin);
    w.step_begin = w.begin;
    while (rc == TOOL_DONE && !done) {
        uint64_t images = whole->images;
        rc = case_take(l, consumer, whole);
        w.step.batches++;
        w.step.images += whole->images - images;
        /* Looking is not for nothing, so not after every batch. */
        double now = tool_seconds();
        if (now < w.next_look)
            continue;
        w.next_look = now + LOOK_SECONDS;
        look(&w, now);
        done = stays(&w, now) || now >= w.begin + patience;
    }
    double end = tool_seconds();
    end_step(&w, end);
    whole->seconds = end - w.begin;
    whole->wait_fraction = case_waited(l) / whole->seconds;
    whole->workers = w.step.workers;
    whole->depth = w.step.depth;
    return rc;
}

void case_search_explain(feedline_loader *l, struct case_search *s)
{
    json_decref(s->tuner);
    free(s->explained);
    s->tuner = library_json(LIBRARY_TUNER, l);
    library_text(LIBRARY_TUNER_TEXT, l, &s->explained);
}

void case_search_fini(struct case_search *s)
{
    json_decref(s->steps);
    json_decref(s->tuner);
    free(s->explained);
    memset(s, 0, sizeof(*s));
}

void case_search_tell(struct case_search *s, struct case_result *r)
{
    const struct case_rate *whole = &s->whole;
    if (s->converged) {
        r->after.converged_batch = (int64_t)s->converged_batch;
        r->after.converged_seconds = s->converged_seconds;
    }
    json_object_set_new(r->more, "search",
                        json_pack("{s:I, s:f, s:f}", "batches",
                                  (json_int_t)whole->batches, "seconds",
                                  whole->seconds, "images_per_second",
                                  case_images_per_second(whole)));
    json_object_set(r->more, "tuner", s->tuner ? s->tuner : json_null());
    r->explained = s->explained;
    s->explained = NULL;
}
