/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/tool.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

void tool_say(const char *fmt, ...)
{
    /* One write per line: workers of gen may speak at the same time. */
    char line[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    fprintf(stderr, "loaderbench: %s\n", line);
}

static void say_last_error(int32_t status)
{
    const char *detail = feedline_last_error();
    tool_say("%s", *detail ? detail : feedline_status_text(status));
}

int tool_setup_failed(int32_t status)
{
    say_last_error(status);
    switch (status) {
    case FEEDLINE_EINVAL:
    case FEEDLINE_ENOENT:
    case FEEDLINE_ERANGE:
        return TOOL_USAGE;
    case FEEDLINE_EDECODE:
        return TOOL_DATA;
    default:
        return TOOL_ENVIRONMENT;
    }
}

int tool_run_failed(int32_t status)
{
    say_last_error(status);
    switch (status) {
    case FEEDLINE_EDECODE:
    case FEEDLINE_EIO:
    case FEEDLINE_ENOENT:
    case FEEDLINE_ERANGE:
        return TOOL_DATA;
    case FEEDLINE_EINVAL:
        return TOOL_USAGE;
    default:
        return TOOL_ENVIRONMENT;
    }
}

int tool_no_memory(void)
{
    tool_say("out of memory");
    return TOOL_ENVIRONMENT;
}

void tool_drain_log(void)
{
    char line[1024];
    uint64_t needed;
    while (feedline_log_read(line, sizeof(line), &needed) == FEEDLINE_OK)
        tool_say("%s", line);
}

bool tool_is_terminal(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && (!term || strcmp(term, "dumb") != 0);
}

const char *tool_colour(const char *code)
{
    const char *no = getenv("NO_COLOR");
    return !(no && *no) && tool_is_terminal(STDOUT_FILENO) ? code : "";
}

int tool_columns(void)
{
    struct winsize size = {0};
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    return known && size.ws_col > 0 && size.ws_col < TOOL_COLUMNS
               ? size.ws_col
               : TOOL_COLUMNS;
}

static double clock_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double tool_seconds(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

double tool_cpu_seconds(void)
{
    return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static int compare_doubles(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

double tool_median(double *x, size_t n)
{
    qsort(x, n, sizeof(*x), compare_doubles);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

void tool_gain(double gain, char out[TOOL_GAIN])
{
    if (gain >= 9)
        snprintf(out, TOOL_GAIN, "%.0f times", gain + 1);
    else
        snprintf(out, TOOL_GAIN, "%+.0f %%", 100 * gain);
}

int tool_parse_fraction(const char *option, const char *text, double *out)
{
    char *end;
    bool percent;
    *out = strtod(text, &end);
    percent = strcmp(end, "%") == 0;
    if (percent)
        *out /= 100;
    if (end != text && (percent || !*end) && *out >= 0 && *out < 1)
        return TOOL_DONE;
    tool_say("--%s: '%s' is not a part of the whole, as 3%%", option, text);
    return TOOL_USAGE;
}
