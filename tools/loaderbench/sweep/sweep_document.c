/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The document of a sweep, from which a later sweep can resume: it contains the
 * settings that its points have in common, which must be the same.
 */
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/library.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/sweep/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- What all points have in common ------------------------------------- */

double sweep_target(const feedline_config *config)
{
    json_t *options = library_json(LIBRARY_CONFIG, config);
    const json_t *target = json_object_get(options, "tuner_target");
    double x = json_is_number(target) ? json_number_value(target) : 0.01;
    json_decref(options);
    return x;
}

static json_t *machine_json(void)
{
    struct feedline_machine_info m = {.struct_size = sizeof(m)};
    feedline_machine_get_info(&m);
    return json_pack("{s:i, s:i, s:f}", "cpus_online", (int)m.cpus_online,
                     "cpus_allowed", (int)m.cpus_allowed, "cpu_quota",
                     m.cpu_quota);
}

static json_t *settings_json(const struct sweep *s)
{
    static const char *const varied[] = {"workers", "depth", "tuner"};
    const struct run_options *o = &s->setup->options;
    uint64_t samples = 0;
    feedline_dataset_get_count(s->setup->dataset, &samples);
    json_t *options = library_json(LIBRARY_CONFIG, s->setup->config);
    for (size_t i = 0; i < sizeof(varied) / sizeof(*varied); i++)
        json_object_del(options, varied[i]);
    if (s->n && s->points[0].io_depth)
        json_object_del(options, "io_depth");
    return json_pack(
        "{s:s, s:I, s:o, s:o, s:o, s:f, s:I, s:I, s:f, s:b}", "uri", s->uri,
        "samples", (json_int_t)samples, "machine", machine_json(), "pipeline",
        library_json(LIBRARY_PIPELINE, s->setup->pipeline), "options", options,
        "seconds", o->seconds, "batches", (json_int_t)o->batches, "warmup",
        (json_int_t)o->warmup, "consumer_ms", o->consumer_ms, "io_depth_varied",
        s->n && s->points[0].io_depth);
}

/* Numbers are compared as they are written. */
static bool is_same(const json_t *a, const json_t *b)
{
    char *x = json_dumps(a, JSON_ENCODE_ANY | JSON_SORT_KEYS |
                                JSON_REAL_PRECISION(9));
    char *y = json_dumps(b, JSON_ENCODE_ANY | JSON_SORT_KEYS |
                                JSON_REAL_PRECISION(9));
    bool same = x && y && strcmp(x, y) == 0;
    free(x);
    free(y);
    return same;
}

static int say_difference(const char *path, const char *key, const json_t *mine,
                          const json_t *theirs)
{
    size_t form = JSON_ENCODE_ANY | JSON_REAL_PRECISION(9);
    char *x = mine ? json_dumps(mine, form) : NULL;
    char *y = theirs ? json_dumps(theirs, form) : NULL;
    tool_say("%s is of another sweep: %s is %s there, %s here; take another "
             "--resume file, or remove it",
             path, key, y ? y : "absent", x ? x : "absent");
    free(x);
    free(y);
    return TOOL_USAGE;
}

static int compare_settings(const char *path, json_t *mine, json_t *theirs)
{
    const char *key;
    json_t *value;
    int rc = TOOL_DONE;
    json_object_foreach(mine, key, value)
    {
        json_t *other = json_object_get(theirs, key);
        if (rc == TOOL_DONE && !is_same(value, other))
            rc = json_is_object(value) && json_is_object(other)
                     ? compare_settings(path, value, other)
                     : say_difference(path, key, value, other);
    }
    json_object_foreach(theirs, key, value)
    {
        if (rc == TOOL_DONE && !json_object_get(mine, key))
            rc = say_difference(path, key, NULL, value);
    }
    return rc;
}

/* ---- Taking up an earlier one ------------------------------------------- */

static int no_sweep(const char *path)
{
    tool_say("%s is not a sweep's document, so it cannot be resumed", path);
    return TOOL_DATA;
}

static bool is_measured(const json_t *runs)
{
    for (size_t i = 0; i < json_array_size(runs); i++)
        if (!json_is_number(
                json_object_get(json_array_get(runs, i), "images_per_second")))
            return false;
    return json_is_array(runs);
}

static int take_point(struct sweep *s, const char *path, const json_t *from)
{
    bool io_varied = s->n && s->points[0].io_depth;
    int64_t workers = doc_int(from, "workers"), depth = doc_int(from, "depth");
    int64_t io_depth = io_varied ? doc_int(from, "io_depth") : 0;
    struct sweep_point *p;
    json_t *runs = json_object_get(from, "runs");
    if (workers <= 0 || depth <= 0 || !is_measured(runs) ||
        (io_varied && io_depth <= 0))
        return no_sweep(path);
    int rc = sweep_add(s, workers, depth, io_depth, &p);
    if (rc == TOOL_DONE)
        json_array_extend(p->runs, runs);
    return rc;
}

int sweep_resume(struct sweep *s, const char *path)
{
    json_t *doc;
    if (!s->settings)
        s->settings = settings_json(s);
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return TOOL_DONE;
    int rc = document_read(path, &doc);
    if (rc != TOOL_DONE)
        return rc;
    const json_t *grid = json_object_get(doc, "grid");
    json_t *settings = json_object_get(doc, "settings");
    if (strcmp(doc_text(doc, "command"), "sweep") != 0 ||
        !json_is_array(grid) || !json_is_object(settings))
        rc = no_sweep(path);
    if (rc == TOOL_DONE)
        rc = compare_settings(path, s->settings, settings);
    for (size_t i = 0; rc == TOOL_DONE && i < json_array_size(grid); i++)
        rc = take_point(s, path, json_array_get(grid, i));
    const json_t *config = json_object_get(doc, "config");
    if (rc == TOOL_DONE && json_is_object(config) && !s->config)
        s->config = json_deep_copy(config);
    json_decref(doc);
    return rc;
}

/* ---- The document ------------------------------------------------------- */

json_t *sweep_point_json(const struct sweep_point *p)
{
    int64_t io_depth = p->io_depth;
    if (!io_depth)
        io_depth = (int64_t)doc_median(p->runs, "io_depth");
    return json_pack(
        "{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:O}", "workers",
        (json_int_t)p->workers, "depth", (json_int_t)p->depth, "io_depth",
        (json_int_t)io_depth, "images_per_second",
        doc_known(doc_median(p->runs, "images_per_second")), "host_fraction",
        doc_known(doc_median(p->runs, "host_fraction")), "device_fraction",
        doc_known(doc_median(p->runs, "device_fraction")),
        "images_per_cpu_second",
        doc_known(doc_median(p->runs, "images_per_cpu_second")),
        "noise_fraction", doc_known(doc_noise(p->runs, "images_per_second")),
        "others_cores", doc_known(doc_median(p->runs, "others_cores")), "runs",
        p->runs);
}

/* A point that was not measured yet is none. */
static json_t *grid_json(const struct sweep *s)
{
    json_t *grid = json_array();
    for (size_t i = 0; i < s->n; i++)
        if (json_array_size(s->points[i].runs))
            json_array_append_new(grid, sweep_point_json(&s->points[i]));
    return grid;
}

/* How far the measurements can be trusted: medians over the points. */
static json_t *trust_json(const struct sweep *s)
{
    double *noise = calloc(2 * s->n + 1, sizeof(*noise)), *others;
    size_t n_noise = 0, n_others = 0;
    if (!noise)
        return json_null();
    others = noise + s->n;
    for (size_t i = 0; i < s->n; i++) {
        double x = doc_noise(s->points[i].runs, "images_per_second");
        double y = doc_median(s->points[i].runs, "others_cores");
        if (!isnan(x))
            noise[n_noise++] = x;
        if (!isnan(y))
            others[n_others++] = y;
    }
    json_t *trust = json_pack(
        "{s:o, s:o}", "noise_fraction",
        doc_known(n_noise ? tool_median(noise, n_noise) : (double)NAN),
        "others_cores",
        doc_known(n_others ? tool_median(others, n_others) : (double)NAN));
    free(noise);
    return trust;
}

static void add_knee(const struct sweep *s, json_t *doc)
{
    bool fed;
    char words[KNEE_WORDS];
    struct knee_point *points = sweep_knee_points(s);
    if (!points)
        return;
    size_t knee = knee_find(points, s->n, &s->rule, &fed);
    size_t best = knee_fastest(points, s->n);
    if (knee < s->n) {
        knee_words(&s->rule, fed, words);
        json_object_set_new(doc, "knee", sweep_point_json(&s->points[knee]));
        json_object_set_new(doc, "best", sweep_point_json(&s->points[best]));
        json_object_set_new(doc, "rule",
                            json_pack("{s:s, s:f, s:o, s:b}", "words", words,
                                      "tolerance", s->rule.tolerance, "target",
                                      s->rule.target < 0
                                          ? json_null()
                                          : json_real(s->rule.target),
                                      "fed", fed));
    }
    free(points);
}

json_t *sweep_document(const struct sweep *s)
{
    json_t *doc = document_new("sweep");
    const struct run_setup *setup = s->setup;
    run_json_subject(doc, setup, s->uri);
    json_object_set_new(doc, "grid", grid_json(s));
    json_object_set_new(doc, "knee", json_null());
    add_knee(s, doc);
    json_object_set_new(doc, "trust", trust_json(s));
    json_object_set_new(doc, "rounds", json_integer((json_int_t)s->rounds));
    json_object_set_new(doc, "points", json_integer((json_int_t)s->n));
    json_object_set_new(doc, "interrupted", json_boolean(s->interrupted));
    if (s->config)
        json_object_set(doc, "config", s->config);
    json_object_set_new(doc, "settings",
                        s->settings ? json_incref(s->settings)
                                    : settings_json(s));
    return doc;
}

int sweep_save(const struct sweep *s, const char *path)
{
    return document_deliver(sweep_document(s), path, TOOL_DONE);
}
