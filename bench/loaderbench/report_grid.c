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

static int compare(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

/* The distinct values of a key, in order. */
static struct report_axis axis_of(const json_t *grid, const char *key)
{
    size_t n = json_array_size(grid);
    struct report_axis a = {.at = calloc(n + 1, sizeof(*a.at))};
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

static bool is_same(const json_t *a, const json_t *b)
{
    return json_is_object(a) && json_is_object(b) &&
           is_at(a, doc_or_0(b, "workers"), doc_or_0(b, "depth")) &&
           doc_or_0(a, "io_depth") == doc_or_0(b, "io_depth");
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

static void heat_map(FILE *f, const json_t *doc, const json_t *grid,
                     const struct report_axis *workers,
                     const struct report_axis *depth)
{
    const json_t *best = fastest(json_object_get(doc, "grid"));
    const json_t *knee = json_object_get(doc, "knee");
    double most = doc_or_0(best, "images_per_second");
    fputs("<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
          "aria-label=\"Images per second by workers and depth\">\n"
          "<table class=\"heatmap\"><thead><tr><th scope=\"col\">depth \\ "
          "workers</th>",
          f);
    for (size_t w = 0; w < workers->n; w++)
        fprintf(f, "<th scope=\"col\" class=\"n\">%.0f</th>", workers->at[w]);
    fputs("</tr></thead>\n<tbody>\n", f);
    for (size_t d = 0; d < depth->n; d++) {
        fprintf(f, "<tr><th scope=\"row\">%.0f</th>", depth->at[d]);
        for (size_t w = 0; w < workers->n; w++) {
            const json_t *p = point_at(grid, workers->at[w], depth->at[d]);
            bool is_knee = is_same(p, knee);
            cell(f, p, most, is_knee ? "knee" : p == best ? "fastest" : "");
        }
        fputs("</tr>\n", f);
    }
    fputs("</tbody></table></div>\n", f);
}

/* Points of one I/O depth, if several were measured. */
static void plane(FILE *f, const json_t *doc, const json_t *grid)
{
    struct report_axis workers = axis_of(grid, "workers"),
                       depth = axis_of(grid, "depth");
    const json_t *knee = json_object_get(doc, "knee");
    bool has_knee = false;
    for (size_t i = 0; i < json_array_size(grid); i++)
        has_knee = has_knee || is_same(json_array_get(grid, i), knee);
    heat_map(f, doc, grid, &workers, &depth);
    report_curves(f, grid, has_knee ? knee : NULL, &workers, &depth);
    free(workers.at);
    free(depth.at);
}

static void planes(FILE *f, const json_t *doc, const json_t *grid)
{
    struct report_axis io = axis_of(grid, "io_depth");
    for (size_t i = 0; i < io.n; i++) {
        json_t *part = json_array();
        for (size_t k = 0; k < json_array_size(grid); k++)
            if (doc_or_0(json_array_get(grid, k), "io_depth") == io.at[i])
                json_array_append(part, json_array_get(grid, k));
        fprintf(f, "<h3>I/O depth %.0f</h3>\n", io.at[i]);
        plane(f, doc, part);
        json_decref(part);
    }
    free(io.at);
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
        fputs(doc_or_0(doc, "knee.workers") == 1 ? " worker" : " workers", f);
        fputs(" and depth ", f);
        html_value(f, "knee.depth", doc_number(doc, "knee.depth"), HTML_COUNT);
        fputs(" bring little: there is the knee.", f);
        if (*doc_text(doc, "rule.words")) {
            fputs(" The rule: ", f);
            html_text(f, doc_text(doc, "rule.words"));
            fputs(".", f);
        }
    }
    fputs("</p>\n", f);
    if (json_is_true(doc_at(doc, "settings.io_depth_varied")))
        planes(f, doc, grid);
    else
        plane(f, doc, grid);
    html_section_end(f);
}
