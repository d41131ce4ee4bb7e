/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `tune` adds: the story, the speed since it settled, the comparison with
 * a sweep; and of any document the tuner's decisions.
 */
#include "bench/loaderbench/report.h"
#include "bench/loaderbench/report_doc.h"
#include "bench/loaderbench/report_html.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ---- Decisions ---------------------------------------------------------- */

static void effect_cell(FILE *f, const json_t *d)
{
    double error = doc_number(d, "error");
    fputs("<td class=\"n\">", f);
    html_value(f, NULL, doc_number(d, "measured"), HTML_GAIN);
    if (!isnan(error)) {
        fputs(" ± ", f);
        html_value(f, NULL, error, HTML_PERCENT);
    }
    fputs("</td>", f);
}

static void change_cell(FILE *f, const json_t *d)
{
    fputs("<td>", f);
    html_words(f, doc_text(d, "knob"));
    fputs("&nbsp;", f);
    html_value(f, NULL, doc_number(d, "before"), HTML_COUNT);
    fputs("&nbsp;→&nbsp;", f);
    html_value(f, NULL, doc_number(d, "after"), HTML_COUNT);
    fputs("</td>", f);
}

static void stall_cell(FILE *f, const json_t *d)
{
    fputs("<td class=\"n\">", f);
    html_value(f, NULL, doc_number(d, "stall_before"), HTML_PERCENT);
    fputs("&nbsp;→&nbsp;", f);
    html_value(f, NULL, doc_number(d, "stall_after"), HTML_PERCENT);
    fputs("</td>", f);
}

static void decision_row(FILE *f, const json_t *d, size_t i)
{
    char outcome[64];
    snprintf(outcome, sizeof(outcome), "%.63s", doc_text(d, "outcome"));
    for (char *p = outcome; *p; p++)
        if (*p == '_')
            *p = ' ';
    fprintf(f, "<tr><th scope=\"row\">%zu</th>", i + 1);
    html_cell(f, doc_number(d, "seconds"), HTML_SECONDS);
    html_cell(f, doc_number(d, "batch"), HTML_COUNT);
    change_cell(f, d);
    html_text_cell(f, doc_text(d, "why"));
    html_cell(f, doc_number(d, "predicted"), HTML_GAIN);
    effect_cell(f, d);
    stall_cell(f, d);
    html_text_cell(f, outcome);
    fputs("</tr>\n", f);
}

/* Whatever else stands in such a list is shown as it is. */
static bool are_changes(const json_t *decisions)
{
    for (size_t i = 0; i < json_array_size(decisions); i++)
        if (!json_is_string(doc_at(json_array_get(decisions, i), "knob")))
            return false;
    return true;
}

void report_decisions(FILE *f, const json_t *decisions)
{
    size_t n = json_array_size(decisions);
    if (n == 0) {
        fputs("<p>No decisions: everything stayed as it was set.</p>\n", f);
        return;
    }
    if (are_changes(decisions)) {
        html_table(f, "Decisions of the tuner",
                   "#|#after|#batch|change|why|#predicted|#measured|#waits|"
                   "outcome");
        for (size_t i = 0; i < n; i++)
            decision_row(f, json_array_get(decisions, i), i);
        html_table_end(f);
        return;
    }
    fputs("<ol class=\"decisions\">\n", f);
    for (size_t i = 0; i < n; i++) {
        fputs("<li>", f);
        html_any(f, json_array_get(decisions, i));
        fputs("</li>\n", f);
    }
    fputs("</ol>\n", f);
}

/* ---- The tuning --------------------------------------------------------- */

static void story(FILE *f, const json_t *lines)
{
    bool list = false;
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const char *line = json_string_value(json_array_get(lines, i));
        bool item = line && strncmp(line, "- ", 2) == 0;
        if (!line)
            continue;
        if (item != list)
            fputs(item ? "<ul class=\"story\">\n" : "</ul>\n", f);
        list = item;
        fputs(item ? "<li>" : "<p>", f);
        html_text(f, item ? line + 2 : line);
        fputs(item ? "</li>\n" : "</p>\n", f);
    }
    if (list)
        fputs("</ul>\n", f);
}

static void steady(FILE *f, const json_t *doc)
{
    if (!json_is_object(doc_at(doc, "tune.steady")))
        return;
    fputs("<p>Since it settled, for ", f);
    html_value(f, "tune.steady.seconds", doc_number(doc, "tune.steady.seconds"),
               HTML_SECONDS);
    fputs(": <b>", f);
    html_value(f, "tune.steady.images_per_second",
               doc_number(doc, "tune.steady.images_per_second"), HTML_NUMBER);
    fputs(" images/s</b>, ", f);
    html_value(f, "tune.steady.images_per_cpu_second",
               doc_number(doc, "tune.steady.images_per_cpu_second"),
               HTML_NUMBER);
    fputs(" per second of CPU time.</p>\n", f);
}

static void keyed_cell(FILE *f, const json_t *doc, const char *object,
                       const char *key, enum html_form form)
{
    char path[64];
    snprintf(path, sizeof(path), "%s.%s", object, key);
    fputs("<td class=\"n\">", f);
    html_value(f, path, doc_number(doc, path), form);
    fputs("</td>", f);
}

static void setting_row(FILE *f, const json_t *doc, const char *object,
                        const char *words)
{
    if (!json_is_object(doc_at(doc, object)))
        return;
    fprintf(f, "<tr><th scope=\"row\">%s</th>", words);
    keyed_cell(f, doc, object, "workers", HTML_COUNT);
    keyed_cell(f, doc, object, "depth", HTML_COUNT);
    keyed_cell(f, doc, object, "images_per_second", HTML_NUMBER);
    keyed_cell(f, doc, object, "host_fraction", HTML_PERCENT);
    keyed_cell(f, doc, object, "images_per_cpu_second", HTML_NUMBER);
    fputs("</tr>\n", f);
}

static void comparison(FILE *f, const json_t *doc)
{
    double below = doc_number(doc, "comparison.below_fraction");
    if (isnan(below))
        return;
    fputs("<h3>Against a sweep</h3>\n<p>The tuner’s choice, measured among the "
          "points of the sweep, is ",
          f);
    if (fabs(below) > 0) {
        html_value(f, "comparison.below_fraction", below, HTML_PERCENT);
        fputs(" below the best", f);
    } else {
        fputs("the best", f);
    }
    if (!isnan(doc_number(doc, "comparison.error_fraction"))) {
        fputs(" (± ", f);
        html_value(f, "comparison.error_fraction",
                   doc_number(doc, "comparison.error_fraction"), HTML_PERCENT);
        fputs(" with a confidence of 95 %)", f);
    }
    fputs(".</p>\n", f);
    html_table(f, "The tuner's choice and the sweep",
               "setting|#workers|#depth|#images/s|#waits|#images per CPU "
               "second");
    setting_row(f, doc, "comparison.tuned", "the tuner’s choice");
    setting_row(f, doc, "sweep_best", "the sweep’s best");
    setting_row(f, doc, "knee", "the sweep’s knee");
    html_table_end(f);
}

void report_tune(FILE *f, const json_t *doc)
{
    if (!json_is_object(json_object_get(doc, "tune")))
        return;
    html_section(f, "What the tuner did");
    story(f, doc_at(doc, "tune.story"));
    steady(f, doc);
    comparison(f, doc);
    html_section_end(f);
}
