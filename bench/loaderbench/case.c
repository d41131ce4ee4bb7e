/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/loaderbench/case.h"

#include "bench/loaderbench/commands.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define AGREED 0.2 /* measured gain against the predicted one */

static const struct case_row cases[] = {
    {"bandwidth", "numbers of four bytes over the bus, or of one",
     case_bandwidth},
    {"latency", "many small copies, or one slab", case_latency},
};
#define N_CASES      (sizeof(cases) / sizeof(*cases))
#define CASE_CHOICES "bandwidth|latency"

#define OPTION(field) offsetof(struct case_options, field)
static const struct cli_option options[] = {
    {"device", "cuda[:N]", "which GPU [cuda:0]", CLI_TEXT, OPTION(device), 0, 0,
     NULL},
    {"batch-size", "N", "images of a batch [64]", CLI_COUNT, OPTION(batch_size),
     1, 0, NULL},
    {"seconds", "T", "how long each side is measured [5]", CLI_NUMBER,
     OPTION(seconds), 0.001, 3600, NULL},
    {"json", "FILE", "write the results as JSON, '-' for standard output",
     CLI_TEXT, OPTION(json), 0, 0, NULL},
    {"quiet", NULL, "print no report", CLI_SWITCH, OPTION(quiet), 0, 0, NULL},
};

const struct cli_command command_case = {
    .name = "case",
    .positional = "NAME",
    .summary = "a well-known story, before and after",
    .about =
        "Plays a situation that costs time, names its cause, predicts what the "
        "advised change gains, makes the change and measures again.\n\n"
        "bandwidth: batches of f32 are copied to the GPU, against u8 that the "
        "GPU finishes. The images come ready from memory, for it is about the "
        "bus.\n"
        "latency: each image of a batch is copied alone, against all of them "
        "as one slab.",
    .options = options,
    .n_options = sizeof(options) / sizeof(*options),
    .run = case_main,
};

static double gain(double before, double after)
{
    return after > 0 ? before / after : 0;
}

/* Within 20 %? */
static bool agree(const struct case_result *r)
{
    double predicted = gain(r->before.predicted_ms, r->after.predicted_ms);
    double measured = gain(r->before.step_ms, r->after.step_ms);
    return predicted > 0 && fabs(measured / predicted - 1) <= AGREED;
}

static json_t *side_json(const struct case_side *s)
{
    return json_pack("{s:s, s:f, s:f, s:I, s:f, s:f, s:f, s:f, s:I}", "what",
                     s->what, "step_ms", s->step_ms, "stall_fraction",
                     s->stall_fraction, "workers", (json_int_t)s->workers,
                     "predicted_ms", s->predicted_ms, "copy_ms", s->copy_ms,
                     "finish_ms", s->finish_ms, "produce_ms", s->produce_ms,
                     "bytes", (json_int_t)s->bytes);
}

static json_t *document(const struct case_row *row, const struct case_result *r)
{
    json_t *doc = tool_document("case");
    json_object_set_new(doc, "name", json_string(row->name));
    json_object_set_new(doc, "device", gpu_json(&r->gpu));
    json_object_set_new(doc, "fit", h2d_fit_json(&r->fit));
    json_object_set_new(doc, "regime", json_string(r->regime));
    json_object_set_new(doc, "before", side_json(&r->before));
    json_object_set_new(doc, "after", side_json(&r->after));
    json_object_set_new(doc, "bound",
                        json_pack("{s:f}", "step_ms", r->bound_ms));
    json_object_set(doc, "points", r->points);
    json_object_set_new(
        doc, "predicted_gain",
        json_real(gain(r->before.predicted_ms, r->after.predicted_ms)));
    json_object_set_new(doc, "measured_gain",
                        json_real(gain(r->before.step_ms, r->after.step_ms)));
    json_object_set_new(doc, "agrees", json_boolean(agree(r)));
    json_object_set_new(doc, "sentence", json_string(r->sentence));
    return doc;
}

static void print_side(const char *when, const struct case_side *s)
{
    char bytes[32];
    printf("%-7s %-30s %9s %9.3f %9.3f %8.1f %%\n", when, s->what,
           h2d_size_text(s->bytes, bytes, sizeof(bytes)), s->predicted_ms,
           s->step_ms, 100 * s->stall_fraction);
}

static void report(const struct case_row *row, const struct case_result *r)
{
    gpu_print(&r->gpu);
    printf("%s: %s\n\n", row->name, row->title);
    h2d_print_fit(&r->fit);
    printf("The regime of these copies: %s.\n", r->regime);
    printf("\n%-7s %-30s %9s %9s %9s %10s\n", "", "", "bytes", "predicted",
           "measured", "GPU waits");
    print_side("before", &r->before);
    print_side("after", &r->after);
    printf("%-7s %-30s %9s %9s %9.3f\n\n", "bound", "the bytes at full speed",
           "", "", r->bound_ms);
    printf("Gain: predicted %.2f, measured %.2f: %s.\n",
           gain(r->before.predicted_ms, r->after.predicted_ms),
           gain(r->before.step_ms, r->after.step_ms),
           agree(r) ? "they agree within 20 %" : "they do not agree");
    if (r->sentence[0])
        cli_print_wrapped(r->sentence, 0, 0);
}

static const struct case_row *find(const char *name)
{
    struct cli_closest closest = {.name = name};
    for (size_t i = 0; i < N_CASES; i++) {
        if (strcmp(cases[i].name, name) == 0)
            return &cases[i];
        cli_consider(&closest, cases[i].name);
    }
    const char *best = cli_closest_name(&closest);
    if (best)
        tool_say("there is no case '%s'; the closest is '%s'", name, best);
    else
        tool_say("there is no case '%s', but " CASE_CHOICES, name);
    return NULL;
}

static int run_case(const struct case_row *row, const struct case_options *o)
{
    struct case_result r = {.regime = "", .points = json_array()};
    int rc = gpu_find(o->device, &r.gpu);
    if (rc == TOOL_DONE)
        rc = row->measure(o, &r);
    if (rc == TOOL_DONE) {
        if (!o->quiet && !(o->json && strcmp(o->json, "-") == 0))
            report(row, &r);
        if (o->json) {
            json_t *doc = document(row, &r);
            rc = tool_write_json(doc, o->json);
            json_decref(doc);
        }
    }
    json_decref(r.points);
    return rc;
}

int case_main(const struct cli_command *command, int argc, char **argv)
{
    struct case_options o = {
        .device = "cuda:0", .batch_size = 64, .seconds = 5};
    struct cli_parsed parsed;
    int rc = cli_parse(command, argc, argv, &o, &parsed);
    if (rc >= 0)
        goto out;
    const struct case_row *row = find(parsed.positional);
    rc = row ? run_case(row, &o) : TOOL_USAGE;
    tool_drain_log();
out:
    cli_fini(command, &o, &parsed);
    return rc;
}
