/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench doctor: what in this environment will hurt. The library looks and
 * judges; here it is told, the worst first, with what to do about each.
 */
#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/doctor_ask.h"
#include "tools/loaderbench/library.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMN 11 /* where the words begin */

struct doctor_options {
    const char *device, *json;
    bool quiet;
};

#define VALUES struct doctor_options
static const struct cli_option options[] = {
    {"device", "host|cuda[:N]",
     "check this GPU too [cuda:0 if there is one, else host]",
     VALUE_TEXT(device)},
    CLI_JSON(json),
    CLI_QUIET(quiet),
};

const struct cli_command command_doctor = {
    .name = "doctor",
    .summary = "what in this environment slows training down",
    .about =
        "Checks the machine, the container and the GPU for anything that slows "
        "training down or makes it fail.\n\n"
        "Cores granted and used by others, memory, locked and shared memory, "
        "io_uring, limits of files and threads, CUDA versions, the GPU's NUMA "
        "node and clocks, misspelt FEEDLINE_ variables. Each finding comes "
        "with a remedy. Nothing is changed.",
    .example = "doctor",
    CLI_TABLE(0),
    .run = doctor_main,
};

/* ---- Asking ------------------------------------------------------------- */

/* Variables that nothing reads. */
static void add_environment(json_t *findings)
{
    size_t i = 0;
    char name[CLI_VARIABLE_BYTES], closest[CLI_VARIABLE_BYTES];
    while (cli_unknown_variable(&i, name, closest)) {
        char text[2 * CLI_VARIABLE_BYTES], remedy[2 * CLI_VARIABLE_BYTES];
        snprintf(text, sizeof(text), "%s is set, but nothing reads it", name);
        snprintf(remedy, sizeof(remedy),
                 *closest ? "the closest name is %s; unset this one"
                          : "unset it%s",
                 closest);
        json_array_append_new(findings,
                              json_pack("{s:s, s:s, s:s, s:s}", "id",
                                        "environment", "level", "warning",
                                        "text", text, "remedy", remedy));
    }
}

int doctor_ask(const char *device, json_t **out)
{
    if (!device)
        device = feedline_device_count() > 0 ? "cuda:0" : "host";
    char *text;
    int32_t status = library_text(LIBRARY_DOCTOR, device, &text);
    if (status < 0)
        return tool_setup_failed(status);
    *out = json_loads(text, 0, NULL);
    free(text);
    if (*out) {
        add_environment(json_object_get(*out, "findings"));
        return TOOL_DONE;
    }
    tool_say("the library's findings are no JSON");
    return TOOL_ENVIRONMENT;
}

/* ---- Telling ------------------------------------------------------------ */

static void tell(const json_t *finding, const char *level, const char *colour)
{
    printf("%s%-9s%s", tool_colour(colour), level, tool_colour("\033[0m"));
    cli_print_wrapped(doc_text(finding, "text"), COLUMN, 9);
    const char *remedy = doc_text(finding, "remedy");
    if (*remedy) {
        int n = printf("%*s> ", COLUMN, "");
        cli_print_wrapped(remedy, COLUMN + 2, (size_t)n);
    }
}

static void tell_all(const json_t *findings)
{
    static const struct {
        const char *level, *colour;
    } order[] = {{"error", "\033[31m"},
                 {"warning", "\033[33m"},
                 {"note", "\033[36m"},
                 {"ok", "\033[32m"}};
    size_t counts[4] = {0};
    for (size_t k = 0; k < 4; k++) {
        size_t i;
        json_t *finding;
        json_array_foreach(findings, i, finding)
        {
            if (strcmp(doc_text(finding, "level"), order[k].level) != 0)
                continue;
            tell(finding, order[k].level, order[k].colour);
            counts[k]++;
        }
    }
    printf("\n" TOOL_COUNT ", " TOOL_COUNT ", " TOOL_COUNT ", %zu ok\n",
           TOOL_COUNT_OF(counts[0], "error"),
           TOOL_COUNT_OF(counts[1], "warning"),
           TOOL_COUNT_OF(counts[2], "note"), counts[3]);
}

static bool has_error(const json_t *findings)
{
    size_t i;
    json_t *finding;
    json_array_foreach(findings, i, finding)
    {
        if (strcmp(doc_text(finding, "level"), "error") == 0)
            return true;
    }
    return false;
}

int doctor_main(void *values, const struct cli_parsed *parsed)
{
    const struct doctor_options *o = values;
    json_t *found;
    (void)parsed;
    int rc = doctor_ask(o->device, &found);
    if (rc != TOOL_DONE)
        return rc;
    json_t *findings = json_object_get(found, "findings");
    if (output_is_free(o->quiet, o->json, NULL))
        tell_all(findings);
    if (o->json) {
        json_t *doc = document_new("doctor");
        json_object_update(doc, found);
        rc = document_deliver(doc, o->json, rc);
    }
    if (rc == TOOL_DONE && has_error(findings))
        rc = TOOL_ENVIRONMENT;
    json_decref(found);
    return rc;
}
