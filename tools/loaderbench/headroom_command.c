/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench headroom: what a better loader would gain, predicted from the
 * ledger, and then tried: once with a batch that is kept and used over and
 * over, once with two workers more. Faster storage cannot be had by trying, so
 * that is predicted only.
 */
#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/run/recipe.h"
#include "tools/loaderbench/run/run.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_SECONDS 5.0
#define DEFAULT_WARMUP  3
#define MORE_WORKERS    2

#define VALUES struct run_options
static const struct cli_option options[] = {
    {"consumer-ms", "X",
     "simulate a training step of X ms per batch, as for run [0]\n"
     "Without one there is nothing that a faster loader could feed.",
     VALUE_NUMBER(consumer_ms, 0, 1e7)},
    RECIPE_OPTIONS(pipeline, ops),
    {"seconds", "T", "how long each of the three loaders is measured [5]",
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
        "Three things are predicted: an infinitely fast loader, two more "
        "workers, and storage of twice the speed. The first two are then "
        "tried: with one batch used over and over at no cost, and with two "
        "more workers. Ctrl-C prints what has been measured.",
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

static int measure_all(struct run_setup *s, struct result *r)
{
    int rc = measure(s, &r->now);
    if (rc == TOOL_DONE)
        rc = measure_fed(s, &r->fed);
    if (rc == TOOL_DONE)
        rc = run_set_int(s, "workers", r->now.workers + MORE_WORKERS);
    return rc == TOOL_DONE ? measure(s, &r->more) : rc;
}

/* ---- Report ------------------------------------------------------------- */

static double gain(const struct side *now, const struct side *then)
{
    return now->images_per_second > 0
               ? then->images_per_second / now->images_per_second - 1
               : 0;
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
        json_pack("{s:f, s:f, s:f, s:f}", "fed", doc_or_0(run, "headroom.fed"),
                  "two_workers", doc_or_0(run, "headroom.two_workers"),
                  "storage", doc_or_0(run, "headroom.storage"), "transfer",
                  doc_or_0(run, "headroom.transfer")));
    json_object_set_new(doc, "measured",
                        json_pack("{s:o, s:o}", "fed",
                                  gain_json(&r->now, &r->fed), "two_workers",
                                  gain_json(&r->now, &r->more)));
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

static void print_row(const char *what, double predicted,
                      const struct side *now, const struct side *then)
{
    char text[32];
    printf("%-28s %10s", what, gain_text(predicted, text));
    if (then && !then->measured)
        printf(" %10s", "-");
    else if (then)
        printf(" %10s %12.0f %8.1f %%", gain_text(gain(now, then), text),
               then->images_per_second, 100 * then->stall_fraction);
    putchar('\n');
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
    printf("%-28s %10s %10s %12s %10s\n", "", "predicted", "measured",
           "images/s", "waits");
    print_row("an infinitely fast loader", doc_or_0(run, "headroom.fed"),
              &r->now, &r->fed);
    print_row("two more workers", doc_or_0(run, "headroom.two_workers"),
              &r->now, &r->more);
    print_row("storage of twice the speed", doc_or_0(run, "headroom.storage"),
              NULL, NULL);
    if (device)
        print_row("a bus of twice the speed",
                  doc_or_0(run, "headroom.transfer"), NULL, NULL);
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
