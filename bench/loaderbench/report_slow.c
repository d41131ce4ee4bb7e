/* SPDX-License-Identifier: Apache-2.0 */
/* The slowest samples: a file once, with the worst of its times, and the
 * folder that all are in once. */
#include "bench/loaderbench/report.h"
#include "bench/loaderbench/report_doc.h"
#include "bench/loaderbench/report_html.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN    10  /* that are not folded */
#define OFF_CORE 0.2 /* of the workers' busy time, from which it is said */

struct slow {
    const json_t **samples;
    size_t n, prefix; /* bytes of the folder that all paths begin with */
};

/* The list has the slowest first, so the first of a file is its worst. */
static struct slow distinct(const json_t *list)
{
    size_t n = json_array_size(list);
    struct slow s = {.samples = calloc(n + 1, sizeof(*s.samples))};
    for (size_t i = 0; s.samples && i < n; i++) {
        const json_t *sample = json_array_get(list, i);
        const char *path = doc_text(sample, "path");
        size_t k = 0;
        while (k < s.n && strcmp(doc_text(s.samples[k], "path"), path) != 0)
            k++;
        if (k == s.n || !*path)
            s.samples[s.n++] = sample;
    }
    return s;
}

static size_t common_folder(const struct slow *s)
{
    const char *first = s->n > 1 ? doc_text(s->samples[0], "path") : "";
    size_t n = strlen(first);
    for (size_t i = 1; i < s->n; i++) {
        const char *path = doc_text(s->samples[i], "path");
        size_t k = 0;
        while (k < n && path[k] == first[k])
            k++;
        n = k;
    }
    while (n > 0 && first[n - 1] != '/')
        n--;
    return n > 1 ? n : 0;
}

static void sample_row(FILE *f, const json_t *sample, size_t prefix)
{
    double width = doc_or_0(sample, "width"),
           height = doc_or_0(sample, "height");
    fputs("<tr><td class=\"path\">", f);
    html_text(f, doc_text(sample, "path") + prefix);
    fputs("</td>", f);
    html_text_cell(f, doc_text(sample, "stage"));
    html_cell(f, doc_time(sample, "total"), HTML_SECONDS);
    html_cell(f, doc_time(sample, "read"), HTML_SECONDS);
    html_cell(f, doc_time(sample, "decode"), HTML_SECONDS);
    html_cell(f, doc_time(sample, "augment"), HTML_SECONDS);
    if (width > 0 && height > 0)
        fprintf(f, "<td class=\"n\">%.0f × %.0f</td>", width, height);
    else
        fputs("<td class=\"n\">–</td>", f);
    html_cell(f, doc_number(sample, "bytes"), HTML_BYTES);
    html_cell(f, doc_number(sample, "stall_fraction"), HTML_PERCENT);
    fputs("</tr>\n", f);
}

static void slow_rows(FILE *f, const struct slow *s, size_t from, size_t to)
{
    html_table(f, "Slow samples",
               "file|most in|#in all|#read|#decode|#augment|#pixels|#bytes|"
               "#of the stall");
    for (size_t i = from; i < to; i++)
        sample_row(f, s->samples[i], s->prefix);
    html_table_end(f);
}

/* Documents have no CPU time of a sample, so which ones is not known. */
static void off_core(FILE *f, const json_t *workers)
{
    static const char *const kinds[] = {"cpu", "runq", "throttle", "sleep"};
    double busy = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        double seconds = doc_time(workers, kinds[i]);
        busy += seconds > 0 ? seconds : 0;
    }
    double share = doc_time(workers, "runq") / busy;
    if (!(busy > 0 && share >= OFF_CORE))
        return;
    fputs("<p class=\"warning\">The workers had no core for ", f);
    html_value(f, NULL, share, HTML_PERCENT);
    fputs(" of the time in which they had work. A sample may be listed here "
          "because its worker was put off the core, and not because it is "
          "expensive.</p>\n",
          f);
}

void report_slow(FILE *f, const json_t *doc)
{
    struct slow s = distinct(json_object_get(doc, "slow_samples"));
    size_t first = s.n > SHOWN + 2 ? SHOWN : s.n;
    s.prefix = common_folder(&s);
    fputs("<h3>The slowest samples</h3>\n", f);
    off_core(f, json_object_get(doc, "workers"));
    if (s.prefix > 0) {
        fputs("<p>Files in <code>", f);
        char *folder = strndup(doc_text(s.samples[0], "path"), s.prefix);
        html_text(f, folder ? folder : "");
        free(folder);
        fputs("</code></p>\n", f);
    }
    slow_rows(f, &s, 0, first);
    if (first < s.n) {
        fprintf(f, "<details><summary>%zu more</summary>\n", s.n - first);
        slow_rows(f, &s, first, s.n);
        fputs("</details>\n", f);
    }
    free(s.samples);
}
