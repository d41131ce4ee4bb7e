/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a better loader would gain is predicted from the ledger, and then tried:
 * once with a batch that is kept and used over and over, once with two workers
 * more. Faster storage cannot be had by trying, so that is predicted only. The
 * index of JPEGs and packing are tried on some of the samples, in memory:
 * against the same samples there, as they are.
 */
#include "tools/loaderbench/headroom/headroom_measure.h"

#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/model/model.h"
#include "tools/loaderbench/report/document.h"

#include <stdio.h>
#include <string.h>

#define MORE_WORKERS 2
#define LOADERS      6

/* Samples that are packed to try it; and batches of them, if that is more. */
#define TRIAL_SAMPLES 256
#define TRIAL_BATCHES 2

/* ---- Measuring ---------------------------------------------------------- */

/* what: for the progress. */
static int measure(struct run_setup *s, const char *what,
                   struct headroom_side *out)
{
    struct run_counts counts = {0};
    snprintf(s->label, sizeof(s->label), "%s: ", what);
    int rc = run_measure(s, &out->run, &counts);
    s->part.from += s->part.size;
    if (rc != TOOL_DONE)
        return rc;
    out->measured = counts.batches > 0;
    const json_t *device = doc_at(out->run, "stall.device_fraction");
    out->images_per_second = doc_or_0(out->run, "result.images_per_second");
    out->stall_fraction = json_is_number(device)
                              ? json_number_value(device)
                              : doc_or_0(out->run, "stall.host_fraction");
    out->workers = json_integer_value(doc_at(out->run, "tuner.workers"));
    return counts.interrupted ? TOOL_INTERRUPTED : TOOL_DONE;
}

/* The batch has to be read first, so there is always a warm-up. */
static int measure_fed(struct run_setup *s, struct headroom_side *out)
{
    uint64_t warmup = s->options.warmup;
    s->options.warmup = warmup + 1;
    s->again = true;
    int rc = measure(s, "without a loader", out);
    s->again = false;
    s->options.warmup = warmup;
    return rc;
}

static int measure_more(struct run_setup *s, struct headroom *r)
{
    int rc = run_set_int(s, "workers", r->now.workers + MORE_WORKERS);
    if (rc == TOOL_DONE)
        rc = measure(s, "two more workers", &r->more);
    return rc == TOOL_DONE ? run_set_int(s, "workers", r->now.workers) : rc;
}

/* An index is learned in the first epoch, so a later one is measured. */
static int measure_trial_of(struct run_setup *s, feedline_dataset *data,
                            const char *what, const char *index,
                            struct headroom_side *out)
{
    feedline_dataset *all = s->dataset;
    uint64_t warmup = s->options.warmup, count = 0;
    int64_t batch = 1;
    feedline_dataset_get_count(data, &count);
    feedline_config_get_int(s->config, "batch_size", &batch);
    if (strcmp(index, "auto") == 0)
        s->options.warmup += count / (uint64_t)batch + 1;
    s->dataset = data;
    int32_t status = feedline_config_set(s->config, "jpeg_index", index);
    int rc = status < 0 ? tool_setup_failed(status) : measure(s, what, out);
    s->dataset = all;
    s->options.warmup = warmup;
    return rc;
}

static uint64_t trial_samples(const struct run_setup *s)
{
    int64_t batch = 0, world = 1;
    feedline_config_get_int(s->config, "batch_size", &batch);
    feedline_config_get_int(s->config, "world", &world);
    if (world == 0) /* auto: the trial is one process */
        world = 1;
    uint64_t least = TRIAL_BATCHES * (uint64_t)batch * (uint64_t)world;
    return least > TRIAL_SAMPLES ? least : TRIAL_SAMPLES;
}

/* With auto an index is kept in memory, as there are fewer than 10,000. */
static int measure_trial(struct run_setup *s, struct headroom *r)
{
    int rc =
        headroom_trial_make(s->config, s->dataset, trial_samples(s), &r->trial);
    if (rc != TOOL_DONE || !r->trial.packed)
        return rc;
    rc = run_set_int(s, "epoch_samples", 0);
    if (rc == TOOL_DONE)
        rc = measure_trial_of(s, r->trial.as_is, "in memory", "false",
                              &r->as_is);
    if (rc == TOOL_DONE)
        rc = measure_trial_of(s, r->trial.as_is, "with an index", "auto",
                              &r->indexed);
    if (rc == TOOL_DONE)
        rc =
            measure_trial_of(s, r->trial.packed, "packed", "false", &r->packed);
    /* Samples may need what is not in their files, as boxes: there is no trial
     * of them then, and the reason was said. */
    return rc == TOOL_INTERRUPTED ? rc : TOOL_DONE;
}

int headroom_measure(struct run_setup *s, struct headroom *out)
{
    *out = (struct headroom){.now = {.run = NULL}};
    s->part = (struct run_part){.begin = tool_seconds(), .size = 1.0 / LOADERS};
    int rc = measure(s, "now", &out->now);
    if (rc == TOOL_DONE)
        rc = measure_fed(s, &out->fed);
    if (rc == TOOL_DONE)
        rc = measure_more(s, out);
    if (rc == TOOL_DONE)
        rc = measure_trial(s, out);
    out->interrupted = rc == TOOL_INTERRUPTED;
    s->label[0] = '\0';
    s->part = (struct run_part){0};
    return rc;
}

void headroom_free(struct headroom *h)
{
    json_decref(h->now.run);
    json_decref(h->fed.run);
    json_decref(h->more.run);
    json_decref(h->as_is.run);
    json_decref(h->indexed.run);
    json_decref(h->packed.run);
    headroom_trial_free(&h->trial);
}

/* ---- The document ------------------------------------------------------- */

double headroom_gain(const struct headroom_side *now,
                     const struct headroom_side *then)
{
    return now->images_per_second > 0
               ? then->images_per_second / now->images_per_second - 1
               : 0;
}

double headroom_share(const struct headroom_side *now, const char *a,
                      const char *b)
{
    const json_t *buckets = doc_at(now->run, "stall.buckets");
    const char *name;
    json_t *seconds;
    double all = 0;
    json_object_foreach(doc_mutable(buckets), name, seconds) all +=
        json_number_value(seconds);
    double part = doc_or_0(buckets, a) + doc_or_0(buckets, b);
    return all > 0 ? now->stall_fraction * part / all : 0;
}

/* null where one of the two was not measured. */
static json_t *gain_json(const struct headroom_side *now,
                         const struct headroom_side *then)
{
    return now->measured && then->measured ? json_real(headroom_gain(now, then))
                                           : json_null();
}

static json_t *side_json(const struct headroom_side *s)
{
    if (!s->measured)
        return json_null();
    return json_pack("{s:f, s:f, s:I}", "images_per_second",
                     s->images_per_second, "stall_fraction", s->stall_fraction,
                     "workers", (json_int_t)s->workers);
}

const json_t *headroom_first_epoch(const struct headroom *r)
{
    return r->as_is.measured ? r->as_is.run : r->now.run;
}

/* What a gain is a part of: of the loop's time, and of the workers'. */
static json_t *shares_json(const struct headroom *r)
{
    const struct headroom_side *now = &r->now;
    return json_pack(
        "{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "fed", now->stall_fraction,
        "chains",
        doc_or_0(headroom_first_epoch(r), HEADROOM_DECODING "chains_share"),
        "device", doc_or_0(now->run, HEADROOM_DECODING "device_share"),
        "two_workers", headroom_share(now, "prep", "worker_wait"), "storage",
        headroom_share(now, "fetch", "fetch_queue"), "transfer",
        headroom_share(now, "transfer", "transfer_queue"), "jpeg_index",
        doc_or_0(now->run, "headroom.huffman"), "packing",
        doc_or_0(now->run, "headroom.huffman"));
}

static json_t *trial_json(const struct headroom *r)
{
    const struct headroom_trial *t = &r->trial;
    if (!t->packed)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "samples",
                     (json_int_t)t->samples, "packed_samples",
                     (json_int_t)t->n_packed, "bytes", (json_int_t)t->bytes,
                     "packed_bytes", (json_int_t)t->packed_bytes, "as_is",
                     side_json(&r->as_is), "jpeg_index", side_json(&r->indexed),
                     "packing", side_json(&r->packed));
}

json_t *headroom_json(const struct run_setup *s, const char *uri,
                      const struct headroom *r)
{
    const json_t *run = r->now.run;
    json_t *doc = document_new("headroom");
    json_object_set_new(doc, "uri", json_string(uri));
    json_object_set_new(doc, "consumer_ms", json_real(s->options.consumer_ms));
    json_object_set_new(doc, "now", side_json(&r->now));
    json_object_set_new(
        doc, "predicted",
        json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "fed",
                  doc_or_0(run, "headroom.fed"), "chains",
                  doc_or_0(headroom_first_epoch(r), HEADROOM_DECODING "chains"),
                  "device", doc_or_0(run, HEADROOM_DECODING "device"),
                  "two_workers", doc_or_0(run, "headroom.two_workers"),
                  "storage", doc_or_0(run, "headroom.storage"), "transfer",
                  doc_or_0(run, "headroom.transfer"), "packing",
                  doc_or_0(run, "headroom.packing")));
    json_object_set_new(doc, "measured",
                        json_pack("{s:o, s:o, s:o, s:o}", "fed",
                                  gain_json(&r->now, &r->fed), "two_workers",
                                  gain_json(&r->now, &r->more), "jpeg_index",
                                  gain_json(&r->as_is, &r->indexed), "packing",
                                  gain_json(&r->as_is, &r->packed)));
    json_object_set_new(doc, "shares", shares_json(r));
    json_object_set_new(doc, "trial", trial_json(r));
    json_object_set_new(
        doc, "host_samples_per_second",
        json_real(doc_or_0(run, HEADROOM_DECODING "host_samples_per_second")));
    json_object_set_new(doc, "fed", side_json(&r->fed));
    json_object_set_new(doc, "two_workers", side_json(&r->more));
    json_object_set(doc, "verdict", json_object_get(run, "verdict"));
    json_object_set(doc, "config", json_object_get(run, "config"));
    model_add(doc, s->model, run);
    json_object_set_new(doc, "interrupted", json_boolean(r->interrupted));
    return doc;
}
