/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep as curves: images per second against workers, a line for each depth.
 * Worker counts stand evenly apart, as they are asked for as 1, 2, 4, 8. The
 * values are in the table above it.
 */
#include "bench/loaderbench/report.h"
#include "bench/loaderbench/report_chart.h"
#include "bench/loaderbench/report_doc.h"
#include "bench/loaderbench/report_html.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define CURVES 6   /* as many colours can be told apart */
#define HEIGHT 190 /* pixels */
#define WORDS  24
#define TICKS  64

struct curves {
    struct chart chart;
    const struct report_axis *workers;
    const json_t *grid;
};

static const json_t *point_at(const json_t *grid, double workers, double depth)
{
    for (size_t i = 0; i < json_array_size(grid); i++) {
        const json_t *p = json_array_get(grid, i);
        if (doc_or_0(p, "workers") == workers && doc_or_0(p, "depth") == depth)
            return p;
    }
    return NULL;
}

static void curve(const struct curves *c, double depth, size_t which)
{
    double x0 = NAN, y0 = NAN;
    for (size_t i = 0; i < c->workers->n; i++) {
        const json_t *p = point_at(c->grid, c->workers->at[i], depth);
        double rate = doc_number(p, "images_per_second");
        if (isnan(rate))
            continue;
        char words[HTML_SHOWN];
        double x = chart_x(&c->chart, (double)i), y = chart_y(&c->chart, rate);
        html_shown(rate, HTML_NUMBER, words);
        if (!isnan(x0))
            fprintf(c->chart.f,
                    "<line class=\"curve s%zu\" x1=\"%.3f%%\" x2=\"%.3f%%\" "
                    "y1=\"%.1f\" y2=\"%.1f\"/>",
                    which, x0, x, y0, y);
        fprintf(c->chart.f,
                "<circle class=\"s%zu\" cx=\"%.3f%%\" cy=\"%.1f\" r=\"4\">"
                "<title>%.0f workers, depth %.0f: %s images/s</title>"
                "</circle>\n",
                which, x, y, c->workers->at[i], depth, words);
        x0 = x;
        y0 = y;
    }
}

static void mark(const struct curves *c, const json_t *knee)
{
    double rate = doc_number(knee, "images_per_second");
    for (size_t i = 0; i < c->workers->n; i++)
        if (c->workers->at[i] == doc_or_0(knee, "workers") && !isnan(rate))
            fprintf(c->chart.f,
                    "<circle class=\"ring\" cx=\"%.3f%%\" cy=\"%.1f\" r=\"9\">"
                    "<title>knee</title></circle>\n",
                    chart_x(&c->chart, (double)i), chart_y(&c->chart, rate));
}

static void legend(FILE *f, const struct report_axis *depths, size_t shown,
                   bool knee)
{
    fputs("<ul class=\"legend inline\">\n", f);
    for (size_t d = 0; d < shown; d++) {
        char css[8];
        snprintf(css, sizeof(css), "s%zu", d);
        fputs("<li>", f);
        chart_swatch(f, css);
        fprintf(f, "<span>depth %.0f</span></li>\n", depths->at[d]);
    }
    if (knee)
        fputs("<li><span>the ring is the knee</span></li>\n", f);
    fputs("</ul>\n", f);
    if (shown < depths->n)
        fprintf(f, "<p class=\"note\">%zu more depths are in the table.</p>\n",
                depths->n - shown);
}

void report_curves(FILE *f, const json_t *grid, const json_t *knee,
                   const struct report_axis *workers,
                   const struct report_axis *depths)
{
    char ticks[TICKS][WORDS], words[HTML_SHOWN];
    const char *texts[TICKS];
    double most = 0;
    if (workers->n < 2 || workers->n > TICKS)
        return;
    for (size_t i = 0; i < json_array_size(grid); i++)
        most =
            fmax(most, doc_or_0(json_array_get(grid, i), "images_per_second"));
    struct curves c = {
        {f, (double)(workers->n - 1), chart_round_up(most), HEIGHT},
        workers,
        grid};
    fputs("<h3>Images per second by workers</h3>\n", f);
    chart_begin(&c.chart, "Images per second by workers, a line for each "
                          "depth; the table above has values");
    for (int i = 0; i <= 2; i++) {
        html_shown(c.chart.top * i / 2, HTML_NUMBER, words);
        chart_grid(&c.chart, c.chart.top * i / 2, words);
    }
    size_t shown = depths->n < CURVES ? depths->n : CURVES;
    for (size_t d = 0; d < shown; d++)
        curve(&c, depths->at[d], d);
    if (knee)
        mark(&c, knee);
    for (size_t i = 0; i < workers->n; i++) {
        snprintf(ticks[i], WORDS, i ? "%.0f" : "%.0f workers", workers->at[i]);
        texts[i] = ticks[i];
    }
    chart_end_at(&c.chart, texts, workers->n);
    legend(f, depths, shown, knee != NULL);
}
