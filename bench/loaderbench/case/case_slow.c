/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small images and a slow transform: rotation, padded crop, and then something
 * that waits for 1 ms, as a call to another service does. Whoever sets workers
 * to the number of cores gets a fraction of what the machine can do, for a
 * worker that waits needs no core.
 *
 * Each number of workers is measured alone; 0 is loading only when a batch is
 * asked for. Then the tuner finds its own number, from its usual start. At last
 * both the best of the grid and what the tuner found are measured in turns,
 * ROUNDS times, so that whatever else the machine does falls on both alike; the
 * median of the ratios counts.
 */
#include "bench/loaderbench/case/case.h"
#include "bench/loaderbench/case/case_images.h"
#include "bench/loaderbench/case/case_loader.h"

#include <stdio.h>
#include <string.h>

#define SLEEP_MS    1.0
#define SIDE        28u
#define BATCH       128
#define WARMUP      5 /* batches */
#define BATCHES_MIN 5
#define ROUNDS      5
#define GOAL        0.95
#define SAMPLES_MAX 10000000

static const int64_t grid[] = {0, 1, 2, 4, 8, 16, 32, 64};
#define N_GRID (sizeof(grid) / sizeof(*grid))

static const struct case_operation operations[] = {
    {"random_rotation", "degrees=15"},
    {"random_crop", "width=28 height=28 padding=4"},
};

struct slow {
    const struct case_options *options;
    struct case_result *out;
    struct case_images images;
    struct case_setup setup;
    struct case_work work, tuned_work; /* both loaders are there at once */
    struct case_consumer best_consumer, tuned_consumer;
    double samples; /* of an epoch */
    struct case_rate points[N_GRID];
    size_t best;
    struct case_search search;
    double best_rate[ROUNDS], tuned_rate[ROUNDS]; /* images per second */
    double ratios[ROUNDS];
    size_t n_rounds; /* of the duel, so far */
    struct case_rate tuned;
};

static int measure_static(struct slow *s, int64_t workers, double seconds,
                          struct case_rate *out)
{
    feedline_loader *l = NULL;
    s->setup.workers = workers;
    int rc = case_loader_open(&s->setup, &l);
    tool_watch_loader(l);
    if (rc == TOOL_DONE)
        rc = case_measure(l, &s->best_consumer, WARMUP, BATCHES_MIN, seconds,
                          out);
    if (workers == 0)
        out->workers = 0;
    case_work_open(&s->work);
    tool_watch_loader(NULL);
    feedline_loader_destroy(l);
    return rc;
}

static int measure_grid(struct slow *s)
{
    for (size_t i = 0; i < N_GRID; i++) {
        struct case_rate *p = &s->points[i];
        int rc = measure_static(s, grid[i], s->options->seconds, p);
        if (rc != TOOL_DONE) {
            *p = (struct case_rate){0}; /* half of a point is none */
            return rc;
        }
        if (case_images_per_second(p) >
            case_images_per_second(&s->points[s->best]))
            s->best = i;
        tool_progress("%lld workers: %.0f images/s", (long long)grid[i],
                      case_images_per_second(p));
    }
    return TOOL_DONE;
}

/* Both loaders are there all the time; while one is measured the other has
 * nothing to do. What it has prepared meanwhile does not count. */
static int measure_duel(struct slow *s, feedline_loader *best,
                        feedline_loader *tuned)
{
    double seconds = s->options->seconds / ROUNDS;
    int64_t depth = 0;
    int rc = TOOL_DONE;
    feedline_loader_get_int(best, "depth", &depth);
    for (size_t i = 0; i < ROUNDS && rc == TOOL_DONE; i++) {
        struct case_rate rate = {0};
        rc = case_measure(best, &s->best_consumer, WARMUP + (uint64_t)depth,
                          BATCHES_MIN, seconds, &rate);
        s->best_rate[i] = case_images_per_second(&rate);
        if (rc != TOOL_DONE)
            return rc;
        rc = case_measure(tuned, &s->tuned_consumer,
                          WARMUP + (uint64_t)s->tuned.depth, BATCHES_MIN,
                          seconds, &s->tuned);
        s->tuned_rate[i] = case_images_per_second(&s->tuned);
        s->ratios[i] =
            s->best_rate[i] > 0 ? s->tuned_rate[i] / s->best_rate[i] : 0;
        s->n_rounds += rc == TOOL_DONE;
    }
    return rc;
}

static int measure_tuned(struct slow *s)
{
    feedline_loader *best = NULL, *tuned = NULL;
    s->setup.work = &s->tuned_work;
    s->setup.workers = CASE_TUNED;
    /* The best setting takes turns with it: a measure and no neighbour. */
    s->setup.local_world = 1;
    int rc = case_loader_open(&s->setup, &tuned);
    tool_watch_loader(tuned);
    if (rc == TOOL_DONE)
        rc = case_search(tuned, &s->tuned_consumer, s->options->patience,
                         &s->search);
    s->tuned = s->search.whole;
    s->setup.work = &s->work;
    s->setup.workers = grid[s->best];
    if (rc == TOOL_DONE)
        rc = case_loader_open(&s->setup, &best);
    if (rc == TOOL_DONE)
        rc = measure_duel(s, best, tuned);
    if (rc == TOOL_DONE)
        case_search_explain(tuned, &s->search);
    tool_watch_loader(NULL);
    case_work_open(&s->work);
    feedline_loader_destroy(best);
    feedline_loader_destroy(tuned);
    return rc;
}

/* ---- What is said of it ------------------------------------------------- */

static void fill_side(const struct slow *s, struct case_side *side,
                      const struct case_rate *rate, double images_per_second)
{
    side->images_per_second = images_per_second;
    side->step_ms = images_per_second > 0
                        ? 1e3 * (double)s->setup.batch_size / images_per_second
                        : 0;
    side->stall_fraction = rate->wait_fraction;
    side->workers = rate->workers;
    side->depth = rate->depth;
}

static void add_point(struct slow *s, const char *name,
                      const struct case_rate *rate, double images_per_second,
                      bool tuned)
{
    struct case_result *r = s->out;
    char label[32], note[48];
    snprintf(label, sizeof(label), "%s%lld", name, (long long)rate->workers);
    snprintf(note, sizeof(note), "%.2f s an epoch%s",
             images_per_second > 0 ? s->samples / images_per_second : 0,
             tuned ? ", the tuner" : "");
    case_add_bar(r, label, note,
                 images_per_second / (double)s->setup.batch_size, tuned);
    json_array_append_new(
        r->points,
        json_pack(
            "{s:I, s:f, s:f, s:f, s:b}", "workers", (json_int_t)rate->workers,
            "images_per_second", images_per_second, "batches_per_second",
            images_per_second / (double)s->setup.batch_size, "epoch_seconds",
            images_per_second > 0 ? s->samples / images_per_second : 0.0,
            "tuned", tuned));
}

static void tell_grid(struct slow *s)
{
    struct case_result *r = s->out;
    fill_side(s, &r->before, &s->points[0],
              case_images_per_second(&s->points[0]));
    r->before.depth = 0;
    snprintf(r->before.what, sizeof(r->before.what), "in series, no workers");
    snprintf(r->after.what, sizeof(r->after.what), "as the tuner found it");
    r->unit = "batch";
    r->chart = "batches/s by workers:";
    for (size_t i = 0; i < N_GRID; i++)
        if (s->points[i].batches)
            add_point(s, "", &s->points[i],
                      case_images_per_second(&s->points[i]), false);
}

/* The duel, as far as it went. */
static void tell_tuned(struct slow *s)
{
    struct case_result *r = s->out;
    struct feedline_machine_info m = {.struct_size = sizeof(m)};
    double best = tool_median(s->best_rate, s->n_rounds);
    double tuned = tool_median(s->tuned_rate, s->n_rounds);
    feedline_machine_get_info(&m);
    fill_side(s, &r->after, &s->tuned, tuned);
    snprintf(r->bound_what, sizeof(r->bound_what), "best of the grid, %lld",
             (long long)s->points[s->best].workers);
    r->bound_ms = best > 0 ? 1e3 * (double)s->setup.batch_size / best : 0;
    add_point(s, "tuned: ", &s->tuned, tuned, true);
    snprintf(r->goal.text, sizeof(r->goal.text), "Tuned against the best");
    r->goal.value = tool_median(s->ratios, s->n_rounds);
    r->goal.limit = GOAL;
    snprintf(r->sentence, sizeof(r->sentence),
             TOOL_COUNT " on " TOOL_COUNT ", since workers sleep. The search "
                        "took %.1f s and loaded %.0f images/s.",
             TOOL_COUNT_OF(s->tuned.workers, "worker"),
             TOOL_COUNT_OF(m.cpus_usable, "core"), s->search.whole.seconds,
             case_images_per_second(&s->search.whole));
    json_object_set_new(r->more, "best",
                        json_pack("{s:I, s:f}", "workers",
                                  (json_int_t)s->points[s->best].workers,
                                  "images_per_second", best));
}

static void tell(struct slow *s)
{
    tell_grid(s);
    if (s->n_rounds)
        tell_tuned(s);
    case_search_tell(&s->search, s->out);
    json_object_set(json_object_get(s->out->more, "search"), "steps",
                    s->search.steps);
}

int case_slow(const struct case_options *o, struct case_result *out)
{
    struct slow s = {.options = o, .out = out};
    if (o->samples > SAMPLES_MAX) {
        tool_say("case slow-transform takes %d --samples at most", SAMPLES_MAX);
        return TOOL_USAGE;
    }
    s.samples = (double)o->samples;
    s.setup = (struct case_setup){
        .operations = operations,
        .n_operations = sizeof(operations) / sizeof(*operations),
        .work = &s.work,
        .device = "host",
        .dtype = "f32",
        .channels = 1,
        .batch_size = o->batch_size ? (int64_t)o->batch_size : BATCH};
    if ((uint64_t)s.setup.batch_size > o->samples) {
        tool_say("--samples has to be as large as a batch at least, %lld",
                 (long long)s.setup.batch_size);
        return TOOL_USAGE;
    }
    case_work_init(&s.work, SLEEP_MS);
    case_work_init(&s.tuned_work, SLEEP_MS);
    s.work.spin = s.tuned_work.spin = o->spin;
    s.best_consumer =
        (struct case_consumer){.take = case_release, .gate = &s.work};
    s.tuned_consumer = (struct case_consumer){.take = case_release};
    int rc = case_images_make(&s.images, (uint32_t)o->samples, SIDE, 1);
    s.setup.dataset = s.images.dataset;
    if (rc == TOOL_DONE)
        rc = measure_grid(&s);
    tool_progress("%s", "");
    if (rc == TOOL_DONE)
        rc = measure_tuned(&s);
    if (rc == TOOL_DONE || rc == TOOL_INTERRUPTED)
        tell(&s);
    case_search_fini(&s.search);
    case_images_fini(&s.images);
    case_work_fini(&s.tuned_work);
    case_work_fini(&s.work);
    return rc;
}
