/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of what writes, names and locks files; see inject.h. Pipes and
 * eventfds do not fail: no disk is full for them. */
#include "inject.h"
#include "tests/wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>

int __real_fstat(int fd, struct stat *st);

static bool is_file(int fd)
{
    struct stat st;
    return __real_fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static int no(int error)
{
    errno = error;
    return -1;
}

WRAP(ssize_t, write, int fd, const void *data, size_t n)
{
    if (!is_file(fd))
        return __real_write(fd, data, n);
    if (MUST_FAIL(WRITE))
        return no(ENOSPC);
    return __real_write(fd, data, MUST_FAIL(PART) ? (n + 1) / 2 : n);
}

WRAP(ssize_t, pwrite, int fd, const void *data, size_t n, off_t at)
{
    if (MUST_FAIL(WRITE))
        return no(ENOSPC);
    return __real_pwrite(fd, data, MUST_FAIL(PART) ? (n + 1) / 2 : n, at);
}

WRAP(int, fsync, int fd)
{
    return MUST_FAIL(SYNC) ? no(EIO) : __real_fsync(fd);
}

/* As Linux does: the descriptor is gone all the same. */
WRAP(int, close, int fd)
{
    int flags = fcntl(fd, F_GETFL);
    bool written = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
    bool fails = written && is_file(fd) && MUST_FAIL(SYNC);
    int result = __real_close(fd);
    return fails ? no(EIO) : result;
}

WRAP(int, rename, const char *from, const char *to)
{
    return MUST_FAIL(NAME) ? no(EACCES) : __real_rename(from, to);
}

WRAP(int, renameat, int from, const char *old, int to, const char *new)
{
    return MUST_FAIL(NAME) ? no(EACCES) : __real_renameat(from, old, to, new);
}

WRAP(int, mkdir, const char *path, mode_t mode)
{
    return MUST_FAIL(NAME) ? no(EACCES) : __real_mkdir(path, mode);
}

WRAP(int, mkdirat, int folder, const char *path, mode_t mode)
{
    return MUST_FAIL(NAME) ? no(EACCES) : __real_mkdirat(folder, path, mode);
}

WRAP(int, flock, int fd, int operation)
{
    if (!(operation & LOCK_UN) && MUST_FAIL(LOCK))
        return no(EWOULDBLOCK);
    return __real_flock(fd, operation);
}

WRAP(int, eventfd, unsigned value, int flags)
{
    return MUST_FAIL(LIMIT) ? no(EMFILE) : __real_eventfd(value, flags);
}

WRAP(int, memfd_create, const char *name, unsigned flags)
{
    return MUST_FAIL(LIMIT) ? no(EMFILE) : __real_memfd_create(name, flags);
}
