/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer's phases and gaps, long waits, files that could not be used. */
#include "bench/loaderbench/report.h"
#include "bench/loaderbench/report_doc.h"
#include "bench/loaderbench/report_html.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ---- Phases and gaps ---------------------------------------------------- */

static void phase_row(FILE *f, const json_t *phase)
{
    double count = doc_or_0(phase, "count"), total = doc_time(phase, "total");
    fputs("<tr><th scope=\"row\">", f);
    html_text(f, doc_text(phase, "name"));
    fputs("</th>", f);
    html_cell(f, count > 0 ? count : (double)NAN, HTML_COUNT);
    html_cell(f, doc_time(phase, "self"), HTML_SECONDS);
    html_cell(f, doc_number(phase, "user_fraction"), HTML_PERCENT);
    html_cell(f, total, HTML_SECONDS);
    html_cell(f, count > 0 ? total / count : (double)NAN, HTML_SECONDS);
    html_cell(f, count > 0 ? doc_time(phase, "max") : (double)NAN,
              HTML_SECONDS);
    fputs("</tr>\n", f);
}

static void phases_table(FILE *f, const json_t *phases)
{
    html_table(f, "Phases",
               "phase|#times|#itself|#of user time|#with inner|#mean|#longest");
    for (size_t i = 0; i < json_array_size(phases); i++)
        phase_row(f, json_array_get(phases, i));
    html_table_end(f);
}

/* A weaker autocorrelation than this is there by chance. */
static bool has_rhythm(const json_t *gaps)
{
    return doc_or_0(gaps, "stall_period") > 0 &&
           doc_or_0(gaps, "stall_strength") >= 0.5;
}

static void gaps_text(FILE *f, const json_t *gaps)
{
    if (doc_or_0(gaps, "count") > 0) {
        fputs("<p><b>Gaps:</b> in ", f);
        html_value(f, "gaps.count", doc_number(gaps, "count"), HTML_COUNT);
        fputs(" steps the consumer itself took more than 5 times as long as it "
              "mostly does (",
              f);
        html_value(f, NULL, doc_time(gaps, "median"), HTML_SECONDS);
        fputs("), ", f);
        html_value(f, NULL, doc_time(gaps, "total"), HTML_SECONDS);
        fputs(" in all, the longest ", f);
        html_value(f, NULL, doc_time(gaps, "longest"), HTML_SECONDS);
        if (doc_or_0(gaps, "period") > 0) {
            fputs(", every ", f);
            html_value(f, "gaps.period", doc_number(gaps, "period"),
                       HTML_COUNT);
            fputs(" steps", f);
        }
        fputs(". Look for checkpoints, logging and evaluation there; no loader "
              "can help.</p>\n",
              f);
    }
    if (has_rhythm(gaps)) {
        fputs("<p><b>Rhythm:</b> long waits come every ", f);
        html_value(f, "gaps.stall_period", doc_number(gaps, "stall_period"),
                   HTML_COUNT);
        fputs(" batches.</p>\n", f);
    }
}

void report_phases(FILE *f, const json_t *doc)
{
    const json_t *phases = json_object_get(doc, "phases");
    const json_t *gaps = json_object_get(doc, "gaps");
    bool sticks_out = doc_or_0(gaps, "count") > 0 || has_rhythm(gaps);
    if (json_array_size(phases) == 0 && !sticks_out)
        return;
    html_section(f, "The consumer's own time");
    if (json_array_size(phases) > 0)
        phases_table(f, phases);
    if (sticks_out)
        gaps_text(f, gaps);
    html_section_end(f);
}

/* ---- Long waits --------------------------------------------------------- */

static const char *cause_words(const char *key)
{
    const struct report_cause *cause;
    for (size_t i = 0; (cause = report_cause(i)) != NULL; i++)
        if (strcmp(cause->key, key) == 0)
            return cause->words;
    return key;
}

static void outlier_row(FILE *f, const json_t *o)
{
    fputs("<tr>", f);
    html_cell(f, doc_number(o, "epoch"), HTML_COUNT);
    html_cell(f, doc_number(o, "sequence"), HTML_COUNT);
    html_cell(f, doc_time(o, "wait"), HTML_SECONDS);
    html_text_cell(f, cause_words(doc_text(o, "cause")));
    html_cell(f, doc_time(o, "cause"), HTML_SECONDS);
    fputs("<td class=\"path\">", f);
    html_text(f, doc_text(o, "path"));
    fputs("</td></tr>\n", f);
}

static void outliers_table(FILE *f, const json_t *outliers)
{
    const json_t *last = json_object_get(outliers, "last");
    fputs("<h3>Waits far longer than the others</h3>\n<p>", f);
    html_value(f, "outliers.count", doc_number(outliers, "count"), HTML_COUNT);
    fputs(" in all; half of the waits are shorter than ", f);
    html_value(f, NULL, doc_time(outliers, "median_wait"), HTML_SECONDS);
    fputs(".</p>\n", f);
    html_table(f, "Long waits",
               "#epoch|#batch|#waited|mostly for|#of it|because of");
    for (size_t i = 0; i < json_array_size(last); i++)
        outlier_row(f, json_array_get(last, i));
    html_table_end(f);
}

void report_samples(FILE *f, const json_t *doc)
{
    const json_t *slow = json_object_get(doc, "slow_samples");
    const json_t *outliers = json_object_get(doc, "outliers");
    bool long_waits = doc_or_0(outliers, "count") > 0;
    if (json_array_size(slow) == 0 && !long_waits)
        return;
    html_section(f, "Slow samples and long waits");
    if (json_array_size(slow) > 0)
        report_slow(f, doc);
    if (long_waits)
        outliers_table(f, outliers);
    html_section_end(f);
}

/* ---- Failures ----------------------------------------------------------- */

void report_failures(FILE *f, const json_t *doc)
{
    const json_t *failures = json_object_get(doc, "failures");
    if (json_array_size(failures) == 0)
        return;
    html_section(f, "Samples that could not be used");
    html_table(f, "Failures", "file|what|reason|#epoch");
    for (size_t i = 0; i < json_array_size(failures); i++) {
        const json_t *x = json_array_get(failures, i);
        fputs("<tr><td class=\"path\">", f);
        html_text(f, doc_text(x, "path"));
        fputs("</td>", f);
        html_text_cell(f, doc_text(x, "status"));
        html_text_cell(f, doc_text(x, "reason"));
        html_cell(f, doc_number(x, "epoch"), HTML_COUNT);
        fputs("</tr>\n", f);
    }
    html_table_end(f);
    html_section_end(f);
}
