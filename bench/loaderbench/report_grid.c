/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grid of a sweep, workers by depth, as a table whose cells are coloured by
 * images per second: a table and not a drawing, as each number is to be read,
 * and as it can scroll where the screen is narrow.
 */
#include "bench/loaderbench/report.h"
#include "bench/loaderbench/report_doc.h"
#include "bench/loaderbench/report_html.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The distinct values of a key, in order. */
struct axis {
    double *at;
    size_t n;
};

static int compare(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

static struct axis axis_of(const json_t *grid, const char *key)
{
    size_t n = json_array_size(grid);
    struct axis a = {.at = calloc(n + 1, sizeof(*a.at))};
    for (size_t i = 0; a.at && i < n; i++)
        a.at[i] = doc_or_0(json_array_get(grid, i), key);
    if (!a.at)
        return a;
    qsort(a.at, n, sizeof(*a.at), compare);
    for (size_t i = 0; i < n; i++)
        if (a.n == 0 || a.at[a.n - 1] < a.at[i])
            a.at[a.n++] = a.at[i];
    return a;
}

static bool is_at(const json_t *point, double workers, double depth)
{
    return doc_or_0(point, "workers") == workers &&
           doc_or_0(point, "depth") == depth;
}

static const json_t *point_at(const json_t *grid, double workers, double depth)
{
    for (size_t i = 0; i < json_array_size(grid); i++)
        if (is_at(json_array_get(grid, i), workers, depth))
            return json_array_get(grid, i);
    return NULL;
}

/* Paper to ink: the colour is laid over the page's own, so that the text stays
 * readable on all of them, light or dark. */
static void cell(FILE *f, const json_t *point, double most, const char *mark)
{
    if (!point) {
        fputs("<td class=\"n\">–</td>", f);
        return;
    }
    double rate = doc_or_0(point, "images_per_second");
    double part = most > 0 ? rate / most : 0;
    fprintf(f, "<td class=\"n heat%s\" style=\"--heat:%.0f%%\">",
            *mark ? " marked" : "", 50 * part * part);
    html_value(f, NULL, rate, HTML_NUMBER);
    if (json_is_number(doc_at(point, "host_fraction"))) {
        fputs("<small>waits ", f);
        html_value(f, NULL, doc_number(point, "host_fraction"), HTML_PERCENT);
        fputs("</small>", f);
    }
    if (*mark)
        fprintf(f, "<small><b>%s</b></small>", mark);
    fputs("</td>", f);
}

static const json_t *fastest(const json_t *grid)
{
    const json_t *best = NULL;
    for (size_t i = 0; i < json_array_size(grid); i++) {
        const json_t *point = json_array_get(grid, i);
        if (!best || doc_or_0(point, "images_per_second") >
                         doc_or_0(best, "images_per_second"))
            best = point;
    }
    return best;
}

static void heat_map(FILE *f, const json_t *doc, const json_t *grid)
{
    struct axis workers = axis_of(grid, "workers"),
                depth = axis_of(grid, "depth");
    const json_t *best = fastest(grid), *knee = json_object_get(doc, "knee");
    double most = doc_or_0(best, "images_per_second");
    fputs("<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
          "aria-label=\"Images per second by workers and depth\">\n"
          "<table class=\"heatmap\"><thead><tr><th scope=\"col\">depth \\ "
          "workers</th>",
          f);
    for (size_t w = 0; w < workers.n; w++)
        fprintf(f, "<th scope=\"col\" class=\"n\">%.0f</th>", workers.at[w]);
    fputs("</tr></thead>\n<tbody>\n", f);
    for (size_t d = 0; d < depth.n; d++) {
        fprintf(f, "<tr><th scope=\"row\">%.0f</th>", depth.at[d]);
        for (size_t w = 0; w < workers.n; w++) {
            const json_t *p = point_at(grid, workers.at[w], depth.at[d]);
            bool is_knee =
                json_is_object(knee) && is_at(knee, workers.at[w], depth.at[d]);
            cell(f, p, most, is_knee ? "knee" : p == best ? "fastest" : "");
        }
        fputs("</tr>\n", f);
    }
    fputs("</tbody></table></div>\n", f);
    free(workers.at);
    free(depth.at);
}

void report_grid(FILE *f, const json_t *doc)
{
    const json_t *grid = json_object_get(doc, "grid");
    if (json_array_size(grid) == 0)
        return;
    html_section(f, "Workers by depth");
    fputs("<p>Images per second. ", f);
    if (json_is_object(json_object_get(doc, "knee"))) {
        fputs("More than ", f);
        html_value(f, "knee.workers", doc_number(doc, "knee.workers"),
                   HTML_COUNT);
        fputs(" workers and depth ", f);
        html_value(f, "knee.depth", doc_number(doc, "knee.depth"), HTML_COUNT);
        fputs(" bring little: there is the knee.", f);
    }
    fputs("</p>\n", f);
    heat_map(f, doc, grid);
    html_section_end(f);
}
