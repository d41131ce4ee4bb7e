/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page as a whole. Its policy forbids whatever is not in the file itself,
 * so that not even a path with markup in it could reach the network; the data
 * are embedded too, in an element that browsers do not run.
 */
#include "bench/loaderbench/report.h"
#include "bench/loaderbench/report_chart.h"
#include "bench/loaderbench/report_doc.h"
#include "bench/loaderbench/report_html.h"

#include <stdlib.h>

static void head(FILE *f, const json_t *doc, const char *name, size_t n)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
          "<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\""
          "default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, "
          "initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<title>feedline: ",
          f);
    report_title(f, doc, name);
    if (n > 1)
        fprintf(f, " and %zu more", n - 1);
    fputs("</title>\n<style>\n", f);
    report_style(f);
    fputs("</style>\n</head>\n<body>\n", f);
    chart_patterns(f);
}

/* With several documents: one line each, and where it is on the page. */
static void overview(FILE *f, json_t *const *docs, const char *const *names,
                     size_t n)
{
    fputs("<nav aria-label=\"Documents\">\n", f);
    html_table(f, "Documents",
               "document|command|date|#images/s|#host waits|#GPU idle|verdict");
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "<tr><th scope=\"row\"><a href=\"#run-%zu\">", i + 1);
        html_text(f, names[i]);
        fputs("</a></th>", f);
        html_text_cell(f, doc_text(docs[i], "command"));
        report_date_cell(f, docs[i]);
        html_cell(f, doc_number(docs[i], "result.images_per_second"),
                  HTML_NUMBER);
        html_cell(f, doc_number(docs[i], "stall.host_fraction"), HTML_PERCENT);
        html_cell(f, doc_number(docs[i], "stall.device_fraction"),
                  HTML_PERCENT);
        html_text_cell(f, doc_text(docs[i], "verdict.code"));
        fputs("</tr>\n", f);
    }
    html_table_end(f);
    fputs("</nav>\n", f);
}

static void sections(FILE *f, const json_t *doc)
{
    report_verdict(f, doc);
    report_numbers(f, doc);
    report_findings(f, doc);
    report_outcome(f, doc);
    report_tune(f, doc);
    report_grid(f, doc);
    report_ledger(f, doc);
    report_timeline(f, doc);
    report_stages(f, doc);
    report_workers(f, doc);
    report_tuner(f, doc);
    report_headroom(f, doc);
    report_phases(f, doc);
    report_samples(f, doc);
    report_failures(f, doc);
    report_facts(f, doc);
}

/* In JSON these letters stand in strings alone, where \u003c is the same. */
static void embed_text(FILE *f, const char *json)
{
    for (; *json; json++) {
        if (*json == '<' || *json == '>' || *json == '&')
            fprintf(f, "\\u%04x", (unsigned)*json);
        else
            putc(*json, f);
    }
}

static void embed(FILE *f, json_t *const *docs, size_t n)
{
    fputs("<script type=\"application/json\" id=\"feedline-data\">\n[\n", f);
    for (size_t i = 0; i < n; i++) {
        char *json = json_dumps(docs[i], JSON_COMPACT | JSON_ENSURE_ASCII |
                                             JSON_REAL_PRECISION(9));
        fputs(i ? ",\n" : "", f);
        embed_text(f, json ? json : "null");
        free(json);
    }
    fputs("\n]\n</script>\n", f);
}

void report_page(FILE *f, json_t *const *docs, const char *const *names,
                 size_t n)
{
    head(f, docs[0], names[0], n);
    fputs("<main>\n", f);
    if (n > 1)
        overview(f, docs, names, n);
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "<article id=\"run-%zu\">\n", i + 1);
        report_head(f, docs[i], names[i]);
        sections(f, docs[i]);
        fputs("</article>\n", f);
    }
    fputs("</main>\n<footer><p>Made by <code>loaderbench report</code>. This "
          "page needs no network; its numbers are also in the element "
          "<code>feedline-data</code>, as JSON.</p></footer>\n",
          f);
    embed(f, docs, n);
    fputs("</body>\n</html>\n", f);
}
