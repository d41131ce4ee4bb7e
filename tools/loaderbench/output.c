/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/output.h"

#include "tools/loaderbench/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* A new file beside `path`; its name is the caller's to free. -1: errno says
 * why. */
static int open_beside(const char *path, char **name)
{
    static const char suffix[] = ".XXXXXX";
    size_t n = strlen(path);
    *name = malloc(n + sizeof(suffix));
    if (!*name)
        return -1;
    memcpy(*name, path, n);
    memcpy(*name + n, suffix, sizeof(suffix));
    return mkstemp(*name);
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

static int write_to(int fd, const char *text, size_t bytes)
{
    FILE *f = fdopen(fd, "w");
    int error = f ? write_all(f, text, bytes) : errno;
    mode_t mask = umask(0);
    umask(mask);
    if (fchmod(fd, 0666 & ~mask) != 0 && !error)
        error = errno;
    if (f && fclose(f) != 0 && !error)
        error = errno;
    return error;
}

/* By way of a new file beside it, which takes its place. */
static int replace_file(const char *path, const char *text, size_t bytes)
{
    char *beside;
    int fd = open_beside(path, &beside);
    int error = fd < 0 ? errno : write_to(fd, text, bytes);
    if (fd >= 0 && !error && rename(beside, path) != 0)
        error = errno;
    if (fd >= 0 && error)
        unlink(beside);
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
