/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shuffle=block: that it is a permutation, a fair one, the same for ever; that
 * a group is no more than `lanes` runs of neighbours; that groups are alike.
 */
#include "base/philox.h"
#include "base/status.h"
#include "index_at.h"
#include "loader/order/sampler.h"
#include "test.h"

#include <math.h>

static struct fdl_blocks blocks(uint64_t count, uint64_t samples,
                                uint64_t lanes, uint64_t seed, uint64_t epoch)
{
    struct fdl_blocks b;
    struct fdl_block_shape shape = {samples, lanes};
    fdl_blocks_init(&b, count, &shape, seed, epoch);
    return b;
}

/* Runs of neighbours among the samples that are marked, round the end. */
static uint64_t runs_of(const uint8_t *in, uint64_t count)
{
    uint64_t runs = 0, marked = 0;
    for (uint64_t i = 0; i < count; i++) {
        runs += in[i] && !in[i ? i - 1 : count - 1];
        marked += in[i];
    }
    return marked == count ? 1 : runs;
}

static void check_epoch(uint64_t count, uint64_t samples, uint64_t lanes,
                        uint64_t epoch)
{
    struct fdl_blocks b = blocks(count, samples, lanes, test_seed(), epoch);
    struct fdl_block_group g, of;
    uint8_t seen[1000] = {0};
    uint64_t at = 0;
    assert_true(count <= sizeof(seen));
    for (uint64_t k = 0; k < b.n_groups; k++) {
        uint8_t in[1000] = {0};
        fdl_blocks_group(&b, k, &g);
        assert_int_equal(g.first, at);
        assert_true(g.length > 0 && g.length <= samples * lanes);
        if (b.n_groups > 1) /* the few blocks that are left are shared out */
            assert_true(g.length + 2 * samples > samples * (lanes / 2));
        for (; at < g.first + g.length; at++) {
            fdl_blocks_group_of(&b, at, &of);
            assert_memory_equal(&of, &g, sizeof(g));
            uint64_t sample = fdl_blocks_sample(&b, at);
            assert_true(sample < count);
            assert_int_equal(seen[sample]++, 0);
            in[sample] = 1;
        }
        assert_true(runs_of(in, count) <= lanes);
    }
    assert_int_equal(at, count);
}

TEST(each_sample_once_in_groups_of_runs)
{
    for (uint64_t count = 1; count <= 40; count++)
        for (uint64_t samples = 1; samples <= count + 1; samples++)
            for (uint64_t lanes = 1; lanes <= 7; lanes += 2)
                check_epoch(count, samples, lanes, count % 3);
    check_epoch(1000, 7, 5, 0);
    check_epoch(999, 64, FDL_LANES_MAX, 1);
    check_epoch(998, FDL_BLOCK_MAX, 3, 2);
}

TEST(huge_counts_are_arithmetic)
{
    struct fdl_block_group g;
    uint64_t count = FDL_SAMPLES_MAX;
    for (uint64_t i = 0; i < 100; i++) {
        struct fdl_blocks b = blocks(count - i, 1 + i * 997, 1 + i * 651,
                                     test_seed(), UINT64_C(1) << 61);
        assert_true(fdl_blocks_sample(&b, count - i - 1) < count - i);
        fdl_blocks_group_of(&b, count - i - 1, &g);
        assert_int_equal(g.number, b.n_groups - 1);
        assert_int_equal(g.first + g.length, count - i);
    }
}

/* Saved positions rely on it. */
TEST(order_is_pinned)
{
    static const uint64_t expected[] = {12, 5,  10, 4, 11, 6, 0, 18, 16, 19,
                                        15, 17, 3,  1, 2,  7, 9, 8,  14, 13};
    struct fdl_blocks b = blocks(20, 3, 2, 7, 5);
    for (uint64_t i = 0; i < 20; i++)
        assert_int_equal(fdl_blocks_sample(&b, i), expected[i]);
}

/* Every sample is as likely as any other at every place, those of the short
 * block and of the block round the end too. */
TEST(places_are_fair)
{
    enum { COUNT = 11, TRIALS = 22000 };
    double at[COUNT][COUNT] = {{0}}, statistic = 0;
    for (uint64_t t = 0; t < TRIALS; t++) {
        struct fdl_blocks b = blocks(COUNT, 3, 2, test_seed(), t);
        for (uint64_t i = 0; i < COUNT; i++)
            at[i][fdl_blocks_sample(&b, i)]++;
    }
    double expected = (double)TRIALS / COUNT;
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < COUNT; k++)
            statistic += (at[i][k] - expected) * (at[i][k] - expected);
    statistic /= expected;
    double freedom = (COUNT - 1) * (COUNT - 1);
    assert_true(fabs(statistic - freedom) / sqrt(2 * freedom) < 5);
}

TEST(each_epoch_cuts_elsewhere)
{
    struct fdl_blocks b = blocks(100000, 64, 16, test_seed(), 0);
    uint32_t same = 0;
    for (uint64_t epoch = 1; epoch <= 64; epoch++)
        same += blocks(100000, 64, 16, test_seed(), epoch).first % 64 ==
                b.first % 64;
    assert_true(same < 10); /* 1 of 64, by chance */
}

/* Ranks take turns in it, as in any order. */
TEST(ranks_share_an_epoch)
{
    for (uint32_t world = 1; world <= 5; world++) {
        uint32_t times[60] = {0};
        struct fdl_sampler s = {.count = 60,
                                .world = world,
                                .batch_size = 4,
                                .repeats = 1,
                                .shuffle = FDL_SHUFFLE_BLOCK,
                                .blocks = {7, 3}};
        struct fdl_blocks b = blocks(60, 7, 3, 0, 9);
        for (s.rank = 0; s.rank < world; s.rank++) {
            assert_int_equal(fdl_sampler_init(&s), FEEDLINE_OK);
            for (uint64_t i = 0; i < s.samples; i++) {
                uint64_t sample = index_at(&s, 9, i);
                assert_int_equal(sample,
                                 fdl_blocks_sample(&b, s.rank + i * world));
                times[sample]++;
            }
        }
        for (uint32_t i = 0; i < 60; i++)
            assert_int_equal(times[i], 1);
    }
}

TEST(automatic_blocks_are_about_eight_mebibytes)
{
    assert_int_equal(fdl_block_samples(1000, 0), 64);
    assert_int_equal(fdl_block_samples(1000, 1000 * UINT64_C(131072)), 64);
    assert_int_equal(fdl_block_samples(10, UINT64_C(1) << 40), 1);
    assert_int_equal(fdl_block_samples(UINT64_C(1) << 40, 1), FDL_BLOCK_MAX);
}

TEST_MAIN("blocks")
