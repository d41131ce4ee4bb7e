/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chart of lines in a terminal. Drawn in a grid of characters: markers where
 * something was measured, dots between them, which say nothing but which
 * markers belong together. Colour and other characters than ASCII only where
 * they are understood.
 */
#ifndef LOADERBENCH_PLOT_H
#define LOADERBENCH_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#define PLOT_LINES  8  /* further ones are left out, which is said */
#define PLOT_HEIGHT 13 /* each third row has a number, and so have both ends */

struct plot_line {
    char label[32];
    const double *x, *y; /* x ascending */
    size_t n;
    bool steps; /* stays at y until the next x; no markers */
};

struct plot_tick {
    double x;
    char text[16];
};

struct plot {
    const char *title;
    const struct plot_line *lines;
    size_t n_lines;
    const struct plot_tick *ticks;
    size_t n_ticks;
    const char *x_words;   /* below the ticks */
    double mark_x, mark_y; /* NAN: no mark */
    const char *mark_words;
    int height; /* rows; 0: PLOT_HEIGHT */
};

/* On standard output; nothing if there is no line with a point. */
void plot_print(const struct plot *p);

#endif
