/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/loaderbench/document.h"

#include "bench/loaderbench/tool.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int unreadable(const char *path, int error)
{
    tool_say("%s: %s", path, strerror(error));
    return TOOL_USAGE;
}

int document_read(const char *path, json_t **out)
{
    json_error_t error;
    struct stat st;
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    *out = NULL;
    if (!f)
        return unreadable(path, errno);
    /* A folder can be opened and not be read. */
    int rc = TOOL_DONE;
    if (fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
        rc = unreadable(path, EISDIR);
    } else {
        *out = json_loadf(f, 0, &error);
        if (!*out && ferror(f)) {
            rc = unreadable(path, errno);
        } else if (!*out && S_ISREG(st.st_mode) && st.st_size == 0) {
            tool_say("%s is empty", path);
            rc = TOOL_DATA;
        } else if (!*out) {
            tool_say("%s: no JSON at line %d, column %d: %s", path, error.line,
                     error.column, error.text);
            rc = TOOL_DATA;
        }
    }
    if (f != stdin)
        fclose(f);
    return rc;
}

static int write_all(FILE *f, const char *text, size_t bytes)
{
    int error = fwrite(text, 1, bytes, f) == bytes ? 0 : errno;
    if (fflush(f) != 0 && !error)
        error = errno;
    return error;
}

/* By way of a new file beside it, which takes its place. */
static int replace_file(const char *path, const char *text, size_t bytes)
{
    static const char suffix[] = ".XXXXXX";
    size_t n = strlen(path);
    char *beside = malloc(n + sizeof(suffix));
    int error = ENOMEM, fd = -1;
    if (!beside)
        return error;
    memcpy(beside, path, n);
    memcpy(beside + n, suffix, sizeof(suffix));
    fd = mkstemp(beside);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    error = f ? write_all(f, text, bytes) : errno;
    mode_t mask = umask(0);
    umask(mask);
    if (f && fchmod(fd, 0666 & ~mask) != 0 && !error)
        error = errno;
    if (f && fclose(f) != 0 && !error)
        error = errno;
    if (!error && rename(beside, path) != 0)
        error = errno;
    if (error && fd >= 0)
        unlink(beside);
    free(beside);
    return error;
}

int document_replace(const char *path, const char *text, size_t bytes)
{
    struct stat st;
    int error;
    if (strcmp(path, "-") == 0) {
        error = write_all(stdout, text, bytes);
    } else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        FILE *f = fopen(path, "w");
        error = f ? write_all(f, text, bytes) : errno;
        if (f && fclose(f) != 0 && !error)
            error = errno;
    } else {
        error = replace_file(path, text, bytes);
    }
    if (!error)
        return TOOL_DONE;
    tool_say("%s: %s; nothing was written", path, strerror(error));
    return TOOL_ENVIRONMENT;
}
