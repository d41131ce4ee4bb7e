/* SPDX-License-Identifier: Apache-2.0 */
/* loaderbench tune: the command. */
#include "tools/loaderbench/tune/tune.h"

#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/model/model.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/run/recipe.h"

#include <stdlib.h>

#define DEFAULT_HOLD          5.0
#define DEFAULT_SECONDS       120.0
#define DEFAULT_SWEEP_SECONDS 2.0
#define DEFAULT_REPEAT        3

#define VALUES struct tune_options
static const struct cli_option options[] = {
    RECIPE_OPTIONS(run.pipeline, run.ops),
    {"consumer-ms", "X",
     "a training step of X ms per batch, as for run [0]\n"
     "It is what the tuner keeps fed.",
     VALUE_NUMBER(run.consumer_ms, 0, 1e7)},
    CLI_MODEL(run.model),
    {"seconds", "T",
     "stop after T seconds [5 after it has settled, or 120]\n"
     "The 5 are those of --hold.",
     VALUE_NUMBER(run.seconds, 0.001, 1e9)},
    {"profile", "FILE", "save what was found, for the option --tuner-profile",
     VALUE_OUTPUT(profile)},
    {"compare-sweep", NULL,
     "measure a grid too, and compare the choice with it\n"
     "The choice is measured among the points of the grid.",
     VALUE_SWITCH(compare)},
    {"fail-below", "P%",
     "with --compare-sweep: exit 1 if the choice is worse\n"
     "by more than P % of the best speed, and by more than the measuring "
     "error.",
     VALUE_TEXT(fail_below)},
    {"observe", NULL, "only report what the tuner would do",
     VALUE_SWITCH(observe)},
    CLI_JSON(run.json),
    CLI_REPORT(run.report),
    {"batches", "B", "stop after B batches", VALUE_COUNT(run.batches, 1)},
    {"hold", "T",
     "without another limit, stop T seconds after it has settled [5]",
     VALUE_NUMBER(hold, 0, 1e6)},
    {"sweep-workers", "LIST", "workers of the grid, as for sweep [auto]",
     VALUE_TEXT(sweep_workers)},
    {"sweep-depths", "LIST", "depths of the grid, as for sweep [auto]",
     VALUE_TEXT(sweep_depths)},
    {"sweep-seconds", "T", "length of each measurement of the grid [2]",
     VALUE_NUMBER(sweep_seconds, 0.001, 1e6)},
    {"repeat", "R", "how often each point of the grid is measured [3]",
     VALUE_COUNT(run.repeat, 1)},
    CLI_PROGRESS(run.progress),
    CLI_QUIET(run.quiet),
};

const struct cli_command command_tune = {
    .name = "tune",
    .positional = "URI",
    .positional_folder = true,
    .summary = "what the tuner chooses, why, and how good that is",
    .about =
        "Loads the images of URI with the tuner on and reports what it did.\n\n"
        "Where it began (--workers-start), what it changed and why, what that "
        "gained, and where it settled. Of --workers, --depth and --io-depth it "
        "tunes those that are auto.\n\n"
        "With --profile FILE the next training starts from what was found "
        "(option tuner_profile).",
    .example = "tune photos --model resnet50@v100",
    CLI_TABLE(.run = {.repeat = DEFAULT_REPEAT, .max_failed_fraction = 1},
              .hold = DEFAULT_HOLD, .sweep_seconds = DEFAULT_SWEEP_SECONDS),
    .n_first = 10,
    .loader_options = true,
    .run = tune_main,
};

/* --tuner off is what this command is not for. */
static int set_mode(struct run_setup *s, const struct tune_options *o,
                    const struct cli_parsed *parsed)
{
    if (cli_given(parsed, "tuner")) {
        tool_say("tune sets the option tuner itself: auto, or observe with "
                 "--observe");
        return TOOL_USAGE;
    }
    int32_t status = feedline_config_set(s->config, "tuner",
                                         o->observe ? "observe" : "auto");
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
}

/* The run itself; *out is its document. */
static int follow(struct run_setup *s, struct tune_follow *f, const char *uri,
                  json_t **out)
{
    struct run_watch watch = {tune_follow_batch, tune_follow_end, f};
    struct run_counts counts;
    json_t *run, *runs = json_array();
    s->watch = &watch;
    int rc = run_measure(s, &run, &counts);
    s->watch = NULL;
    if (rc == TOOL_DONE) {
        json_array_append(runs, run);
        uint64_t repeat = s->options.repeat;
        s->options.repeat = 1;
        *out = run_json_document(s, uri, runs, counts.interrupted);
        s->options.repeat = repeat;
        json_object_set_new(*out, "command", json_string("tune"));
        tune_follow_json(f, *out);
        model_add(*out, s->model, *out);
    }
    json_decref(run);
    json_decref(runs);
    return rc;
}

static int run_tune(struct run_setup *s, const struct tune_options *o,
                    const char *uri, double tolerated)
{
    struct tune_follow f = {.open_ended =
                                !o->run.batches && !(o->run.seconds > 0),
                            .hold = o->hold,
                            .profile = o->profile};
    json_t *doc = NULL;
    if (f.open_ended)
        s->options.seconds = DEFAULT_SECONDS;
    int rc = follow(s, &f, uri, &doc);
    if (rc == TOOL_DONE && o->compare && !tool_interrupted())
        rc = tune_compare(s, o, uri, doc);
    if (rc == TOOL_DONE &&
        output_is_free(o->run.quiet, o->run.json, o->run.report))
        tune_text(doc);
    if (rc == TOOL_DONE)
        rc = run_write(&o->run, doc, uri);
    if (rc == TOOL_DONE && tool_interrupted())
        rc = TOOL_INTERRUPTED;
    else if (rc == TOOL_DONE && o->fail_below && tune_is_worse(doc, tolerated))
        rc = TOOL_MISSED;
    json_decref(doc);
    free(f.story);
    return rc;
}

/* Before anything is measured. */
static int check(const struct tune_options *o, double *tolerated)
{
    struct sweep_axis unused;
    int rc = TOOL_DONE;
    if (o->fail_below)
        rc = tool_parse_fraction("fail-below", o->fail_below, tolerated);
    if (rc == TOOL_DONE && o->fail_below && !o->compare) {
        tool_say("--fail-below is about --compare-sweep, which is not there");
        return TOOL_USAGE;
    }
    if (rc == TOOL_DONE && o->sweep_workers)
        rc = sweep_axis_parse("workers", o->sweep_workers, &unused);
    if (rc == TOOL_DONE && o->sweep_depths)
        rc = sweep_axis_parse("depth", o->sweep_depths, &unused);
    return rc;
}

int tune_main(void *values, const struct cli_parsed *parsed)
{
    const struct tune_options *o = values;
    struct run_setup setup = {.options = o->run};
    double tolerated = 0;
    int rc = check(o, &tolerated);
    if (rc == TOOL_DONE)
        rc = run_set_up(&setup, parsed);
    if (rc == TOOL_DONE)
        rc = set_mode(&setup, o, parsed);
    if (rc == TOOL_DONE)
        rc = run_tune(&setup, o, parsed->positional, tolerated);
    run_tear_down(&setup);
    return rc;
}
