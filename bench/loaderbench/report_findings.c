/* SPDX-License-Identifier: Apache-2.0 */
/* What a doctor found, the worst first; what is in order is folded. */
#include "bench/loaderbench/report.h"
#include "bench/loaderbench/report_doc.h"
#include "bench/loaderbench/report_html.h"

#include <stdbool.h>
#include <string.h>

/* Words, a colour and a shape, as for the levels of a verdict. */
static const struct level {
    const char *level, *css, *shape;
} levels[] = {
    {"error", "high", "■"},
    {"warning", "moderate", "▲"},
    {"note", "unknown", "○"},
    {"ok", "fed", "●"},
};
#define N_LEVELS (sizeof(levels) / sizeof(*levels))
#define OK       (N_LEVELS - 1)

/* A level of a later version stands among the notes. */
static size_t level_of(const json_t *finding)
{
    for (size_t i = 0; i < N_LEVELS; i++)
        if (strcmp(levels[i].level, doc_text(finding, "level")) == 0)
            return i;
    return OK - 1;
}

static void row(FILE *f, const json_t *finding)
{
    const struct level *level = &levels[level_of(finding)];
    fprintf(f,
            "<tr><td class=\"badge %s\"><span aria-hidden=\"true\">%s</span> ",
            level->css, level->shape);
    html_text(f, doc_text(finding, "level"));
    fputs("</td><td>", f);
    html_words(f, doc_text(finding, "id"));
    fputs("</td>", f);
    html_text_cell(f, doc_text(finding, "text"));
    if (level != &levels[OK])
        html_text_cell(f, doc_text(finding, "remedy"));
    fputs("</tr>\n", f);
}

/* Those of the levels from `first` to `last`. */
static void rows(FILE *f, const json_t *findings, size_t first, size_t last)
{
    for (size_t level = first; level <= last; level++)
        for (size_t i = 0; i < json_array_size(findings); i++)
            if (level_of(json_array_get(findings, i)) == level)
                row(f, json_array_get(findings, i));
}

void report_findings(FILE *f, const json_t *doc)
{
    const json_t *findings = json_object_get(doc, "findings");
    size_t n = json_array_size(findings), n_ok = 0;
    for (size_t i = 0; i < n; i++)
        n_ok += level_of(json_array_get(findings, i)) == OK;
    if (n == 0)
        return;
    html_section(f, "Findings");
    if (n_ok < n) {
        html_table(f, "Findings", "level|what|found|remedy");
        rows(f, findings, 0, OK - 1);
        html_table_end(f);
    } else {
        fputs("<p>Nothing is wrong.</p>\n", f);
    }
    if (n_ok > 0) {
        fprintf(f, "<details><summary>%zu in order</summary>\n", n_ok);
        html_table(f, "What is in order", "level|what|found");
        rows(f, findings, OK, OK);
        html_table_end(f);
        fputs("</details>\n", f);
    }
    html_section_end(f);
}
