/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the page shows without its script: of each document the verdict and the
 * numbers as a table, and its main lists. The script replaces this with the
 * whole document.
 */
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/page/html_page.h"
#include "tools/loaderbench/report/report.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

struct report {
    json_t *const *docs;
    const char *const *names;
    size_t n;
};

/* ---- Title -------------------------------------------------------------- */

/* The data set; a doctor examines a machine instead, a case has a name. */
static const char *subject(const json_t *doc, const char *name)
{
    const char *command = doc_text(doc, "command");
    const char *uri = doc_text(doc, "dataset.uri");
    if (!*uri)
        uri = doc_text(doc, "uri");
    if (!*uri && strcmp(command, "case") == 0)
        uri = doc_text(doc, "name");
    if (!*uri && strcmp(command, "doctor") == 0)
        uri = doc_text(doc, "host");
    return *uri ? uri : name;
}

/* "2026-11-22T15:07:31Z" reads "2026-11-22 15:07:31 UTC". */
static void put_date(FILE *f, const char *iso)
{
    static const char shape[] = "dddd-dd-ddTdd:dd:ddZ";
    char words[sizeof(shape) + 3];
    size_t i = 0;
    for (; shape[i] && iso[i]; i++)
        if (shape[i] == 'd' ? iso[i] < '0' || iso[i] > '9' : iso[i] != shape[i])
            break;
    if (shape[i] || iso[i]) {
        page_text(f, iso);
        return;
    }
    snprintf(words, sizeof(words), "%.10s %.8s UTC", iso, iso + 11);
    page_text(f, words);
}

static void put_title(FILE *f, const void *of)
{
    const struct report *r = of;
    const char *date = doc_text(r->docs[0], "date");
    fputs("feedline: ", f);
    page_text(f, subject(r->docs[0], r->names[0]));
    if (*date) {
        fputs(", ", f);
        put_date(f, date);
    }
    if (r->n > 1)
        fprintf(f, " and %zu more", r->n - 1);
}

/* ---- Values ------------------------------------------------------------- */

static bool ends_in(const char *key, const char *end)
{
    size_t n = strlen(key), k = strlen(end);
    return n >= k && strcmp(key + n - k, end) == 0;
}

/* Of a whole, or of the speed as it is: shown in per cent. */
static bool is_share(const char *key)
{
    static const char *const ends[] = {"_fraction", "confidence", "_gain",
                                       ".fed", ".two_workers"};
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        if (ends_in(key, ends[i]))
            return true;
    return false;
}

/* keyed: key is the way to it from the document, which is told. */
static void put_number(FILE *f, const char *key, double x, bool keyed)
{
    fprintf(f, "<data value=\"%.9g\"", x);
    if (keyed)
        fprintf(f, " data-key=\"%s\"", key);
    fputs(">", f);
    if (is_share(key))
        fprintf(f, "%.1f %%", 100 * x);
    else if (ends_in(key, "_bytes"))
        fprintf(f, "%.1f MiB", x / (1 << 20));
    else
        fprintf(f, fabs(x) >= 100 && fabs(x) < 1e15 ? "%.0f" : "%.3g", x);
    fputs(ends_in(key, "seconds") ? " s</data>" : "</data>", f);
}

static void put_value(FILE *f, const json_t *doc, const char *path, bool keyed)
{
    double x = doc_number(doc, path);
    if (!isnan(x))
        put_number(f, path, x, keyed);
    else
        page_text(f, *doc_text(doc, path) ? doc_text(doc, path) : "–");
}

/* ---- Tables ------------------------------------------------------------- */

static const struct figure {
    const char *path, *words;
} figures[] = {
    {"date", "date"},
    {"host", "host"},
    {"command_line", "command"},
    {"verdict.code", "verdict"},
    {"verdict.sentence", "in words"},
    {"verdict.action", "what to do"},
    {"verdict.confidence", "confidence"},
    {"verdict.predicted_gain", "predicted gain"},
    {"result.images_per_second", "images per second"},
    {"stall.host_fraction", "the host waited for a batch"},
    {"stall.device_fraction", "the GPU was idle for want of data"},
    {"result.images_per_cpu_second", "images per CPU second"},
    {"result.images", "images"},
    {"result.batches", "batches"},
    {"result.seconds", "measured"},
    {"result.first_batch_seconds", "until the first batch"},
    {"result.max_rss_bytes", "peak memory"},
    {"result.failed_samples", "failed samples"},
    {"model.words", "compared with"},
    {"model.images_per_second", "images per second that it takes"},
    {"model.fed_fraction", "of that are fed"},
    {"model.more_cores", "more cores for all of it"},
    {"model.source.name", "its rate is from"},
    {"model.source.url", "published at"},
    {"tuner.workers", "workers at the end"},
    {"tuner.depth", "depth at the end"},
    {"tune.steady.images_per_second", "images per second since it settled"},
    {"comparison.below_fraction", "below the best of the sweep"},
    {"knee.workers", "workers at the knee"},
    {"knee.depth", "depth at the knee"},
    {"metric", "compared"},
    {"verdict", "verdict"},
    {"before", "before"},
    {"after", "after"},
    {"change_fraction", "change"},
    {"noise_fraction", "noise"},
    {"straggler.rank", "rank that holds up the others"},
    {"sentence", "in words"},
    {"before.images_per_second", "before, images per second"},
    {"after.images_per_second", "after, images per second"},
    {"now.images_per_second", "now, images per second"},
    {"predicted.fed", "gain of an infinitely fast loader, predicted"},
    {"measured.fed", "the same, measured"},
    {"predicted.two_workers", "gain of two more workers, predicted"},
    {"measured.two_workers", "the same, measured"},
};

static void put_figures(FILE *f, const json_t *doc)
{
    fputs("<section><div class=\"scroll\"><table class=\"plain\">\n", f);
    for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
        const char *path = figures[i].path;
        if (isnan(doc_number(doc, path)) && !*doc_text(doc, path))
            continue;
        fprintf(f, "<tr><th scope=\"row\">%s</th><td>", figures[i].words);
        put_value(f, doc, path, true);
        fputs("</td></tr>\n", f);
    }
    fputs("</table></div></section>\n", f);
}

static const struct list {
    const char *key, *title;
    const char *columns[6];
} lists[] = {
    {"findings", "Findings", {"level", "id", "text", "remedy"}},
    {"grid",
     "Workers by depth",
     {"workers", "depth", "io_depth", "images_per_second", "host_fraction"}},
    {"ranks",
     "Ranks",
     {"rank", "file", "images_per_second", "wait_ms", "verdict"}},
    {"points", "Points", {"bytes", "workers", "images_per_second", "step_ms"}},
    {"stages",
     "Stages",
     {"name", "items", "busy_seconds", "p50_us", "p99_us", "max_us"}},
};
#define N_COLUMNS (sizeof(lists->columns) / sizeof(*lists->columns))

static void put_head(FILE *f, const struct list *list)
{
    fputs("<thead><tr>", f);
    for (size_t c = 0; c < N_COLUMNS && list->columns[c]; c++) {
        fputs("<th scope=\"col\">", f);
        for (const char *p = list->columns[c]; *p; p++)
            putc(*p == '_' ? ' ' : *p, f);
        fputs("</th>", f);
    }
    fputs("</tr></thead>\n", f);
}

static void put_list(FILE *f, const json_t *doc, const struct list *list)
{
    const json_t *rows = json_object_get(doc, list->key);
    if (json_array_size(rows) == 0)
        return;
    fprintf(f, "<section><h2>%s</h2><div class=\"scroll\"><table>\n",
            list->title);
    put_head(f, list);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        fputs("<tr>", f);
        for (size_t c = 0; c < N_COLUMNS && list->columns[c]; c++) {
            fputs("<td>", f);
            put_value(f, json_array_get(rows, i), list->columns[c], false);
            fputs("</td>", f);
        }
        fputs("</tr>\n", f);
    }
    fputs("</table></div></section>\n", f);
}

static void put_articles(FILE *f, const void *of)
{
    const struct report *r = of;
    for (size_t i = 0; i < r->n; i++) {
        fprintf(f, "<article id=\"run-%zu\" data-name=\"", i + 1);
        page_text(f, r->names[i]);
        fputs("\">\n<header><p class=\"kind\">", f);
        page_text(f, doc_text(r->docs[i], "command"));
        fputs("</p><h1>", f);
        page_text(f, subject(r->docs[i], r->names[i]));
        fputs("</h1></header>\n", f);
        put_figures(f, r->docs[i]);
        for (size_t k = 0; k < sizeof(lists) / sizeof(*lists); k++)
            put_list(f, r->docs[i], &lists[k]);
        fputs("</article>\n", f);
    }
}

void report_page(FILE *f, json_t *const *docs, const char *const *names,
                 size_t n)
{
    const struct report report = {docs, names, n};
    const struct page page = {.docs = docs,
                              .n_docs = n,
                              .title = put_title,
                              .articles = put_articles,
                              .of = &report};
    page_write(f, &page);
}
