/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/case/case.h"

#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/report/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct case_row cases[] = {
    {"v100", "a GPU fed by 82.3 ms of loading for each 28.5 ms of computing",
     false, 1, 4096, case_v100},
    {"bandwidth", "numbers of four bytes over the bus, or of one", true, 1,
     1024, case_bandwidth},
    {"latency", "many small copies, or one slab", true, 2, 4096, case_latency},
};
#define N_CASES      (sizeof(cases) / sizeof(*cases))
#define CASE_CHOICES "v100|bandwidth|latency"

#define VALUES struct case_options
static const struct cli_option options[] = {
    {"device", "host|cuda[:N]",
     "which GPU; v100 can do without [cuda:0; v100: host]", VALUE_TEXT(device)},
    {"batch-size", "N", "images in a batch [64]", VALUE_COUNT(batch_size, 1)},
    {"seconds", "T", "how long each side or point is measured [5]",
     VALUE_NUMBER(seconds, 0.001, 3600)},
    {"patience", "T", "how long the tuner may take to settle [60]",
     VALUE_NUMBER(patience, 0.001, 3600)},
    {"spin", NULL, "v100: the work keeps a core busy instead of sleeping",
     VALUE_SWITCH(spin)},
    CLI_JSON(json),
    CLI_QUIET(quiet),
};

static void offer_names(void (*offer)(const void *self, const char *value),
                        const void *self)
{
    for (size_t i = 0; i < N_CASES; i++)
        offer(self, cases[i].name);
}

const struct cli_command command_case = {
    .name = "case",
    .positional = "NAME",
    .offer_values = offer_names,
    .summary = "a well-known story, before and after",
    .about =
        "Plays a well-known slow situation, applies the usual advice and "
        "measures again. NAME is v100, bandwidth or latency.\n\nv100: loading "
        "takes 82.3 ms a batch, the copy 12.1 ms, the GPU 28.5 ms. Before: one "
        "after the other. After: overlapped, with as many workers as the tuner "
        "finds, starting from one.\nbandwidth: batches of f32 are copied to "
        "the GPU, against u8 that the GPU converts. The images are in memory, "
        "so that only the bus matters.\nlatency: each image of a batch is "
        "copied separately, against all of them as one block.\n\nCtrl-C "
        "prints what has been measured.",
    .example = "case v100",
    CLI_TABLE(.batch_size = 64, .seconds = 5, .patience = 60),
    .run = case_main,
};

static json_t *document(const struct case_row *row, const struct case_result *r)
{
    json_t *doc = document_new("case");
    json_object_set_new(doc, "name", json_string(row->name));
    json_object_set_new(doc, "device",
                        r->on_gpu ? gpu_json(&r->gpu) : json_null());
    json_object_set_new(doc, "bound",
                        json_pack("{s:f}", "step_ms", r->bound_ms));
    json_object_set(doc, "points", r->points);
    if (row->needs_gpu)
        case_bus_document(r, doc);
    else
        case_story_document(r, doc);
    json_object_set_new(doc, "sentence", json_string(r->sentence));
    json_object_set_new(doc, "interrupted", json_boolean(r->interrupted));
    return doc;
}

static void report(const struct case_row *row, const struct case_result *r)
{
    if (r->on_gpu)
        gpu_print(&r->gpu);
    printf("%s: %s\n\n", row->name, row->title);
    if (r->interrupted)
        printf("Interrupted; results so far:\n\n");
    if (row->needs_gpu)
        case_bus_report(r);
    else
        case_story_report(r);
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

static int find_device(const struct case_row *row, struct case_options *o,
                       struct case_result *r)
{
    if (!o->device)
        o->device = row->needs_gpu ? "cuda:0" : "host";
    if (!row->needs_gpu && strcmp(o->device, "host") == 0)
        return TOOL_DONE;
    int rc = gpu_find(o->device, &r->gpu);
    r->on_gpu = rc == TOOL_DONE;
    return rc;
}

static int check_batch(const struct case_row *row, const struct case_options *o)
{
    if (o->batch_size >= row->batch_min && o->batch_size <= row->batch_max)
        return TOOL_DONE;
    tool_say("case %s takes a --batch-size of %u to %u", row->name,
             row->batch_min, row->batch_max);
    return TOOL_USAGE;
}

static int run_case(const struct case_row *row, struct case_options *o)
{
    struct case_result r = {.regime = "",
                            .before.converged_batch = -1,
                            .after.converged_batch = -1,
                            .points = json_array(),
                            .more = json_object()};
    int rc = check_batch(row, o);
    if (rc == TOOL_DONE)
        rc = find_device(row, o, &r);
    if (rc == TOOL_DONE)
        rc = row->measure(o, &r);
    r.interrupted = rc == TOOL_INTERRUPTED;
    if (rc == TOOL_DONE || rc == TOOL_INTERRUPTED) {
        if (output_is_free(o->quiet, o->json, NULL))
            report(row, &r);
        if (o->json)
            rc = document_deliver(document(row, &r), o->json, rc);
    }
    json_decref(r.points);
    json_decref(r.more);
    free(r.explained);
    return rc;
}

int case_main(void *values, const struct cli_parsed *parsed)
{
    const struct case_row *row = find(parsed->positional);
    return row ? run_case(row, values) : TOOL_USAGE;
}
