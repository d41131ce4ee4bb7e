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

TEST_MAIN("stage")
