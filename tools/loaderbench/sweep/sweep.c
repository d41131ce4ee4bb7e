/* SPDX-License-Identifier: Apache-2.0 */
/* loaderbench sweep: the command. */
#include "tools/loaderbench/sweep/sweep.h"

#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/model/model.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/run/recipe.h"

#include <string.h>

#define DEFAULT_SECONDS 2.0
#define DEFAULT_WARMUP  3
#define DEFAULT_REPEAT  3

struct sweep_options {
    struct run_options run;
    const char *workers, *depth, *depths, *io_depth, *resume;
    double tolerance; /* per cent */
};

#define VALUES struct sweep_options
static const struct cli_option options[] = {
    {"workers", "LIST",
     "numbers of workers: 1,2,4,8 or 1..8 [auto]\n"
     "Both forms can be mixed. auto: powers of two up to twice the cores, and "
     "more points close to the number of cores.",
     VALUE_TEXT(workers)},
    {"depth", "LIST",
     "numbers of batches prepared ahead [auto: 2,4,8,16]\n"
     "auto leaves out those that memory has no room for.",
     VALUE_TEXT(depth)},
    {"io-depth", "LIST",
     "I/O depths, as a third dimension [the loader chooses]\n"
     "auto: 4,16,64.",
     VALUE_TEXT(io_depth)},
    {"seconds", "T", "length of each measurement [2]",
     VALUE_NUMBER(run.seconds, 0.001, 1e9)},
    {"repeat", "R",
     "measure each point R times and take the median [3]\n"
     "All other points are measured in between.",
     VALUE_COUNT(run.repeat, 1)},
    {"resume", "FILE",
     "save results in FILE and skip what it already has\n"
     "FILE is written after each measurement.",
     VALUE_OUTPUT(resume)},
    RECIPE_OPTIONS(run.pipeline, run.ops),
    {"consumer-ms", "X",
     "a training step of X ms per batch, as for run [0]\n"
     "The knee is then where the consumer is fed.",
     VALUE_NUMBER(run.consumer_ms, 0, 1e7)},
    CLI_MODEL(run.model),
    CLI_JSON(run.json),
    CLI_REPORT(run.report),
    {"depths", "LIST", "the same as --depth", VALUE_TEXT(depths)},
    {"batches", "B",
     "end each measurement after B batches\n"
     "With --seconds, whichever comes first.",
     VALUE_COUNT(run.batches, 1)},
    {"warmup", "B", "batches before measuring begins [3]",
     VALUE_COUNT(run.warmup, 0)},
    {"tolerance", "P",
     "how many percent below the best speed the knee may be [3]",
     VALUE_NUMBER(tolerance, 0, 100)},
    CLI_PROGRESS(run.progress),
    CLI_QUIET(run.quiet),
};

const struct cli_command command_sweep = {
    .name = "sweep",
    .positional = "URI",
    .positional_folder = true,
    .summary = "the whole grid of workers and depth, and its knee",
    .about =
        "Measures a grid of workers and depth with the tuner off, and finds "
        "its knee.\n\n"
        "Each point is measured with a fresh loader, in several rounds. The "
        "knee is the point with the fewest workers, then the smallest depth, "
        "within 3 % of the best median; or, with a consumer, at which it waits "
        "no longer than --tuner-target.\n\n"
        "Ctrl-C prints what has been measured; with --resume FILE the same "
        "command continues where it stopped.",
    .example = "sweep photos --workers 1,2 --depth 4 --seconds 1",
    CLI_TABLE(.run = {.warmup = DEFAULT_WARMUP,
                      .repeat = DEFAULT_REPEAT,
                      .max_failed_fraction = 1},
              .tolerance = 3),
    .n_first = 11,
    .loader_options = true,
    .run = sweep_main,
};

static int report(const struct sweep *s)
{
    const struct run_options *o = &s->setup->options;
    json_t *doc = sweep_document(s);
    if (output_is_free(o->quiet, o->json, o->report))
        sweep_text(doc);
    int rc = run_write(o, doc, s->uri);
    json_decref(doc);
    return rc;
}

static int make_axes(const struct sweep_options *o, struct run_setup *setup,
                     struct sweep_axis axes[3])
{
    const char *depth = o->depth ? o->depth : o->depths;
    if (o->depth && o->depths) {
        tool_say("--depth and --depths are the same: one of them is enough");
        return TOOL_USAGE;
    }
    depth = depth ? depth : "auto";
    int rc =
        sweep_axis_parse("workers", o->workers ? o->workers : "auto", &axes[0]);
    if (rc == TOOL_DONE)
        rc = sweep_axis_parse("depth", depth, &axes[1]);
    axes[2].n = 0;
    if (rc == TOOL_DONE && o->io_depth)
        rc = sweep_axis_parse("io-depth", o->io_depth, &axes[2]);
    if (rc == TOOL_DONE && strcmp(depth, "auto") == 0) {
        int32_t status = sweep_axis_trim(setup, &axes[1]);
        rc = status < 0 ? tool_setup_failed(status) : TOOL_DONE;
    }
    return rc;
}

static int run_sweep(const struct sweep_options *o, struct run_setup *setup,
                     const char *uri, const struct sweep_axis axes[3])
{
    struct sweep s;
    int rc = sweep_init(&s, setup, uri, &axes[0], &axes[1], &axes[2]);
    s.rounds = setup->options.repeat;
    s.rule.tolerance = o->tolerance / 100;
    s.rule.target =
        setup->options.consumer_ms > 0 ? sweep_target(setup->config) : -1;
    s.save = o->resume;
    if (rc == TOOL_DONE && o->resume)
        rc = sweep_resume(&s, o->resume);
    if (rc == TOOL_DONE)
        rc = sweep_measure(&s);
    if (rc == TOOL_DONE)
        rc = report(&s);
    if (rc == TOOL_DONE && s.interrupted)
        rc = TOOL_INTERRUPTED;
    sweep_fini(&s);
    return rc;
}

int sweep_main(void *values, const struct cli_parsed *parsed)
{
    const struct sweep_options *o = values;
    struct run_setup setup = {.options = o->run};
    struct sweep_axis axes[3];
    if (!o->run.batches && !(o->run.seconds > 0))
        setup.options.seconds = DEFAULT_SECONDS;
    int rc = run_set_up(&setup, parsed);
    if (rc == TOOL_DONE)
        rc = make_axes(o, &setup, axes);
    if (rc == TOOL_DONE)
        rc = run_sweep(o, &setup, parsed->positional, axes);
    run_tear_down(&setup);
    return rc;
}
