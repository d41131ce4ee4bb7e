/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all commands share: exit statuses, messages, Ctrl-C.
 *
 * Results go to standard output, everything else to standard error, each
 * message on one line that starts with "loaderbench: ".
 */
#ifndef LOADERBENCH_TOOL_H
#define LOADERBENCH_TOOL_H

#include <feedline/feedline.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOOL_SCHEMA_VERSION 1

enum tool_exit {
    TOOL_DONE = 0,
    TOOL_MISSED = 1,      /* a threshold was missed */
    TOOL_USAGE = 2,       /* what was asked for makes no sense */
    TOOL_DATA = 3,        /* data errors above the allowed rate */
    TOOL_ENVIRONMENT = 4, /* this machine cannot do it */
    TOOL_INTERRUPTED = 130
};

/* "loaderbench: ..." on standard error. */
void tool_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* "1 worker", "2 workers": a format and its two arguments. */
#define TOOL_COUNT             "%lld %s"
#define TOOL_COUNT_OF(n, noun) (long long)(n), (n) == 1 ? noun : noun "s"

/* Prints feedline's last error and returns its exit status: during set-up, a
 * wrong value or a missing file is a usage error; while running, a failed
 * sample is a data error. */
int tool_setup_failed(int32_t status);
int tool_run_failed(int32_t status);

/* Says that memory ran out; an exit status. */
int tool_no_memory(void);

/* Prints the library's log lines that came since the last call. */
void tool_drain_log(void);

/* One that takes more than text. */
bool tool_is_terminal(int fd);

/* Colour is for people: not in a pipe, not with NO_COLOR. */
const char *tool_colour(const char *code); /* code, or "" */

/* Of the lines on standard output: TOOL_COLUMNS, or what a narrower terminal
 * has. */
#define TOOL_COLUMNS 80
int tool_columns(void);

/* Seconds on the monotonic clock, and of CPU time of the process. */
double tool_seconds(void);
double tool_cpu_seconds(void);

/* Of n numbers, which are sorted for it; n > 0. */
double tool_median(double *x, size_t n);

/* A gain of throughput as a fraction: "+12 %", from +900 % on "10 times". */
#define TOOL_GAIN 40 /* bytes */
void tool_gain(double gain, char out[TOOL_GAIN]);

/* "3%" or "0.03", below 1, of an option. An exit status. */
int tool_parse_fraction(const char *option, const char *text, double *out);

/* Ctrl-C and SIGTERM. From start on, both are blocked in every thread and a
 * thread of their own takes them: it sets the flag and interrupts the loader
 * under watch, if any. The second one ends the program. */
int tool_watch_start(void);
void tool_watch_loader(feedline_loader *l); /* NULL before it is destroyed */
bool tool_interrupted(void);

/* Called, on the thread that takes signals, before the second one ends the
 * program. */
void tool_at_exit(void (*restore)(void));

/* Sleeps to `seconds` of tool_seconds(), or until Ctrl-C. */
void tool_sleep_until(double seconds);

#endif
