/* SPDX-License-Identifier: Apache-2.0 */
/* The document of `run`: docs/man/loaderbench.1 lists its keys. */
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/library.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/run/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>

static json_t *result_json(const struct run_counts *c)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double images = (double)c->images;
    return json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:s?}",
                     "images", (json_int_t)c->images, "batches",
                     (json_int_t)c->batches, "seconds", c->seconds,
                     "images_per_second",
                     c->seconds > 0 ? images / c->seconds : 0.0, "cpu_seconds",
                     c->cpu_seconds, "images_per_cpu_second",
                     c->cpu_seconds > 0 ? images / c->cpu_seconds : 0.0,
                     "first_batch_seconds", c->first_batch_seconds,
                     "max_rss_bytes", (json_int_t)usage.ru_maxrss * 1024,
                     "failed_samples", (json_int_t)c->failed_samples,
                     "stream_hash", c->hash[0] ? c->hash : NULL);
}

/* The tool counts epochs itself, so its --epochs is what is in force. */
static json_t *config_json(const feedline_loader *l,
                           const struct run_setup *setup)
{
    const struct run_options *o = &setup->options;
    json_t *config = library_json(LIBRARY_LOADER_CONFIG, l);
    json_object_set_new(config, "epochs", json_integer((json_int_t)o->epochs));
    json_object_set_new(config, "pipeline",
                        library_json(LIBRARY_PIPELINE, setup->pipeline));
    return config;
}

/* All that the library tells, and what the tool knows besides. */
json_t *run_json_one(feedline_loader *l, const struct run_setup *setup,
                     const struct run_counts *counts,
                     const struct timeline *timeline)
{
    struct feedline_epoch_info e = {.struct_size = sizeof(e)};
    feedline_loader_get_epoch_info(l, &e);
    const struct run_options *o = &setup->options;
    /* Numbers first, before the document itself takes time. */
    json_t *library = library_json(LIBRARY_STATS, l);
    json_t *tuner = library_json(LIBRARY_TUNER, l);
    json_t *run = json_pack(
        "{s:o, s:O?, s:O?, s:O?, s:o, s:O?, s:o, s:o, s:{s:I, s:f, s:[IIII], "
        "s:I, s:f}}",
        "result", result_json(counts), "stall",
        json_object_get(library, "stall"), "stages",
        json_object_get(library, "stages"), "transfer",
        json_object_get(library, "transfer"), "tuner", tuner, "verdict",
        json_object_get(library, "verdict"), "config", config_json(l, setup),
        "timeline", timeline_json(timeline), "run", "warmup_batches",
        (json_int_t)counts->warmup_batches, "consumer_ms", o->consumer_ms,
        "batch_shape", (json_int_t)e.shape[0], (json_int_t)e.shape[1],
        (json_int_t)e.shape[2], (json_int_t)e.shape[3], "batches_per_epoch",
        (json_int_t)e.batches, "begin_seconds", counts->begin_seconds);
    json_object_update_missing(run, library);
    json_decref(library);
    return run;
}

void run_json_failures(const feedline_loader *l, uint64_t last_epoch,
                       json_t *failures)
{
    int32_t n = feedline_loader_failure_count(l);
    for (int32_t i = 0; i < n; i++) {
        struct feedline_failure f = {.struct_size = sizeof(f)};
        if (feedline_loader_get_failure(l, (uint32_t)i, &f) != FEEDLINE_OK ||
            f.epoch > last_epoch)
            continue;
        json_array_append_new(failures,
                              json_pack("{s:s?, s:s?, s:s, s:I, s:I}", "path",
                                        f.path, "reason", f.reason, "status",
                                        feedline_status_name(f.status), "epoch",
                                        (json_int_t)f.epoch, "sample_index",
                                        (json_int_t)f.sample_index));
    }
}

/* ---- Medians ------------------------------------------------------------ */

/* Of n numbers; an integer stays one. */
static json_t *median_number(json_t *const *values, size_t n)
{
    double *x = malloc(n * sizeof(*x));
    if (!x)
        return json_null();
    bool integers = true;
    for (size_t i = 0; i < n; i++) {
        x[i] = json_number_value(values[i]);
        integers = integers && json_is_integer(values[i]);
    }
    double median = tool_median(x, n);
    free(x);
    return integers ? json_integer((json_int_t)median) : json_real(median);
}

/* n values of the same form; what is not a number is that of `typical`. */
static json_t *median_value(json_t *const *values, size_t n, size_t typical)
{
    json_t *one = values[typical], *merged;
    if (json_is_number(one))
        return median_number(values, n);
    if (!json_is_object(one) && !json_is_array(one))
        return json_incref(one);
    json_t **parts = malloc(n * sizeof(json_t *));
    if (!parts)
        return json_null();
    if (json_is_object(one)) {
        const char *key;
        json_t *member;
        merged = json_object();
        json_object_foreach(one, key, member)
        {
            for (size_t i = 0; i < n; i++)
                parts[i] = json_object_get(values[i], key);
            json_object_set_new(merged, key, median_value(parts, n, typical));
        }
    } else {
        merged = json_array();
        for (size_t k = 0; k < json_array_size(one); k++) {
            for (size_t i = 0; i < n; i++)
                parts[i] = json_array_get(values[i], k);
            json_array_append_new(merged, median_value(parts, n, typical));
        }
    }
    free(parts);
    return merged;
}

/* The run that has as many slower ones as faster ones. */
static size_t typical_run(const json_t *runs)
{
    static const char speed[] = "result.images_per_second";
    size_t n = json_array_size(runs), best = 0, best_off = n;
    for (size_t i = 0; i < n; i++) {
        size_t slower = 0;
        for (size_t k = 0; k < n; k++)
            slower += doc_or_0(json_array_get(runs, k), speed) <
                      doc_or_0(json_array_get(runs, i), speed);
        size_t off = slower > n / 2 ? slower - n / 2 : n / 2 - slower;
        if (off < best_off) {
            best = i;
            best_off = off;
        }
    }
    return best;
}

static void add_medians(json_t *doc, const json_t *runs)
{
    static const char *const medians[] = {"result", "stall", "stages",
                                          "transfer"};
    size_t n = json_array_size(runs), typical = typical_run(runs);
    json_t **parts = malloc((n ? n : 1) * sizeof(json_t *));
    for (size_t k = 0; parts && k < sizeof(medians) / sizeof(*medians); k++) {
        for (size_t i = 0; i < n; i++)
            parts[i] = json_object_get(json_array_get(runs, i), medians[k]);
        json_object_set_new(doc, medians[k], median_value(parts, n, typical));
    }
    free(parts);
    json_object_update_missing(doc, json_array_get(runs, typical));
}

/* The raw values of a run; what is the same in all is not repeated. */
static json_t *raw_runs(const json_t *runs)
{
    json_t *raw = json_array();
    for (size_t i = 0; i < json_array_size(runs); i++) {
        json_t *run = json_copy(json_array_get(runs, i));
        json_object_del(run, "config");
        json_object_del(run, "run");
        json_object_del(run, "timeline");
        json_array_append_new(raw, run);
    }
    return raw;
}

void run_json_subject(json_t *doc, const struct run_setup *setup,
                      const char *uri)
{
    uint64_t samples = 0;
    feedline_dataset_get_count(setup->dataset, &samples);
    json_object_set_new(
        doc, "dataset",
        json_pack("{s:s, s:I, s:i}", "uri", uri, "samples", (json_int_t)samples,
                  "classes",
                  (int)feedline_dataset_class_count(setup->dataset)));
    json_object_set_new(doc, "machine", library_json(LIBRARY_MACHINE, NULL));
}

json_t *run_json_document(const struct run_setup *setup, const char *uri,
                          const json_t *runs, bool interrupted)
{
    json_t *doc = document_new("run");
    run_json_subject(doc, setup, uri);
    add_medians(doc, runs);
    json_object_set_new(doc, "interrupted", json_boolean(interrupted));
    json_object_set(doc, "failures", setup->failures);
    if (setup->options.repeat > 1)
        json_object_set_new(doc, "runs", raw_runs(runs));
    return doc;
}
