/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of open shards. It makes no system calls of its own, so most of its
 * descriptors are pretended: numbers that are given out and used again as the
 * system does it, lowest first.
 */
#include "base/philox.h"
#include "base/status.h"
#include "base/thread.h"
#include "loader/read/shard_files.h"
#include "test.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>

#define SIZE_OF(fd) ((uint64_t)(fd)*100)

static struct fdl_shard_files *create(uint64_t n_files, rlim_t descriptors)
{
    struct rlimit limit;
    struct fdl_shard_files *s = NULL;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = descriptors;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(fdl_shard_files_create(n_files, &s), FEEDLINE_OK);
    return s;
}

static int keep(struct fdl_shard_files *s, uint32_t file, int fd)
{
    const struct fdl_open_shard shard = {
        .fd = fd, .file = file, .size = SIZE_OF(fd)};
    return fdl_shard_keep(s, &shard);
}

/* Its descriptor, or -1: it is not open. */
static int look(struct fdl_shard_files *s, uint32_t file)
{
    struct fdl_open_shard *shard = fdl_shard_take(s, file);
    if (!shard)
        return -1;
    int fd = shard->fd;
    assert_int_equal(shard->file, file);
    assert_int_equal(shard->size, SIZE_OF(fd));
    assert_int_equal(fdl_shard_give(s, shard, true), -1);
    return fd;
}

TEST(keeps_the_latest)
{
    struct fdl_shard_files *s = create(10, 12); /* three places */
    assert_int_equal(look(s, 7), -1);
    assert_int_equal(keep(s, 7, 107), -1);
    assert_int_equal(keep(s, 8, 108), -1);
    assert_int_equal(keep(s, 9, 109), -1);
    assert_int_equal(look(s, 7), 107);
    assert_int_equal(keep(s, 0, 100), 108);
    assert_int_equal(look(s, 8), -1);
    assert_int_equal(keep(s, 8, 208), 109);
    assert_int_equal(look(s, 8), 208);
    assert_int_equal(fdl_shard_drop(s), 107);
    assert_int_equal(fdl_shard_drop(s), 100);
    assert_int_equal(fdl_shard_drop(s), 208);
    assert_int_equal(fdl_shard_drop(s), -1);
    assert_int_equal(look(s, 8), -1);
    fdl_shard_files_destroy(s);
}

TEST(closes_nothing_that_is_read_from)
{
    struct fdl_shard_files *s = create(10, 8); /* two places */
    assert_int_equal(keep(s, 0, 100), -1);
    assert_int_equal(keep(s, 1, 101), -1);
    struct fdl_open_shard *first = fdl_shard_take(s, 0);
    struct fdl_open_shard *second = fdl_shard_take(s, 1);
    assert_ptr_equal(fdl_shard_take(s, 1), second);
    assert_int_equal(keep(s, 2, 102), 102);
    assert_int_equal(fdl_shard_drop(s), -1);
    assert_int_equal(fdl_shard_give(s, second, true), -1);
    assert_int_equal(fdl_shard_drop(s), -1);
    assert_int_equal(fdl_shard_give(s, second, true), -1);
    assert_int_equal(keep(s, 2, 102), 101);
    assert_int_equal(first->fd, 100);
    assert_int_equal(fdl_shard_give(s, first, true), -1);
    assert_int_equal(fdl_shard_drop(s), 100);
    assert_int_equal(fdl_shard_drop(s), 102);
    fdl_shard_files_destroy(s);
}

TEST(what_failed_is_opened_anew)
{
    struct fdl_shard_files *s = create(10, 100);
    assert_int_equal(keep(s, 3, 103), -1);
    assert_int_equal(keep(s, 3, 104), 104); /* opened twice at once */
    struct fdl_open_shard *old = fdl_shard_take(s, 3);
    assert_ptr_equal(fdl_shard_take(s, 3), old);
    assert_int_equal(fdl_shard_give(s, old, false), -1);
    assert_int_equal(look(s, 3), -1);
    assert_int_equal(keep(s, 3, 105), -1);
    assert_int_equal(look(s, 3), 105);
    assert_int_equal(fdl_shard_give(s, old, false), 103); /* the last one */
    assert_int_equal(look(s, 3), 105);
    assert_int_equal(fdl_shard_drop(s), 105);
    fdl_shard_files_destroy(s);
}

TEST(keeps_nothing_where_it_may_not)
{
    struct fdl_shard_files *s = create(5, 3); /* no place */
    assert_int_equal(keep(s, 0, 100), 100);
    assert_int_equal(fdl_shard_drop(s), -1);
    fdl_shard_files_destroy(s);

    s = create(5, 100);
    assert_int_equal(keep(s, 5, 100), 100);
    assert_int_equal(keep(s, UINT32_MAX, 100), 100);
    assert_null(fdl_shard_take(s, 5));
    assert_null(fdl_shard_take(s, UINT32_MAX));
    fdl_shard_files_destroy(s);

    assert_null(fdl_shard_take(NULL, 0));
    assert_int_equal(keep(NULL, 0, 100), 100);
    assert_int_equal(fdl_shard_drop(NULL), -1);
    fdl_shard_files_destroy(NULL);
}

TEST(destroy_closes_all)
{
    struct fdl_shard_files *s = create(100, 100);
    int first = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int second = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(keep(s, 0, first), -1);
    assert_int_equal(keep(s, 99, second), -1);
    fdl_shard_files_destroy(s);
    assert_int_equal(fcntl(first, F_GETFD), -1);
    assert_int_equal(fcntl(second, F_GETFD), -1);
}

/* ---- Many threads -------------------------------------------------------- */

#define THREADS 6
#define FILES   20
#define NUMBERS 64
#define FIRST   100000 /* no descriptor of this process */
#define STEPS   20000

static struct {
    struct fdl_shard_files *s;
    uint64_t seed;
    _Atomic uint32_t owner[NUMBERS]; /* file + 1; 0: the number is free */
    _Atomic uint32_t readers[NUMBERS];
    _Atomic uint32_t shared; /* reads from a descriptor of another sample */
    _Atomic uint32_t faults;
} crowd;

static void expect(bool holds, const char *what, int fd)
{
    if (holds)
        return;
    printf("%d %s\n", fd, what);
    atomic_fetch_add(&crowd.faults, 1);
}

static int open_number(uint32_t file)
{
    for (uint32_t n = 0;; n = (n + 1) % NUMBERS) {
        uint32_t none = 0;
        if (atomic_compare_exchange_strong(&crowd.owner[n], &none, file + 1))
            return FIRST + (int)n;
    }
}

static void close_number(int fd)
{
    if (fd < 0)
        return;
    expect(atomic_load(&crowd.readers[fd - FIRST]) == 0,
           "is closed while it is read from", fd);
    expect(atomic_exchange(&crowd.owner[fd - FIRST], 0) != 0, "is closed twice",
           fd);
}

/* Some reads last: who yields to others' processes is away for their time. */
static void read_number(int fd, uint32_t file)
{
    static _Thread_local uint32_t reads;
    atomic_fetch_add(&crowd.readers[fd - FIRST], 1);
    for (uint32_t i = 0; i < 2; i++) {
        expect(atomic_load(&crowd.owner[fd - FIRST]) == file + 1,
               "is another file", fd);
        if (++reads % 256 == 0)
            sched_yield();
    }
    atomic_fetch_sub(&crowd.readers[fd - FIRST], 1);
}

static void read_once(uint32_t file, bool good)
{
    struct fdl_open_shard *shard = fdl_shard_take(crowd.s, file);
    if (shard) {
        atomic_fetch_add(&crowd.shared, 1);
        read_number(shard->fd, file);
        expect(shard->size == SIZE_OF(shard->fd), "has another size",
               shard->fd);
        close_number(fdl_shard_give(crowd.s, shard, good));
    } else {
        int fd = open_number(file);
        read_number(fd, file);
        close_number(good ? keep(crowd.s, file, fd) : fd);
    }
}

static void *reader(void *arg)
{
    struct fdl_rng random;
    fdl_rng_init(&random, crowd.seed, 0, (uintptr_t)arg, 0);
    for (uint32_t i = 0; i < STEPS / THREADS; i++) {
        uint32_t r = fdl_rng_u32(&random);
        if (r % 64 == 0)
            close_number(fdl_shard_drop(crowd.s));
        read_once((r >> 8) % FILES, (r >> 16) % 16 != 0);
    }
    return NULL;
}

TEST(no_number_is_read_from_that_was_closed)
{
    struct fdl_thread threads[THREADS] = {0};
    crowd.s = create(FILES, 40); /* ten places */
    crowd.seed = test_seed();
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(
            fdl_thread_start(&threads[i], "reader", reader, (void *)i),
            FEEDLINE_OK);
    for (uint32_t i = 0; i < THREADS; i++)
        fdl_thread_join(&threads[i]);
    assert_true(crowd.shared > STEPS / 10);
    int fd;
    while ((fd = fdl_shard_drop(crowd.s)) >= 0)
        close_number(fd);
    assert_int_equal(crowd.faults, 0);
    for (uint32_t i = 0; i < NUMBERS; i++)
        assert_int_equal(crowd.owner[i], 0);
    fdl_shard_files_destroy(crowd.s);
}

TEST_MAIN("shard_files")
