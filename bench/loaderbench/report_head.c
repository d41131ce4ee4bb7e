/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a document: what was measured, when, where and how, so that two
 * pages of one folder can be told apart. Documents of older versions have no
 * date, host or command line; these lines are left out then.
 */
#include "bench/loaderbench/report.h"
#include "bench/loaderbench/report_doc.h"
#include "bench/loaderbench/report_html.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The data set; a doctor examines a machine instead, a case has a name. */
static const char *subject(const json_t *doc, const char *name)
{
    const char *uri = doc_text(doc, "dataset.uri");
    const char *host = doc_text(doc, "host");
    if (!*uri)
        uri = doc_text(doc, "uri");
    if (!*uri && strcmp(doc_text(doc, "command"), "case") == 0)
        uri = doc_text(doc, "name");
    if (*uri)
        return uri;
    return *host && strcmp(doc_text(doc, "command"), "doctor") == 0 ? host
                                                                    : name;
}

/* "2026-11-22T15:07:31Z" reads "2026-11-22 15:07:31 UTC". */
static void date(FILE *f, const char *iso)
{
    static const char shape[] = "dddd-dd-ddTdd:dd:ddZ";
    char words[sizeof(shape) + 3];
    size_t i = 0;
    for (; shape[i] && iso[i]; i++)
        if (shape[i] == 'd' ? iso[i] < '0' || iso[i] > '9' : iso[i] != shape[i])
            break;
    if (shape[i] || iso[i]) {
        html_text(f, iso);
        return;
    }
    snprintf(words, sizeof(words), "%.10s %.8s UTC", iso, iso + 11);
    html_text(f, words);
}

void report_title(FILE *f, const json_t *doc, const char *name)
{
    html_text(f, subject(doc, name));
    if (*doc_text(doc, "date")) {
        fputs(", ", f);
        date(f, doc_text(doc, "date"));
    }
}

void report_date_cell(FILE *f, const json_t *doc)
{
    fputs("<td class=\"date\">", f);
    date(f, *doc_text(doc, "date") ? doc_text(doc, "date") : "–");
    fputs("</td>", f);
}

/* What stands between the items of a line. */
static void dot(FILE *f, bool *first)
{
    fputs(*first ? "" : " · ", f);
    *first = false;
}

static void origin(FILE *f, const json_t *doc, const char *name)
{
    bool first = true;
    fputs("<p class=\"about\">", f);
    if (*doc_text(doc, "date")) {
        dot(f, &first);
        date(f, doc_text(doc, "date"));
    }
    if (*doc_text(doc, "host")) {
        dot(f, &first);
        fputs("on <b>", f);
        html_text(f, doc_text(doc, "host"));
        fputs("</b>", f);
    }
    if (!isnan(doc_number(doc, "dataset.samples"))) {
        dot(f, &first);
        html_value(f, "dataset.samples", doc_number(doc, "dataset.samples"),
                   HTML_COUNT);
        fputs(" images in the data set", f);
    }
    if (strcmp(subject(doc, name), name) != 0) {
        dot(f, &first);
        html_text(f, name);
    }
    dot(f, &first);
    fputs("feedline ", f);
    html_text(f, doc_text(doc, "version"));
    fputs("</p>\n", f);
}

static const struct setting {
    const char *path, *words;
} numbers[] = {
    {"config.batch_size", "batch size"}, {"config.workers", "workers"},
    {"config.depth", "depth"},           {"config.io_depth", "I/O depth"},
    {"run.consumer_ms", "consumer ms"},
};

static const struct setting names[] = {
    {"config.dtype", "dtype"},     {"config.layout", "layout"},
    {"config.device", "device"},   {"config.reader", "reader"},
    {"config.quality", "quality"}, {"config.tuner", "tuner"},
};

static void settings(FILE *f, const json_t *doc)
{
    bool first = true;
    if (json_object_size(json_object_get(doc, "config")) == 0)
        return;
    fputs("<p class=\"settings\">", f);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        double value = doc_number(doc, numbers[i].path);
        if (isnan(value))
            continue;
        dot(f, &first);
        fprintf(f, "%s <b>", numbers[i].words);
        html_value(f, numbers[i].path, value, HTML_COUNT);
        fputs("</b>", f);
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *value = doc_text(doc, names[i].path);
        if (!*value)
            continue;
        dot(f, &first);
        fprintf(f, "%s <b>", names[i].words);
        html_text(f, value);
        fputs("</b>", f);
    }
    fputs("</p>\n", f);
}

void report_head(FILE *f, const json_t *doc, const char *name)
{
    const char *command_line = doc_text(doc, "command_line");
    fputs("<header>\n<p class=\"kind\">", f);
    html_text(f, doc_text(doc, "command"));
    fputs("</p>\n<h1>", f);
    html_text(f, subject(doc, name));
    fputs("</h1>\n", f);
    origin(f, doc, name);
    settings(f, doc);
    if (*command_line) {
        fputs("<p class=\"command\"><code>", f);
        html_text(f, command_line);
        fputs("</code></p>\n", f);
    }
    if (json_is_true(json_object_get(doc, "interrupted")))
        fputs("<p class=\"warning\"><b>Interrupted.</b> The page shows what "
              "was measured up to then.</p>\n",
              f);
    fputs("</header>\n", f);
}
