/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of a device: timelines whose sums one can see, and random ones
 * against a sweep that looks at each nanosecond on its own.
 */
#include "base/compiler.h"
#include "base/philox.h"
#include "profiler/measure/device.h"
#include "test.h"

static struct fdl_device_ledger ledger;

static void setup(void)
{
    memset(&ledger, 0, sizeof(ledger));
}

/* A batch of 1000 bytes, one copy that begins when it is queued. */
static void add(int64_t start, int64_t end, int64_t entered)
{
    struct fdl_device_event e = {
        .queued = start,
        .start = start,
        .end = end,
        .ready = end,
        .entered = entered,
        .copying = end - start,
        .bytes = 1000,
        .copies = 1,
    };
    fdl_device_ledger_add(&ledger, &e);
}

TEST_WITH(test_empty, setup, NULL)
{
    static const struct fdl_device_ledger zero;
    add(10, 20, 15);
    assert_int_equal(ledger.batches, 1);
    assert_int_equal(ledger.copies, 1);
    assert_int_equal(ledger.bytes, 1000);
    assert_int_equal(ledger.copy_ns, 10);
    assert_int_equal(ledger.steps, 1);
    assert_int_equal(ledger.span_ns, 0);
    assert_int_equal(ledger.idle_ns, 0);
    assert_int_equal(ledger.overlap_ns, 0);
    memset(&ledger, 0, sizeof(ledger));
    assert_memory_equal(&ledger, &zero, sizeof(zero));
}

/* Copies beside the work on the batch before: nothing is ever idle. */
TEST_WITH(test_fed, setup, NULL)
{
    add(0, 40, 10);
    for (int64_t i = 1; i <= 10; i++)
        add(i * 100 - 50, i * 100, i * 100 + 10);
    assert_int_equal(ledger.steps, 11);
    assert_int_equal(ledger.span_ns, 1010 - 40);
    assert_int_equal(ledger.idle_ns, 0);
    assert_int_equal(ledger.copy_ns, 40 + 10 * 50);
    assert_int_equal(ledger.overlap_ns, 10 * 50);
    assert_int_equal(ledger.bytes, 11 * 1000);
}

/* Work of 30, then a copy of 70 that begins when the work is done. */
TEST_WITH(test_starved, setup, NULL)
{
    add(0, 70, 0 + 1);
    for (int64_t i = 1; i <= 10; i++)
        add(i * 100, i * 100 + 70, i * 100);
    assert_int_equal(ledger.span_ns, 1000);
    assert_int_equal(ledger.idle_ns, 700);
    assert_int_equal(ledger.overlap_ns, 0);
}

/* Work of 30 behind each wait of 70, and a pause of 5000 before every fourth
 * batch: its wait counts, what lies between does not. */
TEST_WITH(test_pauses, setup, NULL)
{
    int64_t now = 0;
    for (int64_t i = 0; i < 12; i++) {
        bool resumes = i % 4 == 0;
        now += resumes ? 5000 : 0;
        struct fdl_device_event e = {.queued = now,
                                     .start = now,
                                     .end = now + 70,
                                     .ready = now + 70,
                                     .entered = now,
                                     .copying = 70,
                                     .copies = 1,
                                     .resumes = resumes};
        fdl_device_ledger_add(&ledger, &e);
        now += 100;
    }
    assert_int_equal(ledger.steps, 12);
    assert_int_equal(ledger.idle_ns, 11 * 70);
    assert_int_equal(ledger.span_ns, 11 * 70 + 9 * 30);
    assert_int_equal(ledger.overlap_ns, 0);
}

/* What is finished on the device is ready later; queues and gaps count. */
TEST_WITH(test_finish, setup, NULL)
{
    struct fdl_device_event e = {.queued = 5,
                                 .start = 10,
                                 .end = 50,
                                 .ready = 58,
                                 .entered = 8,
                                 .copying = 20,
                                 .bytes = 77,
                                 .copies = 4};
    fdl_device_ledger_add(&ledger, &e);
    e = (struct fdl_device_event){.queued = 55,
                                  .start = 60,
                                  .end = 100,
                                  .ready = 110,
                                  .entered = 80,
                                  .copying = 20,
                                  .bytes = 23,
                                  .copies = 4};
    fdl_device_ledger_add(&ledger, &e);
    assert_int_equal(ledger.copies, 8);
    assert_int_equal(ledger.bytes, 100);
    assert_int_equal(ledger.queue_ns, 10);
    assert_int_equal(ledger.copy_ns, 40);
    assert_int_equal(ledger.finish_ns, 18);
    assert_int_equal(ledger.span_ns, 110 - 58);
    assert_int_equal(ledger.idle_ns, 30);
    /* Busy from 58 to 80: half of [60, 100), of which half was copying. */
    assert_int_equal(ledger.overlap_ns, 10);
}

/* A copy that no stream waits for meets work that is known only later. */
TEST_WITH(test_not_waited, setup, NULL)
{
    add(0, 10, 5);  /* busy from 10 */
    add(20, 40, 0); /* nobody waits */
    add(50, 60, 0); /* nobody waits */
    assert_int_equal(ledger.overlap_ns, 0);
    add(100, 110, 55); /* busy to 55, from 110 */
    assert_int_equal(ledger.overlap_ns, 20 + 5);
    add(120, 130, 200); /* busy to 200 */
    assert_int_equal(ledger.overlap_ns, 20 + 5 + 10);
    assert_int_equal(ledger.steps, 3);
    assert_int_equal(ledger.batches, 5);
    assert_int_equal(ledger.idle_ns, 55);
    assert_int_equal(ledger.span_ns, 190);
}

/* Times that run backwards count as nothing. */
TEST_WITH(test_backwards, setup, NULL)
{
    struct fdl_device_event e = {.queued = 20,
                                 .start = 10,
                                 .end = 5,
                                 .ready = 3,
                                 .entered = 30,
                                 .copying = 7};
    fdl_device_ledger_add(&ledger, &e);
    e.entered = 25;
    fdl_device_ledger_add(&ledger, &e);
    e.copying = -7;
    fdl_device_ledger_add(&ledger, &e);
    assert_int_equal(ledger.queue_ns, 0);
    assert_int_equal(ledger.copy_ns, 0);
    assert_int_equal(ledger.finish_ns, 0);
    assert_int_equal(ledger.span_ns, 0);
    assert_int_equal(ledger.idle_ns, 0);
    assert_int_equal(ledger.overlap_ns, 0);
}

/* 64 batches may be copied ahead; more lose overlap, and nothing else. */
TEST_WITH(test_far_ahead, setup, NULL)
{
    for (int64_t ahead = 1; ahead <= 80; ahead++) {
        memset(&ledger, 0, sizeof(ledger));
        add(1, 1, 1);
        /* Busy [10 i, 10 i + 9) for `ahead` steps, ... */
        for (int64_t i = 1; i <= ahead; i++)
            add(1, 1, 10 * i);
        assert_int_equal(ledger.span_ns, 10 * ahead - 1);
        assert_int_equal(ledger.idle_ns, 0);
        /* ... beside all of which this copy lies. */
        add(0, 10 * ahead + 1, 10 * ahead);
        int64_t known = FDL_MIN(ahead, 64);
        int64_t begin = known == ahead ? 1 : 10 * (ahead - known);
        assert_int_equal(ledger.overlap_ns, 10 * ahead - begin);
    }
}

/* ---- Random timelines --------------------------------------------------- */

#define MAX_BATCHES 24
#define MAX_TIME    1500

/* The stream: 'b' busy, 'i' idle, ' ' outside of the span. */
static void paint(const struct fdl_device_event *e, uint32_t n,
                  char at[MAX_TIME])
{
    int64_t left = -1;
    memset(at, ' ', MAX_TIME);
    for (uint32_t i = 0; i < n; i++) {
        if (e[i].entered == 0)
            continue;
        if (left >= 0) {
            for (int64_t t = left; t < e[i].entered; t++)
                at[t] = 'b';
            for (int64_t t = FDL_MAX(e[i].entered, left); t < e[i].ready; t++)
                at[t] = 'i';
        }
        left = FDL_MAX(left, FDL_MAX(e[i].entered, e[i].ready));
    }
    assert_true(left < MAX_TIME);
}

static uint32_t draw_timeline(struct fdl_rng *rng, struct fdl_device_event *e)
{
    uint32_t n = 1 + fdl_rng_below(rng, MAX_BATCHES);
    uint32_t skips = fdl_rng_below(rng, 3); /* of 4, nobody waits */
    uint32_t work = 1 + fdl_rng_below(rng, 40);
    uint32_t copy = 1 + fdl_rng_below(rng, 40);
    int64_t bus = 1 + fdl_rng_below(rng, 20); /* free from then on */
    int64_t stream = 1 + fdl_rng_below(rng, 50);
    for (uint32_t i = 0; i < n; i++) {
        memset(&e[i], 0, sizeof(e[i]));
        e[i].queued = bus + fdl_rng_below(rng, 4);
        e[i].start = e[i].queued + fdl_rng_below(rng, 4);
        e[i].end = bus = e[i].start + fdl_rng_below(rng, copy);
        e[i].copying = e[i].end - e[i].start;
        if (fdl_rng_below(rng, 4) == 0)
            e[i].copying = fdl_rng_below(rng, (uint32_t)e[i].copying + 1);
        e[i].ready = e[i].end + fdl_rng_below(rng, 5);
        e[i].bytes = fdl_rng_below(rng, 1000);
        e[i].copies = 1 + fdl_rng_below(rng, 4);
        if (fdl_rng_below(rng, 4) < skips)
            continue;
        e[i].entered = stream;
        stream = FDL_MAX(stream, e[i].ready) + fdl_rng_below(rng, work);
    }
    return n;
}

static void check_timeline(const struct fdl_device_event *e, uint32_t n)
{
    char at[MAX_TIME];
    int64_t idle = 0, busy = 0, copying = 0, overlap = 0;
    memset(&ledger, 0, sizeof(ledger));
    for (uint32_t i = 0; i < n; i++) {
        int64_t before = ledger.overlap_ns;
        fdl_device_ledger_add(&ledger, &e[i]);
        assert_true(ledger.overlap_ns >= before);
        assert_true(ledger.overlap_ns <= ledger.copy_ns);
        assert_true(ledger.idle_ns <= ledger.span_ns);
    }
    paint(e, n, at);
    for (int64_t t = 0; t < MAX_TIME; t++) {
        idle += at[t] == 'i';
        busy += at[t] == 'b';
    }
    for (uint32_t i = 0; i < n; i++) {
        int64_t met = 0, length = e[i].end - e[i].start;
        for (int64_t t = e[i].start; t < e[i].end; t++)
            met += at[t] == 'b';
        copying += e[i].copying;
        if (length > 0)
            overlap += (int64_t)((double)e[i].copying *
                                 ((double)met / (double)length));
    }
    assert_int_equal(ledger.idle_ns, idle);
    assert_int_equal(ledger.span_ns, idle + busy);
    assert_int_equal(ledger.copy_ns, copying);
    assert_int_equal(ledger.overlap_ns, overlap);
}

TEST_WITH(test_random, setup, NULL)
{
    struct fdl_rng rng;
    struct fdl_device_event e[MAX_BATCHES];
    fdl_rng_init(&rng, test_seed(), 0, 0, 0);
    int64_t idle = 0, overlap = 0;
    for (int i = 0; i < 20000; i++) {
        uint32_t n = draw_timeline(&rng, e);
        check_timeline(e, n);
        idle += ledger.idle_ns;
        overlap += ledger.overlap_ns;
    }
    assert_true(idle > 0);
    assert_true(overlap > 0);
}

/* Several streams: what they enter has no order, and still every instant is one
 * thing. */
TEST_WITH(test_any_order, setup, NULL)
{
    struct fdl_rng rng;
    fdl_rng_init(&rng, test_seed(), 1, 0, 0);
    for (int i = 0; i < 20000; i++) {
        int64_t first = -1, last = 0;
        memset(&ledger, 0, sizeof(ledger));
        for (int k = 0; k < 100; k++) {
            int64_t start = fdl_rng_below(&rng, 1000);
            int64_t end = start + fdl_rng_below(&rng, 100);
            int64_t entered = fdl_rng_below(&rng, 1000);
            add(start, end, entered);
            if (entered != 0) {
                last = FDL_MAX(last, FDL_MAX(entered, end));
                first = first < 0 ? last : first;
            }
            assert_true(ledger.idle_ns >= 0);
            assert_true(ledger.idle_ns <= ledger.span_ns);
            assert_true(ledger.overlap_ns >= 0);
            assert_true(ledger.overlap_ns <= ledger.copy_ns);
        }
        assert_int_equal(ledger.span_ns, last - first);
    }
}

TEST_MAIN("device_ledger")
