/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drawings as inline SVG: per cent across, pixels down, so that bars grow with
 * the page while text and hatching keep their size on a phone. What a drawing
 * shows also stands in words beside it; colours are chosen so that people who
 * see fewer of them can tell them apart, and what waits in a queue is hatched.
 */
#ifndef LOADERBENCH_REPORT_CHART_H
#define LOADERBENCH_REPORT_CHART_H

#include <stddef.h>
#include <stdio.h>

/* css names the colour: class "c-prep" of the style sheet. */
struct chart_part {
    const char *css, *words;
    double value; /* seconds */
};

/* One bar of all parts, which make the whole, and a table of them. */
void chart_whole(FILE *f, const char *label, const struct chart_part *parts,
                 size_t n);

/* The little square before the words of a colour. */
void chart_swatch(FILE *f, const char *css);

/* Once on a page: what hatching looks like. */
void chart_patterns(FILE *f);

/* A chart over time: seconds from 0 to `seconds` across, 0 to `top` up. */
struct chart {
    FILE *f;
    double seconds, top;
    double height; /* of the part that is drawn on, in pixels */
};

void chart_begin(struct chart *c, const char *label);
double chart_x(const struct chart *c, double seconds); /* in per cent */
double chart_y(const struct chart *c, double value);   /* in pixels */

/* A line across at a value with its words. */
void chart_grid(const struct chart *c, double value, const char *words);
void chart_end(struct chart *c); /* with the seconds below */

/* Or with other words, the i-th of which stands at i of c->seconds. */
void chart_end_at(struct chart *c, const char *const *words, size_t n);

/* The least of 1, 2, 2.5, 5, 10, ... that is no less; 1 for 0. */
double chart_round_up(double value);

#endif
