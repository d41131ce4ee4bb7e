/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture: for each family workers over the batches of its first scenario,
 * one line for each controller and a dashed one for the oracle, on a scale of
 * factors, as a host of 256 cores and a single worker must both be seen; below,
 * which share of all runs stays under a regret. Colours are near Okabe and
 * Ito's; a line says its name where it is pointed at.
 */
#include "bench/sim/page.h"
#include "bench/sim/summary.h"
#include "bench/sim/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 3u
#define PANEL_W 340.0
#define PANEL_H 190.0
#define PLOT_X  40.0 /* of the plot within its panel */
#define PLOT_Y  26.0
#define PLOT_W  286.0
#define PLOT_H  136.0
#define WIDTH   (COLUMNS * PANEL_W + 20)
#define ROW_H   20.0 /* of the legend */

static const char style[] =
    "<style>"
    ".ts{--paper:#fff;--ink:#1c2126;--soft:#56606b;--line:#dde1e4;"
    "--c0:#d55e00;--c1:#e69f00;--c2:#56606b;--c3:#0072b2;--c4:#56b4e9;"
    "--c5:#007f5f;--c6:#4fbf9b;--c7:#7a3e66;--c8:#cc79a7;--c9:#8a7a00;"
    "--c10:#a8201a;--c11:#1c2126;background:var(--paper)}"
    "@media (prefers-color-scheme:dark){.ts{--paper:#1c2227;--ink:#e8ebed;"
    "--soft:#a3adb6;--line:#333b42;--c0:#f08a4b;--c1:#f0b73a;--c2:#a3adb6;"
    "--c3:#3d9bd6;--c4:#8ccdf2;--c5:#22a884;--c6:#7fd8bb;--c7:#b57ba0;"
    "--c8:#dd9cc0;--c9:#d4c23a;--c10:#ff8f86;--c11:#e8ebed}}"
    ".ts text{font:11px system-ui,sans-serif;fill:var(--soft)}"
    ".ts .t{font-weight:600;font-size:12px;fill:var(--ink)}"
    ".ts .g{stroke:var(--line);stroke-width:1}"
    ".ts .l{fill:none;stroke-width:1.2;stroke-linejoin:round}"
    ".ts .own{stroke-width:2.4}"
    ".ts .o{fill:none;stroke:var(--ink);stroke-width:1.2;"
    "stroke-dasharray:5 3}"
    "</style>\n";

static void line_begin(FILE *f, const struct tournament *t, size_t i)
{
    static const char *const dashes[] = {"", "6 2", "2 2"};
    fprintf(f,
            "<path class=\"l%s\" style=\"stroke:var(--c%zu)\" "
            "stroke-dasharray=\"%s\" d=\"",
            t->plan->controllers[i]->status ? " own" : "", i % 12,
            dashes[i / 12 % 3]);
}

/* ---- Workers over batches ----------------------------------------------- */

struct panel {
    double x, y, most; /* workers at the upper edge */
};

static double up(const struct panel *p, double workers)
{
    double part = log2(fmax(workers, 1)) / log2(fmax(p->most, 2));
    return p->y + PLOT_Y + PLOT_H * (1 - fmin(part, 1));
}

static double along(const struct panel *p, double part)
{
    return p->x + PLOT_X + PLOT_W * part;
}

static double highest(const struct tournament *t,
                      const struct tournament_match *m)
{
    double most = 2;
    for (size_t i = 0; i < t->plan->n_controllers; i++)
        for (uint32_t x = 0; x < SIM_CURVE; x++)
            most = fmax(most, m->scores[i].curve_workers[x]);
    for (uint32_t p = 0; p < m->oracle.n_phases; p++)
        most = fmax(most, m->oracle.phase[p].best.workers);
    return most;
}

static void draw_axes(FILE *f, const struct panel *p,
                      const struct tournament_match *m)
{
    fprintf(f, "<text class=\"t\" x=\"%.0f\" y=\"%.0f\">%s</text>\n",
            along(p, 0), p->y + 16, m->scenario.name);
    for (double w = 1; w <= p->most; w *= p->most > 40 ? 4 : 2)
        fprintf(f,
                "<path class=\"g\" d=\"M%.1f %.1fh%.0f\"/>"
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%.0f</text>\n",
                along(p, 0), up(p, w), PLOT_W, along(p, 0) - 5, up(p, w) + 4,
                w);
    fprintf(f,
            "<text x=\"%.1f\" y=\"%.1f\">0</text><text x=\"%.1f\" y=\"%.1f\" "
            "text-anchor=\"end\">batch %llu</text>\n",
            along(p, 0), p->y + PLOT_Y + PLOT_H + 14, along(p, 1),
            p->y + PLOT_Y + PLOT_H + 14,
            (unsigned long long)m->scenario.batches);
}

/* Steps; where nothing changes, nothing is written. */
static void draw_steps(FILE *f, const struct panel *p, const float *curve)
{
    fprintf(f, "M%.1f %.1f", along(p, 0), up(p, curve[0]));
    for (uint32_t x = 1; x < SIM_CURVE; x++)
        if (fabsf(curve[x] - curve[x - 1]) > 0)
            fprintf(f, "H%.1fV%.1f", along(p, (double)x / SIM_CURVE),
                    up(p, curve[x]));
    fprintf(f, "H%.1f", along(p, 1));
}

static void draw_oracle(FILE *f, const struct panel *p,
                        const struct tournament_match *m)
{
    const struct sim_oracle *o = &m->oracle;
    fputs("<path class=\"o\" d=\"", f);
    for (uint32_t i = 0; i < o->n_phases; i++)
        fprintf(
            f, "%s%.1f %.1fH%.1f", i ? "L" : "M",
            along(p, (double)o->phase[i].from / (double)m->scenario.batches),
            up(p, o->phase[i].best.workers),
            along(p, (double)o->phase[i].to / (double)m->scenario.batches));
    fputs("\"/>\n", f);
}

static void draw_panel(FILE *f, const struct tournament *t,
                       const struct tournament_match *m, double x, double y)
{
    struct panel p = {.x = x, .y = y, .most = highest(t, m)};
    draw_axes(f, &p, m);
    for (size_t i = t->plan->n_controllers; i-- > 0;) {
        line_begin(f, t, i);
        draw_steps(f, &p, m->scores[i].curve_workers);
        fprintf(f, "\"><title>%s</title></path>\n",
                t->plan->controllers[i]->name);
    }
    draw_oracle(f, &p, m);
}

/* The first of each family. */
static size_t first_ones(const struct tournament *t, const char **names,
                         size_t n, size_t *out)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t m = 0; m < t->n_matches; m++)
            if (strcmp(t->matches[m].scenario.family, names[i]) == 0) {
                out[found++] = m;
                break;
            }
    return found;
}

/* ---- Regrets ------------------------------------------------------------ */

#define CDF_H    260.0
#define CDF_FROM (-2.0) /* 0.01 %, decades */
#define CDF_TO   3.0

static double cdf_x(double regret)
{
    double decade = log10(fmax(100 * regret, 0.01));
    double part = (fmin(decade, CDF_TO) - CDF_FROM) / (CDF_TO - CDF_FROM);
    return PLOT_X + part * (WIDTH - PLOT_X - 30);
}

static void draw_regrets(FILE *f, const struct tournament *t, double y,
                         double *values)
{
    fprintf(f,
            "<text class=\"t\" x=\"%.0f\" y=\"%.0f\">share of the runs with at "
            "most that regret</text>\n",
            PLOT_X, y - 12);
    for (int d = (int)CDF_FROM; d <= (int)CDF_TO; d++)
        fprintf(f,
                "<path class=\"g\" d=\"M%.1f %.1fv%.0f\"/><text x=\"%.1f\" "
                "y=\"%.1f\" text-anchor=\"middle\">%g %%</text>\n",
                cdf_x(pow(10, d - 2)), y, CDF_H, cdf_x(pow(10, d - 2)),
                y + CDF_H + 15, pow(10, d));
    for (int q = 0; q <= 4; q++)
        fprintf(f,
                "<path class=\"g\" d=\"M%.0f %.1fH%.0f\"/><text x=\"%.0f\" "
                "y=\"%.1f\" text-anchor=\"end\">%d</text>\n",
                PLOT_X, y + CDF_H * (1 - q / 4.0), WIDTH - 30, PLOT_X - 5,
                y + CDF_H * (1 - q / 4.0) + 4, 25 * q);
    size_t n = t->n_matches;
    for (size_t i = t->plan->n_controllers; i-- > 0;) {
        for (size_t m = 0; m < n; m++)
            values[m] = t->matches[m].scores[i].regret;
        summary_quantile(values, n, 1); /* sorts */
        line_begin(f, t, i);
        fprintf(f, "M%.1f %.1f", cdf_x(0), y + CDF_H);
        for (size_t m = 0; m < n; m++)
            fprintf(f, "H%.1fV%.1f", cdf_x(values[m]),
                    y + CDF_H * (1 - (double)(m + 1) / (double)n));
        fprintf(f, "H%.0f\"><title>%s</title></path>\n", WIDTH - 30,
                t->plan->controllers[i]->name);
    }
}

static void draw_legend(FILE *f, const struct tournament *t, double y)
{
    size_t n = t->plan->n_controllers;
    for (size_t i = 0; i <= n; i++) {
        double x = PLOT_X + 170 * (double)(i % 6),
               at = y + ROW_H * (double)(i / 6);
        const char *name = "oracle, workers";
        if (i < n) {
            name = t->plan->controllers[i]->name;
            line_begin(f, t, i);
        } else {
            fputs("<path class=\"o\" d=\"", f);
        }
        fprintf(f, "M%.0f %.0fh26\"/><text x=\"%.0f\" y=\"%.0f\">%s</text>\n",
                x, at - 4, x + 32, at, name);
    }
}

/* ---- All of it ---------------------------------------------------------- */

bool page_svg(const struct tournament *t, FILE *f)
{
    size_t n = tables_family_names(t, NULL);
    const char **names = calloc(n + 1, sizeof(*names));
    size_t *shown = calloc(n + 1, sizeof(*shown));
    double *values = calloc(t->n_matches + 1, sizeof(*values));
    bool ok = names && shown && values;
    if (ok) {
        tables_family_names(t, names);
        size_t panels = first_ones(t, names, n, shown);
        size_t rows = (panels + COLUMNS - 1) / COLUMNS;
        double legend = ROW_H * (double)((t->plan->n_controllers + 6) / 6) + 16;
        double regrets = legend + (double)rows * PANEL_H + 40;
        double high = regrets + CDF_H + 30;
        fprintf(f,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ts\" "
                "viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"workers "
                "over batches, and regret, of each controller\">\n%s",
                WIDTH, high, style);
        fprintf(f,
                "<rect width=\"%.0f\" height=\"%.0f\" "
                "style=\"fill:var(--paper)\"/>\n",
                WIDTH, high);
        draw_legend(f, t, 20);
        for (size_t i = 0; i < panels; i++)
            draw_panel(f, t, &t->matches[shown[i]],
                       10 + PANEL_W * (double)(i % COLUMNS),
                       legend + PANEL_H * (double)(i / COLUMNS));
        draw_regrets(f, t, regrets, values);
        fputs("</svg>\n", f);
    }
    free(names);
    free(shown);
    free(values);
    return ok && !ferror(f);
}
