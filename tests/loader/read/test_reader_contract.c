/* SPDX-License-Identifier: Apache-2.0 */
/* One contract, four readers and a program's own: whatever the samples are and
 * whenever it stops. The remote reader has the files from a server, and from a
 * cache of what that sent. */
#define RIG_REMOTE(contract)                                                   \
  TEST(remote_##contract)                                                      \
  {                                                                            \
    contract(&fdl_reader_remote);                                              \
  }                                                                            \
  TEST(kept_##contract)                                                        \
  {                                                                            \
    rig_caches = true;                                                         \
    contract(&fdl_reader_remote);                                              \
  }
#include "tests/loader/read/reader_rig.h"
#include "tests/store/server.h"

#include <sched.h>

/* The contract where the program reads, on the pread reader's threads. */
#define TEST_PROGRAM(contract)                                                 \
  rig_reads = true;                                                            \
  contract(&fdl_reader_pread)

__attribute__((constructor)) static void serve(void)
{
    rig_serve = server_start;
}

static const uint64_t some_sizes[] = {0, 1, 4095, 4096, 4097, 110 << 10};

static void delivers_files_of_every_size(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_create();
    for (uint32_t i = 0; i < 297; i++)
        rig_add_file(rig, some_sizes[i % FDL_COUNT_OF(some_sizes)]);
    for (uint32_t i = 0; i < 3; i++)
        rig_add_file(rig, (5 << 20) + i);
    rig_start(rig, ops);
    rig_expect(rig, 600, 600);

    /* Buffers of the 5 MB files were not kept. */
    assert_true(fdl_window_memory(rig->window) <
                2 * rig->limit * (uint64_t)(160 << 10));
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < rig->n_files; i++)
        bytes += 2 * rig->sizes[i];
    rig_stop(rig); /* counters are complete when the threads are gone */
    struct fdl_total *total = rig_total(rig);
    if (!ops->read_now) {
        assert_int_equal(total->items, 600);
        assert_int_equal(total->bytes, bytes);
        assert_int_equal(total->errors, 0);
        assert_int_equal(fdl_histogram_total(&total->times), 600);
        assert_true(total->busy_ns > 0);
        assert_true(total->clock_reads >= 3 * 600);
    }
    free(total);
}
TEST_EACH(delivers_files_of_every_size)
TEST(program_delivers_files_of_every_size)
{
    TEST_PROGRAM(delivers_files_of_every_size);
}

static void reads_parts_of_files(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_create();
    static const struct {
        uint64_t offset;
        int64_t length;
    } parts[] = {{0, 10000},  {0, 0},       {1, 1},       {4095, 4097},
                 {9999, 1},   {10000, 0},   {0, -1},      {5000, -1},
                 {10000, -1}, {4096, 4096}, {1 << 20, 9}, {77, 1 << 20}};
    uint32_t small = rig_add_file(rig, 10000);
    uint32_t large = rig_add_file(rig, 5 << 20);
    for (uint32_t i = 0; i < FDL_COUNT_OF(parts); i++)
        rig_add_extent(rig, i < 10 ? small : large, parts[i].offset,
                       parts[i].length);
    rig_start(rig, ops);
    uint64_t n = 2 * rig->n_files; /* again: from the memory reader's cache */
    rig_expect(rig, n, n);
}
TEST_EACH(reads_parts_of_files)

/* Sizes and gaps of every kind, of two shards, and what is no part of one. */
static struct rig *neighbours(void)
{
    static const uint64_t gaps[] = {0, 1, 512, 5119, 5120, 8192, 8193};
    struct rig *rig = rig_create();
    uint32_t shard[] = {rig_add_file(rig, 3 << 20), rig_add_file(rig, 1 << 20)};
    uint64_t at[] = {3, 0};
    for (uint32_t i = 0; i < 300; i++) {
        uint32_t of = i % 50 > 40;
        uint64_t size = i % 7 ? i * 7919 % 12000 : 0;
        rig_add_extent(rig, shard[of], at[of], (int64_t)size);
        at[of] += size + gaps[i % FDL_COUNT_OF(gaps)];
    }
    assert_true(at[0] < rig->sizes[0] && at[1] < rig->sizes[1]);
    rig->gathers = true;
    return rig;
}

static void reads_neighbours_together(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = neighbours();
    uint64_t n = 2 * rig->n_files;
    rig_start(rig, ops);
    rig_expect(rig, n, n);
    rig_stop(rig);
    struct fdl_total *total = rig_total(rig);
    double reads = total->products.of[FDL_READ_ONE][FDL_READ_ONE];
    if (!ops->read_now) {
        assert_int_equal(total->items, n);
        assert_int_equal(fdl_histogram_total(&total->times), n);
        assert_true(reads < (double)n / 2);
    }
    free(total);
}
TEST_EACH(reads_neighbours_together)

/* Of which some stay in the page cache and others do not. */
static void keeps_a_part_of_neighbours(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = neighbours();
    struct fdl_keep keep;
    fdl_keep_init(&keep, 1, 2, rig->folder);
    rig_open_window(rig);
    fdl_window_set_keep(rig->window, &keep);
    rig_start(rig, ops);
    rig_expect(rig, 2 * rig->n_files, 2 * rig->n_files);
}
TEST_EACH(keeps_a_part_of_neighbours)

/* A sample that is held takes a part of the memory; together there is none for
 * the others, one by one there is. */
static void neighbours_with_little_memory(const struct fdl_reader_ops *ops)
{
    const uint64_t little = 128 << 10;
    SCOPED_RIG rig = rig_with_files(1, 100000);
    for (uint64_t i = 1; i < 20; i++)
        rig_add_extent(rig, 0, i * 5000, 5000);
    rig->extents[0] = (struct rig_extent){0, 0, 5000, true};
    rig->sizes[0] = 5000;
    rig->gathers = true;
    rig_start(rig, ops);
    fdl_window_set_allowance(rig->window, little);
    fdl_window_issue(rig->window, 1);
    struct fdl_read *held = rig_take(rig);
    fdl_window_issue(rig->window, 20);
    for (int i = 0; i < 19; i++) {
        struct fdl_read *r = rig_take(rig);
        rig_check(rig, r);
        assert_true(fdl_window_memory(rig->window) <= little);
        fdl_window_free(rig->window, r);
    }
    rig_check(rig, held);
    fdl_window_free(rig->window, held);
}
TEST_EACH(neighbours_with_little_memory)

static void refuses_files_above_the_limit(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_create();
    rig->max_file_bytes = 1000;
    rig_add_file(rig, 1001);
    rig_add_file(rig, 1000);
    rig_start(rig, ops);
    rig_expect_failure(rig, 0, FEEDLINE_ERANGE,
                       "the file has 1001 bytes; max_file_bytes allows 1000");
    rig_expect(rig, 2, 1);
}
TEST_EACH(refuses_files_above_the_limit)
TEST(program_refuses_files_above_the_limit)
{
    TEST_PROGRAM(refuses_files_above_the_limit);
}

static void stops_with_a_full_window(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_with_files(32, 50000);
    for (uint32_t round = 0; round < 20; round++) {
        rig_start(rig, ops);
        fdl_window_issue(rig->window, 1000);
        for (uint32_t i = 0; i < round; i++) {
            struct fdl_read *r = rig_take(rig);
            rig_check(rig, r);
            if (i < round - 3) /* the last ones are never freed */
                fdl_window_free(rig->window, r);
        }
        rig_stop(rig);
    }
}
TEST_EACH(stops_with_a_full_window)
TEST(program_stops_with_a_full_window)
{
    TEST_PROGRAM(stops_with_a_full_window);
}

/* The close meets the reader asleep, waking up, reading, falling asleep. */
static void stops_at_any_moment(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_with_files(1, 100);
    for (uint32_t round = 0; round < 200; round++) {
        rig_start(rig, ops);
        if (round % 3 != 0)
            fdl_window_issue(rig->window, 1);
        if (round % 3 == 2)
            assert_int_equal(rig_drain(rig, 1), 0);
        for (uint32_t i = 0; i < round % 7; i++)
            sched_yield();
        rig_stop(rig);
    }
}
TEST_EACH(stops_at_any_moment)
TEST(program_stops_at_any_moment)
{
    TEST_PROGRAM(stops_at_any_moment);
}

/* ---- Readers with threads ----------------------------------------------- */

static void follows_the_depth(const struct fdl_reader_ops *ops)
{
    static const uint32_t depths[] = {1, 64, 2, 0, 17, 1000, 1, 5};
    SCOPED_RIG rig = rig_create();
    for (uint32_t i = 0; i < 50; i++)
        rig_add_file(rig, 3000 + 100 * i);
    rig->limit = 64;
    rig->depth = 1;
    rig_start(rig, ops);
    uint64_t issued = 0;
    for (uint32_t round = 0; round < 40; round++) {
        ops->set_depth(rig->reader, depths[round % FDL_COUNT_OF(depths)]);
        issued += 30 + round;
        fdl_window_issue(rig->window, issued);
        assert_int_equal(rig_drain(rig, 30 + round), 0);
    }
}

TEST(pread_follows_the_depth)
{
    follows_the_depth(&fdl_reader_pread);
}

TEST(program_follows_the_depth)
{
    TEST_PROGRAM(follows_the_depth);
}

TEST(uring_follows_the_depth)
{
    follows_the_depth(&fdl_reader_uring);
}

TEST(remote_follows_the_depth)
{
    follows_the_depth(&fdl_reader_remote);
}

/* Nothing but the window's own events moves it: a lost wake-up hangs. */
static void goes_on_from_a_full_window(const struct fdl_reader_ops *ops)
{
    SCOPED_RIG rig = rig_with_files(10, 100);
    rig->limit = 4;
    rig_start(rig, ops);
    fdl_window_issue(rig->window, 3000);
    for (uint32_t i = 0; i < 3000; i++) {
        if (i % 7 == 0)
            while (!fdl_window_is_full(rig->window) && i < 2990)
                sched_yield();
        assert_int_equal(rig_drain(rig, 1), 0);
    }
}

TEST(pread_goes_on_from_a_full_window)
{
    goes_on_from_a_full_window(&fdl_reader_pread);
}

TEST(program_goes_on_from_a_full_window)
{
    TEST_PROGRAM(goes_on_from_a_full_window);
}

TEST(uring_goes_on_from_a_full_window)
{
    goes_on_from_a_full_window(&fdl_reader_uring);
}

TEST(kept_goes_on_from_a_full_window)
{
    rig_caches = true;
    goes_on_from_a_full_window(&fdl_reader_remote);
}
TEST(remote_goes_on_from_a_full_window)
{
    goes_on_from_a_full_window(&fdl_reader_remote);
}

TEST_MAIN("reader_contract")
