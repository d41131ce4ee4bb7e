/* SPDX-License-Identifier: Apache-2.0 */
/* loaderbench run: set up once, measure a fresh loader R times, report. */
#include "bench/loaderbench/run.h"

#include "bench/loaderbench/commands.h"
#include "bench/loaderbench/gpu.h"
#include "bench/loaderbench/recipe.h"
#include "bench/loaderbench/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SECONDS 10.0
#define DEFAULT_WARMUP  3

#define OPTION(field) offsetof(struct run_options, field)
static const struct cli_option options[] = {
    {"pipeline", "train|eval|none",
     "train: random resized crop 224, flip, normalise, and --shuffle unless "
     "--no-shuffle; eval: resize 256, centre crop 224, normalise [train, none "
     "with --op]",
     CLI_CHOICE, OPTION(pipeline), 0, 0, RECIPE_CHOICES},
    {"op", "\"NAME ARGS\"",
     "one more operation after those of the pipeline, e.g. "
     "\"resize size=256\"; may be repeated",
     CLI_LIST, OPTION(ops), 0, 0, NULL},
    {"epochs", "E", "end after E epochs, warm-up included", CLI_COUNT,
     OPTION(epochs), 1, 0, NULL},
    {"batches", "B", "end after B batches, not counting the warm-up", CLI_COUNT,
     OPTION(batches), 1, 0, NULL},
    {"seconds", "T",
     "end after T seconds, not counting the warm-up, however many epochs that "
     "is. Of several limits the first one counts [10, if there is no other]",
     CLI_NUMBER, OPTION(seconds), 0.001, 1e9, NULL},
    {"warmup", "B",
     "batches before measuring begins; a run of --epochs that is no longer is "
     "measured from its beginning [3]",
     CLI_COUNT, OPTION(warmup), 0, 0, NULL},
    {"repeat", "R",
     "measure R fresh loaders and report medians; --json has each [1]",
     CLI_COUNT, OPTION(repeat), 1, 0, NULL},
    {"consumer-ms", "X",
     "a consumer that works X ms on each batch, as a GPU does: the loader has "
     "that time to itself. With --device cuda:0 it is a kernel on that GPU, "
     "which the loop does not wait for [0]",
     CLI_NUMBER, OPTION(consumer_ms), 0, 1e7, NULL},
    {"sink", "none|hash",
     "hash: a fingerprint of the stream, the same for any number of workers, "
     "depth, reader or CPU [none]",
     CLI_CHOICE, OPTION(sink), 0, 0, "none|hash"},
    {"resume-at", "B",
     "after B batches save the state, destroy the loader and let a new one go "
     "on: the fingerprint must not change",
     CLI_COUNT, OPTION(resume_at), 1, 0, NULL},
    {"max-failed-fraction", "F",
     "exit with 3 if a larger part of the samples could not be used. Matters "
     "with --on-error skip or zero, which allow failures: so the default is 1, "
     "which still refuses a data set of which nothing can be used [1]",
     CLI_NUMBER, OPTION(max_failed_fraction), 0, 1, NULL},
    {"json", "FILE", "write the results as JSON, '-' for standard output",
     CLI_TEXT, OPTION(json), 0, 0, NULL},
    {"report", "FILE.html",
     "write the results as one page of HTML, '-' for standard output", CLI_TEXT,
     OPTION(report), 0, 0, NULL},
    {"table", "COLUMN",
     "with the report, print all stages and phases as a table: in their order, "
     "or sorted by a column",
     CLI_CHOICE, OPTION(table), 0, 0,
     "path|busy|items|bytes|mean|p50|p90|p99|max|name"},
    {"quiet", NULL, "print no report", CLI_SWITCH, OPTION(quiet), 0, 0, NULL},
};

const struct cli_command command_run = {
    .name = "run",
    .positional = "URI",
    .summary = "how fast is this, and what is it waiting for",
    .about =
        "Loads the images of URI as a training loop would and says how fast "
        "that is, how long the loop had to wait for images, and for what.\n\n"
        "URI is a folder with one folder per class (folder:/data/train), a "
        "list of files (list:/data/train.tsv), MNIST-like files "
        "(idx:/data/mnist) or a bare path, which is looked at.",
    .options = options,
    .n_options = sizeof(options) / sizeof(*options),
    .loader_options = true,
    .run = run_main,
};

static int make_config(struct run_setup *s, const struct cli_parsed *parsed)
{
    struct run_options *o = &s->options;
    int32_t status = feedline_config_create(&s->config);
    if (status < 0)
        return tool_setup_failed(status);
    if (strcmp(o->pipeline, "train") == 0 && !cli_given(parsed, "shuffle"))
        status = feedline_config_set(s->config, "shuffle", "true");
    if (status < 0)
        return tool_setup_failed(status);
    int rc = cli_apply(parsed, s->config);
    if (rc != TOOL_DONE)
        return rc;
    /* Epochs are counted here, where the warm-up is; FEEDLINE_EPOCHS counts
     * like --epochs. */
    int64_t epochs = 0;
    feedline_config_get_int(s->config, "epochs", &epochs);
    if (!o->epochs)
        o->epochs = (uint64_t)epochs;
    feedline_config_set_int(s->config, "epochs", 0);
    return TOOL_DONE;
}

/* Asked before anything is read, so that the answer comes at once. */
static int check_device(struct run_setup *s)
{
    struct feedline_device_info gpu;
    gpu_of_config(s->config, s->device, sizeof(s->device));
    if (strcmp(s->device, "host") == 0)
        return TOOL_DONE;
    if (s->options.sink && strcmp(s->options.sink, "hash") == 0) {
        tool_say("--sink hash reads the pixels, which --device %s leaves on "
                 "the GPU; it takes --device host",
                 s->device);
        return TOOL_USAGE;
    }
    return gpu_find(s->device, &gpu);
}

int run_set_up(struct run_setup *s, const struct cli_parsed *parsed)
{
    struct run_options *o = &s->options;
    if (!o->pipeline)
        o->pipeline = recipe_default(&o->ops);
    int rc = recipe_make(o->pipeline, &o->ops, &s->pipeline);
    if (rc == TOOL_DONE)
        rc = make_config(s, parsed);
    if (rc == TOOL_DONE)
        rc = check_device(s);
    if (rc != TOOL_DONE)
        return rc;
    if (!o->epochs && !o->batches && o->seconds <= 0)
        o->seconds = DEFAULT_SECONDS;
    s->failures = json_array();
    int32_t status = feedline_dataset_open(parsed->positional, &s->dataset);
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
}

void run_tear_down(struct run_setup *s)
{
    feedline_dataset_close(s->dataset);
    feedline_config_destroy(s->config);
    feedline_pipeline_destroy(s->pipeline);
    json_decref(s->failures);
    free(s->table);
}

/* Data errors above the allowed rate? */
static int judge_failures(const struct run_setup *s, uint64_t failed,
                          uint64_t samples)
{
    double fraction = samples ? (double)failed / (double)samples : 0;
    if (!failed ||
        (fraction <= s->options.max_failed_fraction && failed < samples))
        return TOOL_DONE;
    tool_say("%.3g %% of the samples could not be used (%llu of %llu)",
             100 * fraction, (unsigned long long)failed,
             (unsigned long long)samples);
    return TOOL_DATA;
}

static bool to_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static int report(const struct run_setup *s, const char *uri,
                  const json_t *runs, bool interrupted)
{
    const struct run_options *o = &s->options;
    int rc = TOOL_DONE;
    json_t *doc = run_json_document(s, uri, runs, interrupted);
    if (!o->quiet && !to_stdout(o->json) && !to_stdout(o->report))
        run_text(doc, s->table);
    if (o->json)
        rc = tool_write_json(doc, o->json);
    if (rc == TOOL_DONE && o->report)
        rc = report_write(&doc, &uri, 1, o->report);
    json_decref(doc);
    return rc;
}

static int run_all(struct run_setup *s, const char *uri)
{
    struct run_counts counts = {0};
    uint64_t failed = 0, samples = 0;
    json_t *runs = json_array();
    int rc = TOOL_DONE;
    for (uint64_t i = 0; i < s->options.repeat && !counts.interrupted; i++) {
        json_t *run;
        rc = run_measure(s, &run, &counts);
        if (rc != TOOL_DONE)
            goto out;
        json_array_append_new(runs, run);
        failed += counts.failed_samples;
        samples += counts.samples;
    }
    rc = report(s, uri, runs, counts.interrupted);
    if (rc == TOOL_DONE && counts.interrupted)
        rc = TOOL_INTERRUPTED;
    else if (rc == TOOL_DONE)
        rc = judge_failures(s, failed, samples);
out:
    json_decref(runs);
    return rc;
}

int run_main(const struct cli_command *command, int argc, char **argv)
{
    struct run_setup s = {.options = {.warmup = DEFAULT_WARMUP,
                                      .repeat = 1,
                                      .max_failed_fraction = 1}};
    struct cli_parsed parsed;
    int rc = cli_parse(command, argc, argv, &s.options, &parsed);
    if (rc >= 0)
        goto out;
    rc = run_set_up(&s, &parsed);
    if (rc == TOOL_DONE)
        rc = run_all(&s, parsed.positional);
    tool_drain_log();
out:
    run_tear_down(&s);
    cli_fini(command, &s.options, &parsed);
    return rc;
}
