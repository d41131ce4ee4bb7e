/* SPDX-License-Identifier: Apache-2.0 */
/* Gaps in the consumer's steps, waits that stick out, and their rhythms. */
#include "base/compiler.h"
#include "dice.h"
#include "profiler/measure/gaps.h"
#include "profiler/measure/outliers.h"
#include "test.h"

#include <string.h>

#define MS INT64_C(1000000)

static struct fdl_gaps gaps;
static struct fdl_outliers outliers;

static void setup(void)
{
    memset(&gaps, 0, sizeof(gaps));
    memset(&outliers, 0, sizeof(outliers));
}

static void even_steps(uint32_t n, int64_t ns)
{
    for (uint32_t i = 0; i < n; i++)
        assert_false(fdl_gaps_add(&gaps, ns));
}

/* ---- What a gap is ------------------------------------------------------ */

TEST_WITH(both_limits_count, setup, NULL)
{
    even_steps(8, 1 * MS);
    assert_false(fdl_gaps_add(&gaps, 11 * MS)); /* not 10 ms longer */
    assert_true(fdl_gaps_add(&gaps, 11 * MS + 1));
    setup();
    even_steps(8, 20 * MS);
    assert_false(fdl_gaps_add(&gaps, 60 * MS)); /* not more than 3 times */
    assert_true(fdl_gaps_add(&gaps, 61 * MS));
    assert_int_equal(gaps.count, 1);
    assert_int_equal(gaps.total_ns, 41 * MS);
    assert_int_equal(gaps.longest_ns, 61 * MS);
}

/* Too early to say what most steps take; a start is always long. */
TEST_WITH(the_first_are_none, setup, NULL)
{
    even_steps(1, 5000 * MS);
    even_steps(6, 1 * MS);
    assert_false(fdl_gaps_add(&gaps, 5000 * MS));
    even_steps(1, 1 * MS);
    assert_true(fdl_gaps_add(&gaps, 5000 * MS));
}

/* From the time on when most are slow they are none. */
TEST_WITH(a_new_pace_is_none, setup, NULL)
{
    even_steps(300, 1 * MS);
    uint32_t found = 0;
    for (int i = 0; i < 600; i++)
        found += fdl_gaps_add(&gaps, 50 * MS);
    assert_in_range(found, 100, FDL_GAP_WINDOW / 2 + 1);
    assert_false(fdl_gaps_add(&gaps, 50 * MS));
}

/* ---- Rhythm ------------------------------------------------------------- */

static uint32_t with_gaps(uint32_t steps, uint32_t period, int64_t gap)
{
    setup();
    for (uint32_t i = 0; i < steps; i++)
        fdl_gaps_add(&gaps, i % period == period - 1 ? gap : 2 * MS + i % 7);
    return fdl_gaps_period(&gaps);
}

TEST_WITH(periods_are_named, setup, NULL)
{
    static const uint32_t periods[] = {2, 3, 10, 17, 100, 1000, 5000};
    for (size_t i = 0; i < FDL_COUNT_OF(periods); i++)
        assert_int_equal(with_gaps(10 * periods[i] + 50, periods[i], 500 * MS),
                         periods[i]);
}

TEST_WITH(three_distances_are_needed, setup, NULL)
{
    assert_int_equal(with_gaps(350, 100, 500 * MS), 0);
    assert_int_equal(with_gaps(450, 100, 500 * MS), 100);
}

/* A rank that logs a step late now and then, and one pause out of turn. */
TEST_WITH(some_disorder_is_allowed, setup, NULL)
{
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t at = i % 100 + (i / 100) % 2;
        fdl_gaps_add(&gaps, at == 99 || i == 333 ? 300 * MS : 1 * MS);
    }
    assert_in_range(fdl_gaps_period(&gaps), 99, 101);
}

TEST_WITH(chance_has_no_period, setup, NULL)
{
    struct dice d = {test_seed()};
    uint32_t named = 0;
    for (int round = 0; round < 100; round++) {
        setup();
        for (uint32_t i = 0; i < 2000; i++)
            fdl_gaps_add(&gaps, dice_below(&d, 60) == 0 ? 300 * MS : 1 * MS);
        assert_true(gaps.count > 5);
        named += fdl_gaps_period(&gaps) != 0;
    }
    assert_true(named <= 2);
}

/* ---- Waits -------------------------------------------------------------- */

TEST_WITH(waits_stick_out, setup, NULL)
{
    for (int i = 0; i < 7; i++)
        assert_false(fdl_outliers_add(&outliers, 2 * MS));
    assert_false(fdl_outliers_add(&outliers, 100 * MS)); /* too early */
    assert_false(fdl_outliers_add(&outliers, 7 * MS));
    assert_false(fdl_outliers_add(&outliers, 7 * MS + 2));
    assert_true(fdl_outliers_add(&outliers, 7 * MS + 3));
    setup();
    for (int i = 0; i < 20; i++)
        assert_false(fdl_outliers_add(&outliers, 0));
    assert_false(fdl_outliers_add(&outliers, 1 * MS));
    assert_true(fdl_outliers_add(&outliers, 1 * MS + 3));
}

TEST_WITH(the_last_are_kept, setup, NULL)
{
    assert_null(fdl_outliers_get(&outliers, 0));
    for (uint64_t i = 0; i < 100; i++) {
        struct fdl_outlier o = {.sequence = i};
        fdl_outliers_keep(&outliers, &o);
        uint32_t n = (uint32_t)FDL_MIN(i + 1, FDL_OUTLIERS_KEPT);
        assert_int_equal(fdl_outliers_get(&outliers, 0)->sequence, i + 1 - n);
        assert_int_equal(fdl_outliers_get(&outliers, n - 1)->sequence, i);
        assert_null(fdl_outliers_get(&outliers, n));
    }
    assert_int_equal(outliers.count, 100);
}

TEST_WITH(the_largest_bucket_is_named, setup, NULL)
{
    struct fdl_ledger before = {0}, after;
    int64_t ns;
    before.ns[FDL_BUCKET_FETCH] = 1000; /* of earlier waits */
    after = before;
    after.ns[FDL_BUCKET_FETCH] += 10;
    after.ns[FDL_BUCKET_PREP] += 30;
    after.ns[FDL_BUCKET_WAKE] += 29;
    assert_int_equal(fdl_largest_bucket(&before, &after, &ns), FDL_BUCKET_PREP);
    assert_int_equal(ns, 30);
}

/* A wait every k batches is seen in the series of waits. */
TEST_WITH(stalls_have_a_rhythm, setup, NULL)
{
    double strength;
    for (uint32_t k = 2; k < 60; k += 7) {
        struct dice d = {test_seed() + k};
        setup();
        for (uint32_t i = 0; i < 512; i++)
            fdl_outliers_add(&outliers,
                             i % k == 0 ? 20 * MS : dice_below(&d, MS));
        assert_int_equal(fdl_series_period(&outliers.waits, &strength), k);
        assert_true(strength > 0.5 && strength <= 1);
    }
    setup();
    struct dice d = {
        test_seed()}; /* mostly fed, and one wait out of all bounds */
    for (uint32_t i = 0; i < 512; i++)
        fdl_outliers_add(&outliers, i == 77       ? 9000 * MS
                                    : i % 20 == 3 ? 20 * MS
                                    : i % 3 == 0  ? dice_below(&d, 1000)
                                                  : 0);
    assert_int_equal(fdl_series_period(&outliers.waits, &strength), 20);
    assert_true(strength > 0.5);
    setup();
    for (uint32_t i = 0; i < 512; i++)
        fdl_outliers_add(&outliers, 0);
    assert_int_equal(fdl_series_period(&outliers.waits, &strength), 0);
}

/* Two cores, stopped for 60 of each 100 ms; then for none. */
TEST(a_quota_has_its_part_of_gaps)
{
    static struct fdl_gap_throttle t;
    const int64_t ms = 1000000;
    memset(&t, 0, sizeof(t));
    for (int64_t k = 1; k <= 100; k++)
        fdl_gap_throttle_look(&t, k * 250 * ms, (uint64_t)(k * 300 * ms),
                              k * 100 * ms);
    /* The first look has nothing before it. */
    assert_true(t.quota_ns > 99 * 59 * ms && t.quota_ns < 99 * 61 * ms);
    int64_t before = t.quota_ns;
    for (int64_t k = 101; k <= 200; k++)
        fdl_gap_throttle_look(&t, k * 250 * ms, UINT64_C(30000000000),
                              k * 100 * ms);
    assert_int_equal(t.quota_ns, before);
    fdl_gap_throttle_look(&t, 201 * 250 * ms, UINT64_C(30000000000), 0);
    assert_int_equal(t.quota_ns, before);
}

/* It ends, and is counted, seconds after it began. */
TEST(a_long_gap_is_held_against_its_own_time)
{
    static struct fdl_gap_throttle t;
    const int64_t ms = 1000000;
    memset(&t, 0, sizeof(t));
    for (int64_t k = 0; k <= 20; k++)
        fdl_gap_throttle_look(&t, k * 250 * ms,
                              (uint64_t)(FDL_MIN(k, 18) * 125 * ms),
                              k == 20 ? 4000 * ms : 0);
    /* 14 of its 16 looks were throttled for half of the time. */
    assert_true(t.quota_ns > 1700 * ms && t.quota_ns < 1800 * ms);
}

TEST_MAIN("gaps")
