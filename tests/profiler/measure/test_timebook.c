/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's time is booked without a gap, and whoever reads while it is
 * written sees sums that reach to the moment of reading.
 */
#include "profiler/measure/timebook.h"
#include "test.h"

#include <pthread.h>
#include <string.h>

static int64_t sum_of(const struct fdl_spent_times *t)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < FDL_SPENT_KINDS; i++)
        sum += t->ns[i];
    return sum;
}

TEST(spans_go_to_their_kinds)
{
    struct fdl_timebook b = {0};
    struct fdl_spent_times t;
    fdl_timebook_open(&b, FDL_SPENT_WORK, 100);
    assert_int_equal(fdl_timebook_mark(&b, 130), 30);
    assert_int_equal(fdl_timebook_begin(&b, FDL_SPENT_STARVED), FDL_SPENT_WORK);
    assert_int_equal(fdl_timebook_stamp(&b), 130);
    assert_int_equal(fdl_timebook_mark(&b, 180), 50);
    assert_int_equal(fdl_timebook_mark(&b, 170), 0); /* runs backwards */
    fdl_timebook_begin(&b, FDL_SPENT_PARKED);
    fdl_timebook_read(&b, 200, &t); /* 20 ns of the open span */
    assert_int_equal(t.ns[FDL_SPENT_WORK], 30);
    assert_int_equal(t.ns[FDL_SPENT_STARVED], 50);
    assert_int_equal(t.ns[FDL_SPENT_PARKED], 20);
    assert_int_equal(sum_of(&t), 100);
}

TEST(a_closed_book_stands_still)
{
    struct fdl_timebook b = {0};
    struct fdl_spent_times t;
    fdl_timebook_read(&b, 1000, &t);
    assert_int_equal(sum_of(&t), 0);
    fdl_timebook_open(&b, FDL_SPENT_READ, 10);
    fdl_timebook_close(&b, 25);
    fdl_timebook_read(&b, 1000, &t);
    assert_int_equal(t.ns[FDL_SPENT_READ], 15);
    assert_int_equal(sum_of(&t), 15);
    fdl_timebook_open(&b, FDL_SPENT_WORK, 500);
    fdl_timebook_read(&b, 503, &t);
    assert_int_equal(sum_of(&t), 18);
}

/* The writer's clock is a counter, so a reader knows what the sums must be: all
 * of the time until the last stamp, and no more than the clock shows. */
#define SPANS 200000

static struct fdl_timebook shared;
static _Atomic int64_t shared_clock;

static void *write_spans(void *arg)
{
    int64_t now = 1;
    (void)arg;
    fdl_timebook_open(&shared, FDL_SPENT_WORK, now);
    for (uint32_t i = 0; i < SPANS; i++) {
        fdl_timebook_begin(&shared, (enum fdl_spent)(i % FDL_SPENT_KINDS));
        now += 1 + i % 7;
        fdl_timebook_mark(&shared, now);
        /* release: pairs with the acquire below. */
        atomic_store_explicit(&shared_clock, now, memory_order_release);
    }
    return NULL;
}

TEST(sums_are_whole_while_written)
{
    pthread_t writer;
    struct fdl_spent_times t, last = {{0}};
    int64_t end = 1, seen = 0;
    memset(&shared, 0, sizeof(shared));
    for (uint32_t i = 0; i < SPANS; i++)
        end += 1 + i % 7;
    assert_int_equal(pthread_create(&writer, NULL, write_spans, NULL), 0);
    while (seen < end) {
        seen = atomic_load_explicit(&shared_clock, memory_order_acquire);
        fdl_timebook_read(&shared, seen, &t);
        if (seen == 0)
            continue;
        /* The book may be ahead of the clock that was read, never behind. */
        assert_true(sum_of(&t) >= seen - 1);
        assert_true(sum_of(&t) <= end - 1);
        assert_true(sum_of(&t) >= sum_of(&last));
        last = t;
    }
    pthread_join(writer, NULL);
    assert_int_equal(sum_of(&last), end - 1);
}

TEST_MAIN("timebook")
