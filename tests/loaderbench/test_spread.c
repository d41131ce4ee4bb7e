/* SPDX-License-Identifier: Apache-2.0 */
/* The interval of a difference: means, variances and degrees of freedom by
 * hand, quantiles from a table of Student's t. */
#include "test.h"
#include "tools/loaderbench/sweep/spread.h"

#include <math.h>

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 0.01 * fabs(expected)))
        fail_msg("%.9g, expected %.9g", value, expected);
}

/* 3 against 3 of equal variance: 4 degrees of freedom. */
TEST(equal_spreads)
{
    static const double a[] = {95, 96, 97}, b[] = {99, 100, 101};
    double below, error;
    spread_difference(a, 3, b, 3, &below, &error);
    assert_near(below, 0.04);
    assert_near(error, 2.776 * sqrt(2.0 / 3) / 100);
}

/* One that hardly varies: the degrees are those of the other. */
TEST(unequal_spreads)
{
    static const double a[] = {80, 90, 100}, b[] = {100, 100, 100};
    double below, error;
    spread_difference(a, 3, b, 3, &below, &error);
    assert_near(below, 0.1);
    assert_near(error, 4.303 * sqrt(100.0 / 3) / 100);
}

TEST(many_values)
{
    double a[50], b[50], below, error;
    for (int i = 0; i < 50; i++) {
        a[i] = 90 + i % 2;
        b[i] = 100 + i % 2;
    }
    spread_difference(a, 50, b, 50, &below, &error);
    assert_near(below, 10 / 100.5);
    /* 98 degrees: 1.984; variance 0.25 * 50 / 49 each. */
    assert_near(error, 1.984 * sqrt(2 * 0.25 / 49) / 100.5);
}

TEST(nothing_is_known_of_single_values)
{
    static const double a[] = {97}, b[] = {100, 100};
    double below, error;
    spread_difference(a, 1, b, 2, &below, &error);
    assert_near(below, 0.03);
    assert_true(isnan(error));
    spread_difference(a, 1, b, 0, &below, &error);
    assert_true(isnan(below) && isnan(error));
}

TEST(no_spread_is_no_error)
{
    static const double a[] = {99, 99}, b[] = {100, 100};
    double below, error;
    spread_difference(a, 2, b, 2, &below, &error);
    assert_near(below, 0.01);
    assert_true(error >= 0 && error <= 0);
}

TEST(worse_is_beyond_both)
{
    assert_true(spread_is_worse(0.05, 0.01, 0.03));
    assert_false(spread_is_worse(0.05, 0.06, 0.03));
    assert_false(spread_is_worse(0.02, 0.01, 0.03));
    assert_false(spread_is_worse(-0.05, 0.01, 0));
    assert_true(spread_is_worse(0.05, NAN, 0.03));
    assert_false(spread_is_worse(NAN, NAN, 0.03));
}

TEST_MAIN("spread")
