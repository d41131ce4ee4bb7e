/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened when: images per second, the stall by cause, what the tuner
 * set. A run has up to 1200 points; drawn are at most 100 columns, each the
 * mean of its points by their length, so that a column is wide enough to be
 * pointed at and the table below can be read.
 */
#include "bench/loaderbench/report.h"
#include "bench/loaderbench/report_chart.h"
#include "bench/loaderbench/report_doc.h"
#include "bench/loaderbench/report_html.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 100
#define CAUSES_MAX  16
#define HUGE_NUMBER 1e15
#define SMALLEST    0.0005 /* a fraction that is drawn: 0.1 % when rounded */

/* Means over [begin, end); `device` NAN without one. */
struct column {
    double begin, end;
    double rate, host, device;
    double causes[CAUSES_MAX]; /* fractions of the time */
    double set[3];             /* workers, depth, io_depth at its end */
};

struct columns {
    struct column *c;
    size_t n;
};

static const char *const settings[] = {"workers", "depth", "io_depth"};

static void add_point(struct column *c, const json_t *point, double seconds)
{
    c->rate += seconds * doc_or_0(point, "images_per_second");
    c->host += seconds * doc_or_0(point, "host_fraction");
    c->device += seconds * doc_number(point, "device_fraction");
    for (size_t i = 0; i < CAUSES_MAX && report_cause(i); i++)
        c->causes[i] +=
            doc_or_0(json_object_get(point, "buckets"), report_cause(i)->key);
    for (size_t i = 0; i < 3; i++)
        c->set[i] = doc_or_0(point, settings[i]);
}

static void take_mean(struct column *c)
{
    double seconds = c->end - c->begin;
    c->rate /= seconds;
    c->host /= seconds;
    c->device /= seconds;
    for (size_t i = 0; i < CAUSES_MAX; i++)
        c->causes[i] /= seconds;
}

/* Points whose seconds do not grow are left out. The caller frees c. */
static struct columns columns_of(const json_t *timeline)
{
    size_t n = json_array_size(timeline);
    size_t each = (n + COLUMNS_MAX - 1) / COLUMNS_MAX, taken = 0;
    struct columns all = {.c = calloc(COLUMNS_MAX + 1, sizeof(*all.c))};
    double now = 0;
    if (!all.c)
        return all;
    for (size_t i = 0; i < n; i++) {
        const json_t *point = json_array_get(timeline, i);
        double end = doc_number(point, "seconds");
        if (!(end > now && end < HUGE_NUMBER))
            continue;
        struct column *c = &all.c[all.n];
        if (taken == 0)
            c->begin = now;
        c->end = end;
        add_point(c, point, end - now);
        now = end;
        if (++taken == each || i + 1 == n) {
            take_mean(c);
            all.n++;
            taken = 0;
        }
    }
    if (taken > 0)
        take_mean(&all.c[all.n++]);
    return all;
}

static void draw_rates(FILE *f, const struct columns *all)
{
    double most = 0;
    for (size_t i = 0; i < all->n; i++)
        most = all->c[i].rate > most ? all->c[i].rate : most;
    struct chart c = {f, all->c[all->n - 1].end, chart_round_up(most), 80};
    char words[HTML_SHOWN + 16];
    fputs("<h3>Images per second</h3>\n", f);
    chart_begin(&c, "Images per second over time; the table below has values");
    for (int i = 1; i <= 2; i++) {
        html_shown(c.top * i / 2, HTML_NUMBER, words);
        chart_grid(&c, c.top * i / 2, words);
    }
    chart_grid(&c, 0, "0");
    for (size_t i = 0; i < all->n; i++) {
        const struct column *k = &all->c[i];
        double y = chart_y(&c, k->rate);
        html_shown(k->rate, HTML_NUMBER, words);
        fprintf(f,
                "<g><title>%.2f to %.2f s: %s images/s</title>"
                "<rect class=\"c-rate\" x=\"%.3f%%\" width=\"%.3f%%\" "
                "y=\"%.1f\" height=\"%.1f\"/></g>\n",
                k->begin, k->end, words, chart_x(&c, k->begin),
                chart_x(&c, k->end) - chart_x(&c, k->begin), y,
                chart_y(&c, 0) - y);
    }
    chart_end(&c);
}

/* "1.25 to 1.50 s: waited 12.3 %: reading files 10.0 %" */
static void stall_title(FILE *f, const struct column *k)
{
    fprintf(f, "<title>%.2f to %.2f s: waited %.1f %%", k->begin, k->end,
            100 * k->host);
    for (size_t i = 0; i < CAUSES_MAX && report_cause(i); i++)
        if (k->causes[i] >= SMALLEST)
            fprintf(f, "; %s %.1f %%", report_cause(i)->words,
                    100 * k->causes[i]);
    fputs("</title>", f);
}

static void stall_rect(const struct chart *c, const struct column *k,
                       const char *css, double from, double to)
{
    fprintf(c->f,
            "<rect class=\"%s\" x=\"%.3f%%\" width=\"%.3f%%\" y=\"%.1f\" "
            "height=\"%.1f\"/>",
            css, chart_x(c, k->begin),
            chart_x(c, k->end) - chart_x(c, k->begin), chart_y(c, to),
            chart_y(c, from) - chart_y(c, to));
}

static void stall_legend(FILE *f, const struct columns *all)
{
    fputs("<ul class=\"legend inline\">\n", f);
    for (size_t i = 0; i < CAUSES_MAX && report_cause(i); i++) {
        double most = 0;
        for (size_t k = 0; k < all->n; k++)
            most = fmax(most, all->c[k].causes[i]);
        if (most < SMALLEST)
            continue;
        char css[32];
        snprintf(css, sizeof(css), "c-%s", report_cause(i)->key);
        fputs("<li>", f);
        chart_swatch(f, css);
        fprintf(f, "<span>%s</span></li>\n", report_cause(i)->words);
    }
    fputs("</ul>\n", f);
}

static void draw_stall(FILE *f, const struct columns *all)
{
    double most = 0;
    for (size_t i = 0; i < all->n; i++)
        most = fmax(most, all->c[i].host);
    struct chart c = {f, all->c[all->n - 1].end,
                      fmin(1, chart_round_up(fmax(most, 0.01))), 150};
    fputs("<h3>Stall: the part of the time that the host waited, by cause</h3>"
          "\n",
          f);
    if (most < SMALLEST) {
        fputs("<p>It never waited.</p>\n", f);
        return;
    }
    chart_begin(&c, "Stall over time as stacked bars by cause; the table below "
                    "has values");
    for (int i = 0; i <= 2; i++) {
        char words[HTML_SHOWN];
        snprintf(words, sizeof(words), "%.3g %%", 50 * c.top * i);
        chart_grid(&c, c.top * i / 2, words);
    }
    for (size_t i = 0; i < all->n; i++) {
        const struct column *k = &all->c[i];
        double from = 0;
        fputs("<g>", f);
        stall_title(f, k);
        for (size_t b = 0; b < CAUSES_MAX && report_cause(b); b++) {
            char css[32];
            if (k->causes[b] < SMALLEST)
                continue;
            snprintf(css, sizeof(css), "c-%s", report_cause(b)->key);
            stall_rect(&c, k, css, from, from + k->causes[b]);
            from += k->causes[b];
        }
        fputs("</g>\n", f);
    }
    chart_end(&c);
    stall_legend(f, all);
}

static void time_table(FILE *f, const struct columns *all)
{
    bool used[CAUSES_MAX] = {false};
    char columns[512] = "#to|#images/s|#waited";
    for (size_t i = 0; i < CAUSES_MAX && report_cause(i); i++) {
        for (size_t k = 0; k < all->n; k++)
            used[i] = used[i] || all->c[k].causes[i] >= SMALLEST;
        size_t n = strlen(columns);
        if (used[i])
            snprintf(columns + n, sizeof(columns) - n, "|#%s",
                     report_cause(i)->key);
    }
    bool device = !isnan(all->c[all->n - 1].device);
    size_t n = strlen(columns);
    snprintf(columns + n, sizeof(columns) - n, "%s|#workers|#depth|#I/O depth",
             device ? "|#GPU idle" : "");
    fprintf(f, "<details><summary>Values of the %zu columns</summary>\n",
            all->n);
    html_table(f, "Values over time", columns);
    for (size_t i = 0; i < all->n; i++) {
        const struct column *k = &all->c[i];
        fputs("<tr>", f);
        html_cell(f, k->end, HTML_SECONDS);
        html_cell(f, k->rate, HTML_NUMBER);
        html_cell(f, k->host, HTML_PERCENT);
        for (size_t b = 0; b < CAUSES_MAX; b++)
            if (used[b])
                html_cell(f, k->causes[b], HTML_PERCENT);
        if (device)
            html_cell(f, k->device, HTML_PERCENT);
        for (size_t s = 0; s < 3; s++)
            html_cell(f, k->set[s], HTML_COUNT);
        fputs("</tr>\n", f);
    }
    html_table_end(f);
    fputs("</details>\n", f);
}

void report_timeline(FILE *f, const json_t *doc)
{
    struct columns all = columns_of(json_object_get(doc, "timeline"));
    if (all.n > 0) {
        html_section(f, "Over time");
        draw_rates(f, &all);
        draw_stall(f, &all);
        time_table(f, &all);
        html_section_end(f);
    }
    free(all.c);
}

/* ---- The tuner ---------------------------------------------------------- */

static double seconds_of(const json_t *decision)
{
    double seconds = doc_number(decision, "seconds");
    return isnan(seconds) ? doc_time(decision, "time") : seconds;
}

static bool changes(const struct columns *all, size_t s)
{
    for (size_t i = 1; i < all->n; i++)
        if (all->c[i].set[s] != all->c[0].set[s])
            return true;
    return false;
}

/* A line across at the value of each column, and up or down between them.
 * Decisions count from the loader's creation, columns from `begin` on. */
static void draw_setting(FILE *f, const struct columns *all, size_t s,
                         const json_t *decisions, double begin)
{
    static const char *const titles[] = {"Workers", "Depth (batches ahead)",
                                         "I/O depth (reads at a time)"};
    double most = 0, before = NAN;
    for (size_t i = 0; i < all->n; i++)
        most = fmax(most, all->c[i].set[s]);
    struct chart c = {f, all->c[all->n - 1].end, chart_round_up(most), 44};
    char words[HTML_SHOWN];
    fprintf(f, "<h3>%s</h3>\n", titles[s]);
    chart_begin(&c, titles[s]);
    html_shown(c.top, HTML_NUMBER, words);
    chart_grid(&c, c.top, words);
    chart_grid(&c, 0, "0");
    for (size_t i = 0; i < json_array_size(decisions); i++) {
        double x =
            chart_x(&c, seconds_of(json_array_get(decisions, i)) - begin);
        if (x >= 0 && x <= 100)
            fprintf(f,
                    "<line class=\"mark\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"4\" "
                    "y2=\"%.1f\"><title>decision %zu</title></line>",
                    x, x, chart_y(&c, 0), i + 1);
    }
    for (size_t i = 0; i < all->n; i++) {
        const struct column *k = &all->c[i];
        double x = chart_x(&c, k->begin), y = chart_y(&c, k->set[s]);
        if (!isnan(before) && before != y)
            fprintf(f,
                    "<line class=\"step\" x1=\"%.3f%%\" x2=\"%.3f%%\" "
                    "y1=\"%.1f\" y2=\"%.1f\"/>",
                    x, x, before, y);
        fprintf(f,
                "<line class=\"step\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"%.1f\" "
                "y2=\"%.1f\"><title>%.2f to %.2f s: %.0f</title></line>\n",
                x, chart_x(&c, k->end), y, y, k->begin, k->end, k->set[s]);
        before = y;
    }
    chart_end(&c);
}

void report_tuner(FILE *f, const json_t *doc)
{
    const json_t *tuner = json_object_get(doc, "tuner");
    const json_t *decisions = json_object_get(tuner, "decisions");
    if (!json_is_object(tuner))
        return;
    html_section(f, "Tuner");
    fputs("<p>Mode <b>", f);
    html_text(f, doc_text(tuner, "mode"));
    fputs("</b>; at the end ", f);
    html_value(f, "tuner.workers", doc_number(tuner, "workers"), HTML_COUNT);
    fputs(" workers, depth ", f);
    html_value(f, "tuner.depth", doc_number(tuner, "depth"), HTML_COUNT);
    fputs(", I/O depth ", f);
    html_value(f, "tuner.io_depth", doc_number(tuner, "io_depth"), HTML_COUNT);
    if (json_is_number(doc_at(tuner, "converged_batch"))) {
        fputs("; settled at batch ", f);
        html_value(f, "tuner.converged_batch",
                   doc_number(tuner, "converged_batch"), HTML_COUNT);
    }
    fputs(".</p>\n", f);
    struct columns all = columns_of(json_object_get(doc, "timeline"));
    for (size_t s = 0; s < 3; s++)
        if (changes(&all, s))
            draw_setting(f, &all, s, decisions,
                         doc_or_0(doc, "run.begin_seconds"));
    free(all.c);
    report_decisions(f, decisions);
    html_section_end(f);
}
