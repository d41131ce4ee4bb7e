/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a document must have to become a page. Only what every version of the
 * tool wrote is asked for; the rest may be absent, but nothing may be of
 * another type than it is documented to be, as the page would show a 0 for it.
 */
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/report/report.h"
#include "tools/loaderbench/tool.h"

#include <stdbool.h>
#include <string.h>

enum kind { OBJECT, ARRAY, NUMBER, TEXT };

struct expected {
    const char *command; /* NULL: any */
    const char *path;
    enum kind kind;
    bool required, nullable;
};

static const struct expected all[] = {
    {"run", "result", OBJECT, true, false},
    {"run", "result.images", NUMBER, true, false},
    {"run", "result.batches", NUMBER, true, false},
    {"run", "result.seconds", NUMBER, true, false},
    {"run", "result.images_per_second", NUMBER, true, false},
    {"run", "stall", OBJECT, true, false},
    {"run", "stall.host_fraction", NUMBER, true, false},
    {"run", "stall.device_fraction", NUMBER, false, true},
    {"run", "stall.buckets", OBJECT, true, false},
    {"run", "stages", ARRAY, true, false},
    {"run", "verdict", OBJECT, true, true},
    {"sweep", "grid", ARRAY, true, false},
    {"tune", "tuner", OBJECT, true, false},
    {"doctor", "findings", ARRAY, true, false},
    {"compare", "metric", TEXT, true, false},
    {"compare", "before", NUMBER, true, false},
    {"compare", "after", NUMBER, true, false},
    {"compare", "change_fraction", NUMBER, true, false},
    {"compare", "noise_fraction", NUMBER, false, true},
    {"compare", "fail_below", NUMBER, false, false},
    {"compare", "differences", ARRAY, false, true},
    {"compare", "verdict", TEXT, true, false},
    {"merge", "ranks", ARRAY, true, false},
    {"merge", "straggler", OBJECT, false, true},
    {"headroom", "now", OBJECT, true, true},
    {"headroom", "predicted", OBJECT, true, true},
    {"headroom", "measured", OBJECT, true, true},
    {"headroom", "fed", OBJECT, false, true},
    {"headroom", "two_workers", OBJECT, false, true},
    {"case", "name", TEXT, true, false},
    {"case", "sentence", TEXT, true, true},
    {"case", "before", OBJECT, true, true},
    {"case", "after", OBJECT, true, true},
    {"case", "points", ARRAY, false, true},
    {NULL, "version", TEXT, false, false},
};

/* Of any command: may be absent or null. */
static const struct {
    enum kind kind;
    const char *paths[24];
} optional[] = {
    {TEXT, {"date", "host", "command_line"}},
    {OBJECT,
     {"options",  "dataset", "machine",     "config",     "tuner",
      "transfer", "stats",   "workers",     "gaps",       "outliers",
      "headroom", "signals", "knee",        "rule",       "settings",
      "model",    "tune",    "tune.steady", "sweep_best", "comparison"}},
    {ARRAY,
     {"tuner.decisions", "timeline", "phases", "slow_samples", "outliers.last",
      "verdicts", "failures", "grid", "tune.story"}},
};

static const char *const commands[] = {"run",     "sweep", "tune",     "doctor",
                                       "compare", "merge", "headroom", "case"};

static const char *const kind_words[] = {"an object", "a list", "a number",
                                         "a text"};

static bool is_kind(const json_t *value, enum kind kind)
{
    switch (kind) {
    case OBJECT:
        return json_is_object(value);
    case ARRAY:
        return json_is_array(value);
    case NUMBER:
        return json_is_number(value);
    case TEXT:
        return json_is_string(value);
    }
    return false;
}

static int refuse(const json_t *doc, const char *name, const struct expected *e)
{
    const json_t *value = doc_at(doc, e->path);
    if (!value) {
        if (!e->required)
            return TOOL_DONE;
        tool_say("%s: %s is missing", name, e->path);
        return TOOL_DATA;
    }
    if (is_kind(value, e->kind) || (e->nullable && json_is_null(value)))
        return TOOL_DONE;
    tool_say("%s: %s is not %s", name, e->path, kind_words[e->kind]);
    return TOOL_DATA;
}

/* The objects of the lists that have a name on the page. */
static int check_items(const json_t *doc, const char *name, const char *key)
{
    const json_t *list = json_object_get(doc, key);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_is_object(json_array_get(list, i))) {
            tool_say("%s: %s[%zu] is not an object", name, key, i);
            return TOOL_DATA;
        }
    return TOOL_DONE;
}

static int check_command(const char *name, const char *command)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
        if (strcmp(commands[i], command) == 0)
            return TOOL_DONE;
    tool_say(
        "%s is of '%s'; a report is made of what run, sweep, tune, doctor, "
        "compare, merge, headroom and case write",
        name, command);
    return TOOL_DATA;
}

static int check_version(const json_t *doc, const char *name)
{
    const json_t *version = json_object_get(doc, "schema_version");
    if (!json_is_object(doc) || !json_is_integer(version)) {
        tool_say("%s is neither a document of loaderbench, as it has no "
                 "schema_version, nor the statistics of a loader",
                 name);
        return TOOL_DATA;
    }
    if (json_integer_value(version) == TOOL_SCHEMA_VERSION)
        return TOOL_DONE;
    tool_say("%s has schema_version %lld, this loaderbench reads %d: take the "
             "one that wrote it",
             name, (long long)json_integer_value(version), TOOL_SCHEMA_VERSION);
    return TOOL_DATA;
}

static int check(const json_t *doc, const char *name)
{
    static const char *const lists[] = {
        "stages",   "timeline", "phases",   "slow_samples", "verdicts",
        "failures", "grid",     "findings", "ranks",        "points"};
    int rc = check_version(doc, name);
    const char *command = doc_text(doc, "command");
    if (rc == TOOL_DONE)
        rc = check_command(name, command);
    for (size_t i = 0; rc == TOOL_DONE && i < sizeof(all) / sizeof(*all); i++)
        if (!all[i].command || strcmp(all[i].command, command) == 0)
            rc = refuse(doc, name, &all[i]);
    for (size_t i = 0; i < sizeof(optional) / sizeof(*optional); i++)
        for (size_t k = 0; rc == TOOL_DONE && optional[i].paths[k]; k++)
            rc = refuse(doc, name,
                        &(struct expected){NULL, optional[i].paths[k],
                                           optional[i].kind, false, true});
    for (size_t i = 0; rc == TOOL_DONE && i < sizeof(lists) / sizeof(*lists);
         i++)
        rc = check_items(doc, name, lists[i]);
    return rc;
}

/* ---- Statistics --------------------------------------------------------- */

/* What `run` has besides, from the consumer's account; left as it is where that
 * is missing. */
static void adopt_statistics(json_t *doc)
{
    static const char *const counts[][2] = {
        {"images", "stats.samples"},
        {"batches", "stats.batches"},
        {"seconds", "stats.wall_seconds"},
        {"first_batch_seconds", "stats.first_batch_seconds"},
        {"failed_samples", "stats.failed_samples"},
    };
    if (!json_is_object(doc) || json_object_get(doc, "schema_version"))
        return;
    json_t *result = json_object();
    double seconds = doc_or_0(doc, "stats.wall_seconds");
    double images = doc_or_0(doc, "stats.samples");
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        const json_t *x = doc_at(doc, counts[i][1]);
        if (json_is_number(x))
            json_object_set_new(result, counts[i][0],
                                json_copy(doc_mutable(x)));
    }
    json_object_set_new(result, "images_per_second",
                        json_real(seconds > 0 ? images / seconds : 0));
    if (json_is_object(json_object_get(doc, "stats"))) {
        json_object_set(doc, "result", result);
        json_object_set_new(doc, "command", json_string("run"));
        json_object_set_new(doc, "schema_version",
                            json_integer(TOOL_SCHEMA_VERSION));
    }
    json_decref(result);
}

int report_read(const char *path, json_t **doc)
{
    int rc = document_read(path, doc);
    if (rc != TOOL_DONE)
        return rc;
    adopt_statistics(*doc);
    return check(*doc, path);
}

int report_read_run(const char *done, const char *path, json_t **doc)
{
    int rc = report_read(path, doc);
    const char *command = doc_text(*doc, "command");
    if (rc != TOOL_DONE || strcmp(command, "run") == 0)
        return rc;
    tool_say("%s is of '%s'; what run writes is %s", path, command, done);
    return TOOL_DATA;
}
