/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/quick/quick.h"

#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/doctor_ask.h"
#include "tools/loaderbench/headroom/headroom_measure.h"
#include "tools/loaderbench/model/model.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/report/report.h"
#include "tools/loaderbench/run/recipe.h"
#include "tools/loaderbench/tool_progress.h"

#include <string.h>

#define DEFAULT_SECONDS 4.0
#define DEFAULT_WARMUP  3
#define DEFAULT_REPORT  "loaderbench.html"

#define VALUES struct run_options
static const struct cli_option options[] = {
    {"report", "FILE.html",
     "the page with all of it, 'none' for no page [" DEFAULT_REPORT "]",
     VALUE_OUTPUT(report)},
    CLI_MODEL(model),
    {"consumer-ms", "X", "a training step of X ms per batch, as for run [0]",
     VALUE_NUMBER(consumer_ms, 0, 1e7)},
    RECIPE_OPTIONS(pipeline, ops),
    {"seconds", "T", "how long each of the six loaders is measured [4]",
     VALUE_NUMBER(seconds, 0.001, 1e9)},
    CLI_JSON(json),
    {"warmup", "B", "batches before measuring begins [3]",
     VALUE_COUNT(warmup, 0)},
    CLI_PROGRESS(progress),
    CLI_QUIET(quiet),
};

const struct cli_command command_quick = {
    .name = "quick",
    .positional = "URI",
    .positional_folder = true,
    .positional_optional = true,
    .summary = "the first minute: speed, cause, remedy, gain",
    .about =
        "Says within a minute how fast images load here, what limits that, "
        "what to do about it and what it would gain.\n\n"
        "Looks at the machine as doctor does, measures as headroom does, and "
        "writes a page as report does. The images are those of URI, which may "
        "be any folder with images somewhere in it; without URI those below "
        "the current folder, or, if there are none, photos that are made for "
        "it and removed again. 'loaderbench' and 'loaderbench FOLDER' are the "
        "same on a terminal.",
    .example = "quick photos --model resnet50@a100",
    CLI_TABLE(.warmup = DEFAULT_WARMUP, .repeat = 1, .max_failed_fraction = 1,
              .seconds = DEFAULT_SECONDS, .report = DEFAULT_REPORT),
    .n_first = 7,
    .loader_options = true,
    .run = quick_main,
};

/* ---- The documents ------------------------------------------------------ */

static json_t *run_document(const struct run_setup *s, const char *uri,
                            const struct headroom *h)
{
    json_t *runs = json_array(), *doc;
    json_array_append(runs, h->now.run);
    doc = run_json_document(s, uri, runs, h->interrupted);
    model_add(doc, s->model, doc);
    json_decref(runs);
    return doc;
}

/* What it could feed, of any GPU; with --model, of that one. */
static json_t *feeds_json(const struct run_setup *s, const json_t *run)
{
    static const char *const known[] = {"resnet50@h100", "resnet50@a100",
                                        "resnet50@rtx3090", "vit_b16@rtx3090"};
    json_t *feeds = json_array();
    for (size_t i = 0; !s->model && i < sizeof(known) / sizeof(*known); i++)
        json_array_append_new(feeds, model_json(model_find(known[i]), run));
    if (s->model)
        json_array_append_new(feeds, model_json(s->model, run));
    return feeds;
}

static const char *name_of(const struct quick_data *d)
{
    return d->where ? d->where : "made photos";
}

static json_t *data_json(const struct quick_data *d)
{
    static const char *const kinds[] = {"given", "found", "made"};
    return json_pack("{s:s, s:s, s:s?}", "kind", kinds[d->kind], "uri", d->uri,
                     "where", d->where);
}

static void tell_found(const struct run_setup *s, const struct quick_data *d)
{
    const struct run_options *o = &s->options;
    if (!output_is_free(o->quiet, o->json, o->report))
        return;
    json_t *run = json_object();
    run_json_subject(run, s, name_of(d));
    json_t *doc = json_pack("{s:o, s:o}", "data", data_json(d), "run", run);
    quick_text_found(doc);
    json_decref(doc);
}

static json_t *document(const struct run_setup *s, const struct quick_data *d,
                        const struct headroom *h, const json_t *doctor)
{
    json_t *doc = document_new("quick");
    json_t *run = run_document(s, name_of(d), h);
    json_object_set_new(doc, "data", data_json(d));
    json_object_set_new(doc, "feeds", feeds_json(s, run));
    json_object_set_new(doc, "run", run);
    json_object_set_new(doc, "headroom", headroom_json(s, name_of(d), h));
    json_object_set(doc, "doctor", doc_mutable(doctor));
    json_object_set_new(doc, "report", doc_string(s->options.report));
    json_object_set_new(doc, "interrupted", json_boolean(h->interrupted));
    return doc;
}

/* The three as one page, the answer first. */
static int write_page(const json_t *doc, const char *path)
{
    static const char *const names[] = {"speed", "gains", "machine"};
    json_t *doctor = document_new("doctor");
    json_object_update(doctor, json_object_get(doc, "doctor"));
    json_t *docs[] = {json_object_get(doc, "run"),
                      json_object_get(doc, "headroom"), doctor};
    int rc = report_write(docs, names, 3, path);
    json_decref(doctor);
    return rc;
}

static int deliver(const struct run_setup *s, const json_t *doc)
{
    const struct run_options *o = &s->options;
    int rc = TOOL_DONE;
    if (o->report)
        rc = write_page(doc, o->report);
    if (rc == TOOL_DONE && output_is_free(o->quiet, o->json, o->report))
        quick_text(doc);
    if (rc == TOOL_DONE && o->json)
        rc = document_write(doc, o->json);
    return rc;
}

/* ---- The command -------------------------------------------------------- */

static int measure(struct run_setup *s, const struct quick_data *d)
{
    struct headroom h;
    json_t *doctor = NULL, *doc = NULL;
    tell_found(s, d);
    progress_line("looking at the machine");
    int rc = doctor_ask(NULL, &doctor);
    progress_line("%s", "");
    if (rc != TOOL_DONE)
        return rc;
    rc = headroom_measure(s, &h);
    if (rc == TOOL_INTERRUPTED && !h.now.measured) {
        tool_say("nothing was measured yet");
    } else if (rc == TOOL_DONE || rc == TOOL_INTERRUPTED) {
        doc = document(s, d, &h, doctor);
        int delivered = deliver(s, doc);
        rc = delivered == TOOL_DONE ? rc : delivered;
    }
    json_decref(doc);
    json_decref(doctor);
    headroom_free(&h);
    return rc;
}

/* Files that are damaged are the user's to know about, and no reason to stop;
 * what is compared must not change meanwhile. */
static int set_options(struct run_setup *s, const struct cli_parsed *parsed)
{
    int32_t status = FEEDLINE_OK;
    if (!cli_given(parsed, "on_error"))
        status = feedline_config_set(s->config, "on_error", "skip");
    if (status >= 0 && !cli_given(parsed, "tuner"))
        status = feedline_config_set(s->config, "tuner", "off");
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
}

int quick_main(void *values, const struct cli_parsed *parsed)
{
    const struct run_options *o = values;
    struct run_setup s = {.options = *o};
    struct quick_data data;
    if (strcmp(s.options.report, "none") == 0)
        s.options.report = NULL;
    int rc = quick_data_find(parsed->positional, &data);
    s.dataset = data.dataset;
    if (rc == TOOL_DONE)
        rc = run_set_up(&s, parsed);
    if (rc == TOOL_DONE)
        rc = set_options(&s, parsed);
    if (rc == TOOL_DONE)
        rc = measure(&s, &data);
    data.dataset = NULL; /* which the next line closes */
    run_tear_down(&s);
    quick_data_free(&data);
    return rc;
}
