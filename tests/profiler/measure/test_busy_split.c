/* SPDX-License-Identifier: Apache-2.0 */
/* Splits are exact to the nanosecond, never fall, and come to their guess. */
#include "dice.h"
#include "profiler/measure/busy_split.h"
#include "test.h"

static int64_t sum_of(const int64_t part[FDL_BUSY_KINDS])
{
    return part[0] + part[1] + part[2] + part[3];
}

TEST(guesses_fit_the_work)
{
    static const struct {
        int64_t work, cpu, runq, want[FDL_BUSY_KINDS];
    } table[] = {
        {100, 60, 30, {60, 30, 0, 10}}, {100, 60, 90, {60, 40, 0, 0}},
        {100, 120, 5, {100, 0, 0, 0}}, /* clocks differ by a little */
        {100, 0, 0, {0, 0, 0, 100}},    {100, -5, -7, {0, 0, 0, 100}},
        {0, 10, 10, {0, 0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        int64_t guess[FDL_BUSY_KINDS];
        fdl_busy_split_guess(table[i].work, table[i].cpu, table[i].runq, guess);
        for (uint32_t k = 0; k < FDL_BUSY_KINDS; k++)
            assert_int_equal(guess[k], table[i].want[k]);
    }
}

TEST(throttling_is_run_queue_time)
{
    int64_t guess[FDL_BUSY_KINDS] = {50, 30, 0, 20};
    fdl_busy_split_throttle(guess, 12);
    assert_int_equal(guess[FDL_BUSY_RUNQ], 18);
    assert_int_equal(guess[FDL_BUSY_THROTTLE], 12);
    fdl_busy_split_throttle(guess, 1000);
    assert_int_equal(guess[FDL_BUSY_RUNQ], 0);
    assert_int_equal(guess[FDL_BUSY_THROTTLE], 30);
    fdl_busy_split_throttle(guess, -3);
    assert_int_equal(guess[FDL_BUSY_THROTTLE], 30);
}

TEST(parts_sum_to_the_whole)
{
    struct dice dice = {7};
    int64_t sum[FDL_BUSY_KINDS] = {0};
    int64_t whole = 0;
    for (int i = 0; i < 20000; i++) {
        int64_t weights[FDL_BUSY_KINDS];
        for (uint32_t k = 0; k < FDL_BUSY_KINDS; k++)
            weights[k] = (int64_t)(dice_u64(&dice) >> (30 + i % 33));
        int64_t ns = (int64_t)(dice_u64(&dice) >> 40);
        int64_t before[FDL_BUSY_KINDS];
        for (uint32_t k = 0; k < FDL_BUSY_KINDS; k++)
            before[k] = sum[k];
        fdl_busy_split_add(sum, ns, weights);
        whole += ns;
        assert_int_equal(sum_of(sum), whole);
        for (uint32_t k = 0; k < FDL_BUSY_KINDS; k++)
            assert_true(sum[k] >= before[k]);
    }
}

TEST(without_weights_it_is_cpu)
{
    static const int64_t none[FDL_BUSY_KINDS];
    int64_t sum[FDL_BUSY_KINDS] = {0};
    fdl_busy_split_add(sum, 77, none);
    fdl_busy_split_add(sum, -5, none);
    assert_int_equal(sum[FDL_BUSY_CPU], 77);
    assert_int_equal(sum_of(sum), 77);
}

/* What looked like sleep was the run queue: sums do not fall, and new time goes
 * to the run queue until they agree. */
TEST(sums_catch_up_with_guesses)
{
    int64_t sum[FDL_BUSY_KINDS] = {0}, delta[FDL_BUSY_KINDS];
    const int64_t first[FDL_BUSY_KINDS] = {40, 0, 0, 60};
    const int64_t second[FDL_BUSY_KINDS] = {60, 80, 0, 10};
    const int64_t third[FDL_BUSY_KINDS] = {130, 80, 30, 70};
    fdl_busy_split_advance(sum, first, delta);
    assert_int_equal(sum[FDL_BUSY_SLEEP], 60);
    fdl_busy_split_advance(sum, second, delta);
    assert_int_equal(sum_of(sum), 150);
    assert_int_equal(sum[FDL_BUSY_SLEEP], 60);
    assert_int_equal(delta[FDL_BUSY_SLEEP], 0);
    assert_int_equal(delta[FDL_BUSY_RUNQ], 40);
    assert_int_equal(delta[FDL_BUSY_CPU], 10);
    fdl_busy_split_advance(sum, third, delta);
    for (uint32_t k = 0; k < FDL_BUSY_KINDS; k++)
        assert_int_equal(sum[k], third[k]);
    fdl_busy_split_advance(sum, second, delta); /* less: nothing changes */
    assert_int_equal(sum_of(delta), 0);
    assert_int_equal(sum_of(sum), 310);
}

TEST_MAIN("busy_split")
