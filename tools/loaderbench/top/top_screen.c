/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal. Plain escape sequences that every terminal since the VT220
 * knows, instead of ncurses: a frame is one write of whole lines, so nothing
 * flickers, there is no database of terminals to be missing in a container, and
 * leaving is one string that any thread can write, whatever the program is
 * doing.
 */
#include "tools/loaderbench/tool.h"
#include "tools/loaderbench/top/top.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* The other screen, no cursor, no wrapping; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[0m\033[?7h\033[?25h\033[?1049l"

#define CUT ">" /* where a line goes on, as less has it */

/* Guards the rest: the thread that takes signals may leave too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool entered, has_keys;
static struct termios before;

static void write_all(const char *text, size_t size)
{
    while (size > 0) {
        ssize_t got = write(STDOUT_FILENO, text, size);
        if (got < 0 && errno != EINTR)
            return; /* the terminal is gone: there is nobody to tell */
        if (got > 0) {
            text += got;
            size -= (size_t)got;
        }
    }
}

bool top_screen_enter(void)
{
    const char *term = getenv("TERM");
    if (!isatty(STDOUT_FILENO) || (term && strcmp(term, "dumb") == 0))
        return false;
    pthread_mutex_lock(&lock);
    has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0;
    if (has_keys) {
        struct termios raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        raw.c_cc[VSUSP] = _POSIX_VDISABLE; /* would leave this screen up */
        raw.c_cc[VQUIT] = _POSIX_VDISABLE;
        has_keys = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    }
    entered = true;
    write_all(ENTER, sizeof(ENTER) - 1);
    pthread_mutex_unlock(&lock);
    tool_at_exit(top_screen_leave);
    return true;
}

void top_screen_leave(void)
{
    pthread_mutex_lock(&lock);
    if (entered)
        write_all(LEAVE, sizeof(LEAVE) - 1);
    if (entered && has_keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
    entered = false;
    pthread_mutex_unlock(&lock);
}

void top_screen_size(int *width, int *height)
{
    struct winsize size;
    *width = 80;
    *height = 24;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
        size.ws_row > 0) {
        *width = size.ws_col;
        *height = size.ws_row;
    }
}

static bool in_number(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == ':';
}

/* Bytes of the first `width` characters; without a number that is only begun,
 * since what is left of it would be another one. */
static size_t cut(const char *text, int width)
{
    size_t at = 0;
    for (int n = 0; text[at] && n < width; n++) {
        do
            at++;
        while (((unsigned char)text[at] & 0xc0) == 0x80);
    }
    if (in_number(text[at]))
        while (at > 0 && in_number(text[at - 1]))
            at--;
    return at;
}

static const char *colour_of(enum top_style style)
{
    static const char *const codes[] = {
        [TOP_PLAIN] = "",          [TOP_BOLD] = "\033[1m",
        [TOP_DIM] = "\033[2m",     [TOP_GOOD] = "\033[1;32m",
        [TOP_FAIR] = "\033[1;33m", [TOP_BAD] = "\033[1;31m"};
    return tool_colour(codes[style]);
}

/* A line is erased before it is written: after a full one the cursor is still
 * on its last character. */
void top_screen_draw(const struct top_view *view, int width, int height)
{
    static char frame[TOP_LINES * (TOP_LINE_BYTES + 32) + 64];
    size_t at = (size_t)sprintf(frame, "\033[H");
    int i = 0;
    for (; i < (int)view->n && i < height; i++) {
        const struct top_line *line = &view->lines[i];
        const char *colour = colour_of(line->style);
        size_t bytes = cut(line->text, width);
        bool whole = !line->text[bytes];
        if (!whole)
            bytes = cut(line->text, width - 1);
        at += (size_t)sprintf(frame + at, "%s\033[K%s%.*s%s%s", i ? "\r\n" : "",
                              colour, (int)bytes, line->text, whole ? "" : CUT,
                              *colour ? "\033[0m" : "");
    }
    if (i < height)
        at += (size_t)sprintf(frame + at, "%s\033[J", i ? "\r\n" : "");
    pthread_mutex_lock(&lock);
    if (entered)
        write_all(frame, at);
    pthread_mutex_unlock(&lock);
}

char top_screen_key(double seconds)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    char key = 0;
    if (!has_keys) {
        tool_sleep_until(tool_seconds() + seconds);
        return 0;
    }
    if (poll(&in, 1, (int)(seconds * 1000)) <= 0)
        return 0;
    if (read(STDIN_FILENO, &key, 1) <= 0) {
        has_keys = false; /* hung up */
        return 0;
    }
    return key;
}
