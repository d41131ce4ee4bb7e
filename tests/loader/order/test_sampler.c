/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of samples: that it is a permutation, a fair one, the same for
 * ever, and that all arithmetic of the stream agrees with counting on fingers.
 */
#include "base/status.h"
#include "index_at.h"
#include "loader/order/sampler.h"
#include "test.h"

#include <math.h>

/* How far a chi-square statistic lies from its mean, in standard deviations.
 * Five are passed by chance once in a million runs, and the runs are all the
 * same. */
#define TOLERATED 5.0

static double deviation(double statistic, double freedom)
{
    return fabs(statistic - freedom) / sqrt(2 * freedom);
}

static void check_bijection(uint64_t count, uint64_t seed, uint64_t epoch)
{
    uint8_t *seen = calloc(count, 1);
    assert_non_null(seen);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t element = fdl_permute(count, seed, epoch, i);
        assert_true(element < count);
        assert_int_equal(seen[element], 0);
        seen[element] = 1;
    }
    free(seen);
}

TEST(permutation_is_a_bijection)
{
    uint64_t seed = test_seed();
    for (uint64_t count = 1; count <= 3000; count++)
        check_bijection(count, seed, count % 7);
    for (uint32_t bits = 12; bits <= 20; bits += 4) {
        for (uint64_t off = 0; off < 3; off++)
            check_bijection(((uint64_t)1 << bits) + off - 1, seed, bits);
    }
}

/* A walk back: an element of a large domain comes from one place only, so two
 * places next to each other never share one, and all stay below count. */
TEST(huge_counts_stay_in_range)
{
    uint64_t seed = test_seed();
    for (uint32_t bits = 21; bits <= 48; bits++) {
        uint64_t count = ((uint64_t)1 << bits) - bits % 3;
        uint64_t before = fdl_permute(count, seed, 1, count - 1);
        for (uint64_t i = 0; i < 100; i++) {
            uint64_t element = fdl_permute(count, seed, 1, i);
            assert_true(element < count);
            assert_true(element != before);
            before = element;
        }
    }
}

TEST(permutation_is_pinned)
{
    static const struct {
        uint64_t count, seed, epoch;
        uint64_t first[4];
    } known[] = {
        {10u, 0u, 0u, {5u, 7u, 8u, 6u}},
        {32u, 1u, 2u, {10u, 27u, 22u, 23u}},
        {33u, 1u, 2u, {18u, 25u, 2u, 8u}},
        {1000u, 42u, 7u, {996u, 416u, 885u, 673u}},
        {50000u, 0u, 1u, {26222u, 39029u, 49265u, 39035u}},
        {1281167u, 0u, 0u, {435469u, 781887u, 244662u, 1257958u}},
        {1281167u, 1u, 0u, {900399u, 1121820u, 1209602u, 46340u}},
        {1281167u, 0u, 1u, {1226679u, 1226290u, 462502u, 543772u}},
        {281474976710656u,
         123456789012345u,
         3u,
         {197280588782916u, 98006451495009u, 232224447610296u,
          229527254957861u}},
    };
    for (size_t k = 0; k < FDL_COUNT_OF(known); k++) {
        for (uint64_t i = 0; i < FDL_COUNT_OF(known[k].first); i++) {
            uint64_t element =
                fdl_permute(known[k].count, known[k].seed, known[k].epoch, i);
            assert_int_equal(element, known[k].first[i]);
        }
    }
}

/* Every element at every place, and every ordered pair at the first two. */
static void check_fairness(uint64_t count, uint64_t seed)
{
    enum { MAX = 40, EPOCHS = 20000 };
    static uint32_t at[MAX][MAX], pair[MAX][MAX];
    memset(at, 0, sizeof(at));
    memset(pair, 0, sizeof(pair));
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        for (uint64_t i = 0; i < count; i++)
            at[i][fdl_permute(count, seed, epoch, i)]++;
        pair[fdl_permute(count, seed, epoch, 0)]
            [fdl_permute(count, seed, epoch, 1)]++;
    }

    double n = (double)count;
    double places = 0, pairs = 0;
    for (uint64_t i = 0; i < count; i++) {
        for (uint64_t k = 0; k < count; k++) {
            double off = at[i][k] - EPOCHS / n;
            places += off * off / (EPOCHS / n);
            off = pair[i][k] - EPOCHS / (n * (n - 1));
            if (i != k)
                pairs += off * off / (EPOCHS / (n * (n - 1)));
        }
        assert_int_equal(pair[i][i], 0);
    }

    /* The cells of a permutation are tied to each other: rows and columns both
     * add up, which scales the statistic by n / (n - 1). */
    double freedom = (n - 1) * (n - 1);
    assert_true(deviation(places * (n - 1) / n, freedom) < TOLERATED);
    assert_true(deviation(pairs, n * (n - 1) - 1) < TOLERATED);
}

TEST(small_permutations_are_fair)
{
    uint64_t seed = test_seed();
    for (uint64_t count = 2; count <= 12; count++)
        check_fairness(count, seed);
}

/* On both sides of the change from the plain shuffle to the network. */
TEST(medium_permutations_are_fair)
{
    uint64_t seed = test_seed();
    check_fairness(32, seed);
    check_fairness(33, seed);
    check_fairness(40, seed);
}

/* Neighbours in the order are not neighbours in the data set. */
TEST(order_has_no_serial_correlation)
{
    uint64_t seed = test_seed();
    for (uint64_t count = 1000; count <= 100000; count *= 10) {
        double mean = (double)(count - 1) / 2;
        double products = 0, squares = 0;
        double before = (double)fdl_permute(count, seed, 3, 0) - mean;
        for (uint64_t i = 1; i < count; i++) {
            double x = (double)fdl_permute(count, seed, 3, i) - mean;
            products += x * before;
            squares += x * x;
            before = x;
        }
        double correlation = products / squares;
        assert_true(fabs(correlation) * sqrt((double)count) < TOLERATED);
    }
}

/* A permutation of n has one fixed point on average, whatever n is, and so has
 * the order of one epoch against another one, or another seed. */
TEST(epochs_and_seeds_are_unrelated)
{
    uint64_t seed = test_seed();
    uint64_t same_epoch = 0, same_seed = 0;
    enum { COUNT = 1000, TRIALS = 50 };
    for (uint64_t t = 0; t < TRIALS; t++) {
        for (uint64_t i = 0; i < COUNT; i++) {
            uint64_t element = fdl_permute(COUNT, seed, t, i);
            same_epoch += element == fdl_permute(COUNT, seed, t + 1, i);
            same_seed += element == fdl_permute(COUNT, seed + 1, t, i);
        }
    }
    /* Poisson with mean 50: 5 deviations are 35. */
    assert_true(same_epoch > 15 && same_epoch < 85);
    assert_true(same_seed > 15 && same_seed < 85);
}

static struct fdl_sampler sampler(uint64_t count, uint32_t rank, uint32_t world,
                                  uint32_t batch_size)
{
    return (struct fdl_sampler){
        .count = count,
        .seed = 7,
        .rank = rank,
        .world = world,
        .batch_size = batch_size,
        .repeats = 1,
        .shuffle = true,
    };
}

TEST(init_refuses_what_cannot_be)
{
    static const struct {
        uint64_t count;
        uint32_t rank, world, batch_size;
        enum fdl_shard_tail tail;
        bool drop_last;
        const char *says;
        uint32_t repeats;
        uint64_t epoch_samples;
    } bad[] = {
        {10, 0, 0, 4, FDL_TAIL_PAD, false, "rank 0 of 0", 1, 0},
        {10, 3, 3, 4, FDL_TAIL_PAD, false, "rank 3 of 3", 1, 0},
        {10, 0, 1, 0, FDL_TAIL_PAD, false, "batch_size", 1, 0},
        {0, 0, 1, 4, FDL_TAIL_PAD, false, "no samples", 1, 0},
        {((uint64_t)1 << 48) + 1, 0, 1, 4, FDL_TAIL_PAD, false, "the most", 1,
         0},
        {2, 0, 3, 4, FDL_TAIL_DROP, false, "fewer ranks", 1, 0},
        {10, 0, 3, 5, FDL_TAIL_PAD, true, "drop_last=false", 1, 0},
        {10, 0, 1, 4, FDL_TAIL_PAD, false, "repeats=0", 0, 0},
        {10, 0, 1, 4, FDL_TAIL_PAD, false, "repeats=65", 65, 0},
        {10, 0, 1, 4, FDL_TAIL_PAD, false, "more than the 30 that 10", 3, 31},
        {10, 0, 4, 4, FDL_TAIL_DROP, false, "3 samples are not enough", 3, 3},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        struct fdl_sampler s =
            sampler(bad[i].count, bad[i].rank, bad[i].world, bad[i].batch_size);
        s.tail = bad[i].tail;
        s.drop_last = bad[i].drop_last;
        s.repeats = bad[i].repeats;
        s.epoch_samples = bad[i].epoch_samples;
        assert_int_equal(fdl_sampler_init(&s), FEEDLINE_EINVAL);
        assert_non_null(strstr(fdl_last_error(), bad[i].says));
        assert_int_equal(s.samples, 0);
    }
}

/* How often each place of the order must come, over all ranks. */
static uint32_t expected_times(uint64_t place, uint64_t count, uint64_t total,
                               enum fdl_shard_tail tail)
{
    if (tail == FDL_TAIL_DROP)
        return place < total;
    if (tail == FDL_TAIL_PAD)
        return place == count - 1 ? (uint32_t)(total - count + 1) : 1;
    uint32_t times = 0;
    for (uint64_t i = place; i < total; i += count)
        times++;
    return times;
}

TEST(ranks_share_the_data_set)
{
    enum { MAX = 24 };
    for (uint64_t count = 1; count <= MAX; count++) {
        for (uint32_t world = 1; world <= 5; world++) {
            for (int tail = FDL_TAIL_PAD; tail <= FDL_TAIL_WRAP; tail++) {
                uint32_t times[MAX] = {0};
                struct fdl_sampler s = sampler(count, 0, world, 4);
                s.tail = (enum fdl_shard_tail)tail;
                if (tail == FDL_TAIL_DROP && count < world)
                    continue;
                for (s.rank = 0; s.rank < world; s.rank++) {
                    assert_int_equal(fdl_sampler_init(&s), FEEDLINE_OK);
                    for (uint64_t i = 0; i < s.samples; i++)
                        times[index_at(&s, 2, i)]++;
                }
                for (uint64_t place = 0; place < count; place++) {
                    uint64_t element = fdl_permute(count, s.seed, 2, place);
                    assert_int_equal(times[element],
                                     expected_times(place, count,
                                                    s.samples * world, s.tail));
                }
            }
        }
    }
}

TEST(unshuffled_order_is_the_data_set)
{
    struct fdl_sampler s = sampler(10, 1, 3, 2);
    s.shuffle = false;
    s.tail = FDL_TAIL_WRAP;
    assert_int_equal(fdl_sampler_init(&s), FEEDLINE_OK);
    static const uint64_t expected[] = {1, 4, 7, 0};
    assert_int_equal(s.samples, FDL_COUNT_OF(expected));
    for (uint64_t i = 0; i < s.samples; i++)
        assert_int_equal(index_at(&s, 5, i), expected[i]);
}

/* What this rank delivers of an epoch that goes on at `position`, over all
 * ranks, as it is told: the ranks take turns at what is left, and shard_tail
 * says what those get who are left over. */
static uint64_t rest_of(const struct fdl_sampler *s, uint64_t position,
                        uint64_t *places)
{
    uint64_t left = s->places - FDL_MIN(position, s->places), n = 0;
    uint64_t turns = left / s->world;
    if (s->tail != FDL_TAIL_DROP && left % s->world != 0)
        turns++;
    for (; n < turns; n++) {
        uint64_t place = position + s->rank + n * s->world;
        while (place >= s->places)
            place = s->tail == FDL_TAIL_PAD ? s->places - 1 : place - s->places;
        places[n] = place;
    }
    return s->drop_last ? n - n % s->batch_size : n;
}

static void check_sample(const struct fdl_stream *st, uint64_t sample,
                         uint64_t place, const struct fdl_ticket_range *range)
{
    const struct fdl_sampler *s = &st->sampler;
    struct fdl_place at;
    fdl_stream_locate(st, sample, &at);
    assert_int_equal(at.epoch, range->epoch);
    assert_int_equal(at.position,
                     range->position + (sample - range->first_sample));
    assert_int_equal(at.slot_place, sample - range->first_sample);
    assert_int_equal(at.index, fdl_sampler_index(s, at.epoch, place));
    assert_int_equal(at.copy, place % s->repeats);
}

/* One epoch, batch by batch, from there on. */
static void check_epoch(const struct fdl_stream *st, uint64_t epoch,
                        uint64_t position, uint64_t *ticket, uint64_t *sample)
{
    const struct fdl_sampler *s = &st->sampler;
    uint64_t places[64];
    uint64_t own = position / s->world, n = rest_of(s, position, places);
    for (uint64_t i = 0; i < n; i += s->batch_size, ++*ticket) {
        struct fdl_ticket_range range;
        uint64_t count = FDL_MIN(n - i, s->batch_size);
        memset(&range, 0xff, sizeof(range));
        assert_true(fdl_stream_ticket(st, *ticket, &range));
        assert_int_equal(range.epoch, epoch);
        assert_int_equal(range.sequence,
                         own / s->batch_size + i / s->batch_size);
        assert_int_equal(range.first_sample, *sample);
        assert_int_equal(range.position, own + i);
        assert_int_equal(range.place, position + s->rank + i * s->world);
        assert_int_equal(range.count, count);
        assert_int_equal(range.last, i + count == n);
        assert_int_equal(fdl_stream_delivered(st, epoch, own + i),
                         position + i * s->world);
        for (uint64_t k = i; k < i + count; k++, ++*sample)
            check_sample(st, *sample, places[k], &range);
    }
}

/* Walks through a run and compares every answer. */
static void check_stream(const struct fdl_stream *st, uint64_t epoch,
                         uint64_t position)
{
    uint64_t sample = 0, ticket = 0;
    struct fdl_ticket_range range;
    for (; epoch < st->end_epoch; epoch++, position = 0)
        check_epoch(st, epoch, position, &ticket, &sample);
    for (uint64_t past = 0; past < 3; past++)
        assert_false(fdl_stream_ticket(st, ticket + past, &range));
}

static void check_all_positions(const struct fdl_sampler *s)
{
    for (uint64_t position = 0; position <= s->places + 2 * s->world;
         position++) {
        struct fdl_stream st;
        uint64_t places[64];
        int32_t status = fdl_stream_init(&st, s, 4, position, 7);
        assert_int_equal(status, FEEDLINE_OK);
        bool ended = rest_of(s, position, places) == 0;
        assert_int_equal(st.first_epoch, ended ? 5 : 4);
        check_stream(&st, ended ? 5 : 4, ended ? 0 : position);
    }
}

TEST(stream_agrees_with_counting)
{
    for (uint64_t count = 1; count <= 14; count++) {
        for (uint32_t mix = 0; mix < 5 * 5 * 3 * 2; mix++) {
            struct fdl_sampler s =
                sampler(count, 0, 1 + mix % 5, 1 + mix / 5 % 5);
            s.tail = (enum fdl_shard_tail)(mix / 25 % 3);
            s.drop_last = mix / 75;
            s.rank = s.world - 1;
            if (fdl_sampler_init(&s) == FEEDLINE_OK)
                check_all_positions(&s);
        }
    }
}

TEST(stream_may_run_for_ever)
{
    struct fdl_sampler s = sampler(1281167, 3, 8, 256);
    assert_int_equal(fdl_sampler_init(&s), FEEDLINE_OK);
    assert_int_equal(s.samples, 160146);
    assert_int_equal(s.batches, 626);

    struct fdl_stream st;
    assert_int_equal(fdl_stream_init(&st, &s, 1, 8 * 1000, UINT64_MAX),
                     FEEDLINE_OK);
    uint64_t head = 160146 - 1000;
    uint64_t head_batches = (head + 255) / 256;
    uint64_t epochs = 1000000;
    struct fdl_ticket_range range;
    assert_true(fdl_stream_ticket(&st, head_batches + epochs * 626, &range));
    assert_int_equal(range.epoch, 2 + epochs);
    assert_int_equal(range.position, 0);
    assert_int_equal(range.first_sample, head + epochs * 160146);

    struct fdl_place place;
    fdl_stream_locate(&st, range.first_sample - 1, &place);
    assert_int_equal(place.epoch, 1 + epochs);
    assert_int_equal(place.position, 160145);
    assert_int_equal(place.ticket, head_batches + epochs * 626 - 1);
}

TEST(stream_init_refuses)
{
    struct fdl_sampler s = sampler(100, 0, 3, 4);
    assert_int_equal(fdl_sampler_init(&s), FEEDLINE_OK);
    struct fdl_stream st;
    memset(&st, 0x5a, sizeof(st));
    struct fdl_stream untouched = st;
    assert_int_equal(fdl_stream_init(&st, &s, UINT64_MAX, 0, 2),
                     FEEDLINE_EINVAL);
    assert_memory_equal(&st, &untouched, sizeof(st));

    /* The end was reached by another number of ranks. */
    assert_int_equal(fdl_stream_init(&st, &s, 0, 104, 2), FEEDLINE_OK);
    assert_int_equal(st.first_epoch, 1);
    assert_int_equal(st.first_position, 0);
}

/* So many batches of each rank from `position` on: marks what they deliver, and
 * returns how far that is, over all ranks. */
static uint64_t run_ranks(struct fdl_sampler s, uint64_t position,
                          uint64_t batches, uint32_t *times)
{
    uint64_t end = 0;
    for (s.rank = 0; s.rank < s.world; s.rank++) {
        struct fdl_stream st;
        struct fdl_ticket_range range;
        assert_int_equal(fdl_sampler_init(&s), FEEDLINE_OK);
        assert_int_equal(fdl_stream_init(&st, &s, 0, position, 1), FEEDLINE_OK);
        end = position;
        for (uint64_t t = 0; t < batches && fdl_stream_ticket(&st, t, &range);
             t++) {
            for (uint32_t i = 0; i < range.count; i++) {
                struct fdl_place at;
                fdl_stream_locate(&st, range.first_sample + i, &at);
                times[at.index]++;
            }
            end = fdl_stream_delivered(&st, 0, range.position + range.count);
        }
    }
    return end;
}

/* Three jobs after each other with other ranks and batches: together they
 * deliver what one would have, each sample once, and what is not there for all
 * ranks at the end is left out. */
TEST(resume_with_other_ranks_repeats_nothing)
{
    enum { COUNT = 61 };
    for (uint32_t mix = 0; mix < 7 * 7 * 7 * 4 * 4; mix++) {
        uint32_t worlds[] = {1 + mix % 7, 1 + mix / 7 % 7, 1 + mix / 49 % 7};
        uint64_t batches[] = {mix / 343 % 4, mix / 343 / 4, COUNT};
        uint32_t times[COUNT] = {0};
        uint64_t position = 0;
        for (int job = 0; job < 3 && position < COUNT; job++) {
            struct fdl_sampler s =
                sampler(COUNT, 0, worlds[job], 2 + (uint32_t)job);
            s.tail = FDL_TAIL_DROP;
            position = run_ranks(s, position, batches[job], times);
        }
        uint64_t delivered = 0;
        for (uint64_t place = 0; place < COUNT; place++) {
            uint64_t index = fdl_permute(COUNT, 7, 0, place);
            assert_int_equal(times[index], place < position);
            delivered += times[index];
        }
        assert_true(COUNT - delivered < 7);
    }
}

/* ---- Repeats ------------------------------------------------------------ */

struct element {
    uint64_t index;
    uint32_t copy;
};

/* The order of an epoch written down as it is told: every sample `repeats`
 * times, cut to the length of the epoch, filled up or cut again to a multiple
 * of world. The number of elements. */
static uint64_t write_down(const struct fdl_sampler *s, uint64_t epoch,
                           struct element *out)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < s->count; i++) {
        uint64_t index =
            s->shuffle ? fdl_permute(s->count, s->seed, epoch, i) : i;
        for (uint32_t copy = 0; copy < s->repeats; copy++)
            out[n++] = (struct element){index, copy};
    }
    uint64_t length = s->epoch_samples ? s->epoch_samples : s->count;
    n = length;
    if (s->tail == FDL_TAIL_DROP)
        return n - n % s->world;
    for (; n % s->world != 0; n++)
        out[n] = s->tail == FDL_TAIL_PAD ? out[length - 1]
                                         : out[(n - length) % length];
    return n;
}

static void check_repeats(struct fdl_sampler s)
{
    struct element order[512];
    uint64_t n = write_down(&s, 3, order);
    for (s.rank = 0; s.rank < s.world; s.rank++) {
        if (n == 0) {
            assert_int_equal(fdl_sampler_init(&s), FEEDLINE_EINVAL);
            continue;
        }
        assert_int_equal(fdl_sampler_init(&s), FEEDLINE_OK);
        assert_int_equal(s.samples, n / s.world);
        for (uint64_t i = 0; i < s.samples; i++) {
            const struct element *e = &order[s.rank + i * s.world];
            assert_int_equal(index_at(&s, 3, i), e->index);
            assert_int_equal(fdl_sampler_copy(&s, fdl_sampler_place(&s, i)),
                             e->copy);
        }
    }
}

TEST(repeats_agree_with_what_is_told)
{
    for (uint64_t count = 1; count <= 11; count++) {
        for (uint32_t mix = 0; mix < 5 * 5 * 3 * 2; mix++) {
            struct fdl_sampler s = sampler(count, 0, 1 + mix % 5, 3);
            s.repeats = 1 + mix / 5 % 5;
            s.tail = (enum fdl_shard_tail)(mix / 25 % 3);
            s.shuffle = mix / 75;
            for (uint64_t n = 0; n <= count * s.repeats; n++) {
                s.epoch_samples = n;
                check_repeats(s);
            }
        }
    }
}

/* Batches, short ones and where a run may begin are counted as without. */
TEST(stream_with_repeats_agrees_with_counting)
{
    for (uint64_t count = 1; count <= 7; count++) {
        for (uint32_t mix = 0; mix < 4 * 3 * 3 * 2; mix++) {
            struct fdl_sampler s =
                sampler(count, 0, 1 + mix % 4, 1 + mix / 4 % 3);
            s.repeats = 3;
            s.tail = (enum fdl_shard_tail)(mix / 12 % 3);
            s.drop_last = mix / 36;
            for (uint64_t n = 0; n <= count * s.repeats; n++) {
                s.epoch_samples = n;
                s.samples = s.batches = 0;
                if (fdl_sampler_init(&s) == FEEDLINE_OK)
                    check_all_positions(&s);
            }
        }
    }
}

/* The indices that torchvision's RASampler gives (references/classification),
 * for the permutation that it would draw: [p for p in permutation for i in
 * range(repeats)], filled up from the front, [rank::world], and of each rank
 * the first len(data) // 256 * 256 // world. */
TEST(order_is_that_of_rasampler)
{
    enum { COUNT = 1003, REPEATS = 3 };
    for (uint32_t world = 1; world <= 8; world++) {
        static uint64_t indices[COUNT * REPEATS + 8];
        uint64_t n = 0;
        for (uint64_t i = 0; i < COUNT; i++) {
            for (int k = 0; k < REPEATS; k++)
                indices[n++] = fdl_permute(COUNT, 7, 2, i);
        }
        for (uint64_t i = 0; n % world != 0; i++)
            indices[n++] = indices[i];
        struct fdl_sampler s = sampler(COUNT, 0, world, 32);
        s.repeats = REPEATS;
        s.epoch_samples = COUNT / 256 * 256;
        s.tail = FDL_TAIL_DROP;
        for (s.rank = 0; s.rank < world; s.rank++) {
            assert_int_equal(fdl_sampler_init(&s), FEEDLINE_OK);
            assert_int_equal(s.samples, COUNT / 256 * 256 / world);
            for (uint64_t i = 0; i < s.samples; i++)
                assert_int_equal(index_at(&s, 2, i),
                                 indices[s.rank + i * world]);
        }
    }
}

TEST(replacement_is_another_sample)
{
    for (uint64_t count = 2; count <= 6; count++) {
        struct fdl_sampler s = sampler(count, 0, 1, 1);
        assert_int_equal(fdl_sampler_init(&s), FEEDLINE_OK);
        uint32_t times[6] = {0};
        for (uint32_t attempt = 0; attempt < 200; attempt++) {
            uint64_t other = fdl_sampler_replacement(&s, 3, 1, attempt);
            assert_int_equal(other, fdl_sampler_replacement(&s, 3, 1, attempt));
            assert_true(other < count);
            times[other]++;
        }
        for (uint64_t i = 0; i < count; i++)
            assert_int_equal(times[i] > 0, i != 1);
    }

    /* There is no other. */
    struct fdl_sampler one = sampler(1, 0, 1, 1);
    assert_int_equal(fdl_sampler_init(&one), FEEDLINE_OK);
    assert_int_equal(fdl_sampler_replacement(&one, 0, 0, 3), 0);
}

TEST_MAIN("sampler")
