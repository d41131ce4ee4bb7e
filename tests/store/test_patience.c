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

TEST(waits_as_long_as_the_server_says)
{
    struct fdl_patience p;
    fdl_patience_init(&p, 1);
    assert_in_range(fdl_patience_pause_ns(&p, 1, 3), 3000 * MS, 3100 * MS);
    assert_in_range(fdl_patience_pause_ns(&p, 1, 3600), 60000 * MS, 60100 * MS);
    assert_true(fdl_patience_pause_ns(&p, 4000000000u, 0) <= 20000 * MS);
}

TEST(late_is_twice_what_most_take)
{
    struct fdl_patience p;
    fdl_patience_init(&p, 1);
    assert_int_equal(fdl_patience_late_ns(&p, 1000), INT64_MAX);
    for (int i = 0; i < 100; i++)
        fdl_patience_learn(&p, 1000, i < 96 ? 300 * MS : 5000 * MS);
    int64_t late = fdl_patience_late_ns(&p, 2000);
    assert_in_range(late, 600 * MS, 2 * 400 * MS);
    /* Other sizes are others. */
    assert_int_equal(fdl_patience_late_ns(&p, 1 << 20), INT64_MAX);
    for (int i = 0; i < 100; i++)
        fdl_patience_learn(&p, 1 << 20, 2 * MS);
    assert_int_equal(fdl_patience_late_ns(&p, 1 << 20), 200 * MS);
    /* What was is forgotten. */
    for (int i = 0; i < 200000; i++)
        fdl_patience_learn(&p, 1000, 1000 * MS);
    assert_true(fdl_patience_late_ns(&p, 1000) > late);
}

TEST(hedges_are_few)
{
    struct fdl_patience p;
    uint64_t brought = 0, twice = 0;
    fdl_patience_init(&p, 1);
    assert_false(fdl_patience_spend(&p, UINT64_MAX));
    for (int i = 0; i < 10000; i++) {
        fdl_patience_learn(&p, 100000, 10 * MS);
        brought += 100000;
        if (fdl_patience_spend(&p, 100000))
            twice += 100000;
    }
    assert_in_range(twice, brought / 20 - 200000, brought / 20 + (8 << 20));
}

TEST_MAIN("patience")
