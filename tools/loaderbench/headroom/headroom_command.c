/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench headroom: what a better loader would gain, predicted from the
 * ledger, and then tried: once with a batch that is kept and used over and
 * over, once with two workers more. Faster storage cannot be had by trying, so
 * that is predicted only. The index of JPEGs and packing are tried on some of
 * the samples, in memory: against the same samples there, as they are.
 */
#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/headroom/headroom_trial.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/run/recipe.h"
#include "tools/loaderbench/run/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_SECONDS 5.0
#define DEFAULT_WARMUP  3
#define MORE_WORKERS    2

/* Samples that are packed to try it; and batches of them, if that is more. */
#define TRIAL_SAMPLES 256
#define TRIAL_BATCHES 2

#define VALUES struct run_options
static const struct cli_option options[] = {
    {"consumer-ms", "X",
     "simulate a training step of X ms per batch, as for run [0]\n"
     "Without one there is nothing that a faster loader could feed.",
     VALUE_NUMBER(consumer_ms, 0, 1e7)},
    RECIPE_OPTIONS(pipeline, ops),
    {"seconds", "T", "how long each of the six loaders is measured [5]",
     VALUE_NUMBER(seconds, 0.001, 1e9)},
    CLI_JSON(json),
    {"batches", "B",
     "measure B batches of each\n"
     "With --seconds, whichever comes first.",
     VALUE_COUNT(batches, 1)},
    {"warmup", "B", "batches before measuring begins [3]",
     VALUE_COUNT(warmup, 0)},
    CLI_QUIET(quiet),
};

const struct cli_command command_headroom = {
    .name = "headroom",
    .positional = "URI",
    .positional_folder = true,
    .summary = "what a faster loader would gain, predicted and measured",
    .about =
        "Predicts how much faster the loop would be with a better loader, and "
        "checks it.\n\n"
        "Predicted are an infinitely fast loader, two more workers, storage "
        "of twice the speed, and packed images, each from the share of the "
        "time that it would spare. What can be had by trying is tried: one "
        "batch used over and over at no cost, two more workers; and, with 256 "
        "of the samples in memory, the index of JPEGs and packing, beside the "
        "same samples as they are. Ctrl-C prints what has been measured.",
    CLI_TABLE(.warmup = DEFAULT_WARMUP, .repeat = 1, .max_failed_fraction = 1),
    .n_first = 5,
    .loader_options = true,
    .run = headroom_main,
};

/* One loader as it was measured. */
struct side {
    double images_per_second;
    double stall_fraction; /* of the device's time, where there is one */
    int64_t workers;
    json_t *run;   /* all of it */
    bool measured; /* false: Ctrl-C came first */
};

struct result {
    struct side now, fed, more;
    struct side as_is, indexed, packed; /* of the trial */
    struct headroom_trial trial;
    bool interrupted;
};

/* ---- Measuring ---------------------------------------------------------- */

static int measure(struct run_setup *s, struct side *out)
{
    struct run_counts counts = {0};
    int rc = run_measure(s, &out->run, &counts);
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
static int measure_fed(struct run_setup *s, struct side *out)
{
    uint64_t warmup = s->options.warmup;
    s->options.warmup = warmup + 1;
    s->again = true;
    int rc = measure(s, out);
    s->again = false;
    s->options.warmup = warmup;
    return rc;
}

static int measure_more(struct run_setup *s, struct result *r)
{
    int rc = run_set_int(s, "workers", r->now.workers + MORE_WORKERS);
    if (rc == TOOL_DONE)
        rc = measure(s, &r->more);
    return rc == TOOL_DONE ? run_set_int(s, "workers", r->now.workers) : rc;
}

/* An index is learned in the first epoch, so a later one is measured. */
static int measure_trial_of(struct run_setup *s, feedline_dataset *data,
                            const char *index, struct side *out)
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
    int rc = status < 0 ? tool_setup_failed(status) : measure(s, out);
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
static int measure_trial(struct run_setup *s, struct result *r)
{
    int rc =
        headroom_trial_make(s->config, s->dataset, trial_samples(s), &r->trial);
    if (rc != TOOL_DONE || !r->trial.packed)
        return rc;
    rc = run_set_int(s, "epoch_samples", 0);
    if (rc == TOOL_DONE)
        rc = measure_trial_of(s, r->trial.as_is, "false", &r->as_is);
    if (rc == TOOL_DONE)
        rc = measure_trial_of(s, r->trial.as_is, "auto", &r->indexed);
    if (rc == TOOL_DONE)
        rc = measure_trial_of(s, r->trial.packed, "false", &r->packed);
    /* Samples may need what is not in their files, as boxes: there is no trial
     * of them then, and the reason was said. */
    return rc == TOOL_INTERRUPTED ? rc : TOOL_DONE;
}

static int measure_all(struct run_setup *s, struct result *r)
{
    int rc = measure(s, &r->now);
    if (rc == TOOL_DONE)
        rc = measure_fed(s, &r->fed);
    if (rc == TOOL_DONE)
        rc = measure_more(s, r);
    return rc == TOOL_DONE ? measure_trial(s, r) : rc;
}

/* ---- Report ------------------------------------------------------------- */

static double gain(const struct side *now, const struct side *then)
{
    return now->images_per_second > 0
               ? then->images_per_second / now->images_per_second - 1
               : 0;
}

/* Of the time for which a side waited, the part for these causes. */
static double share_of_waits(const struct side *now, const char *a,
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
static json_t *gain_json(const struct side *now, const struct side *then)
{
    return now->measured && then->measured ? json_real(gain(now, then))
                                           : json_null();
}

static json_t *side_json(const struct side *s)
{
    if (!s->measured)
        return json_null();
    return json_pack("{s:f, s:f, s:I}", "images_per_second",
                     s->images_per_second, "stall_fraction", s->stall_fraction,
                     "workers", (json_int_t)s->workers);
}

/* Of a run's JSON. */
#define DECODING "headroom.decoding."

/* The run whose files no index knew. */
static const json_t *first_epoch(const struct result *r)
{
    return r->as_is.measured ? r->as_is.run : r->now.run;
}

/* What a gain is a part of: of the loop's time, and of the workers'. */
static json_t *shares_json(const struct result *r)
{
    const struct side *now = &r->now;
    return json_pack(
        "{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "fed", now->stall_fraction,
        "chains", doc_or_0(first_epoch(r), DECODING "chains_share"), "device",
        doc_or_0(now->run, DECODING "device_share"), "two_workers",
        share_of_waits(now, "prep", "worker_wait"), "storage",
        share_of_waits(now, "fetch", "fetch_queue"), "transfer",
        share_of_waits(now, "transfer", "transfer_queue"), "jpeg_index",
        doc_or_0(now->run, "headroom.huffman"), "packing",
        doc_or_0(now->run, "headroom.huffman"));
}

static json_t *trial_json(const struct result *r)
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

static json_t *document(const struct run_setup *s, const char *uri,
                        const struct result *r)
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
                  doc_or_0(first_epoch(r), DECODING "chains"), "device",
                  doc_or_0(run, DECODING "device"), "two_workers",
                  doc_or_0(run, "headroom.two_workers"), "storage",
                  doc_or_0(run, "headroom.storage"), "transfer",
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
        json_real(doc_or_0(run, DECODING "host_samples_per_second")));
    json_object_set_new(doc, "fed", side_json(&r->fed));
    json_object_set_new(doc, "two_workers", side_json(&r->more));
    json_object_set(doc, "verdict", json_object_get(run, "verdict"));
    json_object_set(doc, "config", json_object_get(run, "config"));
    json_object_set_new(doc, "interrupted", json_boolean(r->interrupted));
    return doc;
}

static const char *gain_text(double gain, char buf[32])
{
    if (gain >= 9)
        snprintf(buf, 32, "x %.0f", gain + 1);
    else
        snprintf(buf, 32, "%+.1f %%", 100 * gain);
    return buf;
}

/* share: of the time, what it would spare. predicted: NAN: nothing. then NULL:
 * it cannot be tried. */
static void print_row(const char *what, double share, double predicted,
                      const struct side *now, const struct side *then)
{
    char text[32];
    printf("%-26s %5.0f %% %9s", what, 100 * share,
           isnan(predicted) ? "-" : gain_text(predicted, text));
    if (then && !then->measured)
        printf(" %9s", "-");
    else if (then)
        printf(" %9s %10.0f %7.1f %%", gain_text(gain(now, then), text),
               then->images_per_second, 100 * then->stall_fraction);
    putchar('\n');
}

static void print_trial(const struct result *r)
{
    double huffman = doc_or_0(r->now.run, "headroom.huffman");
    if (!r->trial.packed)
        return;
    print_row("an index of the JPEGs", huffman, (double)NAN, &r->as_is,
              &r->indexed);
    print_row("packed images", huffman,
              doc_or_0(r->now.run, "headroom.packing"), &r->as_is, &r->packed);
}

/* What cannot be tried here: the index has several chains and jumps as well,
 * and a GPU may not be there. */
static void print_decoding(const struct result *r)
{
    const json_t *first = first_epoch(r);
    double alone = doc_or_0(first, DECODING "chains_share");
    double device = doc_or_0(r->now.run, DECODING "device_share");
    if (alone > 0)
        print_row("Huffman chains in parallel", alone,
                  doc_or_0(first, DECODING "chains"), NULL, NULL);
    if (device > 0)
        print_row("decoding on a GPU", device,
                  doc_or_0(r->now.run, DECODING "device"), NULL, NULL);
}

static void print_notes(const struct result *r)
{
    const struct headroom_trial *t = &r->trial;
    double rate = doc_or_0(r->now.run, DECODING "host_samples_per_second");
    char text[512];
    if (r->as_is.measured) {
        snprintf(text, sizeof(text),
                 "Tried on %" PRIu64
                 " samples in memory: an index and packing, "
                 "whose share is of the workers' time; %.0f images/s as they "
                 "are. Packed by `loaderbench pack --store=packed` they take "
                 "%+.0f %% of bytes.",
                 t->samples, r->as_is.images_per_second,
                 100 * ((double)t->packed_bytes / (double)t->bytes - 1));
        putchar('\n');
        cli_print_wrapped(text, 0, 0);
    }
    if (!(rate > 0))
        return;
    snprintf(text, sizeof(text),
             "So is that of chains, which run in parallel once the index knows "
             "a file, after the first epoch; and of a GPU that decodes, beside "
             "which these workers would prepare %.0f images/s.",
             rate);
    putchar('\n');
    cli_print_wrapped(text, 0, 0);
}

static void report(const struct run_setup *s, const struct result *r)
{
    const json_t *run = r->now.run;
    bool device = strcmp(s->device, "host") != 0;
    if (r->interrupted)
        printf("Interrupted; results so far:\n");
    if (!r->now.measured) {
        printf("Nothing was measured.\n");
        return;
    }
    printf("%.0f images/s with " TOOL_COUNT "; the %s waits %.1f %% of the "
           "time.\n\n",
           r->now.images_per_second, TOOL_COUNT_OF(r->now.workers, "worker"),
           device ? "GPU" : "loop", 100 * r->now.stall_fraction);
    printf("%-26s %7s %9s %9s %10s %9s\n", "", "share", "predicted", "measured",
           "images/s", "waits");
    print_row("an infinitely fast loader", r->now.stall_fraction,
              doc_or_0(run, "headroom.fed"), &r->now, &r->fed);
    print_row("two more workers",
              share_of_waits(&r->now, "prep", "worker_wait"),
              doc_or_0(run, "headroom.two_workers"), &r->now, &r->more);
    print_row("storage of twice the speed",
              share_of_waits(&r->now, "fetch", "fetch_queue"),
              doc_or_0(run, "headroom.storage"), NULL, NULL);
    if (device)
        print_row("a bus of twice the speed",
                  share_of_waits(&r->now, "transfer", "transfer_queue"),
                  doc_or_0(run, "headroom.transfer"), NULL, NULL);
    print_trial(r);
    print_decoding(r);
    print_notes(r);
    putchar('\n');
    if (!(s->options.consumer_ms > 0))
        cli_print_wrapped(
            "The loop does nothing but wait, so it takes whatever comes. "
            "--consumer-ms simulates one that works.",
            0, 0);
    const char *sentence = json_string_value(doc_at(run, "verdict.sentence"));
    if (sentence)
        cli_print_wrapped(sentence, 0, 0);
}

/* ---- The command -------------------------------------------------------- */

static int run_all(struct run_setup *s, const char *uri)
{
    const struct run_options *o = &s->options;
    struct result r = {.now = {.run = NULL}};
    int rc = measure_all(s, &r);
    r.interrupted = rc == TOOL_INTERRUPTED;
    if (rc == TOOL_DONE || rc == TOOL_INTERRUPTED) {
        if (output_is_free(o->quiet, o->json, NULL))
            report(s, &r);
        if (o->json)
            rc = document_deliver(document(s, uri, &r), o->json, rc);
    }
    json_decref(r.now.run);
    json_decref(r.fed.run);
    json_decref(r.more.run);
    json_decref(r.as_is.run);
    json_decref(r.indexed.run);
    json_decref(r.packed.run);
    headroom_trial_free(&r.trial);
    return rc;
}

int headroom_main(void *values, const struct cli_parsed *parsed)
{
    const struct run_options *o = values;
    struct run_setup s = {.options = *o};
    if (!s.options.batches && !(s.options.seconds > 0))
        s.options.seconds = DEFAULT_SECONDS;
    int rc = run_set_up(&s, parsed);
    /* What is compared must not change meanwhile. */
    if (rc == TOOL_DONE && !cli_given(parsed, "tuner"))
        feedline_config_set(s.config, "tuner", "off");
    if (rc == TOOL_DONE)
        rc = run_all(&s, parsed->positional);
    run_tear_down(&s);
    return rc;
}
