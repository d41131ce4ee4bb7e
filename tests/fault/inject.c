/* SPDX-License-Identifier: Apache-2.0 */
/* Which call fails, and the wrappers of memory, threads and reading; see
 * inject.h. */
#include "inject.h"

#include "inject_held.h"
#include "tests/wrap_nowait.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>

#define MOST_PLACES 1024u

void *__real_mmap(void *p, size_t n, int prot, int flags, int fd, off_t at);

static _Atomic uint32_t armed; /* a bit of each kind */
static _Atomic uint32_t calls, fail_at;
static _Atomic uint32_t failed[INJECT_KINDS];
static _Atomic uint32_t one_in[INJECT_KINDS]; /* 0: the one at fail_at */
static _Atomic uint64_t seed;
static _Atomic bool fails_on;

/* ---- Which call --------------------------------------------------------- */

static void arm(uint32_t kinds)
{
    atomic_store(&calls, 0);
    for (uint32_t k = 0; k < INJECT_KINDS; k++)
        atomic_store(&failed[k], 0);
    atomic_store(&armed, kinds);
}

static void set_rate(uint32_t kinds, uint32_t one)
{
    for (uint32_t k = 0; k < INJECT_KINDS; k++)
        if (kinds >> k & 1)
            atomic_store(&one_in[k], one);
}

void inject_arm(enum inject_kind kind, uint32_t n, bool lasting)
{
    atomic_store(&armed, 0);
    set_rate(UINT32_MAX, 0);
    atomic_store(&fail_at, n);
    atomic_store(&fails_on, lasting);
    arm(UINT32_C(1) << kind);
}

void inject_arm_random(uint32_t kinds, uint64_t with, uint32_t one)
{
    atomic_store(&armed, 0);
    set_rate(kinds, one);
    atomic_store(&seed, with);
    arm(kinds);
}

void inject_also(uint32_t kinds, uint32_t one)
{
    set_rate(kinds, one);
    atomic_fetch_or(&armed, kinds);
}

uint32_t inject_disarm(void)
{
    atomic_store(&armed, 0);
    return atomic_load(&calls);
}

uint32_t inject_failed(void)
{
    uint32_t sum = 0;
    for (uint32_t k = 0; k < INJECT_KINDS; k++)
        sum += atomic_load(&failed[k]);
    return sum;
}

uint32_t inject_failed_of(enum inject_kind kind)
{
    return atomic_load(&failed[kind]);
}

/* splitmix64 */
static bool by_chance(uint32_t call, uint32_t one)
{
    uint64_t x = atomic_load(&seed) + call * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (x ^ (x >> 31)) % one == 0;
}

static bool is_it(enum inject_kind kind, uint32_t call)
{
    uint32_t one = atomic_load(&one_in[kind]), at = atomic_load(&fail_at);
    if (one > 0)
        return by_chance(call, one);
    return call == at || (call > at && atomic_load(&fails_on));
}

/* ---- From where --------------------------------------------------------- */

static struct seen {
    atomic_flag noting;
    const void *places[INJECT_KINDS][MOST_PLACES];
    uint32_t n[INJECT_KINDS];
} own, *seen = &own;

/* The same program is at the same addresses in a child. */
void inject_share_places(void)
{
    void *shared = __real_mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        abort();
    seen = shared;
}

static void note(enum inject_kind kind, const void *place)
{
    while (atomic_flag_test_and_set(&seen->noting))
        sched_yield();
    const void **places = seen->places[kind];
    uint32_t i = 0, n = seen->n[kind];
    while (i < n && places[i] != place)
        i++;
    if (i == n && n < MOST_PLACES)
        places[seen->n[kind]++] = place;
    atomic_flag_clear(&seen->noting);
}

uint32_t inject_places(enum inject_kind kind)
{
    return seen->n[kind];
}

bool inject_must_fail(enum inject_kind kind, const void *place)
{
    if (!(atomic_load(&armed) & UINT32_C(1) << kind) ||
        !is_it(kind, atomic_fetch_add(&calls, 1) + 1))
        return false;
    atomic_fetch_add(&failed[kind], 1);
    note(kind, place);
    return true;
}

/* ---- Memory ------------------------------------------------------------- */

#define HELD(p) inject_hold((p), __builtin_return_address(0))

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

WRAP(void *, malloc, size_t n)
{
    return MUST_FAIL(MEMORY) ? no_memory() : HELD(__real_malloc(n));
}

WRAP(void *, calloc, size_t n, size_t size)
{
    return MUST_FAIL(MEMORY) ? no_memory() : HELD(__real_calloc(n, size));
}

/* Forgotten first: another thread may get the block at once. */
WRAP(void *, realloc, void *p, size_t n)
{
    if (MUST_FAIL(MEMORY))
        return no_memory();
    bool known = inject_drop(p);
    void *longer = __real_realloc(p, n);
    if (!longer && known)
        HELD(p);
    return longer ? HELD(longer) : NULL;
}

WRAP(void *, aligned_alloc, size_t align, size_t n)
{
    return MUST_FAIL(MEMORY) ? no_memory()
                             : HELD(__real_aligned_alloc(align, n));
}

WRAP(void, free, void *p)
{
    inject_drop(p);
    __real_free(p);
}

WRAP(char *, strndup, const char *text, size_t n)
{
    return MUST_FAIL(MEMORY) ? no_memory() : HELD(__real_strndup(text, n));
}

int __wrap_asprintf(char **out, const char *format, ...);
int __wrap_asprintf(char **out, const char *format, ...)
{
    if (MUST_FAIL(MEMORY)) {
        errno = ENOMEM;
        return -1;
    }
    va_list values;
    va_start(values, format);
    int n = vasprintf(out, format, values);
    va_end(values);
    if (n >= 0)
        HELD(*out);
    return n;
}

WRAP(void *, mmap, void *p, size_t n, int prot, int flags, int fd, off_t at)
{
    if (MUST_FAIL(MEMORY)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *mapped = __real_mmap(p, n, prot, flags, fd, at);
    if (mapped != MAP_FAILED)
        inject_map((int64_t)n);
    return mapped;
}

WRAP(int, munmap, void *p, size_t n)
{
    inject_map(-(int64_t)n);
    return __real_munmap(p, n);
}

/* ---- Threads, and files that are read ----------------------------------- */

WRAP(int, pthread_create, pthread_t *t, const pthread_attr_t *attr,
     void *(*run)(void *), void *arg)
{
    return MUST_FAIL(THREAD) ? EAGAIN
                             : __real_pthread_create(t, attr, run, arg);
}

static int no(int error)
{
    errno = error;
    return -1;
}

/* `mode` is read as it is where there is none. */
WRAP(int, open, const char *path, int flags, mode_t mode)
{
    if (MUST_FAIL(OPEN))
        return no(EACCES);
    return MUST_FAIL(LIMIT) ? no(EMFILE) : __real_open(path, flags, mode);
}

WRAP(int, openat, int folder, const char *path, int flags, mode_t mode)
{
    if (MUST_FAIL(OPEN))
        return no(EACCES);
    return MUST_FAIL(LIMIT) ? no(EMFILE)
                            : __real_openat(folder, path, flags, mode);
}

WRAP(FILE *, fopen, const char *path, const char *mode)
{
    if (!MUST_FAIL(OPEN))
        return __real_fopen(path, mode);
    errno = EACCES;
    return NULL;
}

WRAP(DIR *, opendir, const char *path)
{
    if (!MUST_FAIL(OPEN))
        return __real_opendir(path);
    errno = EACCES;
    return NULL;
}

WRAP(DIR *, fdopendir, int fd)
{
    if (!MUST_FAIL(OPEN))
        return __real_fdopendir(fd);
    errno = EACCES;
    return NULL;
}

WRAP(int, fstat, int fd, struct stat *st)
{
    return MUST_FAIL(STAT) ? no(EIO) : __real_fstat(fd, st);
}

WRAP(int, stat, const char *path, struct stat *st)
{
    return MUST_FAIL(STAT) ? no(EIO) : __real_stat(path, st);
}

WRAP(ssize_t, pread, int fd, void *buf, size_t n, off_t at)
{
    if (MUST_FAIL(READ))
        return no(EIO);
    if (MUST_FAIL(SIGNAL))
        return no(EINTR);
    if (MUST_FAIL(EARLY_END))
        return 0;
    if (MUST_FAIL(SHORT))
        n = (n + 1) / 2;
    return __real_pread(fd, buf, n, at);
}

WRAP(ssize_t, read, int fd, void *buf, size_t n)
{
    struct stat st;
    bool file = __real_fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    return file && MUST_FAIL(READ) ? no(EIO) : __real_read(fd, buf, n);
}
