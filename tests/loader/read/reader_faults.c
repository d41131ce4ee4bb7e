/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/loader/read/reader_faults.h"

#include "tests/wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

struct faults faults = {.fstat_resize = -1, .pread_bad = -1};

void faults_clear(void)
{
    atomic_store(&faults.open_count, 0);
    atomic_store(&faults.opens, 0);
    atomic_store(&faults.advised, 0);
    atomic_store(&faults.advise_errno, 0);
    atomic_store(&faults.fstat_count, 0);
    atomic_store(&faults.fstat_resize, -1);
    atomic_store(&faults.pread_count, 0);
    atomic_store(&faults.pread_error_at, 0);
    atomic_store(&faults.pread_bad, -1);
    atomic_store(&faults.warm, false);
    atomic_store(&faults.pread_every, 0);
    atomic_store(&faults.pread_bytes, 0);
    atomic_store(&faults.direct_errno, 0);
    atomic_store(&faults.pread_crowd, 0);
    atomic_store(&faults.memory_count, 0);
    atomic_store(&faults.thread_count, 0);
    atomic_store(&faults.nth, 0);
}

int faults_reached(void)
{
    return atomic_exchange(&faults.nth, 0) <= 0;
}

static int use_up(_Atomic int32_t *count)
{
    int32_t left = atomic_load(count);
    while (left > 0)
        if (left == INT32_MAX ||
            atomic_compare_exchange_weak(count, &left, left - 1))
            return 1;
    return 0;
}

/* Reached at 1; stays below 0 afterwards. */
static int is_nth(void)
{
    int32_t left = atomic_load(&faults.nth);
    if (left <= 0)
        return 0;
    atomic_store(&faults.nth, left == 1 ? -1 : left - 1);
    return left == 1;
}

WRAP(int, open, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    atomic_fetch_add(&faults.opens, 1);
    if (use_up(&faults.open_count)) {
        errno = atomic_load(&faults.open_errno);
        return -1;
    }
    return __real_open(path, flags, mode);
}

WRAP(int, posix_fadvise, int fd, off_t offset, off_t bytes, int advice)
{
    if (advice == POSIX_FADV_RANDOM)
        atomic_fetch_add(&faults.advised, 1);
    if (atomic_load(&faults.advise_errno))
        return atomic_load(&faults.advise_errno);
    return __real_posix_fadvise(fd, offset, bytes, advice);
}

/* Through the path, as another process would: fd is open for reading only. */
static void resize(int fd, int64_t bytes)
{
    char link[64] = "/proc/self/fd/";
    size_t n = 14;
    char digits[16];
    size_t n_digits = 0;
    do
        digits[n_digits++] = (char)('0' + fd % 10);
    while ((fd /= 10) > 0);
    while (n_digits > 0)
        link[n++] = digits[--n_digits];
    if (truncate(link, (off_t)bytes) != 0)
        _exit(99);
}

WRAP(int, fstat, int fd, struct stat *st)
{
    if (use_up(&faults.fstat_count)) {
        errno = atomic_load(&faults.fstat_errno);
        return -1;
    }
    int result = __real_fstat(fd, st);
    int64_t bytes = atomic_load(&faults.fstat_resize);
    if (result == 0 && bytes >= 0)
        resize(fd, bytes);
    return result;
}

WRAP(ssize_t, pread, int fd, void *buf, size_t n, off_t offset)
{
    static _Atomic int32_t calls;
    int32_t every = atomic_load(&faults.pread_every);
    if ((every > 0 && atomic_fetch_add(&calls, 1) % every == 0) ||
        (offset >= atomic_load(&faults.pread_error_at) &&
         use_up(&faults.pread_count))) {
        errno = atomic_load(&faults.pread_errno);
        return -1;
    }
    int64_t bad = atomic_load(&faults.pread_bad);
    if (bad >= offset && (uint64_t)(bad - offset) < n) {
        errno = EIO;
        return -1;
    }
    int32_t refused = atomic_load(&faults.direct_errno);
    if (refused && fcntl(fd, F_GETFL) & O_DIRECT) {
        errno = refused;
        return -1;
    }
    static _Atomic uint32_t crowd;
    atomic_fetch_add(&crowd, 1);
    while (atomic_load(&crowd) < atomic_load(&faults.pread_crowd))
        sched_yield();
    size_t most = (size_t)atomic_load(&faults.pread_bytes);
    return __real_pread(fd, buf, most && most < n ? most : n, offset);
}

/* Samples come by pread, with its faults, unless they are `warm`. */
WRAP(ssize_t, preadv2, int fd, const struct iovec *to, int n, off_t at,
     int flags)
{
    if (to->iov_len > 1 && !atomic_load(&faults.warm)) {
        errno = EAGAIN;
        return -1;
    }
    return __real_preadv2(fd, to, n, at, flags);
}

WRAP(void *, aligned_alloc, size_t alignment, size_t bytes)
{
    if (use_up(&faults.memory_count) || is_nth())
        return NULL;
    return __real_aligned_alloc(alignment, bytes);
}

WRAP(void *, calloc, size_t n, size_t bytes)
{
    if (use_up(&faults.memory_count) || is_nth())
        return NULL;
    return __real_calloc(n, bytes);
}

WRAP(void *, malloc, size_t bytes)
{
    if (use_up(&faults.memory_count) || is_nth())
        return NULL;
    return __real_malloc(bytes);
}

WRAP(void *, mmap, void *at, size_t bytes, int prot, int flags, int fd,
     off_t offset)
{
    if (use_up(&faults.memory_count) || is_nth())
        return MAP_FAILED;
    return __real_mmap(at, bytes, prot, flags, fd, offset);
}

WRAP(int, pthread_create, pthread_t *out, const pthread_attr_t *attr,
     void *(*run)(void *), void *arg)
{
    if (use_up(&faults.thread_count) || is_nth())
        return EAGAIN;
    return __real_pthread_create(out, attr, run, arg);
}

WRAP(int, eventfd, unsigned value, int flags)
{
    if (is_nth()) {
        errno = EMFILE;
        return -1;
    }
    return __real_eventfd(value, flags);
}
