/* SPDX-License-Identifier: Apache-2.0 */
/* Rhythms that are there, and those that are not. */
#include "dice.h"
#include "profiler/measure/rhythm.h"
#include "test.h"

#define MS INT64_C(1000000)

static struct dice dice;

/* 1 ms, a tenth more or less, and `extra` each `period` steps. */
static void fill(struct fdl_series *s, uint32_t n, uint32_t period,
                 int64_t extra)
{
    memset(s, 0, sizeof(*s));
    for (uint32_t i = 0; i < n; i++) {
        int64_t value = MS + dice_below(&dice, MS / 5) - MS / 10;
        fdl_series_add(s, value + (i % period == period - 1 ? extra : 0));
    }
}

TEST(test_median)
{
    struct fdl_series s = {.n = 0};
    assert_int_equal(fdl_series_median(&s, 256), 0);
    fdl_series_add(&s, 7);
    assert_int_equal(fdl_series_median(&s, 256), 7);
    assert_int_equal(fdl_series_median(&s, 0), 0);
    fdl_series_add(&s, INT64_MAX);
    fdl_series_add(&s, INT64_MIN);
    assert_int_equal(fdl_series_median(&s, 256), 7);
    for (int i = 0; i < 5; i++)
        fdl_series_add(&s, 20);
    assert_int_equal(fdl_series_median(&s, 5), 20);
    assert_int_equal(fdl_series_median(&s, 256), 20);
}

/* Only the last ones are remembered. */
TEST(test_forgets)
{
    struct fdl_series s = {.n = 0};
    for (uint32_t i = 0; i < FDL_SERIES_LENGTH; i++)
        fdl_series_add(&s, 1000);
    for (uint32_t i = 0; i < FDL_SERIES_LENGTH; i++)
        fdl_series_add(&s, 10 + (int64_t)i % 3);
    assert_int_equal(fdl_series_median(&s, UINT32_MAX), 11);
    assert_int_equal(s.n, 2 * FDL_SERIES_LENGTH);
}

TEST(test_periods)
{
    static const uint32_t periods[] = {2, 3, 7, 10, 50, 100, 170};
    static const int64_t extras[] = {MS * 3, MS * 20, MS * 5000};
    dice.state = test_seed();
    for (size_t p = 0; p < sizeof(periods) / sizeof(*periods); p++)
        for (size_t x = 0; x < sizeof(extras) / sizeof(*extras); x++) {
            struct fdl_series s;
            double strength;
            fill(&s, 600, periods[p], extras[x]);
            uint32_t found = fdl_series_period(&s, &strength);
            print_message("%u, %lld ns more: %u at %.3f\n", periods[p],
                          (long long)extras[x], found, strength);
            assert_int_equal(found, periods[p]);
            assert_true(strength >= 0.5 && strength <= 1);
        }
}

/* Two of a kind are no rhythm, three are. */
TEST(test_three_periods)
{
    dice.state = test_seed();
    struct fdl_series s;
    double strength;
    fill(&s, 90, 30, 10 * MS);
    assert_int_equal(fdl_series_period(&s, &strength), 30);
    fill(&s, 89, 30, 10 * MS);
    assert_int_not_equal(fdl_series_period(&s, &strength), 30);
}

TEST(test_no_rhythm)
{
    dice.state = test_seed();
    struct fdl_series s;
    double strength = 5;
    fill(&s, 0, 2, 0);
    assert_int_equal(fdl_series_period(&s, &strength), 0);
    assert_true(strength == 0);
    memset(&s, 0, sizeof(s));
    for (int i = 0; i < 300; i++)
        fdl_series_add(&s, MS);
    assert_int_equal(fdl_series_period(&s, &strength), 0);
    /* Equal but for a hair, which has a rhythm. */
    memset(&s, 0, sizeof(s));
    for (int i = 0; i < 300; i++)
        fdl_series_add(&s, MS + (i % 4 == 0 ? MS / 50 : 0));
    assert_int_equal(fdl_series_period(&s, &strength), 0);
    for (int run = 0; run < 50; run++) {
        fill(&s, 300, 2, 0);
        fdl_series_period(&s, &strength);
        assert_true(strength < 0.5);
    }
}

TEST(test_few_waits_show_no_rhythm)
{
    dice.state = test_seed();
    for (int run = 0; run < 400; run++) {
        struct fdl_series s = {.n = 0};
        double strength;
        for (int i = 0; i < 10 + run % 40; i++)
            fdl_series_add(&s, dice_below(&dice, 2 * MS));
        fdl_series_period(&s, &strength);
        assert_true(strength < 0.5);
    }
}

/* One step that took a minute, among steps that vary. */
TEST(test_one_outlier)
{
    dice.state = test_seed();
    for (uint32_t at = 0; at < 300; at += 37) {
        struct fdl_series s;
        double strength;
        fill(&s, 300, 2, 0);
        s.values[at] = 60000 * MS;
        fdl_series_period(&s, &strength);
        assert_true(strength < 0.5);
    }
}

/* Waits that were long at first and are short since, as while a tuner works,
 * resemble themselves at every lag. */
TEST(test_a_trend_is_no_rhythm)
{
    dice.state = test_seed();
    for (uint32_t end = 5; end < 300; end += 37) {
        struct fdl_series s;
        double strength;
        fill(&s, 300, 2, 0);
        for (uint32_t i = 0; i < end; i++)
            s.values[i] += 5 * MS;
        assert_int_equal(fdl_series_period(&s, &strength), 0);
    }
}

/* Waits are mostly 0. */
TEST(test_zeros)
{
    struct fdl_series s = {.n = 0};
    double strength;
    for (int i = 0; i < 200; i++)
        fdl_series_add(&s, i % 20 == 0 ? 30 * MS + i : 0);
    assert_int_equal(fdl_series_period(&s, &strength), 20);
    assert_true(strength > 0.9);
    /* A little in each that is not 0 is no match for them. */
    for (uint32_t i = 0; i < 200; i++)
        s.values[i] += (i * 7919) % 3 * 2000;
    assert_int_equal(fdl_series_period(&s, &strength), 20);
    assert_true(strength > 0.9);
}

TEST(test_extremes)
{
    static const int64_t values[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
    dice.state = test_seed();
    for (int run = 0; run < 200; run++) {
        struct fdl_series s = {.n = 0};
        double strength;
        int64_t n = dice_below(&dice, 700);
        for (int64_t i = 0; i < n; i++)
            fdl_series_add(&s, values[dice_below(&dice, 5)]);
        uint32_t period = fdl_series_period(&s, &strength);
        assert_true(strength >= -1 && strength <= 1);
        assert_true(period != 1 && period <= FDL_SERIES_LENGTH / 3);
    }
}

TEST_MAIN("rhythm")
