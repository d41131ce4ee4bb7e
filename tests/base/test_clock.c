/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks. Only what holds on a machine that is busy with something else. */
#include "base/clock.h"
#include "test.h"

#include <time.h>

TEST(is_clock_monotonic)
{
    struct timespec ts;
    int64_t before = fdl_now_ns();
    clock_gettime(CLOCK_MONOTONIC, &ts);
    int64_t after = fdl_now_ns();
    int64_t between = (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
    assert_true(before <= between);
    assert_true(between <= after);
}

TEST(cpu_time_grows_with_work)
{
    int64_t begin = fdl_thread_cpu_ns();
    volatile uint32_t sink = 0;
    while (fdl_thread_cpu_ns() - begin < 1000000)
        sink++;
    assert_true(sink > 0);
    assert_true(begin >= 0);
}

TEST(cost_is_measured_once)
{
    int64_t cost = fdl_clock_cost_ns();
    assert_true(cost >= 1);
    assert_true(cost < 1000000000);
    assert_int_equal(fdl_clock_cost_ns(), cost);
}

static int64_t fake_now(void)
{
    static int64_t now = 1000;
    return now += 5;
}

TEST(replaced_clock_is_used)
{
    fdl_clock_replace(fake_now);
    assert_int_equal(fdl_now_ns(), 1005);
    assert_int_equal(fdl_now_ns(), 1010);
    assert_true(fdl_clock_cost_ns() >= 1); /* of the real one */
    assert_int_equal(fdl_now_ns(), 1015);
    fdl_clock_replace(NULL);
    assert_true(fdl_now_ns() > 1000000);
}

TEST_MAIN("base_clock")
