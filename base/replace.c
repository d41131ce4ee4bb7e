/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names beside a file are numbered. Who writes one has a lock on it, which
 * ends with its process; so one that is there without a lock was left by a
 * process that was killed, and goes:
 *
 *     name.tmp.0    locked: somebody writes it
 *     name.tmp.1    no lock: removed, made anew, locked, and written here
 *
 * Only who has the lock of a file removes or renames it (replace_names.pml).
 * Where a file system has no locks nothing is removed, and the next number is
 * taken.
 */
#include "base/replace.h"

#include "base/shield.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLAGS (O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

/* More are there only where more write at once, or nothing can be removed; then
 * names are of the process and a counter. */
#define NUMBERS 16u

static bool make_name(struct fdl_replace *r, uint32_t n)
{
    static _Atomic uint32_t begun; /* several may be in progress */
    int length;
    if (n < NUMBERS)
        length = snprintf(r->beside, sizeof(r->beside), "%s.tmp.%" PRIu32,
                          r->path, n);
    else
        length = snprintf(
            r->beside, sizeof(r->beside), "%s.tmp.%ld.%" PRIu32, r->path,
            (long)getpid(),
            atomic_fetch_add_explicit(&begun, 1, memory_order_relaxed));
    return length >= 0 && (size_t)length < sizeof(r->beside);
}

/* Whether the file still has the name that it was opened by. */
static bool has_name(int fd, const char *name)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && lstat(name, &named) == 0 &&
           S_ISREG(opened.st_mode) && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

/* Unless somebody writes it. */
static void remove_left(const char *name)
{
    int fd = open(name, FLAGS);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && has_name(fd, name))
        unlink(name);
    close(fd);
}

/* Whether it is this one's to write. Somebody else may have taken it for one
 * that was left, between its open and its lock. */
static bool is_ours(const struct fdl_replace *r)
{
    if (flock(r->fd, LOCK_EX | LOCK_NB) < 0)
        return errno != EWOULDBLOCK; /* there are no locks */
    return has_name(r->fd, r->beside);
}

/* false: another name has to be tried. */
static bool open_beside(struct fdl_replace *r, uint32_t n, unsigned mode)
{
    if (!make_name(r, n)) {
        r->error = ENAMETOOLONG;
        return true;
    }
    r->fd = open(r->beside, FLAGS | O_CREAT | O_EXCL, mode);
    if (r->fd < 0) {
        r->error = errno;
        return errno != EEXIST;
    }
    r->error = 0;
    if (n >= NUMBERS || is_ours(r))
        return true;
    close(r->fd);
    r->fd = -1;
    return false;
}

void fdl_replace_begin(struct fdl_replace *r, const char *path, unsigned mode)
{
    r->path = path;
    r->fd = -1;
    r->error = 0;
    r->unsynced = false;
    r->used = 0;
    for (uint32_t n = 0; n < NUMBERS && make_name(r, n); n++)
        remove_left(r->beside);
    for (uint32_t n = 0; !open_beside(r, n, mode); n++)
        ;
}

static void write_out(struct fdl_replace *r, const char *at, size_t n)
{
    struct fdl_shield shield;
    fdl_shield_raise(&shield);
    while (n > 0 && !r->error) {
        ssize_t wrote = write(r->fd, at, n);
        if (wrote < 0 && errno != EINTR)
            r->error = errno;
        at += wrote > 0 ? wrote : 0;
        n -= wrote > 0 ? (size_t)wrote : 0;
    }
    fdl_shield_lower(&shield);
}

void fdl_replace_write(struct fdl_replace *r, const void *data, size_t n)
{
    if (n > sizeof(r->buffer) - r->used) {
        write_out(r, r->buffer, r->used);
        r->used = 0;
    }
    if (n > sizeof(r->buffer)) {
        write_out(r, data, n);
        return;
    }
    if (n > 0)
        memcpy(r->buffer + r->used, data, n);
    r->used += n;
}

/* 0, or the errno of a close, which file systems of other machines may keep for
 * last. The lock stays. */
static int close_once(int fd)
{
    int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return again < 0 || close(again) < 0 ? errno : 0;
}

/* It is closed behind the rename: without its lock others may take it away. */
int fdl_replace_end(struct fdl_replace *r)
{
    if (r->fd < 0)
        return r->error;
    write_out(r, r->buffer, r->used);
    if (!r->error && !r->unsynced && fsync(r->fd) < 0 && errno != EINVAL)
        r->error = errno;
    if (!r->error)
        r->error = close_once(r->fd);
    if (!r->error && rename(r->beside, r->path) < 0)
        r->error = errno;
    if (r->error)
        unlink(r->beside);
    close(r->fd);
    r->fd = -1;
    return r->error;
}
