/* SPDX-License-Identifier: Apache-2.0 */
/* The page and its writer; see live_page.h. */
#include "loader/watch/live_page.h"

#include "base/shield.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WORDS      (sizeof(struct feedline_live_stats) / sizeof(uint64_t))
#define PAGE_BYTES (sizeof(struct layout))

_Static_assert(sizeof(struct feedline_live_stats) % sizeof(uint64_t) == 0,
               "the statistics are whole words");

struct layout {
    struct fdl_live_header header;
    _Atomic uint64_t copies[2][WORDS];
};

struct fdl_live_page {
    struct layout *shared;
    int fd;     /* by which others find it */
    uint64_t n; /* updates so far */
};

/* ---- Its life ----------------------------------------------------------- */

/* Owner-only and of fixed size: a reader that maps it never meets an end that
 * has moved. A limit of files is one of this memory too. */
static int open_unshielded(void)
{
    int fd = memfd_create(FDL_LIVE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    if (fchmod(fd, S_IRUSR | S_IWUSR) == 0 &&
        ftruncate(fd, (off_t)PAGE_BYTES) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static int open_memory(void)
{
    struct fdl_shield shield;
    fdl_shield_raise(&shield);
    int fd = open_unshielded();
    fdl_shield_lower(&shield);
    return fd;
}

static int64_t unix_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int32_t fail_with(struct fdl_live_page *p, const char *what)
{
    int32_t status = fdl_fail(FEEDLINE_ENOSYS,
                              "memory for loaderbench top: %s: %s; continuing "
                              "without (as with live=false)",
                              what, strerror(errno));
    fdl_live_page_destroy(p);
    return status;
}

int32_t fdl_live_page_create(uint32_t number, struct fdl_live_page **out)
{
    struct fdl_live_page *p = calloc(1, sizeof(*p));
    if (!p)
        return fdl_fail_memory(sizeof(*p), "a live page");
    p->fd = -1;
    p->fd = open_memory();
    if (p->fd < 0)
        return fail_with(p, "memfd_create");
    void *memory =
        mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
    if (memory == MAP_FAILED)
        return fail_with(p, "mmap");
    p->shared = memory;
    madvise(memory, PAGE_BYTES, MADV_DONTFORK); /* a child never writes it */

    struct fdl_live_header *h = &p->shared->header;
    h->version = FDL_LIVE_VERSION;
    h->pid = getpid();
    h->loader = number;
    h->header_bytes = sizeof(*h);
    h->started_unix_ns = unix_ns();
    h->stats_bytes = sizeof(struct feedline_live_stats);
    struct feedline_live_stats empty = {.struct_size = sizeof(empty),
                                        .pid = h->pid};
    fdl_live_page_publish(p, &empty);
    /* release: pairs with the load in live_reader.c; the rest is there. */
    atomic_store_explicit(&h->magic, FDL_LIVE_MAGIC, memory_order_release);
    *out = p;
    return FEEDLINE_OK;
}

void fdl_live_page_destroy(struct fdl_live_page *p)
{
    if (!p)
        return;
    if (p->shared) {
        /* release: pairs with the load in live_reader.c; a reader that sees the
         * end sees the last update. */
        atomic_store_explicit(&p->shared->header.ended, 1,
                              memory_order_release);
        munmap(p->shared, PAGE_BYTES);
    }
    if (p->fd >= 0)
        close(p->fd);
    free(p);
}

/* ---- Updates ------------------------------------------------------------ */

void fdl_live_page_publish(struct fdl_live_page *p,
                           const struct feedline_live_stats *stats)
{
    struct fdl_live_header *h = &p->shared->header;
    uint64_t n = ++p->n;
    _Atomic uint64_t *copy = p->shared->copies[n % 2];
    const char *from = (const char *)stats;
    atomic_store_explicit(&h->begun, n, memory_order_relaxed);
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t word;
        memcpy(&word, from + i * sizeof(word), sizeof(word));
        /* release: pairs with the loads in live_reader.c; a reader that sees
         * this word sees begun. A fence would do it once, but thread sanitizers
         * do not support fences, and on x86 neither costs anything. */
        atomic_store_explicit(&copy[i], word, memory_order_release);
    }
    /* release: pairs with the load in live_reader.c; the copy is whole. */
    atomic_store_explicit(&h->published, n, memory_order_release);
}
