/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers that fail on demand; see inject.h. */
#include "inject.h"

#include "tests/wrap_nowait.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>

static _Atomic int armed;
static _Atomic uint32_t calls, fail_at;
static _Atomic bool fails_on;

void inject_arm(enum inject_kind kind, uint32_t n, bool lasting)
{
    atomic_store(&armed, INJECT_NONE);
    atomic_store(&calls, 0);
    atomic_store(&fail_at, n);
    atomic_store(&fails_on, lasting);
    atomic_store(&armed, (int)kind);
}

uint32_t inject_disarm(void)
{
    atomic_store(&armed, INJECT_NONE);
    return atomic_load(&calls);
}

static bool must_fail(enum inject_kind kind)
{
    if (atomic_load(&armed) != (int)kind)
        return false;
    uint32_t call = atomic_fetch_add(&calls, 1) + 1;
    uint32_t at = atomic_load(&fail_at);
    return call == at || (call > at && atomic_load(&fails_on));
}

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

WRAP(void *, malloc, size_t n)
{
    return must_fail(INJECT_MEMORY) ? no_memory() : __real_malloc(n);
}

WRAP(void *, calloc, size_t n, size_t size)
{
    return must_fail(INJECT_MEMORY) ? no_memory() : __real_calloc(n, size);
}

WRAP(void *, realloc, void *p, size_t n)
{
    return must_fail(INJECT_MEMORY) ? no_memory() : __real_realloc(p, n);
}

WRAP(void *, aligned_alloc, size_t align, size_t n)
{
    return must_fail(INJECT_MEMORY) ? no_memory()
                                    : __real_aligned_alloc(align, n);
}

WRAP(void *, mmap, void *p, size_t n, int prot, int flags, int fd, off_t at)
{
    if (must_fail(INJECT_MEMORY)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(p, n, prot, flags, fd, at);
}

WRAP(int, pthread_create, pthread_t *t, const pthread_attr_t *attr,
     void *(*run)(void *), void *arg)
{
    return must_fail(INJECT_THREAD) ? EAGAIN
                                    : __real_pthread_create(t, attr, run, arg);
}

WRAP(int, open, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (must_fail(INJECT_OPEN)) {
        errno = EACCES;
        return -1;
    }
    return __real_open(path, flags, mode);
}

WRAP(int, fstat, int fd, struct stat *st)
{
    if (must_fail(INJECT_STAT)) {
        errno = EIO;
        return -1;
    }
    return __real_fstat(fd, st);
}

WRAP(ssize_t, pread, int fd, void *buf, size_t n, off_t at)
{
    if (must_fail(INJECT_READ)) {
        errno = EIO;
        return -1;
    }
    if (must_fail(INJECT_SHORT))
        n = (n + 1) / 2;
    return __real_pread(fd, buf, n, at);
}
