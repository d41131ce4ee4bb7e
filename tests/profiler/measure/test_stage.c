/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of single threads, and their sums. */
#include "base/compiler.h"
#include "profiler/measure/stage.h"
#include "profiler/measure/total.h"
#include "test.h"

#include <pthread.h>

#define THREADS 4
#define ITEMS   20000

static struct fdl_stage stages[THREADS];
static struct fdl_total total;
static struct feedline_stage_stats out;

static void setup(void)
{
    memset(stages, 0, sizeof(stages));
    memset(&total, 0, sizeof(total));
}

/* The sum of all stages, reported. */
static void sum(struct fdl_total *t)
{
    memset(t, 0, sizeof(*t));
    for (int i = 0; i < THREADS; i++)
        fdl_total_add(t, &stages[i]);
    memset(&out, 0xee, sizeof(out));
    fdl_total_report(t, &out);
}

TEST_WITH(test_layout, setup, NULL)
{
    assert_int_equal(sizeof(struct fdl_stage) % FDL_CACHE_LINE, 0);
    assert_int_equal((uintptr_t)&stages[1] % FDL_CACHE_LINE, 0);
}

static void add_some(void)
{
    for (int i = 0; i < THREADS; i++) {
        for (int n = 1; n <= 100; n++)
            fdl_stage_item(&stages[i], n * 1000, 10);
        fdl_counter_add(&stages[i].errors, 2);
        fdl_counter_add(&stages[i].starved_ns, 300);
        fdl_counter_add(&stages[i].blocked_ns, 5);
        fdl_counter_add(&stages[i].clock_reads, 6);
    }
}

static void check_some(void)
{
    assert_int_equal(out.struct_size, sizeof(out));
    assert_int_equal(out.threads, THREADS);
    assert_int_equal(out.items, 100 * THREADS);
    assert_int_equal(out.bytes, 1000 * THREADS);
    assert_int_equal(out.errors, 2 * THREADS);
    assert_int_equal(out.busy_ns, 5050 * 1000 * THREADS);
    assert_int_equal(out.starved_ns, 300 * THREADS);
    assert_int_equal(out.blocked_ns, 5 * THREADS);
    assert_int_equal(total.clock_reads, 6 * THREADS);
    assert_in_range(out.p50_ns, 50000, 50000 + 50000 / 32);
    assert_in_range(out.p90_ns, 90000, 90000 + 90000 / 32);
    assert_in_range(out.p99_ns, 99000, 99000 + 99000 / 32);
}

TEST_WITH(test_sum, setup, NULL)
{
    add_some();
    sum(&total);
    check_some();
    assert_int_equal(out.max_ns, 100000);
}

TEST_WITH(test_nothing, setup, NULL)
{
    memset(&out, 0xee, sizeof(out));
    fdl_total_report(&total, &out);
    assert_int_equal(out.struct_size, sizeof(out));
    assert_int_equal(out.threads, 0);
    assert_int_equal(out.items, 0);
    assert_int_equal(out.p50_ns, 0);
    assert_int_equal(out.max_ns, 0);
}

/* Since a reset: the sum now minus the sum then. */
TEST_WITH(test_since, setup, NULL)
{
    static struct fdl_total before;
    for (int i = 0; i < 1000; i++)
        fdl_stage_item(&stages[i % THREADS], 5000000 + i, 77);
    fdl_counter_add(&stages[1].errors, 9);
    fdl_counter_add(&stages[1].starved_ns, 9);
    fdl_counter_add(&stages[2].blocked_ns, 9);
    fdl_counter_add(&stages[2].clock_reads, 9);
    sum(&before);
    add_some();
    sum(&total);
    fdl_total_subtract(&total, &before);
    fdl_total_report(&total, &out);
    check_some();
    assert_in_range(out.max_ns, 100000, 100000 + 100000 / 32);
}

TEST_WITH(test_backwards_clock, setup, NULL)
{
    fdl_stage_item(&stages[0], -5, 0);
    sum(&total);
    assert_int_equal(out.items, 1);
    assert_int_equal(out.busy_ns, 0);
    assert_int_equal(out.max_ns, 0);
}

static void *write_items(void *arg)
{
    struct fdl_stage *s = arg;
    for (int i = 0; i < ITEMS; i++)
        fdl_stage_item(s, i, 1);
    return NULL;
}

/* One writer each, one reader of all: sums only grow and end up exact. */
TEST_WITH(test_concurrent_reader, setup, NULL)
{
    pthread_t thread[THREADS];
    uint64_t last = 0;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&thread[i], NULL, write_items, &stages[i]), 0);
    for (int i = 0; i < 50; i++) {
        sum(&total);
        assert_true(out.items >= last);
        last = out.items;
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    sum(&total);
    assert_int_equal(out.items, THREADS * ITEMS);
    assert_int_equal(out.bytes, THREADS * ITEMS);
    assert_int_equal(out.max_ns, ITEMS - 1);
}

/* 100 us and 2 ns a byte, one way or the other by 1 us. */
TEST_WITH(a_read_has_a_fixed_part, setup, NULL)
{
    struct fdl_read_fit fit;
    for (int64_t k = 0; k < 1000; k++) {
        int64_t bytes = 20000 + k * 100;
        int64_t ns = 100000 + 2 * bytes + (k % 2 ? 1000 : -1000);
        fdl_stage_item(&stages[k % THREADS], ns, (uint64_t)bytes);
        fdl_stage_read(&stages[k % THREADS], ns, (uint64_t)bytes);
    }
    sum(&total);
    assert_int_equal(total.own_ns, total.busy_ns);
    assert_true(fdl_total_read_fit(&total, &fit));
    assert_true(fit.fixed_ns > 99000 && fit.fixed_ns < 101000);
    assert_true(fit.byte_ns > 1.99 && fit.byte_ns < 2.01);
    /* 1 us around a line, over sizes 28.9 KB around their mean, 1000 of them */
    assert_true(fit.byte_error_ns > 0.0010 && fit.byte_error_ns < 0.0012);
    struct fdl_total same = total;
    fdl_total_subtract(&total, &same);
    assert_false(fdl_total_read_fit(&total, &fit));
}

/* Files of one size tell nothing, nor do times that follow no size. */
TEST_WITH(a_fit_needs_sizes_and_times, setup, NULL)
{
    struct fdl_read_fit fit;
    for (int64_t k = 0; k < 1000; k++) {
        fdl_stage_item(&stages[0], 100000 + k % 7, 30000);
        fdl_stage_read(&stages[0], 100000 + k % 7, 30000);
        int64_t ns = k == 999 ? INT64_C(100000000000) : 1000; /* a hiccup */
        fdl_stage_item(&stages[1], ns, (uint64_t)(20000 + k * 100));
        fdl_stage_read(&stages[1], ns, (uint64_t)(20000 + k * 100));
    }
    for (int i = 0; i < 2; i++) {
        memset(&total, 0, sizeof(total));
        fdl_total_add(&total, &stages[i]);
        assert_false(fdl_total_read_fit(&total, &fit));
    }
}

TEST_MAIN("stage")
