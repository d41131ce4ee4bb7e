/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The io_uring reader on rings that misbehave. The wrapped calls of liburing
 * change requests on their way in (so that short reads are real ones) and
 * results on their way out.
 */
#include "base/log.h"
#include "tests/loader/read/reader_rig.h"
#include "tests/wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMES 4096 /* more than any user_data */

/* Set before the reader starts, or atomic. */
static struct {
    int init_errno; /* of queue_init, for more entries than: */
    unsigned init_entries;
    int init_flags_errno; /* for any flags */
    bool probe_fails;
    int dontfork_errno;
    unsigned entries, flags; /* of the ring that was made */

    _Atomic int32_t enter_errno, enter_every; /* each n-th call; 0: none */
    _Atomic uint32_t read_bytes;              /* at most; 0: all */
    _Atomic int32_t opcode, result;           /* completions of this one */
    _Atomic int32_t spare, count;             /* after `spare` good ones */
    _Atomic bool every_other;                 /* of each request; else all */

    /* Reads of files that were seen. */
    _Atomic uint32_t n_reads, n_async, n_nonblocking;

    const char *opens[16]; /* the first paths; the ring's thread only */
    _Atomic uint32_t n_opens;
} ring_faults = {.init_entries = UINT32_MAX};

static void (*_Atomic before_submit)(void); /* NULL: nothing */

static uint8_t opcodes[NAMES]; /* by user_data, + 1; the ring's thread only */

WRAP(int, io_uring_queue_init_params, unsigned entries, struct io_uring *ring,
     struct io_uring_params *p)
{
    if (ring_faults.init_errno && entries > ring_faults.init_entries)
        return -ring_faults.init_errno;
    if (ring_faults.init_flags_errno && p->flags)
        return -ring_faults.init_flags_errno;
    ring_faults.entries = entries;
    ring_faults.flags = p->flags;
    return __real_io_uring_queue_init_params(entries, ring, p);
}

WRAP(struct io_uring_probe *, io_uring_get_probe_ring, struct io_uring *ring)
{
    return ring_faults.probe_fails ? NULL
                                   : __real_io_uring_get_probe_ring(ring);
}

WRAP(int, io_uring_ring_dontfork, struct io_uring *ring)
{
    return ring_faults.dontfork_errno ? -ring_faults.dontfork_errno
                                      : __real_io_uring_ring_dontfork(ring);
}

static void change_requests(struct io_uring *ring)
{
    uint32_t most = atomic_load(&ring_faults.read_bytes);
    for (unsigned i = ring->sq.sqe_head; i != ring->sq.sqe_tail; i++) {
        struct io_uring_sqe *sqe = &ring->sq.sqes[i & ring->sq.ring_mask];
        if (sqe->user_data < NAMES)
            opcodes[sqe->user_data] = (uint8_t)(sqe->opcode + 1);
        if (sqe->opcode == IORING_OP_OPENAT) {
            uint32_t n = atomic_fetch_add(&ring_faults.n_opens, 1);
            if (n < 16)
                ring_faults.opens[n] = (const char *)(uintptr_t)sqe->addr;
        }
        if (sqe->opcode != IORING_OP_READ)
            continue;
        if (most && sqe->len > most)
            sqe->len = most;
        atomic_fetch_add(&ring_faults.n_reads, 1);
        if (sqe->flags & IOSQE_ASYNC)
            atomic_fetch_add(&ring_faults.n_async, 1);
        if (fcntl(sqe->fd, F_GETFL) & O_NONBLOCK)
            atomic_fetch_add(&ring_faults.n_nonblocking, 1);
    }
}

static bool is_hit(const struct io_uring_cqe *cqe)
{
    static bool hit[NAMES]; /* the last time */
    if (cqe->user_data >= NAMES ||
        opcodes[cqe->user_data] != atomic_load(&ring_faults.opcode) + 1 ||
        atomic_load(&ring_faults.count) == 0)
        return false;
    if (atomic_load(&ring_faults.spare) > 0) {
        atomic_fetch_sub(&ring_faults.spare, 1);
        return false;
    }
    /* By request: by count, the same one could be hit each time. */
    if (atomic_load(&ring_faults.every_other)) {
        hit[cqe->user_data] = !hit[cqe->user_data];
        if (!hit[cqe->user_data])
            return false;
    }
    if (atomic_load(&ring_faults.count) != INT32_MAX)
        atomic_fetch_sub(&ring_faults.count, 1);
    return true;
}

static void change_results(struct io_uring *ring)
{
    struct io_uring_cqe *cqe;
    unsigned head;
    io_uring_for_each_cqe(ring, head, cqe)
    {
        if (!is_hit(cqe))
            continue;
        if (atomic_load(&ring_faults.opcode) == IORING_OP_OPENAT &&
            cqe->res >= 0)
            close(cqe->res);
        cqe->res = atomic_load(&ring_faults.result);
    }
}

WRAP(int, io_uring_submit_and_get_events, struct io_uring *ring)
{
    static uint32_t calls;
    int32_t every = atomic_load(&ring_faults.enter_every);
    void (*hook)(void) = atomic_load(&before_submit);
    if (hook)
        hook();
    if (every && calls++ % (uint32_t)every == 0)
        return -atomic_load(&ring_faults.enter_errno);
    change_requests(ring);
    int result = __real_io_uring_submit_and_get_events(ring);
    change_results(ring);
    return result;
}

static void change(int32_t opcode, int32_t result, int32_t count)
{
    atomic_store(&ring_faults.count, 0);
    atomic_store(&ring_faults.every_other, false);
    atomic_store(&ring_faults.spare, 0);
    atomic_store(&ring_faults.opcode, opcode);
    atomic_store(&ring_faults.result, result);
    atomic_store(&ring_faults.count, count);
}

/* ---- Requests ----------------------------------------------------------- */

TEST(short_reads_are_continued)
{
    SCOPED_RIG rig = rig_start_files(&fdl_reader_uring, 5, 20001);
    ring_faults.read_bytes = 777;
    rig_expect(rig, 20, 20);
    assert_int_equal(ring_faults.n_reads, 20 * (20001 / 777 + 1));
    assert_int_equal(ring_faults.n_async, 0);
    assert_int_equal(ring_faults.n_nonblocking, 0);
}

TEST(passing_errors_are_repeated)
{
    static const int32_t errors[] = {EINTR, EAGAIN, ECANCELED};
    SCOPED_RIG rig = rig_start_files(&fdl_reader_uring, 5, 20001);
    ring_faults.read_bytes = 7000;
    for (uint64_t i = 0; i < FDL_COUNT_OF(errors); i++) {
        change(IORING_OP_READ, -errors[i], INT32_MAX);
        ring_faults.every_other = true;
        rig_expect(rig, 20 * (i + 1), 20);
        /* Only what would block is left to a kernel thread. */
        assert_true((ring_faults.n_async > 0) == (errors[i] == EAGAIN));
        ring_faults.n_async = 0;
    }
    change(IORING_OP_OPENAT, -EINTR, 5);
    rig_expect(rig, 80, 20);
}

TEST(read_errors_name_the_offset)
{
    SCOPED_RIG rig = rig_start_files(&fdl_reader_uring, 1, 20000);
    ring_faults.read_bytes = 4096;
    change(IORING_OP_READ, -EIO, 0);
    ring_faults.spare = 1;
    ring_faults.count = 1;
    rig_expect_failure(rig, 0, FEEDLINE_EIO,
                       "read at 4096: Input/output error");
    rig_expect(rig, 2, 1);
    change(IORING_OP_READ, -EAGAIN, INT32_MAX);
    rig_expect_failure(rig, 2, FEEDLINE_EIO,
                       "read at 0: Resource temporarily unavailable");
    change(IORING_OP_READ, 0, 1);
    rig_expect_failure(rig, 3, FEEDLINE_EIO,
                       "file shrank while it was read: expected 20000 bytes, "
                       "got 0");
    rig_expect(rig, 5, 1);
}

TEST(open_errors_are_told)
{
    SCOPED_RIG rig = rig_start_files(&fdl_reader_uring, 4, 100);
    change(IORING_OP_OPENAT, -EMFILE, 5);
    rig_expect(rig, 8, 8);
    change(IORING_OP_OPENAT, -ENFILE, INT32_MAX);
    rig_expect_failure(rig, 8, FEEDLINE_EIO,
                       "open: Too many open files in system");
    change(IORING_OP_OPENAT, -ENOMEM, 1);
    rig_expect_failure(rig, 9, FEEDLINE_ENOMEM, "open: Cannot allocate memory");
    change(IORING_OP_OPENAT, -EAGAIN, 1);
    rig_expect_failure(rig, 10, FEEDLINE_EIO,
                       "open: Resource temporarily unavailable");
    rig_expect(rig, 12, 1);
}

TEST(the_oldest_sample_gets_a_descriptor_first)
{
    SCOPED_RIG rig = rig_with_files(8, 100);
    rig->depth = 8;
    change(IORING_OP_OPENAT, -EMFILE, 8);
    rig_start(rig, &fdl_reader_uring);
    rig_expect(rig, 8, 8);
    for (uint32_t i = 0; i < 16; i++)
        assert_ptr_equal(ring_faults.opens[i], rig->paths[i % 8]);
}

/* The real close was made; a second one by number finds nothing. */
TEST(a_canceled_close_is_made_up_for)
{
    SCOPED_RIG rig = rig_start_files(&fdl_reader_uring, 1, 100);
    change(IORING_OP_CLOSE, -ECANCELED, 1);
    rig_expect(rig, 1, 1);
    while (ring_faults.count > 0)
        sched_yield();
    rig_expect(rig, 10, 9);
}

TEST(a_busy_kernel_is_asked_again)
{
    static const int32_t errors[] = {EINTR, EAGAIN, EBUSY};
    SCOPED_RIG rig = rig_start_files(&fdl_reader_uring, 5, 100);
    for (uint64_t i = 0; i < FDL_COUNT_OF(errors); i++) {
        ring_faults.enter_errno = errors[i];
        ring_faults.enter_every = 2;
        rig_expect(rig, 50 * (i + 1), 50);
    }
}

/* ---- Shards -------------------------------------------------------------- */

static void expect_opens(struct rig *rig, uint64_t end, uint64_t n,
                         uint32_t opens)
{
    uint32_t before = ring_faults.n_opens;
    rig_expect(rig, end, n);
    assert_int_equal(ring_faults.n_opens - before, opens);
}

TEST(a_shard_is_kept_while_all_is_well)
{
    SCOPED_RIG rig = rig_start_shard(&fdl_reader_uring);
    expect_opens(rig, 20, 20, 1 + 4);

    change(IORING_OP_READ, -ESTALE, 1);
    rig_expect_failure(rig, 20, FEEDLINE_EIO, "read at 0: Stale file handle");
    expect_opens(rig, 23, 2, 1);
    change(IORING_OP_OPENAT, -EMFILE, 1); /* of a file: the shard gives way */
    expect_opens(rig, 25, 2, 2);
    expect_opens(rig, 29, 4, 1);
    change(IORING_OP_READ, -ECANCELED, 3);
    expect_opens(rig, 34, 5, 1);
}

/* The file finds no descriptor while the shard is read from. */
TEST(a_file_waits_for_a_shard)
{
    SCOPED_RIG rig = rig_with_files(1, 100);
    uint32_t shard = rig_add_file(rig, 20000);
    rig->extents[shard].part = true;
    rig_add_extent(rig, shard, 100, 9000);
    rig->depth = 3;
    rig_start(rig, &fdl_reader_uring);
    for (uint32_t round = 1; round < 100; round++) {
        rig_expect(rig, 3 * round, 3);
        change(IORING_OP_OPENAT, -EMFILE, 1);
    }
}

static struct fdl_window *window;
static struct fdl_read *_Atomic held;

static void give_back(void)
{
    struct fdl_read *r = atomic_exchange(&held, NULL);
    if (r)
        fdl_window_free(window, r);
}

/* After the only read under way has found none, and before the ring's thread
 * sleeps: nothing else would wake it. */
TEST(memory_that_comes_back_at_once_is_seen)
{
    SCOPED_RIG rig = rig_neighbours(8);
    rig_start(rig, &fdl_reader_uring);
    window = rig->window;
    fdl_window_set_allowance(window, 1); /* one buffer, as always */
    atomic_store(&before_submit, give_back);
    for (uint64_t n = 1; n < 300; n++) {
        fdl_window_issue(window, n);
        struct fdl_read *r = rig_take(rig);
        rig_check(rig, r);
        atomic_store(&held, r);
    }
    atomic_store(&before_submit, NULL);
    give_back();
}

/* The first read brings many samples and fails; of those that are then read by
 * themselves one does. */
TEST(neighbours_whose_read_fails_are_read_apart)
{
    SCOPED_RIG rig = rig_neighbours(40);
    rig->depth = 1;
    rig_start(rig, &fdl_reader_uring);
    change(IORING_OP_READ, -EIO, 2);
    fdl_window_issue(rig->window, 40);
    assert_int_equal(rig_drain(rig, 40), 1);
    ring_faults.read_bytes = 777;
    rig_expect(rig, 80, 40);
    rig->ops->set_depth(rig->reader, 8);
    change(IORING_OP_READ, -EIO, INT32_MAX);
    fdl_window_issue(rig->window, 120);
    assert_int_equal(rig_drain(rig, 40), 40);
}

/* The file then goes through the page cache. */
TEST(a_refused_direct_read_is_repeated)
{
    struct rig *rig = rig_with_files(1, 20000);
    rig->direct = FDL_DIRECT_TRUE;
    rig_start(rig, &fdl_reader_uring);
    char line[FDL_LOG_LINE_BYTES];
    uint64_t needed;
    rig_expect(rig, 1, 1);
    if (fdl_log_read(line, sizeof(line), &needed) == FEEDLINE_OK) {
        rig_destroy(rig);
        test_skip("%s", line);
    }
    change(IORING_OP_READ, -EINVAL, 1);
    rig_expect(rig, 3, 2);
    rig_expect_log("through the page cache");
    rig_destroy(rig);
}

/* ---- Rings -------------------------------------------------------------- */

TEST(takes_a_plain_ring_from_old_kernels)
{
    ring_faults.init_flags_errno = EINVAL;
    SCOPED_RIG rig = rig_start_files(&fdl_reader_uring, 5, 20000);
    assert_int_equal(ring_faults.flags, 0);
    rig_expect(rig, 100, 100);
}

TEST(takes_a_smaller_ring)
{
    ring_faults.init_errno = ENOMEM;
    ring_faults.init_entries = 8;
    SCOPED_RIG rig = rig_with_files(5, 20000);
    rig->depth = RIG_MAX_DEPTH;
    rig->limit = 2 * RIG_MAX_DEPTH;
    rig_start(rig, &fdl_reader_uring);
    assert_int_equal(ring_faults.entries, 8);
    rig_expect(rig, 500, 500);
    rig_expect_log("memory for 8 entries instead of 128");
    rig_stop(rig);
    rig_start(rig, &fdl_reader_uring); /* said once */
    rig_expect_log(NULL);
}

static void expect_error(const char *text)
{
    if (!strstr(fdl_last_error(), text))
        fail_msg("'%s' is not in '%s'", text, fdl_last_error());
}

static void expect_refusal(const char *text)
{
    struct rig *rig = rig_with_files(1, 100);
    assert_int_equal(rig_try_start(rig, &fdl_reader_uring), FEEDLINE_ENOSYS);
    assert_null(rig->reader);
    expect_error(text);
    rig_destroy(rig);
    /* The doctor hears the same. */
    fdl_clear_error();
    assert_int_equal(fdl_reader_uring_try(), FEEDLINE_ENOSYS);
    expect_error(text);
}

TEST(refuses_what_the_system_forbids)
{
    ring_faults.init_entries = 0;
    ring_faults.init_errno = EPERM;
    expect_refusal("io_uring: ");
    ring_faults.init_errno = ENOSYS;
    expect_refusal("io_uring: Function not implemented (no support in the "
                   "kernel, or a seccomp filter");
    ring_faults.init_errno = ENOMEM;
    expect_refusal("io_uring: no memory for a ring of 8 entries");
    ring_faults.init_errno = EMFILE;
    expect_refusal("io_uring: Too many open files");
}

/* Each of these lets a ring be made and then forbids to use it. */
TEST(refuses_a_ring_that_does_not_work)
{
    struct rig *rig = rig_start_files(&fdl_reader_uring, 1,
                                      1); /* skips where there is none */
    rig_destroy(rig);
    ring_faults.probe_fails = true;
    expect_refusal("io_uring: Function not implemented");
    ring_faults.probe_fails = false;
    ring_faults.dontfork_errno = ENOMEM;
    expect_refusal("io_uring: no memory");
    ring_faults.dontfork_errno = 0;
    ring_faults.enter_errno = EPERM;
    ring_faults.enter_every = 1;
    expect_refusal("io_uring: ");
}

TEST(auto_says_once_why_threads_read)
{
    ring_faults.init_entries = 0;
    ring_faults.init_errno = ENOSYS;
    assert_int_equal(fdl_log_set_level(FDL_LOG_INFO), FEEDLINE_OK);
    for (uint32_t round = 0; round < 2; round++) {
        struct rig *rig = rig_create();
        rig_add_file(rig, 100);
        rig_open_window(rig);
        struct fdl_reader_config cfg = {
            .window = rig->window,
            .dataset = &rig->dataset,
            .depth = 2,
            .max_depth = RIG_MAX_DEPTH,
            .stages = rig->stages,
        };
        assert_int_equal(
            fdl_reader_start(FDL_READER_AUTO, &cfg, &rig->ops, &rig->reader),
            FEEDLINE_OK);
        assert_ptr_equal(rig->ops, &fdl_reader_pread);
        rig_expect(rig, 2, 2);
        rig_expect_log(round == 0 ? "; files are read by threads" : NULL);

        rig_stop(rig);
        const struct fdl_reader_ops *untouched = NULL;
        rig_open_window(rig);
        cfg.window = rig->window;
        assert_int_equal(
            fdl_reader_start(FDL_READER_uring, &cfg, &untouched, &rig->reader),
            FEEDLINE_ENOSYS);
        assert_null(untouched);
        assert_null(rig->reader);
        rig_destroy(rig);
    }
}

/* As in a container: not root, and no memory may be locked. */
TEST(works_without_locked_memory)
{
    struct rig *rig = rig_with_files(5, 20000);
    rig->depth = RIG_MAX_DEPTH;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit none = {0, 0};
        if ((geteuid() == 0 && setuid(65534) != 0) ||
            setrlimit(RLIMIT_MEMLOCK, &none) != 0)
            _exit(3);
        int32_t status = rig_try_start(rig, &fdl_reader_uring);
        if (status == FEEDLINE_ENOSYS)
            _exit(strstr(fdl_last_error(), "io_uring: ") ? 77 : 1);
        if (status != FEEDLINE_OK)
            _exit(2);
        rig_expect(rig, 100, 100);
        rig_stop(rig);
        _exit(0);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    rig_destroy(rig);
    assert_true(WIFEXITED(result));
    assert_true(WEXITSTATUS(result) == 0 || WEXITSTATUS(result) == 77);
}

TEST_MAIN("reader_uring")
