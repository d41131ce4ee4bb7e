/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of the knee, on grids that are made up. */
#include "test.h"
#include "tools/loaderbench/sweep/knee.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct knee_rule alone = {.tolerance = 0.03, .target = -1};
static const struct knee_rule fed_rule = {.tolerance = 0.03, .target = 0.01};

static const struct knee_point grid[] = {
    {1, 2, 0, 100, 0.60}, {1, 4, 0, 110, 0.55}, {2, 2, 0, 190, 0.20},
    {2, 4, 0, 196, 0.05}, {4, 2, 0, 199, 0.02}, {4, 4, 0, 200, 0.004},
    {8, 2, 0, 150, 0.30}, {8, 4, 0, 201, 0.001}};
#define N (sizeof(grid) / sizeof(*grid))

TEST(fewest_workers_within_the_tolerance)
{
    bool fed = true;
    size_t knee = knee_find(grid, N, &alone, &fed);
    assert_int_equal(grid[knee].workers, 2);
    assert_int_equal(grid[knee].depth, 4);
    assert_false(fed);
    struct knee_rule strict = {.tolerance = 0, .target = -1};
    assert_int_equal(knee_find(grid, N, &strict, &fed), N - 1);
    struct knee_rule loose = {.tolerance = 0.06, .target = -1};
    knee = knee_find(grid, N, &loose, &fed);
    assert_int_equal(grid[knee].workers, 2);
    assert_int_equal(grid[knee].depth, 2);
}

/* The fewest workers that feed it, whatever faster ones there are. */
TEST(a_fed_consumer_decides)
{
    bool fed = false;
    size_t knee = knee_find(grid, N, &fed_rule, &fed);
    assert_true(fed);
    assert_int_equal(grid[knee].workers, 4);
    assert_int_equal(grid[knee].depth, 4);
}

TEST(nothing_feeds_it)
{
    bool fed = true;
    size_t knee = knee_find(grid, 5, &fed_rule, &fed);
    assert_false(fed);
    assert_int_equal(grid[knee].workers, 2);
    assert_int_equal(grid[knee].depth, 4);
}

/* Exactly at the limit is within it. */
TEST(limits_are_inclusive)
{
    static const struct knee_point two[] = {{1, 2, 0, 97, 0.01},
                                            {2, 2, 0, 100, 0.0}};
    static const struct knee_point below[] = {{1, 2, 0, 96.9, 0.0101},
                                              {2, 2, 0, 100, 0.0}};
    bool fed;
    assert_int_equal(knee_find(two, 2, &alone, &fed), 0);
    assert_int_equal(knee_find(below, 2, &alone, &fed), 1);
    assert_int_equal(knee_find(two, 2, &fed_rule, &fed), 0);
    assert_int_equal(knee_find(below, 2, &fed_rule, &fed), 1);
}

TEST(order_of_points_does_not_matter)
{
    struct knee_point turned[N];
    for (size_t i = 0; i < N; i++)
        turned[i] = grid[N - 1 - i];
    bool fed;
    assert_int_equal(knee_find(turned, N, &alone, &fed),
                     N - 1 - knee_find(grid, N, &alone, &fed));
    assert_int_equal(knee_find(turned, N, &fed_rule, &fed),
                     N - 1 - knee_find(grid, N, &fed_rule, &fed));
}

TEST(io_depth_is_last)
{
    static const struct knee_point points[] = {
        {2, 4, 64, 100, NAN}, {2, 4, 4, 99, NAN}, {2, 4, 16, 101, NAN}};
    bool fed;
    assert_int_equal(knee_find(points, 3, &alone, &fed), 1);
    assert_int_equal(knee_fastest(points, 3), 2);
}

TEST(points_without_a_rate_are_none)
{
    static const struct knee_point points[] = {{1, 1, 0, 0, 0.0},
                                               {2, 1, 0, 50, NAN}};
    bool fed;
    assert_int_equal(knee_find(points, 2, &fed_rule, &fed), 1);
    assert_false(fed);
    assert_int_equal(knee_find(points, 1, &alone, &fed), 1);
    assert_int_equal(knee_find(NULL, 0, &alone, &fed), 0);
}

TEST(equal_rates_take_the_smaller)
{
    static const struct knee_point points[] = {
        {4, 2, 0, 70, 0}, {2, 8, 0, 70, 0}, {2, 4, 0, 70, 0}};
    assert_int_equal(knee_fastest(points, 3), 2);
}

TEST(words_name_the_rule)
{
    char words[KNEE_WORDS];
    knee_words(&alone, false, words);
    assert_non_null(strstr(words, "within 3 % of the best"));
    assert_null(strstr(words, "fed"));
    knee_words(&fed_rule, true, words);
    assert_non_null(strstr(words, "at most 1 % of the time"));
    knee_words(&fed_rule, false, words);
    assert_non_null(strstr(words, "no setting keeps the consumer fed"));
}

TEST_MAIN("knee")
