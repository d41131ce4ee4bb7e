/* SPDX-License-Identifier: Apache-2.0 */
/* loaderbench headroom: what a better loader would gain. */
#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/headroom/headroom_measure.h"
#include "tools/loaderbench/model/model.h"
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

#define VALUES struct run_options
static const struct cli_option options[] = {
    {"consumer-ms", "X",
     "a training step of X ms per batch, as for run [0]\n"
     "Without one there is nothing that a faster loader could feed.",
     VALUE_NUMBER(consumer_ms, 0, 1e7)},
    CLI_MODEL(model),
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
    CLI_PROGRESS(progress),
    CLI_QUIET(quiet),
};

const struct cli_command command_headroom = {
    .name = "headroom",
    .positional = "URI",
    .positional_folder = true,
    .summary = "what a faster loader would gain, predicted and tried",
    .about =
        "Predicts how much faster the loop would be with a better loader, and "
        "checks it.\n\n"
        "Predicted are an infinitely fast loader, two more workers, storage "
        "of twice the speed, and packed images, each from the share of the "
        "time that it would spare. What can be had by trying is tried: one "
        "batch used over and over at no cost, two more workers; and, with 256 "
        "of the samples in memory, the index of JPEGs and packing, beside the "
        "same samples as they are. Ctrl-C prints what has been measured.",
    .example = "headroom photos --consumer-ms 50",
    CLI_TABLE(.warmup = DEFAULT_WARMUP, .repeat = 1, .max_failed_fraction = 1),
    .n_first = 5,
    .loader_options = true,
    .run = headroom_main,
};

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
                      const struct headroom_side *now,
                      const struct headroom_side *then)
{
    char text[32];
    printf("%-26s %5.0f %% %9s", what, 100 * share,
           isnan(predicted) ? "-" : gain_text(predicted, text));
    if (then && !then->measured)
        printf(" %9s", "-");
    else if (then)
        printf(" %9s %10.0f %7.1f %%",
               gain_text(headroom_gain(now, then), text),
               then->images_per_second, 100 * then->stall_fraction);
    putchar('\n');
}

static void print_trial(const struct headroom *r)
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
static void print_decoding(const struct headroom *r)
{
    const json_t *first = headroom_first_epoch(r);
    double alone = doc_or_0(first, HEADROOM_DECODING "chains_share");
    double device = doc_or_0(r->now.run, HEADROOM_DECODING "device_share");
    if (alone > 0)
        print_row("Huffman chains in parallel", alone,
                  doc_or_0(first, HEADROOM_DECODING "chains"), NULL, NULL);
    if (device > 0)
        print_row("decoding on a GPU", device,
                  doc_or_0(r->now.run, HEADROOM_DECODING "device"), NULL, NULL);
}

static void print_notes(const struct headroom *r)
{
    const struct headroom_trial *t = &r->trial;
    double rate =
        doc_or_0(r->now.run, HEADROOM_DECODING "host_samples_per_second");
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

static void print_model(const struct run_setup *s, const json_t *run)
{
    json_t *model = model_json(s->model, run);
    model_text(model);
    json_decref(model);
}

static void report(const struct run_setup *s, const struct headroom *r)
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
              headroom_share(&r->now, "prep", "worker_wait"),
              doc_or_0(run, "headroom.two_workers"), &r->now, &r->more);
    print_row("storage of twice the speed",
              headroom_share(&r->now, "fetch", "fetch_queue"),
              doc_or_0(run, "headroom.storage"), NULL, NULL);
    if (device)
        print_row("a bus of twice the speed",
                  headroom_share(&r->now, "transfer", "transfer_queue"),
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
    if (s->model)
        print_model(s, run);
}

/* ---- The command -------------------------------------------------------- */

static int run_all(struct run_setup *s, const char *uri)
{
    const struct run_options *o = &s->options;
    struct headroom r;
    int rc = headroom_measure(s, &r);
    if (rc == TOOL_DONE || rc == TOOL_INTERRUPTED) {
        if (output_is_free(o->quiet, o->json, NULL))
            report(s, &r);
        if (o->json)
            rc = document_deliver(headroom_json(s, uri, &r), o->json, rc);
    }
    headroom_free(&r);
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
