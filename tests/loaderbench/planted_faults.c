/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk that fails, for a program that cannot be linked anew: LD_PRELOAD this.
 *
 *   PLANTED_FAULT   "CALL:N:ERRNO": the Nth call of write, fsync, rename, pread
 *                   or open of a new file fails so, from 1 on
 *   PLANTED_FOLDER  only files with this in their path count
 *
 * An end at any moment: tests/life/killed.c.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static char call_meant[16], folder[512];
static int error;
static unsigned long number;
static _Atomic unsigned long calls;

static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static ssize_t (*real_preadv2)(int, const struct iovec *, int, off_t, int);
static int (*real_fsync)(int);
static int (*real_rename)(const char *, const char *);
static int (*real_open)(const char *, int, ...);

__attribute__((constructor)) static void begin(void)
{
    const char *fault = getenv("PLANTED_FAULT");
    const char *where = getenv("PLANTED_FOLDER");
    *(void **)&real_write = dlsym(RTLD_NEXT, "write");
    *(void **)&real_pread = dlsym(RTLD_NEXT, "pread");
    *(void **)&real_preadv2 = dlsym(RTLD_NEXT, "preadv2");
    *(void **)&real_fsync = dlsym(RTLD_NEXT, "fsync");
    *(void **)&real_rename = dlsym(RTLD_NEXT, "rename");
    *(void **)&real_open = dlsym(RTLD_NEXT, "open");
    snprintf(folder, sizeof(folder), "%s", where ? where : "/");
    if (fault)
        sscanf(fault, "%15[^:]:%lu:%d", call_meant, &number, &error);
}

static int is_there(int fd)
{
    char link[64], path[512];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    return strstr(path, folder) != NULL;
}

static int is_meant(const char *call)
{
    return strcmp(call_meant, call) == 0;
}

/* -1 with its errno, if it is this one's turn; else 0. */
static int fails(const char *call)
{
    if (!is_meant(call) || atomic_fetch_add(&calls, 1) + 1 != number)
        return 0;
    errno = error;
    return -1;
}

EXPORT ssize_t write(int fd, const void *data, size_t bytes)
{
    return is_there(fd) && fails("write") ? -1 : real_write(fd, data, bytes);
}

EXPORT ssize_t pread(int fd, void *data, size_t bytes, off_t at)
{
    bool meant = is_meant("pread") && is_there(fd);
    return meant && fails("pread") ? -1 : real_pread(fd, data, bytes, at);
}

/* What is not in the page cache comes by pread. */
EXPORT ssize_t preadv2(int fd, const struct iovec *to, int n, off_t at,
                       int flags)
{
    if (!is_meant("pread") || !is_there(fd))
        return real_preadv2(fd, to, n, at, flags);
    errno = EAGAIN;
    return -1;
}

EXPORT int fsync(int fd)
{
    return is_there(fd) && fails("fsync") ? -1 : real_fsync(fd);
}

EXPORT int rename(const char *from, const char *to)
{
    return strstr(to, folder) && fails("rename") ? -1 : real_rename(from, to);
}

EXPORT int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    bool meant = flags & O_CREAT && strstr(path, folder);
    return meant && fails("open") ? -1 : real_open(path, flags, mode);
}
