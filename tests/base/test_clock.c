/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks. Only what holds on a machine that is busy with something else. */
#include "base/clock.h"
#include "test.h"

#include <time.h>

static void is_clock_monotonic(void **state)
{
    (void)state;
    struct timespec ts;
    int64_t before = fdl_now_ns();
    clock_gettime(CLOCK_MONOTONIC, &ts);
    int64_t after = fdl_now_ns();
    int64_t between = (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
    assert_true(before <= between);
    assert_true(between <= after);
}

static void cpu_time_grows_with_work(void **state)
{
    (void)state;
    int64_t begin = fdl_thread_cpu_ns();
    volatile uint32_t sink = 0;
    while (fdl_thread_cpu_ns() - begin < 1000000)
        sink++;
    assert_true(sink > 0);
    assert_true(begin >= 0);
}

static void cost_is_measured_once(void **state)
{
    (void)state;
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

static void replaced_clock_is_used(void **state)
{
    (void)state;
    fdl_clock_replace(fake_now);
    assert_int_equal(fdl_now_ns(), 1005);
    assert_int_equal(fdl_now_ns(), 1010);
    assert_true(fdl_clock_cost_ns() >= 1); /* of the real one */
    assert_int_equal(fdl_now_ns(), 1015);
    fdl_clock_replace(NULL);
    assert_true(fdl_now_ns() > 1000000);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(is_clock_monotonic),
    cmocka_unit_test(cpu_time_grows_with_work),
    cmocka_unit_test(cost_is_measured_once),
    cmocka_unit_test(replaced_clock_is_used),
};

TEST_MAIN("base_clock", cases)
