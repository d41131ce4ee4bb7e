/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers do when the system does not do what they ask for. */
#include "tests/loader/read/reader_faults.h"
#include "tests/loader/read/reader_rig.h"

#include <errno.h>

/* ---- Reading ------------------------------------------------------------ */

TEST(short_reads_are_continued)
{
    SCOPED_RIG rig = rig_start_files(&fdl_reader_pread, 5, 20001);
    faults.pread_bytes = 777;
    rig_expect(rig, 20, 20);
}

/* What the page cache has is read without waiting, and all of it else. */
TEST(cached_reads_are_told_from_others)
{
    struct rig *rig = rig_start_files(&fdl_reader_pread, 5, 20001);
    rig_expect(rig, 1, 1);
    if (fdl_window_storage_count(rig->window) != FDL_STORAGE_COUNTED) {
        rig_destroy(rig);
        test_skip("nothing can be read without waiting here");
    }
    faults.warm = true;
    faults.pread_errno = EIO; /* is not called */
    faults.pread_count = INT32_MAX;
    for (uint64_t round = 0; round < 2; round++) {
        fdl_window_issue(rig->window, 20 * (round + 1) + 1);
        for (int i = 0; i < 20; i++) {
            struct fdl_read *r = rig_take(rig);
            rig_check(rig, r);
            assert_int_equal(r->cold, round);
            assert_int_equal(r->times->cold, round);
            fdl_window_free(rig->window, r);
        }
        faults_clear(); /* not warm */
    }
    rig_destroy(rig);
}

TEST(interrupted_reads_are_repeated)
{
    SCOPED_RIG rig = rig_start_files(&fdl_reader_pread, 5, 20001);
    faults.pread_bytes = 7000;
    faults.pread_errno = EINTR;
    faults.pread_every = 2;
    rig_expect(rig, 20, 20);
    faults.pread_errno = EAGAIN;
    rig_expect(rig, 40, 20);
}

TEST(read_errors_name_the_offset)
{
    SCOPED_RIG rig = rig_start_files(&fdl_reader_pread, 1, 200000);
    faults.pread_bytes = 65536;
    faults.pread_error_at = 65536;
    faults.pread_errno = EIO;
    faults.pread_count = 1;
    rig_expect_failure(rig, 0, FEEDLINE_EIO,
                       "read at 65536: Input/output error");
    rig_expect(rig, 2, 1);
    faults.pread_errno = EAGAIN;
    faults.pread_count = INT32_MAX;
    rig_expect_failure(rig, 2, FEEDLINE_EIO,
                       "read at 65536: Resource temporarily unavailable");
    faults_clear();
    rig_expect(rig, 4, 1);
}

TEST(what_cannot_be_dropped_stays)
{
    SCOPED_RIG rig = rig_create();
    struct fdl_keep keep;
    for (uint32_t i = 0; i < 9; i++)
        rig_add_file(rig, 20001);
    fdl_keep_init(&keep, 1, 1000000, NULL);
    rig_open_window(rig);
    fdl_window_set_keep(rig->window, &keep);
    faults.advise_errno = ESPIPE;
    rig_start(rig, &fdl_reader_pread);
    rig_expect(rig, 18, 18);
}

TEST(fstat_errors_are_told)
{
    SCOPED_RIG rig = rig_start_files(&fdl_reader_pread, 1, 100);
    faults.fstat_errno = ESTALE;
    faults.fstat_count = 1;
    rig_expect_failure(rig, 0, FEEDLINE_EIO, "fstat: Stale file handle");
    rig_expect(rig, 2, 1);
}

/* After fstat the file is another one. Each reader's own way of reading. */
static void change_while_reading(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_create();
    rig_add_file(rig, 20000);
    rig_add_file(rig, 20000);
    rig_start(rig, ops);
    faults.fstat_resize = 7000;
    rig_expect_failure(rig, 0, FEEDLINE_EIO,
                       "file shrank while it was read: expected 20000 bytes, "
                       "got 7000");
    faults.fstat_resize = 30000; /* delivered as it was */
    rig_expect(rig, 2, 1);
    faults_clear();
}

TEST_EACH(change_while_reading)

/* ---- Opening ------------------------------------------------------------ */

TEST(opens_again)
{
    static const int32_t errors[] = {EINTR, EMFILE, ENFILE};
    SCOPED_RIG rig = rig_start_files(&fdl_reader_pread, 4, 100);
    for (uint64_t i = 0; i < FDL_COUNT_OF(errors); i++) {
        faults.open_errno = errors[i];
        faults.open_count = 5;
        rig_expect(rig, 8 * (i + 1), 8);
        assert_int_equal(faults.open_count, 0);
    }
}

TEST(open_errors_are_told)
{
    SCOPED_RIG rig = rig_start_files(&fdl_reader_pread, 4, 100);
    faults.open_errno = ENFILE;
    faults.open_count = INT32_MAX;
    rig_expect_failure(rig, 0, FEEDLINE_EIO,
                       "open: Too many open files in system");
    faults.open_errno = ENOMEM;
    faults.open_count = 1;
    rig_expect_failure(rig, 1, FEEDLINE_ENOMEM, "open: Cannot allocate memory");
    faults.open_errno = EIO;
    faults.open_count = 1;
    rig_expect_failure(rig, 2, FEEDLINE_EIO, "open: Input/output error");
    rig_expect(rig, 4, 1);
}

/* What workers use for replacement samples. */
TEST(a_worker_waits_for_a_descriptor_too)
{
    SCOPED_RIG rig = rig_with_files(1, 100);
    rig_start(rig, &fdl_reader_memory);
    faults.open_errno = EMFILE;
    faults.open_count = 3;
    rig_expect(rig, 1, 1);
    assert_int_equal(faults.open_count, 0);
}

/* ---- Shards -------------------------------------------------------------- */

static void expect_opens(struct rig *rig, uint64_t end, uint64_t n,
                         int32_t opens)
{
    faults.opens = 0;
    rig_expect(rig, end, n);
    assert_int_equal(faults.opens, opens);
}

TEST(a_shard_is_opened_once)
{
    struct rig *rig = rig_start_shard(&fdl_reader_pread);
    expect_opens(rig, 20, 20, 1 + 4);
    rig_destroy(rig);
    rig = rig_start_shard(&fdl_reader_memory);
    expect_opens(rig, 5, 5, 1 + 1);
    rig_destroy(rig);
}

TEST(a_shard_is_read_without_read_ahead_in_random_order)
{
    static const struct fdl_reader_ops *const readers[] = {
        &fdl_reader_pread, &fdl_reader_memory, &fdl_reader_uring};
    for (uint32_t i = 0; i < FDL_COUNT_OF(readers); i++) {
        SCOPED_RIG rig = rig_start_shard(readers[i]);
        rig_expect(rig, 5, 5);
        assert_int_equal(faults.advised, 0);
        rig_stop(rig);
        rig->random = true;
        rig_start(rig, readers[i]);
        rig_expect(rig, 5, 5);
        assert_int_equal(faults.advised, 1);
        faults.advised = 0;
    }
}

TEST(a_shard_with_an_error_is_opened_anew)
{
    SCOPED_RIG rig = rig_start_shard(&fdl_reader_pread);
    faults.fstat_errno = EIO;
    faults.fstat_count = 1;
    rig_expect_failure(rig, 0, FEEDLINE_EIO, "fstat: Input/output error");
    expect_opens(rig, 2, 1, 1);
    faults.pread_errno = ESTALE;
    faults.pread_count = 1;
    rig_expect_failure(rig, 2, FEEDLINE_EIO, "read at 2000: Stale file handle");
    expect_opens(rig, 4, 1, 1);
    expect_opens(rig, 9, 5, 1);
}

TEST(a_shard_is_closed_for_a_descriptor)
{
    static const struct fdl_reader_ops *const readers[] = {&fdl_reader_pread,
                                                           &fdl_reader_memory};
    for (uint32_t i = 0; i < FDL_COUNT_OF(readers); i++) {
        SCOPED_RIG rig = rig_start_shard(readers[i]);
        expect_opens(rig, 2, 2, 1);
        expect_opens(rig, 4, 2, 0);
        faults.open_errno = EMFILE;
        faults.open_count = 1;
        expect_opens(rig, 5, 1, 2);
        if (!readers[i]->read_now)
            expect_opens(rig, 9, 4, 1);
    }
}

/* ---- Neighbours ---------------------------------------------------------- */

static struct rig *start_neighbours(int32_t direct)
{
    struct rig *rig = rig_neighbours(40);
    rig->direct = direct;
    rig_start(rig, &fdl_reader_pread);
    return rig;
}

/* A direct read of a sample may have to read the page before it, too. */
static void only_the_damaged_fails(int32_t direct)
{
    SCOPED_RIG rig = start_neighbours(direct);
    faults.pread_bad = 13 * 5000 + 2000;
    fdl_window_issue(rig->window, 40);
    for (int i = 0; i < 40; i++) {
        struct fdl_read *r = rig_take(rig);
        if (r->sample != 13)
            rig_check(rig, r);
        else
            assert_string_equal(r->reason, "read at 65000: Input/output error");
        fdl_window_free(rig->window, r);
    }
    faults_clear();
    rig_expect(rig, 80, 40);
}

TEST(only_the_damaged_neighbour_fails)
{
    only_the_damaged_fails(FDL_DIRECT_FALSE);
    only_the_damaged_fails(FDL_DIRECT_TRUE);
}

TEST(short_reads_of_neighbours_are_continued)
{
    struct rig *rig = start_neighbours(FDL_DIRECT_FALSE);
    faults.pread_bytes = 777;
    rig_expect(rig, 40, 40);
    rig_destroy(rig);
    faults_clear();
    rig = start_neighbours(FDL_DIRECT_TRUE);
    faults.pread_bytes = 4096;
    rig_expect(rig, 40, 40);
    rig_destroy(rig);
}

/* A shard that cannot be opened fails each of its samples. */
TEST(neighbours_that_cannot_be_opened)
{
    SCOPED_RIG rig = start_neighbours(FDL_DIRECT_FALSE);
    faults.open_errno = EIO;
    faults.open_count = INT32_MAX;
    fdl_window_issue(rig->window, 40);
    assert_int_equal(rig_drain(rig, 40), 40);
    faults_clear();
    rig_expect(rig, 80, 40);
}

/* ---- Direct reads -------------------------------------------------------- */

/* A folder whose file system has them; /tmp may be one that has none. */
static struct rig *start_direct(void)
{
    struct rig *rig = rig_start_shard(&fdl_reader_pread);
    rig_stop(rig);
    rig->direct = FDL_DIRECT_TRUE;
    rig_start(rig, &fdl_reader_pread);
    return rig;
}

TEST(a_refused_direct_read_goes_through_the_page_cache)
{
    SCOPED_RIG rig = start_direct();
    faults.direct_errno = EINVAL;
    rig_expect(rig, 10, 10);
    faults.direct_errno = 0;
    rig_expect_log("through the page cache");
    rig_expect_log(NULL);
}

TEST(short_direct_reads_are_continued)
{
    SCOPED_RIG rig = start_direct();
    faults.pread_bytes = 4096;
    rig_expect(rig, 10, 10);
}

TEST(a_direct_read_that_fails_names_the_offset)
{
    SCOPED_RIG rig = start_direct();
    rig_expect(rig, 1, 1);
    faults.pread_errno = EIO;
    faults.pread_count = 1;
    rig_expect_failure(rig, 1, FEEDLINE_EIO,
                       "read at 1000: Input/output error");
    rig_expect(rig, 5, 3);
}

/* ---- Memory and threads ------------------------------------------------- */

TEST(a_sample_without_memory_fails_alone)
{
    SCOPED_RIG rig = rig_start_files(&fdl_reader_pread, 1, 1 << 20);
    faults.memory_count = 1;
    rig_expect_failure(rig, 0, FEEDLINE_ENOMEM, "out of memory: 1064960 bytes");
    rig_expect(rig, 2, 1);
}

TEST(memory_delivers_what_it_cannot_keep)
{
    SCOPED_RIG rig = rig_with_files(1, 100);
    rig->limit = 1;
    rig_start(rig, &fdl_reader_memory);
    fdl_window_issue(rig->window, 100);
    uint64_t empty = rig->ops->memory(rig->reader);
    struct fdl_read *r = fdl_window_claim(rig->window);
    assert_int_equal(fdl_read_reserve(rig->window, r, 100), FEEDLINE_OK);
    faults.memory_count = 1;
    rig->ops->read_now(rig->reader, r);
    assert_int_equal(faults.memory_count, 0);
    fdl_window_complete(rig->window, r);
    assert_int_equal(rig_drain(rig, 1), 0);
    assert_int_equal(rig->ops->memory(rig->reader), empty);
    assert_int_equal(rig_drain(rig, 1), 0);
    assert_true(rig->ops->memory(rig->reader) > empty);
}

TEST(reads_with_the_threads_there_are)
{
    SCOPED_RIG rig = rig_with_files(4, 100);
    rig->depth = 1;
    rig_start(rig, &fdl_reader_pread);
    faults.thread_count = INT32_MAX;
    rig->ops->set_depth(rig->reader, 8);
    rig_expect_log("reading with 1 threads");
    rig_expect(rig, 20, 20);

    faults_clear();
    rig->ops->set_depth(rig->reader, 8);
    rig_expect(rig, 40, 20);
    rig_expect_log(NULL);
}

/* One issue calls the waker once; the threads wake each other. No read ends
 * before all of them read. */
TEST(one_wake_up_fills_the_depth)
{
    SCOPED_RIG rig = rig_with_files(8, 100);
    rig->depth = 8;
    rig_start(rig, &fdl_reader_pread);
    faults.pread_crowd = 8;
    rig_expect(rig, 8, 8);
}

/* The n-th allocation, thread or descriptor of start is missing, for each n. */
static void fail_each_step_of_start(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_with_files(1, 100);
    rig->depth = 1;
    bool started = false;
    rig_start(rig, ops);
    rig_stop(rig);
    rig_open_window(rig);
    for (int32_t n = 1; !started; n++) {
        assert_true(n < 20);
        faults.nth = n;
        int32_t status = rig_try_start(rig, ops);
        started = !faults_reached();
        if (!started) {
            assert_true(status == FEEDLINE_ENOMEM ||
                        status == FEEDLINE_ESTATE || status == FEEDLINE_ENOSYS);
            assert_string_not_equal(fdl_last_error(), "");
            assert_null(rig->reader);
        } else {
            assert_int_equal(status, FEEDLINE_OK);
            assert_true(n > 1);
        }
    }
    rig_expect(rig, 2, 2);
}

TEST_EACH(fail_each_step_of_start)

static void no_resolve(void *user, struct fdl_read *r)
{
    (void)user;
    (void)r;
}

TEST(window_create_fails_cleanly)
{
    for (int32_t n = 1; n <= 2; n++) {
        struct fdl_window *w = NULL;
        faults.nth = n;
        assert_int_equal(fdl_window_create(4, 100, no_resolve, NULL, &w),
                         FEEDLINE_ENOMEM);
        assert_true(faults_reached());
        assert_null(w);
        assert_non_null(strstr(fdl_last_error(), "the read window"));
    }
}

TEST_MAIN("reader_fault")
