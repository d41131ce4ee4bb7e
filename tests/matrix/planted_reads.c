/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slow storage for a program that cannot be linked anew: LD_PRELOAD this, and
 * the pread of a loader's reader threads is that of slow_reads.h, and nothing
 * is in the page cache.
 *
 *   PLANTED_READS   "latency_us bytes_per_second hiccup_us hiccup_every", 0 for
 *                   what is not wanted
 *   PLANTED_FOLDER  only files with this in their path; without it, all
 */
#include "slow_reads.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

typedef ssize_t (*pread_function)(int, void *, size_t, off_t);

typedef ssize_t (*preadv2_function)(int, const struct iovec *, int, off_t, int);

static pread_function real;
static preadv2_function real_preadv2;
static const char *folder;

ssize_t __real_pread(int fd, void *buffer, size_t bytes, off_t at);
ssize_t __wrap_pread(int fd, void *buffer, size_t bytes, off_t at);

ssize_t __real_pread(int fd, void *buffer, size_t bytes, off_t at)
{
    return real(fd, buffer, bytes, at);
}

ssize_t __real_preadv2(int fd, const struct iovec *to, int n, off_t at,
                       int flags);
ssize_t __wrap_preadv2(int fd, const struct iovec *to, int n, off_t at,
                       int flags);

ssize_t __real_preadv2(int fd, const struct iovec *to, int n, off_t at,
                       int flags)
{
    return real_preadv2(fd, to, n, at, flags);
}

__attribute__((constructor)) static void planted_begin(void)
{
    struct slow_reads how = {0};
    int64_t latency_us = 0, hiccup_us = 0;
    const char *text = getenv("PLANTED_READS");
    *(void **)&real = dlsym(RTLD_NEXT, "pread");
    *(void **)&real_preadv2 = dlsym(RTLD_NEXT, "preadv2");
    folder = getenv("PLANTED_FOLDER");
    if (text && sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNu32,
                       &latency_us, &how.bytes_per_second, &hiccup_us,
                       &how.hiccup_every) == 4) {
        how.latency_ns = latency_us * 1000;
        how.hiccup_ns = hiccup_us * 1000;
        slow_reads_set(&how);
    }
}

static int is_meant(int fd)
{
    char link[64], path[512];
    if (!folder)
        return 1;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    return strstr(path, folder) != NULL;
}

__attribute__((visibility("default"))) ssize_t pread(int fd, void *buffer,
                                                     size_t bytes, off_t at)
{
    return is_meant(fd) ? __wrap_pread(fd, buffer, bytes, at)
                        : __real_pread(fd, buffer, bytes, at);
}

__attribute__((visibility("default"))) ssize_t pread64(int fd, void *buffer,
                                                       size_t bytes, off_t at)
{
    return pread(fd, buffer, bytes, at);
}

__attribute__((visibility("default"))) ssize_t preadv2(int fd,
                                                       const struct iovec *to,
                                                       int n, off_t at,
                                                       int flags)
{
    return is_meant(fd) ? __wrap_preadv2(fd, to, n, at, flags)
                        : __real_preadv2(fd, to, n, at, flags);
}

__attribute__((visibility("default"))) ssize_t preadv64v2(
    int fd, const struct iovec *to, int n, off_t at, int flags)
{
    return preadv2(fd, to, n, at, flags);
}
