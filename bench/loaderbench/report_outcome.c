/* SPDX-License-Identifier: Apache-2.0 */
/* What compare, merge, headroom and case found: a sentence and a table. */
#include "bench/loaderbench/report.h"
#include "bench/loaderbench/report_doc.h"
#include "bench/loaderbench/report_html.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- A table of objects that have keys in common ------------------------ */

static const struct column {
    const char *key, *words;
    enum html_form form;
} columns[] = {
    {"rank", "rank", HTML_COUNT},
    {"workers", "workers", HTML_COUNT},
    {"depth", "depth", HTML_COUNT},
    {"step_ms", "ms a step", HTML_NUMBER},
    {"predicted_ms", "predicted ms", HTML_NUMBER},
    {"produce_ms", "ms to produce", HTML_NUMBER},
    {"copy_ms", "ms to copy", HTML_NUMBER},
    {"finish_ms", "ms to finish", HTML_NUMBER},
    {"wait_ms", "ms waiting", HTML_NUMBER},
    {"images_per_second", "images/s", HTML_NUMBER},
    {"stall_fraction", "waits", HTML_PERCENT},
    {"host_fraction", "host waits", HTML_PERCENT},
    {"device_fraction", "GPU idle", HTML_PERCENT},
    {"bytes", "bytes", HTML_BYTES},
    {"batches", "batches", HTML_COUNT},
    {"converged_seconds", "settled after", HTML_SECONDS},
};
#define N_COLUMNS (sizeof(columns) / sizeof(*columns))

struct row {
    const char *head;     /* NULL: its number */
    const json_t *object; /* NULL or null: the row is left out */
};

static bool is_used(const struct column *c, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isnan(doc_number(rows[i].object, c->key)))
            return true;
    return false;
}

static void draw_row(FILE *f, const struct row *row, size_t number,
                     const bool *used, bool verdicts)
{
    const char *what = doc_text(row->object, "what");
    fputs("<tr><th scope=\"row\">", f);
    if (row->head)
        html_text(f, row->head);
    else
        fprintf(f, "%zu", number);
    if (*what) {
        fputs(": ", f);
        html_text(f, what);
    }
    fputs("</th>", f);
    for (size_t c = 0; c < N_COLUMNS; c++)
        if (used[c])
            html_cell(f, doc_number(row->object, columns[c].key),
                      columns[c].form);
    if (verdicts)
        html_text_cell(f, doc_text(row->object, "verdict"));
    fputs("</tr>\n", f);
}

static void draw_rows(FILE *f, const char *label, const char *first,
                      const struct row *rows, size_t n)
{
    bool used[N_COLUMNS];
    char head[512];
    bool verdicts = *doc_text(rows[0].object, "verdict") != '\0';
    size_t at = (size_t)snprintf(head, sizeof(head), "%s", first);
    for (size_t c = 0; c < N_COLUMNS; c++) {
        used[c] = is_used(&columns[c], rows, n);
        if (used[c] && at < sizeof(head))
            at += (size_t)snprintf(head + at, sizeof(head) - at, "|#%s",
                                   columns[c].words);
    }
    if (verdicts && at < sizeof(head))
        snprintf(head + at, sizeof(head) - at, "|verdict");
    html_table(f, label, head);
    for (size_t i = 0; i < n; i++)
        if (json_is_object(rows[i].object))
            draw_row(f, &rows[i], i + 1, used, verdicts);
    html_table_end(f);
}

/* Of a list; head_key: the member that names a row, NULL for its number. */
static void draw_list(FILE *f, const char *label, const char *first,
                      const json_t *list, const char *head_key)
{
    size_t n = json_array_size(list);
    struct row *rows = calloc(n + 1, sizeof(*rows));
    for (size_t i = 0; rows && i < n; i++) {
        rows[i].object = json_array_get(list, i);
        rows[i].head = head_key ? doc_text(rows[i].object, head_key) : NULL;
    }
    if (rows && n > 0)
        draw_rows(f, label, first, rows, n);
    free(rows);
}

/* ---- compare ------------------------------------------------------------ */

static void compare_value(FILE *f, const char *words, const json_t *doc,
                          const char *key, enum html_form form)
{
    double value = doc_number(doc, key);
    if (isnan(value))
        return;
    fprintf(f, "<tr><th scope=\"row\">%s</th><td class=\"n\">", words);
    html_value(f, key, value, form);
    fputs("</td></tr>\n", f);
}

static void outcome_compare(FILE *f, const json_t *doc)
{
    const json_t *differ = json_object_get(doc, "differences");
    const char *metric = doc_text(doc, "metric");
    enum html_form form = html_form_of(metric);
    bool failed = strcmp(doc_text(doc, "verdict"), "fail") == 0;
    html_section(f, "Before and after");
    fprintf(f, "<p class=\"badge %s\">%s</p>\n", failed ? "high" : "fed",
            failed ? "■ Fail: worse by more than is allowed"
                   : "● Pass: not worse by more than is allowed");
    fputs("<h3>", f);
    html_words(f, metric);
    fputs("</h3>\n", f);
    html_table(f, "Comparison", "figure|#value");
    compare_value(f, "before", doc, "before", form);
    compare_value(f, "after", doc, "after", form);
    compare_value(f, "change", doc, "change_fraction", HTML_PERCENT);
    compare_value(f, "noise", doc, "noise_fraction", HTML_PERCENT);
    compare_value(f, "allowed loss", doc, "fail_below", HTML_PERCENT);
    html_table_end(f);
    if (isnan(doc_number(doc, "noise_fraction")))
        fputs("<p class=\"note\">The noise is not known: measure both with "
              "<code>--repeat</code>.</p>\n",
              f);
    if (json_array_size(differ) > 0) {
        fputs("<p>Options that differ: ", f);
        html_any(f, differ);
        fputs(".</p>\n", f);
    }
    html_section_end(f);
}

/* ---- merge -------------------------------------------------------------- */

static void outcome_merge(FILE *f, const json_t *doc)
{
    const json_t *slow = json_object_get(doc, "straggler");
    html_section(f, "Ranks");
    fputs("<p class=\"sentence\">", f);
    if (!json_is_object(slow)) {
        fputs("No rank holds up the others.", f);
    } else {
        fputs("Rank ", f);
        html_value(f, "straggler.rank", doc_number(slow, "rank"), HTML_COUNT);
        if (json_is_true(json_object_get(slow, "loader_at_fault"))) {
            fputs(" holds up the others: it waits for its loader (", f);
            html_text(f, doc_text(slow, "cause"));
            fputs(").", f);
        } else {
            fputs(" is slower than the others but waits for data no longer "
                  "than they do: its loader is not the cause.",
                  f);
        }
    }
    fputs("</p>\n", f);
    draw_list(f, "Ranks", "file", json_object_get(doc, "ranks"), "file");
    html_section_end(f);
}

/* ---- headroom ----------------------------------------------------------- */

static void outcome_headroom(FILE *f, const json_t *doc)
{
    static const char *const gains[][2] = {
        {"fed", "an infinitely fast loader"},
        {"two_workers", "two more workers"},
        {"storage", "storage of twice the speed"},
        {"transfer", "a bus of twice the speed"}};
    const json_t *predicted = json_object_get(doc, "predicted");
    const json_t *measured = json_object_get(doc, "measured");
    const struct row rows[] = {
        {"as it is", json_object_get(doc, "now")},
        {gains[0][1], json_object_get(doc, "fed")},
        {gains[1][1], json_object_get(doc, "two_workers")}};
    html_section(f, "Head-room");
    bool no_bus = strcmp(doc_text(doc, "config.device"), "host") == 0;
    html_table(f, "Gains", "what|#predicted|#measured");
    for (size_t i = 0; i < sizeof(gains) / sizeof(*gains); i++) {
        if (no_bus && strcmp(gains[i][0], "transfer") == 0)
            continue;
        fprintf(f, "<tr><th scope=\"row\">%s</th>", gains[i][1]);
        html_cell(f, doc_number(predicted, gains[i][0]), HTML_GAIN);
        html_cell(f, doc_number(measured, gains[i][0]), HTML_GAIN);
        fputs("</tr>\n", f);
    }
    html_table_end(f);
    fputs("<h3>What was measured</h3>\n", f);
    draw_rows(f, "Measurements", "loader", rows, 3);
    html_section_end(f);
}

/* ---- case --------------------------------------------------------------- */

static void outcome_case(FILE *f, const json_t *doc)
{
    const struct row rows[] = {{"before", json_object_get(doc, "before")},
                               {"after", json_object_get(doc, "after")}};
    html_section(f, "Before and after");
    fputs("<p class=\"sentence\">", f);
    html_text(f, doc_text(doc, "sentence"));
    fputs("</p>\n", f);
    draw_rows(f, "Before and after", "run", rows, 2);
    if (json_array_size(json_object_get(doc, "points")) > 0) {
        fputs("<h3>Points that were measured</h3>\n", f);
        draw_list(f, "Points", "point", json_object_get(doc, "points"), NULL);
    }
    html_section_end(f);
}

void report_outcome(FILE *f, const json_t *doc)
{
    static const struct {
        const char *command;
        void (*draw)(FILE *f, const json_t *doc);
    } outcomes[] = {{"compare", outcome_compare},
                    {"merge", outcome_merge},
                    {"headroom", outcome_headroom},
                    {"case", outcome_case}};
    for (size_t i = 0; i < sizeof(outcomes) / sizeof(*outcomes); i++)
        if (strcmp(outcomes[i].command, doc_text(doc, "command")) == 0)
            outcomes[i].draw(f, doc);
}
