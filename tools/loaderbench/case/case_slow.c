/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small images and a slow transform: rotation, padded crop, and then something
 * that waits for 1 ms, as a call to another service does. Whoever sets workers
 * to the number of cores gets a fraction of what the machine can do, for a
 * worker that waits needs no core.
 *
 * A sweep measures each number of workers; 0 is one slot, so that loading waits
 * for the loop and the loop for loading. Then the tuner finds its own number,
 * from its usual start. At last a sweep of two points, the best of the grid and
 * what the tuner found, has ROUNDS rounds, so that whatever else the machine
 * does falls on both alike; the median of the ratios counts.
 */
#include "tools/loaderbench/case/case.h"
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/sweep/sweep.h"

#include <stdio.h>
#include <stdlib.h>

#define SLEEP_MS    1.0
#define SIDE        28u
#define WARMUP      5 /* batches */
#define ROUNDS      5
#define GOAL        0.95
#define SAMPLES_MAX 10000000
#define CHOSEN      0 /* a depth: as the loader chooses */

static const struct sweep_axis grid = {{1, 2, 4, 8, 16, 32, 64}, 7};
static const struct sweep_axis chosen = {{CHOSEN}, 1}, none = {{0}, 0};

struct slow {
    const struct case_options *options;
    struct case_result *out;
    struct case_scene scene;
    struct sweep grid, duel;
    int64_t workers, depth; /* that the tuner found */
};

/* ---- Measuring ---------------------------------------------------------- */

static int measure(struct sweep *s, uint64_t rounds, double seconds)
{
    s->rounds = rounds;
    s->setup->options.seconds = seconds;
    int rc = sweep_measure(s);
    return rc == TOOL_DONE && s->interrupted ? TOOL_INTERRUPTED : rc;
}

static int measure_grid(struct slow *s)
{
    struct sweep_point *in_series;
    int rc = sweep_init(&s->grid, &s->scene.setup, "", &grid, &chosen, &none);
    if (rc == TOOL_DONE)
        rc = sweep_add(&s->grid, 1, 1, 0, &in_series);
    return rc == TOOL_DONE ? measure(&s->grid, 1, s->options->seconds) : rc;
}

static const struct sweep_point *best_of_grid(const struct slow *s)
{
    struct knee_point *points = sweep_knee_points(&s->grid);
    size_t best = points ? knee_fastest(points, s->grid.n) : s->grid.n;
    free(points);
    return best < s->grid.n ? &s->grid.points[best] : NULL;
}

static int measure_duel(struct slow *s)
{
    const struct sweep_point *best = best_of_grid(s);
    struct sweep_point *point;
    if (!best)
        return tool_no_memory();
    int rc = sweep_init(&s->duel, &s->scene.setup, "", &none, &none, &none);
    if (rc == TOOL_DONE)
        rc = sweep_add(&s->duel, best->workers, best->depth, 0, &point);
    if (rc == TOOL_DONE)
        rc = sweep_add(&s->duel, s->workers, s->depth, 0, &point);
    return rc == TOOL_DONE
               ? measure(&s->duel, ROUNDS, s->options->seconds / ROUNDS)
               : rc;
}

/* ---- What is said of it ------------------------------------------------- */

/* 0: nothing is done ahead. */
static int64_t workers_of(const struct sweep_point *p)
{
    return p->depth == 1 ? 0 : p->workers;
}

static void fill_side(const struct slow *s, struct case_side *side,
                      const struct sweep_point *p)
{
    double rate = doc_median(p->runs, "images_per_second");
    side->images_per_second = rate;
    side->step_ms = 1e3 * (double)s->options->batch_size / rate;
    side->stall_fraction = doc_median(p->runs, "host_fraction");
}

static void add_point(const struct slow *s, const struct sweep_point *p,
                      bool tuned)
{
    struct case_result *r = s->out;
    double rate = doc_median(p->runs, "images_per_second");
    double batches = rate / (double)s->options->batch_size;
    double epoch = (double)s->options->samples / rate;
    int64_t workers = tuned ? p->workers : workers_of(p);
    char label[32], note[48];
    snprintf(label, sizeof(label), "%s%lld", tuned ? "tuned: " : "",
             (long long)workers);
    snprintf(note, sizeof(note), "%.2f s an epoch%s", epoch,
             tuned ? ", the tuner" : "");
    case_add_bar(r, label, note, batches, tuned);
    json_array_append_new(r->points,
                          json_pack("{s:I, s:f, s:f, s:f, s:b}", "workers",
                                    (json_int_t)workers, "images_per_second",
                                    rate, "batches_per_second", batches,
                                    "epoch_seconds", epoch, "tuned", tuned));
}

static void tell_grid(const struct slow *s)
{
    struct case_result *r = s->out;
    const struct sweep_point *in_series = sweep_find(&s->grid, 1, 1);
    snprintf(r->before.what, sizeof(r->before.what), "in series, no workers");
    snprintf(r->after.what, sizeof(r->after.what), "as the tuner found it");
    r->unit = "batch";
    r->chart = "batches/s by workers:";
    if (in_series && json_array_size(in_series->runs)) {
        fill_side(s, &r->before, in_series);
        add_point(s, in_series, false);
    }
    for (size_t i = 0; i < s->grid.n; i++)
        if (s->grid.points[i].depth == CHOSEN &&
            json_array_size(s->grid.points[i].runs))
            add_point(s, &s->grid.points[i], false);
}

/* The duel, as far as it went. */
static void tell_tuned(const struct slow *s)
{
    struct case_result *r = s->out;
    const struct sweep_point *best = best_of_grid(s);
    const struct sweep_point *tuned =
        sweep_find(&s->duel, s->workers, s->depth);
    struct feedline_machine_info m = {.struct_size = sizeof(m)};
    const json_t *search = json_object_get(r->more, "search");
    best = best ? sweep_find(&s->duel, best->workers, best->depth) : NULL;
    if (!best || !tuned || !json_array_size(best->runs) ||
        !json_array_size(tuned->runs))
        return;
    double rate = doc_median(best->runs, "images_per_second");
    feedline_machine_get_info(&m);
    fill_side(s, &r->after, tuned);
    r->after.workers = s->workers;
    r->after.depth = s->depth;
    add_point(s, tuned, true);
    snprintf(r->bound_what, sizeof(r->bound_what), "best of the grid, %lld",
             (long long)workers_of(best));
    r->bound_ms = 1e3 * (double)s->options->batch_size / rate;
    snprintf(r->goal.text, sizeof(r->goal.text), "Tuned against the best");
    r->goal.value = case_median_ratio(tuned->runs, best->runs);
    r->goal.limit = GOAL;
    snprintf(r->sentence, sizeof(r->sentence),
             TOOL_COUNT " on " TOOL_COUNT ", since workers sleep. The search "
                        "took %.1f s and loaded %.0f images/s.",
             TOOL_COUNT_OF(s->workers, "worker"),
             TOOL_COUNT_OF(m.cpus_usable, "core"), doc_or_0(search, "seconds"),
             doc_or_0(search, "images_per_second"));
    json_object_set_new(r->more, "best",
                        json_pack("{s:I, s:f}", "workers",
                                  (json_int_t)workers_of(best),
                                  "images_per_second", rate));
}

int case_slow(const struct case_options *o, struct case_result *out)
{
    const char *operations[] = {"random_rotation degrees=15",
                                "random_crop width=28 height=28 padding=4"};
    struct cli_setting settings[] = {
        {"dtype", "f32"}, {"channels", "1"}, {"drop_last", "true"}};
    struct slow s = {.options = o, .out = out};
    s.scene =
        (struct case_scene){.settings = settings,
                            .n_settings = sizeof(settings) / sizeof(*settings),
                            .batch_size = o->batch_size,
                            .work_ms = SLEEP_MS,
                            .spin = o->spin};
    s.scene.setup.options = (struct run_options){
        .pipeline = "none", .ops = {operations, 2}, .warmup = WARMUP};
    if (o->samples > SAMPLES_MAX || o->samples < o->batch_size) {
        tool_say("case slow-transform takes --samples of a batch, %llu, to %d",
                 (unsigned long long)o->batch_size, SAMPLES_MAX);
        return TOOL_USAGE;
    }
    int rc = case_scene_pixels(&s.scene, (uint32_t)o->samples, SIDE, 1);
    if (rc == TOOL_DONE)
        rc = case_scene_open(&s.scene);
    if (rc == TOOL_DONE)
        rc = measure_grid(&s);
    if (rc == TOOL_DONE)
        rc = case_tune(&s.scene.setup, o->patience, out, &s.workers, &s.depth);
    if (rc == TOOL_DONE)
        rc = measure_duel(&s);
    if (rc == TOOL_DONE || rc == TOOL_INTERRUPTED) {
        tell_grid(&s);
        tell_tuned(&s);
    }
    sweep_fini(&s.grid);
    sweep_fini(&s.duel);
    case_scene_close(&s.scene);
    return rc;
}
