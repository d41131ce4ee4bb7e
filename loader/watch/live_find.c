/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding live pages: the descriptors of a process that are links to memory of
 * our name, and hold what a page has to hold. A child that was forked has its
 * parent's descriptors, but not its parent's number: a page is its writer's
 * only.
 */
#include "base/status.h"
#include "loader/watch/live_page.h"
#include "loader/watch/live_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINK "/memfd:" FDL_LIVE_NAME /* as /proc shows it */

/* ---- The process -------------------------------------------------------- */

int fdl_live_process(int32_t pid)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%" PRId32, pid);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Bytes read of one of its files, at most capacity - 1; NUL behind them. */
static size_t read_file(int process, const char *name, char *text,
                        size_t capacity)
{
    ssize_t got = -1;
    int fd = openat(process, name, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        do
            got = read(fd, text, capacity - 1);
        while (got < 0 && errno == EINTR);
        close(fd);
    }
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

bool fdl_live_process_runs(int process)
{
    /* "12 (name, with any characters) S 1 ..." */
    char text[512];
    if (read_file(process, "stat", text, sizeof(text)) == 0)
        return false;
    const char *state = strrchr(text, ')');
    return state && state[1] == ' ' && state[2] != 'Z' && state[2] != 'X';
}

void fdl_live_command(const char *line, size_t bytes, char command[64])
{
    while (bytes > 0 && (line[bytes - 1] == '\0' || line[bytes - 1] == '\n'))
        bytes--;
    /* 63 bytes are soon spent on a program's folder, and say less. */
    size_t start = 0;
    for (size_t i = 0; i < bytes && line[i] && line[i] != ' '; i++)
        if (line[i] == '/' && i + 1 < bytes)
            start = i + 1;
    size_t kept = bytes - start < 63 ? bytes - start : 63;
    for (size_t i = 0; i < kept; i++)
        command[i] = line[start + i] ? line[start + i] : ' ';
    memset(command + kept, 0, 64 - kept);
    fdl_live_clean_text(command, 64);
}

static void read_command(int process, char command[64])
{
    char text[4096];
    size_t bytes = read_file(process, "cmdline", text, sizeof(text));
    if (bytes == 0)
        bytes = read_file(process, "comm", text, sizeof(text));
    fdl_live_command(text, bytes, command);
}

/* Its number as it sees itself: in a container that is another one. */
static int32_t own_number(int process, int32_t pid)
{
    char text[4096];
    read_file(process, "status", text, sizeof(text));
    const char *line = strstr(text, "\nNSpid:");
    const char *end = line ? strchr(line + 1, '\n') : NULL;
    if (!end)
        return pid;
    const char *last = end;
    while (last > line && last[-1] >= '0' && last[-1] <= '9')
        last--;
    long number = strtol(last, NULL, 10);
    return last < end && number > 0 ? (int32_t)number : pid;
}

/* ---- Its pages ---------------------------------------------------------- */

/* A descriptor of what name, a link, leads to; -1: no page of ours. */
static int open_link(int folder, const char *name)
{
    char target[sizeof(LINK)];
    struct stat st;
    ssize_t got = readlinkat(folder, name, target, sizeof(target));
    /* " (deleted)" follows. */
    if (got < (ssize_t)sizeof(LINK) - 1 ||
        memcmp(target, LINK, sizeof(LINK) - 1) != 0)
        return -1;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    /* What is sealed is memory, and cannot shrink under its readers. */
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(fd, &st) == 0 &&
        S_ISREG(st.st_mode))
        return fd;
    close(fd);
    return -1;
}

static bool read_info(int fd, int32_t own, int32_t pid,
                      struct feedline_live_info *out)
{
    struct {
        uint64_t magic;
        uint32_t version;
        int32_t pid;
        uint32_t loader, header_bytes;
        int64_t started_unix_ns;
    } h;
    _Static_assert(sizeof(h) == offsetof(struct fdl_live_header, stats_bytes),
                   "what is the same in every version");
    if (pread(fd, &h, sizeof(h), 0) != sizeof(h))
        return false;
    if (h.magic != FDL_LIVE_MAGIC || h.pid != own)
        return false;
    *out = (struct feedline_live_info){
        .struct_size = sizeof(*out),
        .pid = pid,
        .loader = h.loader,
        .version = h.version,
        .started_unix_ns = h.started_unix_ns,
    };
    return true;
}

static int32_t fail_closed(int process, int32_t pid, int error)
{
    struct stat st;
    if (error == ENOENT || error == ESRCH || !fdl_live_process_runs(process))
        return fdl_fail(FEEDLINE_ENOENT, "there is no process %" PRId32, pid);
    if (error == EACCES || error == EPERM) {
        if (fstat(process, &st) == 0 && st.st_uid != geteuid())
            return fdl_fail(FEEDLINE_EIO,
                            "process %" PRId32 " belongs to user %u; only that "
                            "user and root can watch it",
                            pid, (unsigned)st.st_uid);
        return fdl_fail(FEEDLINE_EIO,
                        "process %" PRId32 " cannot be inspected (prctl "
                        "PR_SET_DUMPABLE, or privileges this process lacks)",
                        pid);
    }
    return fdl_fail(FEEDLINE_EIO, "/proc/%" PRId32 "/fd: %s", pid,
                    strerror(error));
}

int32_t fdl_live_pages(int process, int32_t pid,
                       bool (*found)(void *user, int fd,
                                     const struct feedline_live_info *info),
                       void *user)
{
    int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *links = fd >= 0 ? fdopendir(fd) : NULL;
    if (!links) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return fail_closed(process, pid, error);
    }
    int32_t own = 0; /* asked for when there is a page */
    bool more = true;
    errno = 0;
    for (struct dirent *e; more && (e = readdir(links)) != NULL; errno = 0) {
        struct feedline_live_info info;
        int page = e->d_name[0] == '.' ? -1 : open_link(fd, e->d_name);
        if (page < 0)
            continue;
        if (own == 0)
            own = own_number(process, pid);
        if (read_info(page, own, pid, &info)) {
            read_command(process, info.command);
            more = found(user, page, &info);
        }
        close(page);
    }
    int error = errno;
    closedir(links);
    return error ? fail_closed(process, pid, error) : FEEDLINE_OK;
}
