/* SPDX-License-Identifier: Apache-2.0 */
/* The machine, its signals, the configuration; what a doctor found. */
#include "bench/loaderbench/report.h"
#include "bench/loaderbench/report_doc.h"
#include "bench/loaderbench/report_html.h"

#include <stdbool.h>

/* What does not fit beside its name goes below it. */
static bool is_long(const json_t *value)
{
    return json_array_size(value) > 4 || json_object_size(value) > 0 ||
           json_is_object(json_array_get(value, 0)) ||
           json_string_length(value) > 40;
}

static void facts(FILE *f, const json_t *object)
{
    json_t *o = doc_mutable(object);
    fputs("<dl class=\"facts\">\n", f);
    for (void *i = json_object_iter(o); i; i = json_object_iter_next(o, i)) {
        const char *key = json_object_iter_key(i);
        const json_t *value = json_object_iter_value(i);
        fprintf(f, "<div%s><dt>", is_long(value) ? " class=\"long\"" : "");
        html_words(f, key);
        fputs("</dt><dd>", f);
        if (json_is_number(value))
            html_value(f, NULL, json_number_value(value), html_form_of(key));
        else
            html_any(f, value);
        fputs("</dd></div>\n", f);
    }
    fputs("</dl>\n", f);
}

static void folded(FILE *f, const json_t *doc, const char *key,
                   const char *title, bool open)
{
    const json_t *object = json_object_get(doc, key);
    if (!json_is_object(object) || json_object_size(object) == 0)
        return;
    fprintf(f, "<details%s><summary>%s</summary>\n", open ? " open" : "",
            title);
    facts(f, object);
    fputs("</details>\n", f);
}

void report_facts(FILE *f, const json_t *doc)
{
    static const char *const keys[] = {"machine", "signals", "config",
                                       "run",     "facts",   "options"};
    size_t there = 0;
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        there += json_is_object(json_object_get(doc, keys[i]));
    if (there == 0)
        return;
    html_section(f, "Machine and settings");
    folded(f, doc, "machine", "Machine", true);
    folded(f, doc, "facts", "Facts", true);
    folded(f, doc, "signals", "Signals of machine and GPU", true);
    folded(f, doc, "config", "Options in force at the end", false);
    folded(f, doc, "options", "Options of the command", false);
    folded(f, doc, "run", "Shape of the run", false);
    html_section_end(f);
}

void report_findings(FILE *f, const json_t *doc)
{
    const json_t *findings = json_object_get(doc, "findings");
    if (json_array_size(findings) == 0)
        return;
    html_section(f, "Findings");
    html_table(f, "Findings", "level|what|found|remedy");
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const json_t *x = json_array_get(findings, i);
        fputs("<tr>", f);
        html_text_cell(f, doc_text(x, "level"));
        html_text_cell(f, doc_text(x, "id"));
        html_text_cell(f, doc_text(x, "text"));
        html_text_cell(f, doc_text(x, "remedy"));
        fputs("</tr>\n", f);
    }
    html_table_end(f);
    html_section_end(f);
}
