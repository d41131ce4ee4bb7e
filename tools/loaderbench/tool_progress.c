/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/tool_progress.h"

#include "tools/loaderbench/tool.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINE          512
#define OFTEN_SECONDS 0.2 /* between two counts on a terminal */
#define LOG_SECONDS   5.0 /* between two lines in a pipe */
#define TOLD_SECONDS  1.0 /* of work, before the rest is told */

static bool asked; /* before there are threads */

/* Guarded by lock: what is on the screen, and when the next one may be. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool on_screen;
static double next_log;
static _Atomic double next_count;

void progress_ask(void)
{
    asked = true;
}

bool progress_is_shown(void)
{
    return asked || tool_is_terminal(STDERR_FILENO);
}

static int columns(void)
{
    struct winsize size = {0};
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
    return known && size.ws_col > 1 ? size.ws_col - 1 : LINE;
}

static void show_on_terminal(const char *line)
{
    if (*line || on_screen)
        fprintf(stderr, "\r\033[K%.*s", columns(), line);
    on_screen = *line != '\0';
    fflush(stderr);
}

static void show_in_pipe(const char *line)
{
    double now = tool_seconds();
    if (!*line || now < next_log)
        return;
    next_log = now + LOG_SECONDS;
    tool_say("%s", line);
}

void progress_line(const char *fmt, ...)
{
    char line[LINE];
    va_list args;
    if (!progress_is_shown())
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    pthread_mutex_lock(&lock);
    if (tool_is_terminal(STDERR_FILENO))
        show_on_terminal(line);
    else
        show_in_pipe(line);
    pthread_mutex_unlock(&lock);
}

/* "7 s", "12 min" */
static void put_time(double seconds, char *out, size_t room)
{
    if (seconds < 100)
        snprintf(out, room, "%.0f s", ceil(seconds));
    else if (seconds < 6000)
        snprintf(out, room, "%.0f min", ceil(seconds / 60));
    else
        snprintf(out, room, "%.1f h", seconds / 3600);
}

void progress_rest(double part, double begin, char out[PROGRESS_REST])
{
    char time[16];
    double spent = tool_seconds() - begin;
    out[0] = '\0';
    if (!(part >= 0))
        return;
    part = fmin(part, 1);
    if (part < 0.001 || spent < TOLD_SECONDS) {
        snprintf(out, PROGRESS_REST, " (%.0f %%)", floor(100 * part));
        return;
    }
    put_time(spent * (1 - part) / part, time, sizeof(time));
    snprintf(out, PROGRESS_REST, " (%.0f %%, %s left)", floor(100 * part),
             time);
}

void progress_count(const struct progress *p, uint64_t done)
{
    char rest[PROGRESS_REST];
    double now = tool_seconds();
    /* relaxed: two threads that both show it do no harm. */
    if (!progress_is_shown() ||
        now < atomic_load_explicit(&next_count, memory_order_relaxed))
        return;
    atomic_store_explicit(&next_count, now + OFTEN_SECONDS,
                          memory_order_relaxed);
    double spent = now - p->begin;
    progress_rest((double)done / (double)p->all, p->begin, rest);
    progress_line("%s: %" PRIu64 " of %" PRIu64 " %s, %.3g/s%s", p->what, done,
                  p->all, p->unit, spent > 0 ? (double)done / spent : 0, rest);
}
