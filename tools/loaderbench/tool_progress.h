/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far long work has come: one line on standard error that replaces the one
 * before, on a terminal; in a pipe nothing, or, with --progress, a line of its
 * own now and then. Any thread may show some.
 */
#ifndef LOADERBENCH_TOOL_PROGRESS_H
#define LOADERBENCH_TOOL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* --progress was given. */
void progress_ask(void);

/* Is any shown? */
bool progress_is_shown(void);

/* A line as it is, cut to the terminal's width; "" clears it. */
void progress_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* " (25 %, 7 s left)": the part in [0, 1] that is done of work that began at
 * `begin` on tool_seconds(), and from that the rest; "" for a part that is not
 * known, and no rest before there is something to tell it from. */
#define PROGRESS_REST 48 /* bytes */
void progress_rest(double part, double begin, char out[PROGRESS_REST]);

/* So many of all: "scan: 1200 of 5000 images, 840/s (24 %, 5 s left)". Shown
 * some times a second, however often it is called. */
struct progress {
    const char *what, *unit; /* "scan", "images" */
    uint64_t all;
    double begin; /* of the work, on tool_seconds() */
};
void progress_count(const struct progress *p, uint64_t done);

#endif
