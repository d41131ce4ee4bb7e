/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen: what is the case, what to do, the numbers behind it. */
#include "bench/loaderbench/report.h"
#include "bench/loaderbench/report_doc.h"
#include "bench/loaderbench/report_html.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* A level has a word, a colour and a shape: nobody needs all three. */
static const struct {
    const char *level, *css, *shape, *words;
} levels[] = {
    {"FED", "fed", "●", "fed: the consumer does not wait"},
    {"MINOR", "minor", "◐", "minor: waits below 5 % of the time"},
    {"MODERATE", "moderate", "▲", "moderate: waits 5 to 20 % of the time"},
    {"HIGH", "high", "■", "high: waits 20 % of the time or more"},
    {"UNKNOWN", "unknown", "○", "unknown: not enough was measured"},
};
#define N_LEVELS (sizeof(levels) / sizeof(*levels))

static size_t level_of(const json_t *verdict)
{
    const char *level = doc_text(verdict, "level");
    for (size_t i = 0; i < N_LEVELS; i++)
        if (strcmp(levels[i].level, level) == 0)
            return i;
    return N_LEVELS - 1;
}

static void badge(FILE *f, const json_t *verdict)
{
    size_t level = level_of(verdict);
    fprintf(f, "<p class=\"badge %s\"><span aria-hidden=\"true\">%s</span> ",
            levels[level].css, levels[level].shape);
    html_text(f, doc_text(verdict, "code"));
    fprintf(f, "<small>%s</small></p>\n", levels[level].words);
}

static void figures(FILE *f, const json_t *verdict)
{
    fputs("<p class=\"figures\">", f);
    if (!isnan(doc_number(verdict, "confidence"))) {
        fputs("Confidence <b>", f);
        html_value(f, "verdict.confidence", doc_number(verdict, "confidence"),
                   HTML_PERCENT);
        fputs("</b>. ", f);
    }
    if (doc_or_0(verdict, "predicted_gain") > 0) {
        fputs("Predicted gain <b>", f);
        html_value(f, "verdict.predicted_gain",
                   doc_number(verdict, "predicted_gain"), HTML_GAIN);
        fputs("</b>. ", f);
    }
    fputs("</p>\n", f);
}

static void evidence(FILE *f, const json_t *verdict)
{
    const json_t *evidence = doc_at(verdict, "evidence");
    if (!evidence || json_is_null(evidence) ||
        (json_is_object(evidence) && !json_object_size(evidence)))
        return;
    fputs("<details><summary>The numbers behind it</summary>\n"
          "<p class=\"evidence\">",
          f);
    html_any(f, evidence);
    fputs("</p></details>\n", f);
}

static void others(FILE *f, const json_t *verdicts)
{
    size_t n = json_array_size(verdicts);
    if (n == 0)
        return;
    fputs("<h3>Also the case</h3>\n<ul class=\"others\">\n", f);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(verdicts, i);
        fputs("<li><b>", f);
        html_text(f, doc_text(v, "code"));
        fputs("</b> ", f);
        html_text(f, doc_text(v, "sentence"));
        fputs(" <em>", f);
        html_text(f, doc_text(v, "action"));
        fputs("</em></li>\n", f);
    }
    fputs("</ul>\n", f);
}

void report_verdict(FILE *f, const json_t *doc)
{
    const json_t *verdict = json_object_get(doc, "verdict");
    if (!json_is_object(verdict))
        return;
    fprintf(f, "<section class=\"verdict %s\">\n<h2>Verdict</h2>\n",
            levels[level_of(verdict)].css);
    badge(f, verdict);
    fputs("<p class=\"sentence\">", f);
    html_text(f, doc_text(verdict, "sentence"));
    fputs("</p>\n", f);
    if (*doc_text(verdict, "action")) {
        fputs("<p class=\"action\"><b>What to do:</b> ", f);
        html_text(f, doc_text(verdict, "action"));
        fputs("</p>\n", f);
    }
    figures(f, verdict);
    evidence(f, verdict);
    others(f, json_object_get(doc, "verdicts"));
    html_section_end(f);
}

static void tile(FILE *f, const json_t *doc, const char *key, const char *words,
                 enum html_form form)
{
    double value = doc_number(doc, key);
    if (isnan(value))
        return;
    fputs("<li><b>", f);
    html_value(f, key, value, form);
    fprintf(f, "</b><span>%s</span></li>\n", words);
}

#define HOST_WAIT "stall.host_fraction"
#define GPU_IDLE  "stall.device_fraction"

/* The further numbers, in one line. */
static const struct number {
    const char *key, *words;
    enum html_form form;
} numbers[] = {
    {HOST_WAIT, "of the time the host waited", HTML_PERCENT},
    {"result.images_per_cpu_second", "images per CPU second", HTML_NUMBER},
    {"result.images", "images", HTML_COUNT},
    {"result.batches", "batches", HTML_COUNT},
    {"result.seconds", "measured", HTML_SECONDS},
    {"result.first_batch_seconds", "until the first batch", HTML_SECONDS},
    {"result.max_rss_bytes", "peak memory", HTML_BYTES},
    {"result.failed_samples", "failed samples", HTML_COUNT},
};

/* Failures are named if there are any, the host's wait if the GPU's has the
 * large card. */
static bool is_in_line(const json_t *doc, const struct number *number)
{
    double value = doc_number(doc, number->key);
    if (strcmp(number->key, "result.failed_samples") == 0)
        return value > 0;
    if (strcmp(number->key, HOST_WAIT) == 0)
        return !isnan(value) && !isnan(doc_number(doc, GPU_IDLE));
    return !isnan(value);
}

static void number_line(FILE *f, const json_t *doc)
{
    const char *between = "<p class=\"numbers\">";
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        const struct number *number = &numbers[i];
        if (!is_in_line(doc, number))
            continue;
        fprintf(f, "%s<b>", between);
        html_value(f, number->key, doc_number(doc, number->key), number->form);
        fprintf(f, "</b> %s", number->words);
        between = " · ";
    }
    if (*between == ' ')
        fputs("</p>\n", f);
}

void report_numbers(FILE *f, const json_t *doc)
{
    if (!json_is_object(json_object_get(doc, "result")))
        return;
    fputs("<ul class=\"tiles\" aria-label=\"What was measured\">\n", f);
    tile(f, doc, "result.images_per_second", "images per second", HTML_NUMBER);
    if (isnan(doc_number(doc, GPU_IDLE)))
        tile(f, doc, HOST_WAIT, "of the time the host waited for a batch",
             HTML_PERCENT);
    else
        tile(f, doc, GPU_IDLE, "of the time the GPU was idle for want of data",
             HTML_PERCENT);
    fputs("</ul>\n", f);
    number_line(f, doc);
}
