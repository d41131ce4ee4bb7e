/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tuner chose against a sweep. Its choice is measured like any point
 * of the grid, in the same rounds: what the machine did otherwise while the
 * tuner ran cannot pass for the tuner's doing, in either direction.
 */
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/library.h"
#include "tools/loaderbench/sweep/spread.h"
#include "tools/loaderbench/tune/tune.h"

#include <math.h>
#include <stdlib.h>

/* ---- Choosing the grid -------------------------------------------------- */

/* An option that was set is not tuned, and no axis. */
static int make_axis(const json_t *config, const char *option, const char *list,
                     struct sweep_axis *out)
{
    const json_t *fixed = json_object_get(config, option);
    if (list)
        return sweep_axis_parse(option, list, out);
    if (json_is_integer(fixed) && json_integer_value(fixed) > 0)
        *out = (struct sweep_axis){.at = {json_integer_value(fixed)}, .n = 1};
    else
        sweep_axis_auto(option, out);
    return TOOL_DONE;
}

static int make_axes(struct run_setup *setup, const struct tune_options *o,
                     int64_t depth, struct sweep_axis axes[3])
{
    json_t *config = library_json(LIBRARY_CONFIG, setup->config);
    int rc = make_axis(config, "workers", o->sweep_workers, &axes[0]);
    if (rc == TOOL_DONE)
        rc = make_axis(config, "depth", o->sweep_depths, &axes[1]);
    if (rc == TOOL_DONE && !o->sweep_depths)
        sweep_axis_trim(setup, &axes[1]);
    if (axes[1].n == 0)
        axes[1] = (struct sweep_axis){.at = {depth}, .n = 1};
    axes[2].n = 0;
    json_decref(config);
    return rc;
}

/* ---- The comparison ----------------------------------------------------- */

static json_t *comparison(const struct sweep_point *mine,
                          const struct sweep_point *best)
{
    double below, error;
    size_t n_a, n_b;
    double *a = doc_values(mine->runs, "images_per_second", &n_a);
    double *b = doc_values(best->runs, "images_per_second", &n_b);
    spread_difference(a, n_a, b, n_b, &below, &error);
    free(a);
    free(b);
    if (mine == best)
        below = 0;
    double cost = doc_median(mine->runs, "images_per_cpu_second");
    double best_cost = doc_median(best->runs, "images_per_cpu_second");
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o}", "tuned", sweep_point_json(mine),
        "below_fraction", json_real(isnan(below) ? 0 : below), "error_fraction",
        doc_known(error), "cpu_seconds_per_image", doc_known(1 / cost),
        "best_cpu_seconds_per_image", doc_known(1 / best_cost));
}

static void add_to(json_t *doc, const struct sweep *s, int64_t workers,
                   int64_t depth)
{
    json_t *sweep = sweep_document(s);
    struct knee_point *points = sweep_knee_points(s);
    const struct sweep_point *mine = sweep_find(s, workers, depth);
    size_t best = points ? knee_fastest(points, s->n) : s->n;
    static const char *const taken[] = {"grid", "knee", "rule", "rounds"};
    for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
        json_object_set(doc, taken[i], json_object_get(sweep, taken[i]));
    if (best < s->n && json_array_size(mine->runs)) {
        json_object_set_new(doc, "sweep_best",
                            sweep_point_json(&s->points[best]));
        json_object_set_new(doc, "comparison",
                            comparison(mine, &s->points[best]));
    }
    if (s->interrupted)
        json_object_set_new(doc, "interrupted", json_true());
    free(points);
    json_decref(sweep);
}

int tune_compare(struct run_setup *setup, const struct tune_options *o,
                 const char *uri, json_t *doc)
{
    struct sweep_axis axes[3];
    struct sweep_point *chosen;
    struct sweep s = {.n = 0};
    int64_t workers = (int64_t)doc_number(doc, "tuner.workers");
    int64_t depth = (int64_t)doc_number(doc, "tuner.depth");
    int rc = make_axes(setup, o, depth, axes);
    if (rc != TOOL_DONE)
        return rc;
    setup->watch = NULL;
    setup->options.seconds = o->sweep_seconds;
    setup->options.batches = setup->options.epochs = 0;
    setup->options.warmup = 3;
    rc = sweep_init(&s, setup, uri, &axes[0], &axes[1], &axes[2]);
    if (rc == TOOL_DONE)
        rc = sweep_add(&s, workers, depth, 0, &chosen);
    s.rounds = setup->options.repeat;
    s.rule.tolerance = 0.03;
    s.rule.target =
        setup->options.consumer_ms > 0 ? sweep_target(setup->config) : -1;
    if (rc == TOOL_DONE)
        rc = sweep_measure(&s);
    if (rc == TOOL_DONE)
        add_to(doc, &s, workers, depth);
    sweep_fini(&s);
    return rc;
}

bool tune_is_worse(const json_t *doc, double tolerated)
{
    return spread_is_worse(doc_number(doc, "comparison.below_fraction"),
                           doc_number(doc, "comparison.error_fraction"),
                           tolerated);
}
