/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a block shuffle asks for ahead: each sample that a rank will deliver
 * once, in the order of the row of blocks, before its group is reached; of the
 * first group of a run, from four times the pace.
 */
#include "base/status.h"
#include "index_at.h"
#include "loader/order/ahead.h"
#include "test.h"

#define COUNT 300

struct asked {
    uint32_t times[COUNT]; /* of the epoch that is counted */
    uint64_t counted;
};

static void count(void *user, uint64_t index)
{
    struct asked *a = user;
    assert_true(index < COUNT);
    a->times[index]++;
    a->counted++;
}

/* From `begin`, over all ranks, of epoch 5 on. */
static struct fdl_stream stream(uint32_t rank, uint32_t world, uint32_t repeats,
                                uint64_t epoch_samples, uint64_t begin)
{
    struct fdl_stream st;
    struct fdl_sampler s = {.count = COUNT,
                            .epoch_samples = epoch_samples,
                            .seed = test_seed(),
                            .repeats = repeats,
                            .rank = rank,
                            .world = world,
                            .batch_size = 4,
                            .shuffle = FDL_SHUFFLE_BLOCK,
                            .blocks = {7, 5}};
    assert_int_equal(fdl_sampler_init(&s), FEEDLINE_OK);
    assert_int_equal(fdl_stream_init(&st, &s, 5, begin, 7), FEEDLINE_OK);
    return st;
}

/* In the second epoch, from what is asked for while the first is read on. */
static void check_second_epoch(const struct fdl_stream *st)
{
    const struct fdl_sampler *s = &st->sampler;
    struct asked a = {0};
    uint32_t delivered[COUNT] = {0};
    struct fdl_blocks b;
    struct fdl_block_group g;
    fdl_blocks_init(&b, COUNT, &s->blocks, s->seed, 6);
    /* The whole of the first one; what it asks of itself is not counted. */
    for (uint64_t i = st->first_position; i < st->first_samples; i++) {
        struct asked none = {0};
        fdl_ahead(st, 5, i, count, i * s->world < s->places ? &a : &none);
    }
    memset(&a, 0, sizeof(a));
    fdl_blocks_group(&b, 0, &g);
    for (uint64_t i = 0; i < s->samples; i++) {
        fdl_ahead(st, 6, i, count, &a);
        uint64_t place = s->rank + i * s->world;
        if (place < s->places && place / s->repeats >= g.first + g.length)
            delivered[index_at(s, 6, i)] = 1;
    }
    /* Those of the first group were asked for in the epoch before. */
    assert_memory_equal(a.times, delivered, sizeof(delivered));
}

/* Begun anywhere: behind the group that it begins in, each sample that this
 * rank delivers is asked for once, and in that group no other. */
static void check_first_epoch(const struct fdl_stream *st, uint64_t begin)
{
    const struct fdl_sampler *s = &st->sampler;
    struct asked a = {0};
    struct fdl_blocks b;
    struct fdl_block_group home;
    uint32_t own[COUNT] = {0}, later[COUNT] = {0};
    fdl_blocks_init(&b, COUNT, &s->blocks, s->seed, 5);
    fdl_blocks_group_of(&b, begin / s->repeats, &home);
    for (uint64_t i = st->first_position; i < st->first_samples; i++) {
        uint64_t place = begin + s->rank + (i - st->first_position) * s->world;
        uint64_t element = place / s->repeats;
        fdl_ahead(st, 5, i, count, &a);
        if (place < s->places)
            (element < home.first + home.length
                 ? own
                 : later)[fdl_blocks_sample(&b, element)] = 1;
    }
    for (uint32_t i = 0; i < COUNT; i++)
        assert_true(a.times[i] == later[i] || (own[i] && a.times[i] == 1));
}

TEST(each_sample_of_a_rank_once)
{
    for (uint32_t world = 1; world <= 5; world++)
        for (uint32_t rank = 0; rank < world; rank++)
            for (uint32_t repeats = 1; repeats <= 3; repeats++) {
                struct fdl_stream st = stream(rank, world, repeats, 0, 0);
                check_second_epoch(&st);
                for (uint64_t begin = 0; begin < 3 * world; begin++) {
                    st = stream(rank, world, repeats, 200, begin);
                    check_second_epoch(&st);
                    st.end_epoch = 6;
                    check_first_epoch(&st, begin);
                }
            }
}

/* From anywhere in an epoch: what is left of its groups and, at its end, the
 * first group of the next. */
TEST(a_run_that_begins_anywhere)
{
    for (uint64_t begin = 0; begin < COUNT; begin += 13) {
        struct fdl_stream st = stream(0, 1, 1, 0, begin);
        const struct fdl_sampler *s = &st.sampler;
        struct asked a = {0};
        uint32_t wanted[COUNT] = {0};
        struct fdl_blocks b;
        struct fdl_block_group home, g;
        fdl_blocks_init(&b, COUNT, &s->blocks, s->seed, 5);
        fdl_blocks_group_of(&b, begin, &home);
        uint64_t left = home.first + home.length - begin;
        for (uint64_t i = begin; i < COUNT; i++) {
            fdl_ahead(&st, 5, i, count, &a);
            if (i >= begin + left)
                wanted[index_at(s, 5, i)]++;
        }
        fdl_blocks_init(&b, COUNT, &s->blocks, s->seed, 6);
        fdl_blocks_group(&b, 0, &g);
        for (uint64_t i = 0; i < g.length; i++)
            wanted[index_at(s, 6, i)]++;
        /* Beside that only its own group, no sample twice. */
        uint64_t own = 0;
        for (uint64_t i = begin; i < begin + left; i++) {
            uint64_t index = index_at(s, 5, i);
            if (a.times[index] > wanted[index]) {
                a.times[index]--;
                own++;
            }
        }
        assert_memory_equal(a.times, wanted, sizeof(wanted));
        assert_true(begin > 0 || own == left);
    }
}

/* Nothing is asked for behind the end of the run, or in other orders. */
TEST(nothing_in_vain)
{
    struct asked a = {.counted = 0};
    struct fdl_stream st = stream(0, 1, 1, 0, 0);
    struct fdl_block_group g;
    struct fdl_blocks b;
    fdl_blocks_init(&b, COUNT, &st.sampler.blocks, st.sampler.seed, 6);
    fdl_blocks_group_of(&b, COUNT - 1, &g);
    for (uint64_t i = g.first; i < COUNT; i++)
        fdl_ahead(&st, 6, i, count, &a);
    st.sampler.shuffle = FDL_SHUFFLE_FULL;
    fdl_ahead(&st, 5, 0, count, &a);
    assert_int_equal(a.counted, 0);
}

/* One for one: a group is asked for while the one before it is delivered. */
TEST(pace_is_even)
{
    struct fdl_stream st = stream(0, 1, 1, 0, 0);
    for (uint64_t i = 0; i < COUNT; i++) {
        struct asked a = {.counted = 0};
        fdl_ahead(&st, 6, i, count, &a);
        assert_true(a.counted <= 2);
    }
}

/* Element and place are the same thing seen from two sides. */
TEST(places_lead_back)
{
    struct fdl_blocks b;
    struct fdl_block_group g;
    for (uint64_t samples = 1; samples < 40; samples += 6) {
        struct fdl_block_shape shape = {samples, 3};
        fdl_blocks_init(&b, COUNT, &shape, test_seed(), 1);
        for (uint64_t place = 0; place < COUNT; place++) {
            fdl_blocks_group_of(&b, place, &g);
            uint64_t element = fdl_blocks_element(&b, &g, place);
            assert_int_equal(fdl_blocks_sample(&b, element),
                             fdl_blocks_row(&b, place));
        }
    }
}

TEST_MAIN("ahead")
