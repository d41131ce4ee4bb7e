/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Philox against the known answers that its authors publish with Random123, the
 * layout of our streams against the function, and the draws against chi-square
 * bounds. The streams are fixed numbers, so nothing here can flicker.
 */
#include "base/compiler.h"
#include "base/philox.h"
#include "test.h"

#include <math.h>

TEST(known_answers)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } rows[] = {
        {{0, 0, 0, 0},
         {0, 0},
         {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        uint32_t out[4];
        fdl_philox4x32(rows[i].counter, rows[i].key, out);
        assert_memory_equal(out, rows[i].out, sizeof(out));
    }
}

#define SEED   0x0123456789abcdefu
#define EPOCH  7u
#define SAMPLE 0xfedcba9876543210u
#define PLACE  3u

TEST(stream_is_what_the_header_says)
{
    struct fdl_rng rng;
    fdl_rng_init(&rng, SEED, EPOCH, SAMPLE, PLACE);
    const uint32_t key[2] = {0x89abcdef, 0x01234567};
    for (uint32_t block = 0; block < 3; block++) {
        const uint32_t counter[4] = {block | PLACE << 16, 0x76543210,
                                     0xfedcba98, EPOCH};
        uint32_t expected[4];
        fdl_philox4x32(counter, key, expected);
        for (int i = 0; i < 4; i++)
            assert_int_equal(fdl_rng_u32(&rng), expected[i]);
    }
}

/* After its last block a stream starts again and does not run into the next
 * place's. */
static void check_wrap(uint32_t place)
{
    struct fdl_rng rng;
    fdl_rng_init(&rng, SEED, EPOCH, SAMPLE, place);
    uint32_t first[4];
    for (int i = 0; i < 4; i++)
        first[i] = fdl_rng_u32(&rng);
    for (uint32_t i = 4; i < 65536 * 4; i++)
        fdl_rng_u32(&rng);
    for (int i = 0; i < 4; i++)
        assert_int_equal(fdl_rng_u32(&rng), first[i]);
}

TEST(stream_wraps_in_its_place)
{
    check_wrap(0);
    check_wrap(PLACE);
    check_wrap(FDL_PLACE_PERMUTE);
}

static int bits(uint32_t word)
{
    int n = 0;
    for (; word; word &= word - 1)
        n++;
    return n;
}

/* Names that differ in one part give streams that differ in half of their
 * bits: 64000 coin flips, five sigma are 633. */
TEST(neighbours_are_independent)
{
    static const uint64_t step[][4] = {
        {1, 0, 0, 0},
        {(uint64_t)1 << 32, 0, 0, 0},
        {0, 1, 0, 0},
        {0, 0, 1, 0},
        {0, 0, (uint64_t)1 << 32, 0},
        {0, 0, 0, 1},
        {0, 0, (uint64_t)1 << 48, 0}, /* another copy */
    };
    for (size_t i = 0; i < FDL_COUNT_OF(step); i++) {
        struct fdl_rng a, b;
        fdl_rng_init(&a, SEED, EPOCH, SAMPLE, PLACE);
        fdl_rng_init(&b, SEED + step[i][0], EPOCH + step[i][1],
                     SAMPLE + step[i][2], PLACE + (uint32_t)step[i][3]);
        int different = 0;
        for (int k = 0; k < 2000; k++)
            different += bits(fdl_rng_u32(&a) ^ fdl_rng_u32(&b));
        assert_in_range(different, 32000 - 633, 32000 + 633);
    }
}

/* The first copy has the name of the sample itself, and no two are equal. */
TEST(copies_have_names_of_their_own)
{
    static const uint64_t samples[] = {0, 1, UINT32_MAX, FDL_SAMPLES_MAX - 1};
    uint64_t names[FDL_COUNT_OF(samples) * FDL_COPIES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < FDL_COUNT_OF(samples); i++) {
        assert_true(fdl_rng_copy(samples[i], 0) == samples[i]);
        for (uint32_t copy = 0; copy < FDL_COPIES_MAX; copy++) {
            names[n] = fdl_rng_copy(samples[i], copy);
            for (size_t k = 0; k < n; k++)
                assert_true(names[k] != names[n]);
            n++;
        }
    }
}

TEST(order_of_streams_does_not_matter)
{
    struct fdl_rng a, b, again;
    fdl_rng_init(&a, 1, 2, 3, 4);
    fdl_rng_init(&b, 1, 2, 5, 4);
    uint32_t expected[10];
    for (int i = 0; i < 10; i++) {
        expected[i] = fdl_rng_u32(&a);
        fdl_rng_u32(&b);
    }
    fdl_rng_init(&again, 1, 2, 3, 4);
    for (int i = 0; i < 10; i++)
        assert_int_equal(fdl_rng_u32(&again), expected[i]);
}

#define BINS 256

/* Chi-square of 255 degrees of freedom: 99.8 % lie between 190 and 330. */
static void check_bins(const uint32_t count[BINS], uint32_t n)
{
    double expected = (double)n / BINS, sum = 0.0;
    for (int i = 0; i < BINS; i++) {
        double off = count[i] - expected;
        sum += off * off / expected;
    }
    print_message("chi-square %.1f\n", sum);
    assert_true(sum > 190.0);
    assert_true(sum < 330.0);
}

TEST(uniform_is_uniform)
{
    enum { N = 128000 }; /* a stream has 131072 */
    uint32_t high[BINS] = {0}, low[BINS] = {0};
    struct fdl_rng rng;
    fdl_rng_init(&rng, SEED, 0, 1, 0);
    double sum = 0.0;
    for (uint32_t i = 0; i < N; i++) {
        double u = fdl_rng_uniform(&rng);
        assert_true(u >= 0.0 && u < 1.0);
        sum += u;
        double scaled = u * BINS;
        high[(uint32_t)scaled]++;
        /* The last 8 of its 53 bits. */
        low[(uint64_t)(u * 0x1p53) & (BINS - 1)]++;
    }
    /* Five sigma of the mean of N: 5 / sqrt(12 N). */
    assert_true(sum / N > 0.5 - 0.0041 && sum / N < 0.5 + 0.0041);
    check_bins(high, N);
    check_bins(low, N);
}

/* Both of a pair, and independent: five sigma of the means of N. */
TEST(normal_is_normal)
{
    enum { N = 60000 };
    struct fdl_rng rng;
    fdl_rng_init(&rng, SEED, 0, 2, 0);
    double sum[2] = {0}, squares[2] = {0}, product = 0, beyond_two = 0;
    for (uint32_t i = 0; i < N; i++) {
        double x[2];
        fdl_rng_normal(&rng, x);
        for (int k = 0; k < 2; k++) {
            sum[k] += x[k];
            squares[k] += x[k] * x[k];
            beyond_two += x[k] > 2 || x[k] < -2;
        }
        product += x[0] * x[1];
    }
    for (int k = 0; k < 2; k++) {
        assert_true(fabs(sum[k] / N) < 0.0205);
        assert_true(fabs(squares[k] / N - 1) < 0.029);
    }
    assert_true(fabs(product / N) < 0.0205);
    assert_true(fabs(beyond_two / (2.0 * N) - 0.0455) < 0.0031);
}

TEST(below_is_below)
{
    static const uint32_t bounds[] = {1,    2,           3,          7,
                                      1000, 0x80000001u, 0xffffffffu};
    struct fdl_rng rng;
    fdl_rng_init(&rng, SEED, 0, 2, 0);
    for (size_t b = 0; b < FDL_COUNT_OF(bounds); b++) {
        for (int i = 0; i < 1000; i++)
            assert_true(fdl_rng_below(&rng, bounds[b]) < bounds[b]);
    }
    assert_int_equal(fdl_rng_below(&rng, 0), 0);
    assert_int_equal(fdl_rng_below(&rng, 1), 0);
}

TEST(below_is_uniform)
{
    enum { N = 128000 };
    uint32_t count[BINS] = {0};
    struct fdl_rng rng;
    fdl_rng_init(&rng, SEED, 0, 3, 0);
    for (uint32_t i = 0; i < N; i++)
        count[fdl_rng_below(&rng, BINS)]++;
    check_bins(count, N);

    memset(count, 0, sizeof(count));
    for (uint32_t i = 0; i < N; i++)
        count[fdl_rng_below(&rng, 1000 * BINS) / 1000]++;
    check_bins(count, N);
}

/* With n = 3/4 of 2^32, plain multiplication hits every third number twice as
 * often as the others: a half of the draws instead of a third. */
TEST(below_has_no_bias)
{
    enum { N = 90000 };
    const uint32_t n = 0xc0000000u;
    uint32_t count[3] = {0};
    struct fdl_rng rng;
    fdl_rng_init(&rng, SEED, 0, 4, 0);
    for (uint32_t i = 0; i < N; i++)
        count[fdl_rng_below(&rng, n) % 3]++;
    for (int i = 0; i < 3; i++)
        assert_in_range(count[i], N / 3 - 707, N / 3 + 707); /* five sigma */
}

TEST_MAIN("base_philox")
