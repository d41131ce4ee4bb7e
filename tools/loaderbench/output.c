/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/output.h"

#include "tools/loaderbench/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Standard output ---------------------------------------------------- */

/* Standard output stays unwritable, so that using it is an error. */
void output_begin(void)
{
    static const int modes[3] = {O_RDONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", modes[fd]); /* the lowest one is free */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

/* Errors of long ago have no errno any more. */
int output_end(int rc)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    if (fflush(stdout) != 0 || fclose(stdout) != 0)
        failed = true;
    if (!failed)
        return rc;
    tool_say("standard output: %s",
             errno ? strerror(errno) : "not all of it could be written");
    return rc == TOOL_DONE || rc == TOOL_MISSED ? TOOL_ENVIRONMENT : rc;
}

/* ---- Files -------------------------------------------------------------- */

#define FLAGS (O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
#define NAMES 16u /* beside one file at once */

static bool has_name(int fd, const char *name)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && lstat(name, &named) == 0 &&
           S_ISREG(opened.st_mode) && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

static void remove_left(const char *name)
{
    int fd = open(name, FLAGS);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && has_name(fd, name))
        unlink(name);
    close(fd);
}

/* false: another one has just taken it for one that was left. Where a file
 * system has no locks, none is needed. */
static bool is_ours(int fd, const char *name)
{
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno != EWOULDBLOCK;
    return has_name(fd, name);
}

/* A new file beside `path`, "path.tmp.0" or the next number that nobody writes;
 * its name is the caller's to free. -1: errno says why. Who writes one has a
 * lock on it: what has none was left by a run that was killed, and goes. */
static int open_beside(const char *path, char **name)
{
    size_t room = strlen(path) + 16;
    int fd = -1;
    *name = malloc(room);
    for (unsigned n = 0; *name && n < NAMES; n++) {
        snprintf(*name, room, "%s.tmp.%u", path, n);
        remove_left(*name);
    }
    for (unsigned n = 0; *name && n < NAMES && fd < 0; n++) {
        snprintf(*name, room, "%s.tmp.%u", path, n);
        fd = open(*name, FLAGS | O_CREAT | O_EXCL, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
        if (fd >= 0 && !is_ours(fd, *name)) {
            close(fd);
            fd = -1;
            errno = EEXIST;
        }
    }
    return fd;
}

/* In a folder that takes no new file, a file may still be written in place. */
static bool takes_no_new_file(int error)
{
    return error == EACCES || error == EPERM || error == EROFS;
}

static int writable(const char *path)
{
    return access(path, W_OK) == 0 ? 0 : errno;
}

static int try_beside(const char *path, bool exists)
{
    char *name;
    int fd = open_beside(path, &name);
    int error = fd < 0 ? errno : 0;
    if (fd >= 0) {
        close(fd);
        unlink(name);
    }
    free(name);
    return exists && takes_no_new_file(error) ? 0 : error;
}

/* 0, or the errno of writing to it. */
static int check(const char *path)
{
    struct stat st;
    if (strcmp(path, "-") == 0)
        return 0;
    if (stat(path, &st) != 0)
        return errno == ENOENT ? try_beside(path, false) : errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    int error = writable(path);
    return error || !S_ISREG(st.st_mode) ? error : try_beside(path, true);
}

int output_check(const char *option, const char *path)
{
    int error = check(path);
    if (!error)
        return TOOL_DONE;
    tool_say("--%s %s: %s", option, path, strerror(error));
    return TOOL_ENVIRONMENT;
}

static int write_all(FILE *f, const char *text, size_t bytes)
{
    int error = fwrite(text, 1, bytes, f) == bytes ? 0 : errno;
    if (fflush(f) != 0 && !error)
        error = errno;
    return error;
}

static int write_in_place(const char *path, const char *text, size_t bytes)
{
    FILE *f = fopen(path, "w");
    int error = f ? write_all(f, text, bytes) : errno;
    if (f && fclose(f) != 0 && !error)
        error = errno;
    return error;
}

/* By way of a new file beside it, which takes its place. */
static int replace_file(const char *path, const char *text, size_t bytes)
{
    char *beside;
    int fd = open_beside(path, &beside);
    int error = fd < 0 ? errno : 0;
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (fd >= 0)
        error = f ? write_all(f, text, bytes) : errno;
    if (fd >= 0 && !error && rename(beside, path) != 0)
        error = errno;
    if (fd >= 0 && error)
        unlink(beside);
    if (f) /* last: the lock is its name's */
        fclose(f);
    else if (fd >= 0)
        close(fd);
    free(beside);
    if (fd < 0 && takes_no_new_file(error))
        error = write_in_place(path, text, bytes);
    return error;
}

bool output_is_free(bool quiet, const char *json, const char *report)
{
    return !quiet && !(json && strcmp(json, "-") == 0) &&
           !(report && strcmp(report, "-") == 0);
}

int output_write(const char *path, const char *text, size_t bytes)
{
    struct stat st;
    if (strcmp(path, "-") == 0) {
        fwrite(text, 1, bytes, stdout); /* output_end tells */
        return TOOL_DONE;
    }
    bool special = stat(path, &st) == 0 && !S_ISREG(st.st_mode);
    int error = special ? write_in_place(path, text, bytes)
                        : replace_file(path, text, bytes);
    if (!error)
        return TOOL_DONE;
    tool_say("%s: %s; nothing was written", path, strerror(error));
    return TOOL_ENVIRONMENT;
}
