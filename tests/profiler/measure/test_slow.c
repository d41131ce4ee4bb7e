/* SPDX-License-Identifier: Apache-2.0 */
/* The slowest samples, from many threads, and waits for one sample alone. */
#include "base/compiler.h"
#include "dice.h"
#include "profiler/measure/slow.h"
#include "test.h"

#include <feedline/feedline.h>

#include <pthread.h>

#define THREADS 4
#define OFFERED 20000

static struct fdl_slow slow;
static struct fdl_slow_sample out[FDL_SLOW_KEPT];

static void setup(void)
{
    fdl_slow_init(&slow);
}

static void teardown(void)
{
    fdl_slow_fini(&slow);
}

static void offer(int64_t total, uint32_t place, int64_t done)
{
    struct fdl_slow_sample s = {.decode_ns = total / 2,
                                .read_ns = total - total / 2,
                                .place = place,
                                .done_ns = done};
    fdl_slow_offer(&slow, &s);
}

TEST_WITH(test_few, setup, teardown)
{
    assert_int_equal(fdl_slow_get(&slow, out), 0);
    offer(0, 0, 1);
    offer(50, 1, 2);
    offer(20, 2, 3);
    assert_int_equal(fdl_slow_get(&slow, out), 3);
    assert_int_equal(out[0].place, 1);
    assert_int_equal(out[1].place, 2);
    assert_int_equal(out[2].place, 0);
    fdl_slow_reset(&slow);
    assert_int_equal(fdl_slow_get(&slow, out), 0);
    offer(1, 9, 4); /* beats nothing, and there is room again */
    assert_int_equal(fdl_slow_get(&slow, out), 1);
}

TEST_WITH(test_stage, setup, teardown)
{
    struct fdl_slow_sample s = {.read_ns = 1};
    assert_int_equal(fdl_slow_stage(&s), FEEDLINE_STAGE_READ);
    s.decode_ns = 2;
    assert_int_equal(fdl_slow_stage(&s), FEEDLINE_STAGE_DECODE);
    s.augment_ns = 3;
    assert_int_equal(fdl_slow_stage(&s), FEEDLINE_STAGE_AUGMENT);
    s.custom = 5;
    s.custom_ns = 100; /* of many */
    s.slowest_custom_ns = 3;
    assert_int_equal(fdl_slow_stage(&s), FEEDLINE_STAGE_AUGMENT);
    s.slowest_custom_ns = 4;
    assert_int_equal(fdl_slow_stage(&s), FEEDLINE_STAGE_COUNT + 5);
    assert_int_equal(fdl_slow_total(&s), 106);
}

TEST_WITH(test_stall, setup, teardown)
{
    for (uint32_t i = 0; i < FDL_SLOW_KEPT; i++)
        offer(100 + i, i, 1000 + i);
    fdl_slow_stall(&slow, 3, 1003, 40);
    fdl_slow_stall(&slow, 3, 1003, 2);
    fdl_slow_stall(&slow, 3, 1004, 7); /* another run's, or one not kept */
    fdl_slow_get(&slow, out);
    for (uint32_t i = 0; i < FDL_SLOW_KEPT; i++)
        assert_int_equal(out[i].stall_ns, out[i].place == 3 ? 42 : 0);
    assert_int_equal(atomic_load(&slow.stalled_ns), 49);
    fdl_slow_reset(&slow);
    assert_int_equal(atomic_load(&slow.stalled_ns), 0);
}

/* ---- The true largest, from many threads -------------------------------- */

static int64_t offered[THREADS][OFFERED];

static void *offer_all(void *arg)
{
    int64_t *totals = arg;
    for (int i = 0; i < OFFERED; i++)
        offer(totals[i], (uint32_t)i, totals[i]);
    return NULL;
}

static int descending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

/* Streams of every kind: flat, with a tail, rising (each beats the others). */
static int64_t draw(struct dice *d, int kind, int i)
{
    uint32_t r = (uint32_t)(dice_u64(d) >> 33);
    if (kind == 0)
        return r % 100;
    if (kind == 1)
        return r % 64 == 0 ? r : r % 1000;
    return i * INT64_C(10) + r % 5;
}

TEST_WITH(test_threads, setup, teardown)
{
    struct dice d = {test_seed()};
    for (int kind = 0; kind < 3; kind++) {
        pthread_t threads[THREADS];
        fdl_slow_reset(&slow);
        for (int t = 0; t < THREADS; t++)
            for (int i = 0; i < OFFERED; i++)
                offered[t][i] = draw(&d, kind, i);
        for (int t = 0; t < THREADS; t++)
            pthread_create(&threads[t], NULL, offer_all, offered[t]);
        for (int t = 0; t < THREADS; t++)
            pthread_join(threads[t], NULL);
        qsort(offered, THREADS * OFFERED, sizeof(int64_t), descending);
        assert_int_equal(fdl_slow_get(&slow, out), FDL_SLOW_KEPT);
        for (uint32_t i = 0; i < FDL_SLOW_KEPT; i++)
            assert_int_equal(fdl_slow_total(&out[i]),
                             offered[i / OFFERED][i % OFFERED]);
    }
}

/* ---- Alone -------------------------------------------------------------- */

static struct fdl_sample_times times[8];

/* done[i]: stamps work_done; 0: not done. */
static struct fdl_ticket_times ticket(uint32_t n, const int64_t *done)
{
    memset(times, 0, sizeof(times));
    for (uint32_t i = 0; i < n; i++)
        atomic_store(&times[i].work_done, done[i]);
    return (struct fdl_ticket_times){
        .issued = 10, .n_samples = n, .samples = times, .workers = 2};
}

static void expect_alone(const struct fdl_ticket_times *t, int64_t a, int64_t b,
                         int64_t ns, uint32_t place)
{
    uint32_t got = 77;
    assert_int_equal(fdl_alone(t, a, b, &got), ns);
    assert_int_equal(got, ns > 0 ? place : 77);
}

TEST_WITH(test_alone, setup, teardown)
{
    struct fdl_ticket_times t = ticket(3, (int64_t[]){50, 90, 60});
    expect_alone(&t, 20, 100, 30, 1); /* from 60 to 90 */
    expect_alone(&t, 70, 100, 20, 1); /* a later begin */
    expect_alone(&t, 95, 100, 0, 0);  /* it waited for something else */
    expect_alone(&t, 20, 80, 20, 1);  /* not done yet at 80 */
    expect_alone(&t, 20, 60, 0, 0);   /* two are not */
    expect_alone(&t, 20, 55, 0, 0);
    t.transfer_start = 70; /* all were done then, whatever the stamp says */
    expect_alone(&t, 20, 100, 10, 1);
    t = ticket(3, (int64_t[]){50, 0, 60});
    expect_alone(&t, 20, 100, 40, 1);
    t = ticket(3, (int64_t[]){50, 0, 0});
    expect_alone(&t, 20, 100, 0, 0);
    t = ticket(2, (int64_t[]){50, 50});
    expect_alone(&t, 20, 100, 0, 0);
    t = ticket(1, (int64_t[]){50}); /* a batch of one, from its issue on */
    expect_alone(&t, 0, 100, 40, 0);
    t.issued = 0;
    expect_alone(&t, 0, 100, 0, 0);
    t = ticket(0, NULL);
    expect_alone(&t, 0, 100, 0, 0);
    t = ticket(3, (int64_t[]){0, 0, 0}); /* served again: no sample worked on */
    t.transfer_start = 10;
    expect_alone(&t, 0, 100, 0, 0);
}

/* Waits that follow each other add up to one wait, and never to more than the
 * time; which sample it is does not change. */
TEST_WITH(test_alone_random, setup, teardown)
{
    struct dice d = {test_seed()};
    for (int round = 0; round < 20000; round++) {
        int64_t done[8], cut, sum = 0;
        uint32_t n = 1 + dice_below(&d, 8), place = 0;
        for (uint32_t i = 0; i < n; i++)
            done[i] = dice_below(&d, 5) == 0 ? 0 : 20 + dice_below(&d, 200);
        struct fdl_ticket_times t = ticket(n, done);
        int64_t a = dice_below(&d, 100), b = a + 1 + dice_below(&d, 200);
        int64_t whole = fdl_alone(&t, a, b, &place);
        assert_true(whole >= 0 && whole <= b - a);
        for (int64_t at = a; at < b; at = cut) {
            uint32_t which = place;
            cut = at + 1 + dice_below(&d, 50);
            cut = FDL_MIN(b, cut);
            sum += fdl_alone(&t, at, cut, &which);
            assert_true(whole == 0 || which == place);
        }
        assert_int_equal(sum, whole);
    }
}

TEST_MAIN("slow")
