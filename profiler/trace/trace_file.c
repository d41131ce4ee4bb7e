/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a trace; trace_file.h has the picture. */
#include "profiler/trace/trace_file.h"

#include "base/shield.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NUMBERS 1000u /* traces of one name at once */

/* ---- Writing ------------------------------------------------------------ */

static bool write_at(int fd, const char *text, uint64_t length, uint64_t at)
{
    while (length > 0) {
        ssize_t n = pwrite(fd, text, length, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return false;
        text += n;
        at += (uint64_t)n;
        length -= (uint64_t)n;
    }
    return true;
}

static bool write_shielded(int fd, const char *text, uint64_t length,
                           uint64_t at)
{
    struct fdl_shield shield;
    fdl_shield_raise(&shield);
    bool done = write_at(fd, text, length, at);
    fdl_shield_lower(&shield);
    return done;
}

/* FDL_TRACE_TAIL bytes at out. */
static void make_tail(const struct fdl_trace_file *f,
                      const struct fdl_trace_end *end, bool complete, char *out)
{
    char text[FDL_TRACE_TAIL];
    int n =
        snprintf(text, sizeof(text),
                 "\n],\"feedline_end\":{\"complete\":%s,\"steps\":%" PRIu64
                 ",\"lost_notes\":%" PRIu64 ",\"cut\":\"%s\"}",
                 complete ? "true" : "false", end->steps, end->lost, f->reason);
    fdl_assert(n > 0 && (unsigned)n < sizeof(text) - 2);
    memset(out, ' ', FDL_TRACE_TAIL);
    memcpy(out, text, (size_t)n);
    out[FDL_TRACE_TAIL - 2] = '}';
    out[FDL_TRACE_TAIL - 1] = '\n';
}

static bool write_tail(const struct fdl_trace_file *f,
                       const struct fdl_trace_end *end, bool complete)
{
    char tail[FDL_TRACE_TAIL];
    make_tail(f, end, complete, tail);
    return write_shielded(f->fd, tail, sizeof(tail), f->at);
}

/* ---- Life --------------------------------------------------------------- */

static void forget(struct fdl_trace_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    free(f->path);
    free(f->partial);
    free(f->buffer);
    *f = (struct fdl_trace_file){.fd = -1};
}

void fdl_trace_file_discard(struct fdl_trace_file *f)
{
    if (f->partial && f->fd >= 0)
        unlink(f->partial);
    forget(f);
}

/* `path` made absolute, so that the program may change its directory, with ".N"
 * before its extension for N > 1. NULL: no memory. */
static char *numbered(const char *path, uint32_t n)
{
    char here[PATH_MAX] = "", number[16] = "";
    const char *name = strrchr(path, '/');
    const char *ending = strrchr(name ? name : path, '.');
    size_t stem = ending ? (size_t)(ending - path) : strlen(path);
    if (path[0] != '/' && !getcwd(here, sizeof(here)))
        here[0] = '\0';
    if (n > 1)
        snprintf(number, sizeof(number), ".%" PRIu32, n);
    size_t bytes = strlen(here) + strlen(path) + sizeof(number) + 2;
    char *out = malloc(bytes);
    if (out)
        snprintf(out, bytes, "%s%s%.*s%s%s", here, here[0] ? "/" : "",
                 (int)stem, path, number, path + stem);
    return out;
}

static int32_t make_names(struct fdl_trace_file *f, const char *path,
                          uint32_t n, bool exact)
{
    size_t bytes = strlen(path) + PATH_MAX + 64;
    free(f->path);
    free(f->partial);
    f->path = numbered(path, exact ? 1 : n);
    f->partial = malloc(bytes);
    if (!f->path || !f->partial)
        return fdl_fail_memory(bytes, "the path of a trace");
    if (exact)
        snprintf(f->partial, bytes, "%s.partial.%" PRIu32, f->path, n);
    else
        snprintf(f->partial, bytes, "%s.partial", f->path);
    return FEEDLINE_OK;
}

/* Whether the file is ours alone: nothing else writes it, and it did not get
 * its final name between opening and locking. A file system without locks does
 * not count. */
static bool is_ours(const struct fdl_trace_file *f)
{
    struct stat opened, named;
    if (flock(f->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return false;
    return fstat(f->fd, &opened) == 0 && stat(f->partial, &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

int32_t fdl_trace_file_open(struct fdl_trace_file *f, const char *path,
                            uint64_t limit, bool exact)
{
    *f = (struct fdl_trace_file){.limit = limit, .fd = -1};
    int32_t status = FEEDLINE_OK;
    for (uint32_t n = 1; n <= NUMBERS; n++) {
        status = make_names(f, path, n, exact);
        if (status < 0)
            goto out;
        f->fd = open(f->partial, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (f->fd < 0) {
            status = fdl_fail(FEEDLINE_EIO, "%s: open: %s", f->partial,
                              strerror(errno));
            goto out;
        }
        if (is_ours(f) && ftruncate(f->fd, 0) == 0)
            return FEEDLINE_OK;
        close(f->fd);
        f->fd = -1;
    }
    status = fdl_fail(FEEDLINE_EIO, "%s: %u traces of that name are written",
                      path, NUMBERS);
out:
    forget(f);
    return status;
}

static bool reserve(struct fdl_trace_file *f, uint64_t bytes)
{
    if (bytes <= f->capacity)
        return true;
    char *buffer = realloc(f->buffer, bytes);
    if (!buffer)
        return false;
    f->buffer = buffer;
    f->capacity = bytes;
    return true;
}

/* Ends the file where it is; its tail, for which room is reserved, says why.
 * Failure shows when the file is finished. */
static void cut(struct fdl_trace_file *f, const struct fdl_trace_end *end)
{
    f->cut = true;
    if (f->at > 0 && write_tail(f, end, false) &&
        ftruncate(f->fd, (off_t)(f->at + FDL_TRACE_TAIL)) != 0)
        snprintf(f->reason, sizeof(f->reason), "truncate: error %d", errno);
}

static int32_t add(struct fdl_trace_file *f, const char *events,
                   uint64_t length, const struct fdl_trace_end *end)
{
    uint64_t bytes = length + FDL_TRACE_TAIL;
    if (f->at + bytes > f->limit) {
        snprintf(f->reason, sizeof(f->reason),
                 "trace_limit of %" PRIu64 " bytes", f->limit);
        return fdl_fail(FEEDLINE_ERANGE,
                        "%s: the trace ends at its limit of %" PRIu64
                        " bytes; trace fewer steps or raise trace_limit",
                        f->path, f->limit);
    }
    if (!reserve(f, bytes)) {
        snprintf(f->reason, sizeof(f->reason), "out of memory");
        return fdl_fail_memory(bytes, "the text of a trace");
    }
    memcpy(f->buffer, events, length);
    make_tail(f, end, false, f->buffer + length);
    if (write_shielded(f->fd, f->buffer, bytes, f->at)) {
        f->at += length;
        return FEEDLINE_OK;
    }
    snprintf(f->reason, sizeof(f->reason), "write error %d", errno);
    return fdl_fail(FEEDLINE_EIO,
                    "%s: write at %" PRIu64 ": %s; the trace ends here",
                    f->partial, f->at, strerror(errno));
}

int32_t fdl_trace_file_add(struct fdl_trace_file *f, const char *events,
                           uint64_t length, const struct fdl_trace_end *end)
{
    if (f->cut || f->fd < 0)
        return fdl_fail(FEEDLINE_ESTATE, "%s: the trace has ended", f->path);
    int32_t status = add(f, events, length, end);
    if (status < 0)
        cut(f, end);
    return status;
}

int32_t fdl_trace_file_finish(struct fdl_trace_file *f,
                              const struct fdl_trace_end *end)
{
    int32_t status = FEEDLINE_OK;
    if (f->fd < 0)
        return status;
    bool written = write_tail(f, end, !f->cut);
    if (f->at == 0 || (!written && !f->cut))
        status = fdl_fail(FEEDLINE_EIO, "%s: write: %s", f->partial,
                          strerror(errno));
    else if (rename(f->partial, f->path) != 0)
        status = fdl_fail(FEEDLINE_EIO, "%s: rename to %s: %s", f->partial,
                          f->path, strerror(errno));
    if (f->at == 0)
        fdl_trace_file_discard(f);
    else
        forget(f);
    return status;
}
