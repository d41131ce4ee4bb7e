/* SPDX-License-Identifier: Apache-2.0 */
/* loaderbench run: set up once, measure a fresh loader R times, report. */
#include "tools/loaderbench/run/run.h"

#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/gpu.h"
#include "tools/loaderbench/model/model.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/report/report.h"
#include "tools/loaderbench/run/recipe.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_SECONDS 10.0
#define DEFAULT_WARMUP  3

#define VALUES struct run_options
static const struct cli_option options[] = {
    {"pipeline", "NAME",
     "what is done to each image [train; none with --op]\n"
     "train: random resized crop 224, flip, normalize. eval: resize 256, "
     "center crop 224, normalize. docs/recipes.md has the others. All but "
     "eval, clip and none shuffle unless --no-shuffle. With --dtype u8 none "
     "normalizes.",
     VALUE_CHOICE(pipeline, RECIPE_CHOICES)},
    {"op", "\"NAME ARGS\"",
     "add an operation, e.g. \"random_resized_crop size=192\"\n"
     "May be repeated. With --pipeline it is added to that one; operations on "
     "pixels go before its normalize. \"views N\" makes N views of each sample "
     "by the operations before it; others may follow for more views.",
     VALUE_LIST(ops)},
    {"seconds", "T",
     "stop after T seconds, not counting the warm-up [10]\n"
     "However many epochs that is. Of several limits the first one counts; 10 "
     "seconds if there is no other.",
     VALUE_NUMBER(seconds, 0.001, 1e9)},
    {"batches", "B", "stop after B batches, not counting the warm-up",
     VALUE_COUNT(batches, 1)},
    {"epochs", "E", "stop after E epochs, warm-up included",
     VALUE_COUNT(epochs, 1)},
    {"consumer-ms", "X",
     "simulate a training step of X ms per batch [0]\n"
     "The loader has that time to itself, as with a GPU. With --device cuda:0 "
     "it is a kernel on that GPU, which the loop does not wait for.",
     VALUE_NUMBER(consumer_ms, 0, 1e7)},
    CLI_MODEL(model),
    {"repeat", "R",
     "measure R fresh loaders and report medians [1]\n"
     "--json has the results of each.",
     VALUE_COUNT(repeat, 1)},
    CLI_JSON(json),
    CLI_REPORT(report),
    {"warmup", "B",
     "batches before measuring begins [3]\n"
     "A run of --epochs that is no longer than that is measured from its "
     "beginning.",
     VALUE_COUNT(warmup, 0)},
    {"table", "COLUMN",
     "print all stages and phases as a table\n"
     "In the order of a sample's path, or sorted by a column.",
     VALUE_CHOICE(table, "path|busy|items|bytes|mean|p50|p90|p99|max|name")},
    {"max-failed-fraction", "F",
     "exit with 3 if more of the samples could not be used [1]\n"
     "Matters with --on-error skip or zero, which allow failures. The default "
     "still refuses a data set of which nothing can be used.",
     VALUE_NUMBER(max_failed_fraction, 0, 1)},
    {"sink", "none|hash",
     "hash: print a fingerprint of the stream [none]\n"
     "It is the same for any number of workers, depth, reader or CPU.",
     VALUE_CHOICE(sink, "none|hash")},
    {"resume-at", "B",
     "after B batches continue with a new loader from the saved state\n"
     "The fingerprint must not change.",
     VALUE_COUNT(resume_at, 1)},
    CLI_PROGRESS(progress),
    CLI_QUIET(quiet),
};

const struct cli_command command_run = {
    .name = "run",
    .positional = "URI",
    .positional_folder = true,
    .summary = "how fast, and what does the loop wait for",
    .about =
        "Loads the images of URI as a training loop would, and reports the "
        "speed, how long the loop waited, and for what.",
    .example = "run photos --seconds 5 --batch-size 64",
    CLI_TABLE(.warmup = DEFAULT_WARMUP, .repeat = 1, .max_failed_fraction = 1),
    .n_first = 9,
    .loader_options = true,
    .run = run_main,
};

static int make_config(struct run_setup *s, const struct cli_parsed *parsed)
{
    struct run_options *o = &s->options;
    int32_t status = feedline_config_create(&s->config);
    if (status < 0)
        return tool_setup_failed(status);
    if (recipe_trains(o->pipeline) && !cli_given(parsed, "shuffle"))
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

/* --model: the time that its GPU takes for a batch. */
static int take_model(struct run_setup *s)
{
    struct run_options *o = &s->options;
    int64_t batch = 0;
    if (!o->model)
        return TOOL_DONE;
    if (o->consumer_ms > 0) {
        tool_say("--model and --consumer-ms both say how long a step takes; "
                 "give one of them");
        return TOOL_USAGE;
    }
    s->model = model_find(o->model);
    if (!s->model)
        return TOOL_USAGE;
    feedline_config_get_int(s->config, "batch_size", &batch);
    o->consumer_ms = 1e3 * (double)batch / s->model->images_per_second;
    return TOOL_DONE;
}

int run_set_up(struct run_setup *s, const struct cli_parsed *parsed)
{
    struct run_options *o = &s->options;
    if (!o->pipeline)
        o->pipeline = recipe_default(&o->ops);
    int rc = make_config(s, parsed);
    if (rc == TOOL_DONE)
        rc = take_model(s);
    if (rc == TOOL_DONE)
        rc = recipe_make(o->pipeline, &o->ops, s->config, &s->pipeline);
    if (rc == TOOL_DONE)
        rc = check_device(s);
    if (rc != TOOL_DONE)
        return rc;
    if (!o->epochs && !o->batches && o->seconds <= 0)
        o->seconds = DEFAULT_SECONDS;
    s->failures = json_array();
    if (s->dataset)
        return TOOL_DONE;
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

int run_set_int(const struct run_setup *s, const char *key, int64_t value)
{
    int32_t status = feedline_config_set_int(s->config, key, value);
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
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

int run_write(const struct run_options *o, json_t *doc, const char *uri)
{
    int rc = o->json ? document_write(doc, o->json) : TOOL_DONE;
    if (rc == TOOL_DONE && o->report)
        rc = report_write(&doc, &uri, 1, o->report);
    return rc;
}

static int report(const struct run_setup *s, const char *uri,
                  const json_t *runs, bool interrupted)
{
    const struct run_options *o = &s->options;
    json_t *doc = run_json_document(s, uri, runs, interrupted);
    model_add(doc, s->model, doc);
    if (output_is_free(o->quiet, o->json, o->report))
        run_text(doc, s->table);
    int rc = run_write(o, doc, uri);
    json_decref(doc);
    return rc;
}

static int run_all(struct run_setup *s, const char *uri)
{
    struct run_counts counts = {0};
    uint64_t failed = 0, samples = 0;
    json_t *runs = json_array();
    int rc = TOOL_DONE;
    s->part.begin = tool_seconds();
    for (uint64_t i = 0; i < s->options.repeat && !counts.interrupted; i++) {
        json_t *run;
        s->part.size = 1 / (double)s->options.repeat;
        s->part.from = (double)i * s->part.size;
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

int run_main(void *values, const struct cli_parsed *parsed)
{
    const struct run_options *o = values;
    struct run_setup s = {.options = *o};
    int rc = run_set_up(&s, parsed);
    if (rc == TOOL_DONE)
        rc = run_all(&s, parsed->positional);
    run_tear_down(&s);
    return rc;
}
