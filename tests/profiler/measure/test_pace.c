/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer's pace, its steps by number of workers, and how reading went. */
#include "profiler/measure/pace.h"
#include "profiler/measure/read_history.h"
#include "test.h"

#include <string.h>

#define MS INT64_C(1000000)

TEST(calls_are_told_apart)
{
    static struct fdl_pace p;
    struct fdl_pace_call call = {.starts_run = true,
                                 .starts_epoch = true,
                                 .wait_ns = 900 * MS,
                                 .wall_ns = 1000 * MS,
                                 .fetch_ns = 500 * MS,
                                 .lead_ns = 900 * MS,
                                 .workers = 2,
                                 .reads = 4,
                                 .read_ns = 80 * MS};
    memset(&p, 0, sizeof(p));
    assert_true(fdl_pace_read(&p, false) < 0);
    fdl_pace_add(&p, &call);
    assert_int_equal(p.calls, 0);
    assert_int_equal(p.edges, 0); /* the first epoch has no edge */
    call.starts_run = call.starts_epoch = false;
    call.wait_ns = FDL_LONG_WAIT_NS - 1;
    call.passed = true; /* of no matter: it hardly waited */
    fdl_pace_add(&p, &call);
    call.wait_ns = FDL_LONG_WAIT_NS;
    fdl_pace_add(&p, &call);
    call.passed = false;
    call.lead_ns = 10 * MS;
    fdl_pace_add(&p, &call);
    assert_int_equal(p.calls, 3);
    assert_int_equal(p.ready_calls, 1);
    assert_int_equal(p.long_waits, 2);
    assert_int_equal(p.passed_waits, 1);
    assert_int_equal(fdl_histogram_total(&p.leads), 3);
    assert_true(fdl_pace_fetch(&p, false) > 0.499 &&
                fdl_pace_fetch(&p, false) < 0.501);
    assert_true(fdl_pace_fetch(&p, true) < 0);
    assert_int_equal((int64_t)fdl_pace_read(&p, false), 20 * MS);
    assert_true(fdl_pace_read(&p, true) < 0);

    call.epoch = 1;
    call.starts_epoch = true;
    call.fetch_ns = 0;
    call.wait_ns = 3 * MS;
    call.read_ns = 8 * MS;
    fdl_pace_add(&p, &call);
    assert_int_equal((int64_t)fdl_pace_read(&p, false), 20 * MS);
    assert_int_equal((int64_t)fdl_pace_read(&p, true), 2 * MS);
    assert_int_equal(p.edges, 1);
    assert_int_equal(p.edge_ns, 3 * MS);
    assert_true(fdl_pace_fetch(&p, true) >= 0 && fdl_pace_fetch(&p, true) <= 0);

    fdl_pace_reset(&p);
    assert_int_equal(p.calls + p.long_waits + p.edges, 0);
    assert_int_equal(fdl_histogram_total(&p.leads), 0);
    assert_true(fdl_pace_fetch(&p, false) > 0.499); /* the first is so once */
}

TEST(usual_waits_leave_out_the_first)
{
    static struct fdl_pace p;
    memset(&p, 0, sizeof(p));
    for (uint64_t k = 0; k < 12; k++) {
        struct fdl_pace_call call = {.epoch = k / 4,
                                     .starts_run = k == 0,
                                     .starts_epoch = k % 4 == 0,
                                     .sequence = k % 4,
                                     .wait_ns = k % 4 ? 2 * MS : 500 * MS,
                                     .workers = 1};
        assert_int_equal(p.epoch_batches, k <= 4 ? 0 : 4);
        fdl_pace_add(&p, &call);
    }
    assert_int_equal(fdl_histogram_total(&p.waits), 9);
    int64_t usual = fdl_histogram_quantile(&p.waits, 0.5);
    assert_true(usual >= 2 * MS && usual < 3 * MS);
    fdl_pace_reset(&p);
    assert_int_equal(fdl_histogram_total(&p.waits), 0);
    assert_int_equal(p.epoch_batches, 4); /* it has that many all the same */
}

TEST(more_workers_slow_the_consumer)
{
    struct fdl_interference i;
    double growth = 0, sigma = 0;
    memset(&i, 0, sizeof(i));
    for (uint32_t k = 0; k < FDL_INTERFERENCE_LEAST; k++)
        fdl_interference_add(&i, 2, 100 * MS + (k % 2 ? MS : -MS));
    assert_false(fdl_interference_judge(&i, &growth, &sigma));
    for (uint32_t k = 0; k + 1 < FDL_INTERFERENCE_LEAST; k++)
        fdl_interference_add(&i, 8, 110 * MS + (k % 2 ? MS : -MS));
    assert_false(fdl_interference_judge(&i, &growth, &sigma));
    fdl_interference_add(&i, 8, 110 * MS);
    fdl_interference_add(&i, 8, 9000 * MS); /* a checkpoint */
    assert_true(fdl_interference_judge(&i, &growth, &sigma));
    assert_true(growth > 0.095 && growth < 0.105);
    assert_true(sigma > 4);
}

TEST(equal_steps_are_no_interference)
{
    struct fdl_interference i;
    double growth = 1, sigma = 1;
    memset(&i, 0, sizeof(i));
    for (uint32_t k = 0; k < 100; k++)
        fdl_interference_add(&i, 1 + k % 64, 50 * MS);
    assert_true(fdl_interference_judge(&i, &growth, &sigma));
    assert_true(growth > -1e-9 && growth < 1e-9);
    assert_true(sigma > -1e-9 && sigma < 1e-9);
    memset(&i, 0, sizeof(i)); /* a consumer that does nothing at all */
    for (uint32_t k = 0; k < 100; k++)
        fdl_interference_add(&i, 1 + k % 64, 0);
    assert_false(fdl_interference_judge(&i, &growth, &sigma));
}

/* n seconds of `bytes` a second in reads of `us`. */
static void pass(struct fdl_read_history *h, struct fdl_read_sums *s,
                 uint32_t n, uint32_t depth, uint64_t bytes, uint64_t us)
{
    s->depth = depth;
    for (uint32_t i = 0; i < n; i++) {
        s->time_ns += 1000 * MS;
        s->bytes += bytes;
        s->items += 100;
        s->busy_ns += 100 * us * 1000;
        fdl_read_history_add(h, s);
    }
}

TEST(growth_since_the_depth_was_raised)
{
    static struct fdl_read_history h;
    struct fdl_read_sums s = {0};
    double rate = 0, latency = 0;
    memset(&h, 0, sizeof(h));
    assert_false(fdl_read_history_growth(&h, &rate, &latency));
    pass(&h, &s, 10, 4, 1000, 200);
    assert_false(fdl_read_history_growth(&h, &rate, &latency));
    pass(&h, &s, 1, 8, 9999, 999); /* belongs to neither */
    assert_false(fdl_read_history_growth(&h, &rate, &latency));
    pass(&h, &s, 6, 8, 1100, 300);
    assert_true(fdl_read_history_growth(&h, &rate, &latency));
    assert_true(rate > 0.09 && rate < 0.11);
    assert_true(latency > 0.49 && latency < 0.51);
    assert_true(h.rate_now > 1099 && h.rate_now < 1101);
    pass(&h, &s, 3, 4, 500, 300); /* lowered: the last raise still counts */
    assert_true(fdl_read_history_growth(&h, &rate, &latency));
    assert_true(rate > 0.09 && rate < 0.11);
    pass(&h, &s, FDL_READ_SECONDS, 4, 500, 300);
    assert_false(fdl_read_history_growth(&h, &rate, &latency));
}

TEST(two_kinds_of_reads)
{
    static struct fdl_histogram h;
    memset(&h, 0, sizeof(h));
    for (int i = 0; i < 99; i++)
        fdl_histogram_add(&h, 5000 + 20 * i);
    assert_true(fdl_cold_fraction(&h) < 0); /* too few */
    for (int i = 0; i < 801; i++)
        fdl_histogram_add(&h, 5000 + 2 * i);
    assert_true(fdl_cold_fraction(&h) < 0); /* of one kind */
    for (int i = 0; i < 100; i++)
        fdl_histogram_add(&h, 400000 + 1000 * i);
    double cold = fdl_cold_fraction(&h);
    assert_true(cold > 0.0999 && cold < 0.1001);
    memset(&h, 0, sizeof(h)); /* from fast to slow without a valley */
    for (int i = 0; i < 2000; i++)
        fdl_histogram_add(&h, 5000 + 400 * i);
    assert_true(fdl_cold_fraction(&h) < 0);
}

TEST_MAIN("pace")
