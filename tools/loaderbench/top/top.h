/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench top: the live view of a loader in another process.
 *
 *     feedline_live_read --> top_rates --> top_view: lines --> top_screen
 *     counters now and       per second,   with priorities,    a terminal, or
 *     a moment ago           fractions     whatever the width  plain text
 */
#ifndef LOADERBENCH_TOP_H
#define LOADERBENCH_TOP_H

#include <feedline/live.h>

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- top_rates.c: what happened between two readings -------------------- */

#define TOP_PARTS 32

struct top_part {
    const char *name; /* for people */
    char key[32];     /* as in the metrics */
    double fraction;
};

/* -1: not known, for nothing happened that would tell. */
struct top_rates {
    double seconds;                                   /* between the two */
    double images, batches, read_bytes, copied_bytes; /* per second */
    double from_storage;       /* of read_bytes, that storage delivered; -1 */
    double stall, device_idle; /* fractions */
    size_t n_causes, n_states;
    struct top_part causes[TOP_PARTS]; /* of the wall, the largest first */
    struct top_part states[TOP_PARTS]; /* of the workers' time, in order */
    double cpu_cores, machine, throttled;
};

/* before == NULL, or of another life of the counters: since the start. */
void top_rates(const struct feedline_live_stats *before,
               const struct feedline_live_stats *now, struct top_rates *out);

/* ---- top_view.c: lines -------------------------------------------------- */

#define TOP_LINES      48
#define TOP_LINE_BYTES 640

enum top_style { TOP_PLAIN, TOP_BOLD, TOP_DIM, TOP_GOOD, TOP_FAIR, TOP_BAD };

struct top_line {
    char text[TOP_LINE_BYTES];
    enum top_style style;
    int priority; /* the highest go first where there is no room */
};

struct top_view {
    struct top_line lines[TOP_LINES];
    size_t n;
    int width; /* columns of the terminal */
};

/* The host stall of the last updates, the newest at the end; < 0: not known. */
#define TOP_HISTORY 48
struct top_history {
    double stall[TOP_HISTORY];
    size_t n;
};

/* What is shown, but for the numbers. */
struct top_subject {
    struct feedline_live_info info;
    struct top_history history;
    const char *notice; /* "paused", "process 12 is gone"; NULL: none */
    bool help;
    bool keys; /* there is somebody to press them */
};

void top_view_make(struct top_view *view, const struct top_subject *subject,
                   const struct feedline_live_stats *now,
                   const struct top_rates *rates);

/* Takes out lines until so many are left. */
void top_view_fit(struct top_view *view, size_t height);

json_t *top_json(const struct feedline_live_info *info,
                 const struct feedline_live_stats *now,
                 const struct top_rates *rates);

/* ---- top_screen.c: the terminal ----------------------------------------- */

/* false: standard output is no terminal that could be drawn on. */
bool top_screen_enter(void);

/* As it was before; nothing if it was not entered. Any thread, any number of
 * times. */
void top_screen_leave(void);
void top_screen_size(int *width, int *height);

/* One write, cut to the terminal's size. */
void top_screen_draw(const struct top_view *view, int width, int height);

/* Waits up to so long for a key; 0: none. */
char top_screen_key(double seconds);

#endif
