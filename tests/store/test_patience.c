/* SPDX-License-Identifier: Apache-2.0 */
/* Back-off, and when a request is late. */
#include "base/compiler.h"
#include "store/patience.h"
#include "test.h"

#define MS INT64_C(1000000)

TEST(pauses_grow_and_differ)
{
    struct fdl_patience p;
    fdl_patience_init(&p, test_seed());
    int64_t sums[10] = {0}, most[10] = {0};
    p.spare = 0;
    for (uint32_t tries = 1; tries < 10; tries++)
        for (int i = 0; i < 1000; i++) {
            int64_t pause = fdl_patience_pause_ns(&p, tries, -1);
            assert_true(pause >= 0);
            sums[tries] += pause;
            most[tries] = FDL_MAX(most[tries], pause);
        }
    for (uint32_t tries = 1; tries < 10; tries++)
        assert_true(most[tries] <=
                    FDL_MIN(20000 * MS, 100 * MS << (tries - 1)));
    assert_in_range(sums[1] / 1000, 40 * MS, 60 * MS);
    assert_in_range(sums[4] / 1000, 320 * MS, 480 * MS);
    assert_in_range(sums[9] / 1000, 8000 * MS, 12000 * MS);
}

static void good(struct fdl_patience *p, uint32_t times, int64_t asked,
                 int64_t ns)
{
    for (uint32_t i = 0; i < times; i++)
        fdl_patience_learn(p, asked, asked < 0 ? 1000 : (uint64_t)asked, ns);
}

/* One request in twenty fails for ever: no pause is long, but of those that
 * have failed again and again. */
TEST(pauses_are_short_where_few_fail)
{
    struct fdl_patience p;
    fdl_patience_init(&p, test_seed());
    for (int i = 0; i < 1000; i++) {
        good(&p, 19, 1000, 20 * MS);
        assert_true(fdl_patience_pause_ns(&p, 2, -1) <= 20 * MS);
    }
    assert_true(fdl_patience_pause_ns(&p, 3, 0) <= 40 * MS);
    int64_t most = 0;
    for (int i = 0; i < 100; i++) {
        int64_t pause = fdl_patience_pause_ns(&p, 5, -1);
        most = FDL_MAX(most, pause);
    }
    assert_in_range(most, 1000 * MS, 1600 * MS);
}

TEST(pauses_are_long_where_many_fail)
{
    struct fdl_patience p;
    fdl_patience_init(&p, test_seed());
    uint32_t longer = 0;
    for (int i = 0; i < 1000; i++) {
        good(&p, 1, 1000, 20 * MS);
        longer += fdl_patience_pause_ns(&p, 1, -1) > 10 * MS;
    }
    assert_in_range(longer, 700, 900);
}

TEST(waits_as_long_as_the_server_says)
{
    struct fdl_patience p;
    fdl_patience_init(&p, 1);
    assert_in_range(fdl_patience_pause_ns(&p, 1, 3), 3000 * MS, 3100 * MS);
    assert_in_range(fdl_patience_pause_ns(&p, 1, 3600), 60000 * MS, 60100 * MS);
    assert_true(fdl_patience_pause_ns(&p, 4000000000u, 0) <= 20000 * MS);
}

/* Of a request that began at `began`, and has brought a byte at `moved`. */
static int64_t late(const struct fdl_patience *p, int64_t asked, int64_t began,
                    int64_t moved)
{
    const struct fdl_patience_wait w = {asked, began, moved};
    assert_true(fdl_patience_slow_at(p, &w) <= fdl_patience_late_at(p, &w));
    return fdl_patience_late_at(p, &w);
}

TEST(late_is_twice_what_most_take)
{
    struct fdl_patience p;
    fdl_patience_init(&p, 1);
    good(&p, 96, 1000, 300 * MS);
    good(&p, 4, 1000, 5000 * MS);
    int64_t at = late(&p, 2000, 0, 0);
    assert_in_range(at, 600 * MS, 2 * 400 * MS);
    assert_int_equal(late(&p, 2000, 7 * MS, 99 * MS), at + 7 * MS);
    /* Other sizes are others, and so is what has no size. */
    assert_int_equal(late(&p, 1 << 20, 0, 0), 1000 * MS);
    assert_int_equal(late(&p, -1, 0, 0), 1000 * MS);
    good(&p, 100, 1 << 20, 2 * MS);
    assert_int_equal(late(&p, 1 << 20, 0, 0), 50 * MS);
    assert_int_equal(late(&p, -1, 0, 0), 1000 * MS);
    for (int i = 0; i < 100; i++)
        fdl_patience_learn(&p, -1, 1 << 20, 2 * MS);
    assert_int_equal(late(&p, -1, 0, 0), 50 * MS);
    assert_int_equal(late(&p, 1000, 0, 0), at);
    /* What was is forgotten. */
    good(&p, 200000, 1000, 1000 * MS);
    assert_true(late(&p, 1000, 0, 0) > at);
}

/* What is left of an answer that was cut takes no longer than all of it. */
TEST(less_is_late_when_more_is)
{
    struct fdl_patience p;
    fdl_patience_init(&p, 1);
    for (int i = 0; i < 20; i++)
        fdl_patience_learn(&p, -1, 100000, 70 * MS);
    int64_t at = late(&p, -1, 0, 0);
    assert_in_range(at, 140 * MS, 170 * MS);
    assert_int_equal(late(&p, 100000, 0, 0), at);
    assert_int_equal(late(&p, 1000, 0, 0), at);
    assert_int_equal(late(&p, 1 << 20, 0, 0), 1000 * MS);
}

/* From the first answer on, the sooner the more are known; and who brings
 * bytes meanwhile is not late. */
TEST(late_is_known_early)
{
    struct fdl_patience p;
    fdl_patience_init(&p, 1);
    assert_int_equal(late(&p, 1000, 0, 0), 1000 * MS);
    assert_int_equal(late(&p, 1000, 0, 700 * MS), 1700 * MS);
    int64_t before = 1000 * MS;
    for (int i = 0; i < 19; i++) {
        good(&p, 1, 1000, 20 * MS);
        int64_t now = late(&p, 1000, 0, 0);
        assert_true(now <= before && now >= 40 * MS);
        assert_int_equal(late(&p, 1000, 0, 70 * MS), now + 70 * MS);
        before = now;
    }
    assert_true(before <= 60 * MS);
    /* All that are known are slow: there are none that it is later than. */
    fdl_patience_init(&p, 1);
    good(&p, 5, 1000, 3000 * MS);
    assert_true(late(&p, 1000, 0, 0) >= 6000 * MS);
}

TEST(hedges_are_few)
{
    struct fdl_patience p;
    uint64_t brought = 0, twice = 0;
    fdl_patience_init(&p, 1);
    assert_false(fdl_patience_spend(&p, INT64_MAX));
    for (int i = 0; i < 10000; i++) {
        good(&p, 1, 100000, 10 * MS);
        brought += 100000;
        if (fdl_patience_spend(&p, 100000))
            twice += 100000;
    }
    assert_in_range(twice, brought / 20 - 200000, brought / 20 + (8 << 20));
}

/* What has no size costs what the others brought. */
TEST(hedges_of_unknown_size_are_few)
{
    struct fdl_patience p;
    uint32_t n = 0;
    fdl_patience_init(&p, 1);
    for (int i = 0; i < 10000; i++) {
        fdl_patience_learn(&p, -1, 1 << 20, 10 * MS);
        n += fdl_patience_spend(&p, -1);
    }
    assert_in_range(n, 400, 600);
}

TEST_MAIN("patience")
