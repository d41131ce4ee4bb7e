/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk that fails, and an end at any moment, for a program that cannot be
 * linked anew: LD_PRELOAD this.
 *
 *   PLANTED_FAULT   "CALL:N:WHAT": what the Nth call of write, fsync, rename,
 *                   pread or open of a new file does, from 1 on: fails with an
 *                   errno, "28"; or, with "kill", the process ends, halfway
 *                   through bytes. CALL "any": the first three together
 *   PLANTED_FOLDER  only files with this in their path count
 *   PLANTED_COUNT   a file that gets the number of calls that could be meant,
 *                   of any kind
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static char call_meant[16], what[16], folder[512];
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
        sscanf(fault, "%15[^:]:%lu:%15s", call_meant, &number, what);
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("PLANTED_COUNT");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (!f)
        return;
    fprintf(f, "%lu\n", atomic_load(&calls));
    fclose(f);
}

static int is_there(int fd)
{
    char link[64], path[512];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    return strstr(path, folder) != NULL;
}

/* "any" counts calls of all kinds. */
static int is_now(const char *call)
{
    if (strcmp(call_meant, "any") != 0 && strcmp(call_meant, call) != 0)
        return 0;
    return atomic_fetch_add(&calls, 1) + 1 == number;
}

static int kills(void)
{
    if (strcmp(what, "kill") != 0)
        errno = atoi(what);
    return strcmp(what, "kill") == 0;
}

EXPORT ssize_t write(int fd, const void *data, size_t bytes)
{
    if (!is_there(fd) || !is_now("write"))
        return real_write(fd, data, bytes);
    if (kills()) {
        if (real_write(fd, data, bytes / 2) >= 0)
            raise(SIGKILL);
    }
    return -1;
}

EXPORT ssize_t pread(int fd, void *data, size_t bytes, off_t at)
{
    if (strcmp(call_meant, "pread") != 0 || !is_there(fd) || !is_now("pread"))
        return real_pread(fd, data, bytes, at);
    if (kills())
        raise(SIGKILL);
    return -1;
}

/* What is not in the page cache comes by pread. */
EXPORT ssize_t preadv2(int fd, const struct iovec *to, int n, off_t at,
                       int flags)
{
    if (strcmp(call_meant, "pread") != 0 || !is_there(fd))
        return real_preadv2(fd, to, n, at, flags);
    errno = EAGAIN;
    return -1;
}

EXPORT int fsync(int fd)
{
    if (!is_there(fd) || !is_now("fsync"))
        return real_fsync(fd);
    if (kills())
        raise(SIGKILL);
    return -1;
}

EXPORT int rename(const char *from, const char *to)
{
    if (!strstr(to, folder) || !is_now("rename"))
        return real_rename(from, to);
    if (kills())
        raise(SIGKILL);
    return -1;
}

EXPORT int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    if (!(flags & O_CREAT) || strcmp(call_meant, "open") != 0 ||
        !strstr(path, folder) || !is_now("open"))
        return real_open(path, flags, mode);
    if (kills())
        raise(SIGKILL);
    return -1;
}
