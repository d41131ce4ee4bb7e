/* SPDX-License-Identifier: Apache-2.0 */
/* What readers of files have in common beyond the contract; then what only the
 * memory reader does and how one is chosen. */
#include "base/log.h"
#include "base/thread.h"
#include "loader/read/reader_file.h"
#include "tests/loader/read/reader_rig.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Files of this machine ----------------------------------------------- */

/* Takes n samples: those from `bad` on fail. */
static void expect_bad_from(struct rig *rig, uint64_t n, uint64_t bad)
{
    for (uint64_t i = 0; i < n; i++) {
        struct fdl_read *r = rig_take(rig);
        if (r->sample < bad)
            rig_check(rig, r);
        else
            assert_int_equal(r->status, FEEDLINE_EIO);
        if (r->sample >= bad && !strstr(r->reason, "shrank") &&
            !strstr(r->reason, "which is all there is") &&
            !strstr(r->reason, "past the end"))
            fail_msg("sample %d: %s", (int)r->sample, r->reason);
        fdl_window_free(rig->window, r);
    }
}

/* A shard is cut while it is open: each sample before the cut is delivered. */
static void a_cut_shard_has_its_first_samples(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_neighbours(40);
    rig_start(rig, ops);
    fdl_window_issue(rig->window, 1);
    expect_bad_from(rig, 1, 1);
    assert_int_equal(truncate(rig->paths[0], 103999), 0);
    fdl_window_issue(rig->window, 40);
    expect_bad_from(rig, 39, 20);
}
TEST_EACH(a_cut_shard_has_its_first_samples)

/* One that says more than there is keeps nobody from being read. */
static void neighbours_of_one_that_is_too_long(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_neighbours(20);
    rig->extents[19].length = 5001;
    rig_start(rig, ops);
    fdl_window_issue(rig->window, 20);
    expect_bad_from(rig, 20, 19);
}
TEST_EACH(neighbours_of_one_that_is_too_long)

/* What the kernel drops is read again; what it does not say is not counted. */
static void keeps_a_part(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_create();
    struct fdl_keep keep;
    uint32_t shard = rig_add_file(rig, 5 << 20);
    for (uint32_t i = 0; i < 40; i++)
        rig_add_extent(rig, shard, i * 131072 + 77, 70000);
    for (uint32_t i = 0; i < 20; i++)
        rig_add_file(rig, 20000);
    fdl_keep_init(&keep, 1, 2, rig->folder);
    rig_open_window(rig);
    fdl_window_set_keep(rig->window, &keep);
    rig_start(rig, ops);
    uint64_t n = 3 * rig->n_files;
    rig_expect(rig, n, n);
    assert_int_not_equal(fdl_window_storage_count(rig->window),
                         FDL_STORAGE_UNASKED);
}
TEST_EACH(keeps_a_part)

static void says_what_is_past_the_end(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_with_files(1, 1000);
    rig_add_extent(rig, 0, 0, 1001);
    rig_add_extent(rig, 0, 999, 2);
    rig_add_extent(rig, 0, 5, INT64_MAX);
    rig_add_extent(rig, 0, 1001, 0);
    rig_add_extent(rig, 0, UINT64_MAX, -1);
    rig_add_extent(rig, 0, 990, 10);
    rig_start(rig, ops);
    rig_expect(rig, 1, 1);
    rig_expect_failure(rig, 1, FEEDLINE_EIO,
                       "expected 1001 bytes at offset 0, got 1000");
    rig_expect_failure(rig, 2, FEEDLINE_EIO,
                       "expected 2 bytes at offset 999, got 1");
    rig_expect_failure(rig, 3, FEEDLINE_EIO,
                       "expected 9223372036854775807 bytes at offset 5, got "
                       "995");
    rig_expect_failure(rig, 4, FEEDLINE_EIO,
                       "offset 1001 is past the end of the file, which has "
                       "1000 bytes");
    rig_expect_failure(rig, 5, FEEDLINE_EIO,
                       "offset 18446744073709551615 is past the end");
    fdl_window_issue(rig->window, 7); /* errors are the sample's alone */
    assert_int_equal(rig_drain(rig, 1), 0);
}
TEST_EACH(says_what_is_past_the_end)

/* 8 descriptors for shards, more for samples, and 40 shards. */
static void more_shards_than_descriptors(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_create();
    struct rlimit few = {.rlim_cur = 32, .rlim_max = 32};
    for (uint32_t i = 0; i < 40; i++)
        rig_add_file(rig, 3000);
    for (uint32_t i = 0; i < 400; i++)
        rig_add_extent(rig, i * i % 40, i * 5, i);
    rig->depth = RIG_MAX_DEPTH;
    rig->limit = 128;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    rig_start(rig, ops);
    rig_expect(rig, 2200, 2200);
}
TEST_EACH(more_shards_than_descriptors)

/* Shards make way, and the thread that waits for a descriptor gets one. */
static void shards_give_way_to_files(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_create();
    struct rlimit few = {.rlim_cur = 16, .rlim_max = 16};
    for (uint32_t i = 0; i < 60; i++)
        rig_add_file(rig, 3000);
    for (uint32_t i = 0; i < 60; i++)
        rig_add_extent(rig, i, 100, 2000);
    rig->depth = 1;
    rig_start(rig, ops);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    rig_expect(rig, 360, 180);
    if (ops->set_depth)
        ops->set_depth(rig->reader, RIG_MAX_DEPTH);
    assert_int_equal(rig_drain(rig, 180), 0);
}
TEST_EACH(shards_give_way_to_files)

static void a_replaced_shard_is_read_as_it_was(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_create();
    uint32_t shard = rig_add_file(rig, 10000);
    for (uint32_t i = 0; i < 10; i++)
        rig_add_extent(rig, shard, i * 1000, 1000);
    rig->extents[shard].part = true;
    uint32_t other = rig_add_file(rig, 10000);
    rig_start(rig, ops);
    rig_expect(rig, 1, 1);
    assert_int_equal(rename(rig->paths[other], rig->paths[shard]), 0);
    rig_expect(rig, 11, 10);
}
TEST_EACH(a_replaced_shard_is_read_as_it_was)

/* After the failure it is opened anew: what is wrong is told as it now is, and
 * a file that was put there is found. */
static void a_cut_shard_is_opened_anew(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_create();
    uint32_t shard = rig_add_file(rig, 10000);
    rig_add_extent(rig, shard, 0, 6000);
    rig_add_extent(rig, shard, 6000, 4000);
    rig_add_extent(rig, shard, 6001, 3999);
    rig_add_extent(rig, shard, 6002, -1);
    rig_add_extent(rig, shard, 1, 6999);
    rig_start(rig, ops);
    rig_expect(rig, 2, 2);
    assert_int_equal(truncate(rig->paths[shard], 7000), 0);
    rig_expect_failure(rig, 2, FEEDLINE_EIO,
                       "file shrank while it was read: expected 4000 bytes at "
                       "offset 6000, got 1000");
    rig_expect_failure(rig, 3, FEEDLINE_EIO,
                       "expected 3999 bytes at offset 6001, got 999, which is "
                       "all there is");
    rig->sizes[4] = 998;
    rig_expect(rig, 6, 2);
}
TEST_EACH(a_cut_shard_is_opened_anew)

static void says_what_is_no_file(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_create();
    char path[128];
    uint32_t good = rig_add_file(rig, 100);
    rig_add_path(rig, "missing");
    rig_add_path(rig, ".");
    snprintf(path, sizeof(path), "%s/fifo", rig->folder);
    assert_int_equal(mkfifo(path, 0644), 0);
    rig_add_path(rig, "fifo");
    snprintf(path, sizeof(path), "%s/dangling", rig->folder);
    assert_int_equal(symlink("nowhere", path), 0);
    rig_add_path(rig, "dangling");
    snprintf(path, sizeof(path), "%s/loop", rig->folder);
    assert_int_equal(symlink("loop", path), 0);
    rig_add_path(rig, "loop");
    rig_add_path(rig, "0/below_a_file");
    rig_add_path(rig, "/dev/null");
    rig_add_file(rig, 100);

    rig_start(rig, ops);
    rig_expect(rig, 1, 1);
    rig_expect_failure(rig, 1, FEEDLINE_ENOENT,
                       "open: No such file or directory");
    rig_expect_failure(rig, 2, FEEDLINE_EIO,
                       "not a regular file: it is a directory");
    rig_expect_failure(rig, 3, FEEDLINE_EIO,
                       "not a regular file: it is a FIFO");
    rig_expect_failure(rig, 4, FEEDLINE_ENOENT,
                       "open: No such file or directory");
    rig_expect_failure(rig, 5, FEEDLINE_EIO,
                       "open: Too many levels of symbolic links");
    rig_expect_failure(rig, 6, FEEDLINE_ENOENT, "open: Not a directory");
    rig_expect_failure(rig, 7, FEEDLINE_EIO,
                       "not a regular file: it is a character device");
    fdl_window_issue(rig->window, 10); /* errors are the sample's alone */
    assert_int_equal(rig_drain(rig, 2), 0);
    assert_int_equal(good, 0);

    rig_stop(rig);
    struct fdl_total *total = rig_total(rig);
    if (!ops->read_now)
        assert_int_equal(total->errors, 7);
    free(total);
}
TEST_EACH(says_what_is_no_file)

static void says_what_it_may_not_read(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_with_files(1, 100);
    assert_int_equal(chmod(rig->paths[0], 0), 0);
    bool root = geteuid() == 0;
    if (root)
        assert_int_equal(seteuid(65534), 0);
    rig_start(rig, ops);
    rig_expect_failure(rig, 0, FEEDLINE_EIO, "open: Permission denied");
    rig_stop(rig);
    if (root)
        assert_int_equal(seteuid(0), 0);
}
TEST_EACH(says_what_it_may_not_read)

static void works_with_few_descriptors(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_create();
    for (uint32_t i = 0; i < 100; i++)
        rig_add_file(rig, 20000 + i);
    rig->depth = RIG_MAX_DEPTH;
    rig->limit = 128;
    rig_start(rig, ops);
    struct rlimit few = {.rlim_cur = 16, .rlim_max = 16};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    rig_expect(rig, 1000, 1000);
}
TEST_EACH(works_with_few_descriptors)

static void gives_up_without_descriptors(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_with_files(4, 10);
    rig_start(rig, ops);
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    rig_expect_failure(rig, 0, FEEDLINE_EIO,
                       "open: Too many open files; raise the limit");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    rig_expect(rig, 4, 3);
}
TEST_EACH(gives_up_without_descriptors)

/* ---- A program's own reader ---------------------------------------------- */

/* Each needs more room than it begins with, and there is room for one. */
static void program_waits_for_room(uint32_t flags)
{
    SCOPED_RIG rig = rig_create();
    rig_reads = true;
    rig->user.source.flags = flags;
    for (uint32_t i = 0; i < 20; i++)
        rig_add_file(rig, 200000 + i);
    rig->depth = 8;
    rig_start(rig, &fdl_reader_pread);
    fdl_window_set_allowance(rig->window, 300000);
    rig_expect(rig, 60, 60);
}

TEST(program_waits_for_room_for_many)
{
    program_waits_for_room(0);
}

TEST(program_waits_for_room_one_at_a_time)
{
    program_waits_for_room(FEEDLINE_SOURCE_ONE_AT_A_TIME);
}

/* ---- The memory reader -------------------------------------------------- */

TEST(memory_reads_each_file_once)
{
    SCOPED_RIG rig = rig_create();
    for (uint32_t i = 0; i < 20; i++)
        rig_add_file(rig, 1000 * i);
    rig_start(rig, &fdl_reader_memory);
    rig_expect(rig, 100, 20);
    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(unlink(rig->paths[i]), 0);
    assert_int_equal(rig_drain(rig, 80), 0);

    uint64_t held = rig->ops->memory(rig->reader);
    assert_true(held > 190000 && held < 190000 + 20 * 6000);
}

TEST(memory_stays_within_its_budget)
{
    SCOPED_RIG rig = rig_with_files(20, 10000);
    rig->memory_budget = 100000;
    rig_start(rig, &fdl_reader_memory);
    rig_expect(rig, 60, 40);
    assert_true(rig->ops->memory(rig->reader) <= 100000 + 20 * sizeof(void *));

    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(unlink(rig->paths[i]), 0);
    assert_int_equal(rig_drain(rig, 20), 20 - 100000 / (10000 + 5120 + 8));
}

TEST(memory_hands_out_what_is_there)
{
    SCOPED_RIG rig = rig_create();
    uint8_t bytes[3] = {1, 2, 3};
    const uint8_t *data[1] = {bytes};
    uint64_t sizes[1] = {sizeof(bytes)};
    rig_add_path(rig, "memory:0");
    rig->dataset.data = data;
    rig->dataset.sizes = sizes;
    rig_start(rig, &fdl_reader_memory);
    fdl_window_issue(rig->window, 1);
    struct fdl_read *r = rig_take(rig);
    assert_int_equal(r->status, FEEDLINE_OK);
    assert_ptr_equal(r->data, bytes);
    assert_int_equal(r->size, 3);
    assert_int_equal(r->readable, 3);
    assert_int_equal(rig->ops->memory(rig->reader), 0);
    fdl_window_free(rig->window, r);
}

static void *worker(void *arg)
{
    struct rig *rig = arg;
    assert_int_equal(rig_drain(rig, 500), 0);
    return NULL;
}

/* 4 files and 16 samples at a time: the same file in several hands. */
TEST(memory_serves_workers_at_once)
{
    SCOPED_RIG rig = rig_create();
    struct fdl_thread threads[4] = {0};
    for (uint32_t i = 0; i < 4; i++)
        rig_add_file(rig, 20000);
    rig_start(rig, &fdl_reader_memory);
    fdl_window_issue(rig->window, 2000);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(fdl_thread_start(&threads[i], "worker", worker, rig),
                         FEEDLINE_OK);
    for (uint32_t i = 0; i < 4; i++)
        fdl_thread_join(&threads[i]);
    assert_true(rig->ops->memory(rig->reader) < 4 * 26000);
}

/* ---- Readers and workers ------------------------------------------------- */

/* A worker's reads for replacements, from the shards of the reader. */
static void *read_spares(void *arg)
{
    struct rig *rig = arg;
    struct fdl_read spare = {.times = &(struct fdl_sample_times){0}};
    for (uint32_t i = 0; i < 300; i++) {
        spare.index = spare.sample = i * 7 % rig->n_files;
        const struct rig_extent *e = &rig->extents[spare.index];
        spare.source = (struct fdl_source){.path = rig->paths[spare.index],
                                           .file = e->file,
                                           .offset = e->offset,
                                           .length = e->length};
        atomic_store(&spare.times->read_start, 1);
        atomic_store(&spare.times->read_done, 1);
        fdl_read_file(rig->window, &spare);
        rig_check(rig, &spare);
        fdl_read_release(rig->window, &spare);
    }
    return NULL;
}

/* 4 descriptors for 12 shards, which all of them want. */
static void shares_shards_with_workers(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_create();
    struct fdl_thread threads[3] = {0};
    struct rlimit before, few;
    for (uint32_t i = 0; i < 12; i++)
        rig_add_file(rig, 1100);
    for (uint32_t i = 0; i < 100; i++)
        rig_add_extent(rig, i % 12, i * 10, 100);
    rig->depth = 8;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 16;
    rig_open_window(rig);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    rig_start(rig, ops);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(
            fdl_thread_start(&threads[i], "worker", read_spares, rig),
            FEEDLINE_OK);
    rig_expect(rig, 1000, 1000);
    for (uint32_t i = 0; i < 3; i++)
        fdl_thread_join(&threads[i]);
}
TEST_EACH(shares_shards_with_workers)

/* ---- The choice --------------------------------------------------------- */

static const struct fdl_reader_ops *choose(struct rig *rig,
                                           enum fdl_reader_kind kind)
{
    const struct fdl_reader_ops *ops = NULL;
    rig_open_window(rig);
    struct fdl_reader_config cfg = {
        .window = rig->window,
        .dataset = &rig->dataset,
        .depth = 2,
        .max_depth = RIG_MAX_DEPTH,
        .stages = rig->stages,
    };
    assert_int_equal(fdl_reader_start(kind, &cfg, &ops, &rig->reader),
                     FEEDLINE_OK);
    rig->ops = ops;
    return ops;
}

TEST(starts_what_was_asked_for)
{
    SCOPED_RIG rig = rig_with_files(1, 10);
    assert_ptr_equal(choose(rig, FDL_READER_pread), &fdl_reader_pread);
    rig_expect(rig, 1, 1);
    rig_stop(rig);
    assert_ptr_equal(choose(rig, FDL_READER_memory), &fdl_reader_memory);
}

TEST(auto_takes_a_reader_that_works)
{
    SCOPED_RIG rig = rig_with_files(1, 10);
    assert_int_equal(fdl_log_set_level(FDL_LOG_INFO), FEEDLINE_OK);
    const struct fdl_reader_ops *ops = choose(rig, FDL_READER_AUTO);
    char line[FDL_LOG_LINE_BYTES];
    uint64_t needed;
    if (ops == &fdl_reader_uring) {
        assert_int_equal(fdl_log_read(line, sizeof(line), &needed),
                         FEEDLINE_END);
    } else {
        assert_ptr_equal(ops, &fdl_reader_pread);
        assert_int_equal(fdl_log_read(line, sizeof(line), &needed),
                         FEEDLINE_OK);
        assert_non_null(strstr(line, "io_uring: "));
    }
    rig_expect(rig, 1, 1);
}

TEST(auto_takes_memory_for_what_is_in_memory)
{
    SCOPED_RIG rig = rig_create();
    const uint8_t *data[1] = {(const uint8_t *)"x"};
    uint64_t sizes[1] = {1};
    rig_add_path(rig, "memory:0");
    rig->dataset.data = data;
    rig->dataset.sizes = sizes;
    assert_ptr_equal(choose(rig, FDL_READER_AUTO), &fdl_reader_memory);
}

TEST_MAIN("reader")
