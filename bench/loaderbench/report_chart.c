/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/loaderbench/report_chart.h"

#include "bench/loaderbench/report_html.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define TOP    14 /* pixels above the highest value, for its words */
#define BOTTOM 20 /* below, for the seconds */

#define SMALLEST 0.0005 /* of a whole: less would be listed as 0.0 % */

/* What waits in a queue, and what is not known. */
static bool is_hatched(const char *css)
{
    static const char *const hatched[] = {
        "c-fetch_queue", "c-worker_wait", "c-transfer_queue", "c-slot",
        "c-residual",    "c-runq",        "c-starved",        "c-parked"};
    for (size_t i = 0; i < sizeof(hatched) / sizeof(*hatched); i++)
        if (strcmp(css, hatched[i]) == 0)
            return true;
    return false;
}

void chart_patterns(FILE *f)
{
    fputs("<svg width=\"0\" height=\"0\" class=\"hidden\" aria-hidden=\"true\">"
          "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" "
          "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
          "<rect width=\"2.4\" height=\"6\" class=\"hatch\"/></pattern></defs>"
          "</svg>\n",
          f);
}

void chart_swatch(FILE *f, const char *css)
{
    fprintf(f,
            "<svg class=\"swatch\" width=\"14\" height=\"14\" "
            "aria-hidden=\"true\"><rect width=\"14\" height=\"14\" rx=\"3\" "
            "class=\"%s\"/>",
            css);
    if (is_hatched(css))
        fputs("<rect width=\"14\" height=\"14\" rx=\"3\" "
              "fill=\"url(#hatch)\"/>",
              f);
    fputs("</svg>", f);
}

static void whole_bar(FILE *f, const char *label,
                      const struct chart_part *parts, size_t n, double whole)
{
    double at = 0;
    fprintf(f,
            "<svg class=\"bar\" width=\"100%%\" height=\"36\" role=\"img\" "
            "aria-label=\"%s\">\n",
            label);
    for (size_t i = 0; i < n; i++) {
        double width = 100 * parts[i].value / whole;
        if (!(width > 0.005))
            continue;
        char seconds[HTML_SHOWN];
        html_shown(parts[i].value, HTML_SECONDS, seconds);
        fprintf(f, "<g><title>%s: %s, %.1f %%</title>", parts[i].words, seconds,
                width);
        fprintf(f,
                "<rect x=\"%.3f%%\" width=\"%.3f%%\" height=\"36\" "
                "class=\"%s\"/>",
                at, width, parts[i].css);
        if (is_hatched(parts[i].css))
            fprintf(f,
                    "<rect x=\"%.3f%%\" width=\"%.3f%%\" height=\"36\" "
                    "fill=\"url(#hatch)\"/>",
                    at, width);
        fputs("</g>\n", f);
        at += width;
    }
    fputs("</svg>\n", f);
}

void chart_whole(FILE *f, const char *label, const struct chart_part *parts,
                 size_t n)
{
    double whole = 0;
    for (size_t i = 0; i < n; i++)
        whole += parts[i].value > 0 ? parts[i].value : 0;
    if (!(whole > 0))
        return;
    whole_bar(f, label, parts, n, whole);
    fputs("<ul class=\"legend\">\n", f);
    for (size_t i = 0; i < n; i++) {
        if (!(parts[i].value >= SMALLEST * whole))
            continue;
        fputs("<li>", f);
        chart_swatch(f, parts[i].css);
        fprintf(f, "<span>%s</span><b>", parts[i].words);
        html_value(f, NULL, parts[i].value / whole, HTML_PERCENT);
        fputs("</b><i>", f);
        html_value(f, NULL, parts[i].value, HTML_SECONDS);
        fputs("</i></li>\n", f);
    }
    fputs("</ul>\n", f);
}

double chart_x(const struct chart *c, double seconds)
{
    return c->seconds > 0 ? 100 * seconds / c->seconds : 0;
}

double chart_y(const struct chart *c, double value)
{
    double part = c->top > 0 ? value / c->top : 0;
    return TOP + c->height * (1 - (part > 1 ? 1 : part));
}

void chart_begin(struct chart *c, const char *label)
{
    fprintf(
        c->f,
        "<svg class=\"plot axis\" width=\"100%%\" height=\"%.0f\" role=\"img\" "
        "aria-label=\"%s\">\n",
        TOP + c->height + BOTTOM, label);
}

void chart_grid(const struct chart *c, double value, const char *words)
{
    double y = chart_y(c, value);
    fprintf(c->f,
            "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" "
            "y2=\"%.1f\"/><text x=\"-6\" y=\"%.1f\" text-anchor=\"end\">%s"
            "</text>\n",
            y, y, y + 4, words);
}

void chart_end(struct chart *c)
{
    double step = chart_round_up(c->seconds / 4);
    for (int i = 0; i <= 4 && i * step <= c->seconds * 1.0001; i++) {
        double x = chart_x(c, i * step);
        fprintf(c->f,
                "<text x=\"%.3f%%\" y=\"%.0f\" text-anchor=\"%s\">%.6g s"
                "</text>\n",
                x, TOP + c->height + BOTTOM - 5,
                i == 0   ? "start"
                : x > 96 ? "end"
                         : "middle",
                i * step);
    }
    fputs("</svg>\n", c->f);
}

void chart_end_at(struct chart *c, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fprintf(c->f,
                "<text x=\"%.3f%%\" y=\"%.0f\" text-anchor=\"%s\">%s</text>\n",
                chart_x(c, (double)i), TOP + c->height + BOTTOM - 5,
                i == 0       ? "start"
                : i + 1 == n ? "end"
                             : "middle",
                words[i]);
    fputs("</svg>\n", c->f);
}

double chart_round_up(double value)
{
    static const double steps[] = {1, 2, 2.5, 5, 10};
    if (!(value > 0))
        return 1;
    double scale = pow(10, floor(log10(value)));
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
        if (value <= steps[i] * scale * 1.0001)
            return steps[i] * scale;
    return 10 * scale;
}
