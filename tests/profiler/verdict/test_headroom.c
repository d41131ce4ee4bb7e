/* SPDX-License-Identifier: Apache-2.0 */
/* Head-room against its formulas, worked out by hand. */
#include "base/compiler.h"
#include "dice.h"
#include "profiler/verdict/headroom.h"
#include "test.h"

#include <math.h>

#define SEC INT64_C(1000000000)

/* 100 batches in 10 s; waits of 4 s in one bucket or in two. */
static struct fdl_evidence run(enum fdl_bucket a, enum fdl_bucket b)
{
    struct fdl_evidence e;
    fdl_evidence_init(&e);
    e.batches = 100;
    e.wall_ns = 10 * SEC;
    e.workers = 2;
    e.cpus_usable = 8;
    e.ledger.ns[a] += 2 * SEC;
    e.ledger.ns[b] += 2 * SEC;
    e.ledger.wait_ns = 4 * SEC;
    return e;
}

static struct fdl_headroom judge(const struct fdl_evidence *e)
{
    struct fdl_headroom h;
    memset(&h, 0xee, sizeof(h));
    fdl_headroom_judge(e, &h);
    return h;
}

static void check(double is, double should)
{
    if (!(fabs(is - should) < 1e-9))
        fail_msg("%.12g instead of %.12g", is, should);
}

TEST(test_one_cause)
{
    struct fdl_evidence e = run(FDL_BUCKET_PREP, FDL_BUCKET_WORKER_WAIT);
    struct fdl_headroom h = judge(&e);
    check(h.batches_per_second, 10);
    check(h.fed, 10.0 / 6 - 1);
    check(h.two_workers, 10.0 / 6 - 1); /* 4 workers could do twice as much */
    check(h.storage, 0);
    check(h.transfer, 0);

    e = run(FDL_BUCKET_FETCH, FDL_BUCKET_FETCH_QUEUE);
    h = judge(&e);
    check(h.fed, 10.0 / 6 - 1);
    check(h.two_workers, 0);
    check(h.storage, 10.0 / 8 - 1);
    check(h.transfer, 0);

    e = run(FDL_BUCKET_TRANSFER, FDL_BUCKET_TRANSFER_QUEUE);
    h = judge(&e);
    check(h.storage, 0);
    check(h.transfer, 10.0 / 8 - 1);

    e = run(FDL_BUCKET_SLOT, FDL_BUCKET_WAKE);
    h = judge(&e);
    check(h.fed, 10.0 / 6 - 1);
    check(h.two_workers + h.storage + h.transfer, 0);
}

/* A part of the stall gives its part of the gain. */
TEST(test_two_causes)
{
    struct fdl_evidence e = run(FDL_BUCKET_PREP, FDL_BUCKET_FETCH);
    struct fdl_headroom h = judge(&e);
    check(h.two_workers, 10.0 / 8 - 1);
    check(h.storage, 10.0 / 9 - 1);
}

/* Workers without their Huffman codes do the same in less time, and no more
 * than the waits for them can be saved. */
TEST(test_packing)
{
    struct fdl_evidence e = run(FDL_BUCKET_PREP, FDL_BUCKET_WORKER_WAIT);
    check(judge(&e).huffman + judge(&e).packing, 0); /* nothing is known */
    e.worker_busy_ns = 20 * SEC;
    e.huffman_ns = 5 * SEC;
    struct fdl_headroom h = judge(&e);
    check(h.huffman, 0.25);
    check(h.packing, 10.0 / 7.5 - 1);
    check(h.prep, 0.4);
    check(h.fetch + h.moving, 0);
    e.huffman_ns = 15 * SEC;
    check(judge(&e).packing, 10.0 / 6 - 1);

    e = run(FDL_BUCKET_FETCH, FDL_BUCKET_FETCH_QUEUE);
    e.worker_busy_ns = 20 * SEC;
    e.huffman_ns = 5 * SEC;
    h = judge(&e);
    check(h.packing, 0);
    check(h.fetch, 0.4);
}

/* Chains side by side spare two fifths of codes that were followed alone, and
 * a device all that makes pixels but what its jobs take. */
TEST(test_decoding)
{
    struct fdl_evidence e = run(FDL_BUCKET_PREP, FDL_BUCKET_WORKER_WAIT);
    check(judge(&e).chains + judge(&e).device + judge(&e).host_rate, 0);
    e.workers = 2;
    e.samples = 50000;
    e.worker_busy_ns = 20 * SEC;
    e.huffman_ns = 5 * SEC;
    e.made_ns = 6 * SEC + SEC / 2;
    struct fdl_headroom h = judge(&e);
    check(h.alone, 0.25);
    check(h.chains, 10.0 / 9 - 1);
    check(h.on_device, 0.3); /* half a second is for jobs */
    check(h.device, 10.0 / 7 - 1);
    check(h.host_rate, 2 * 50000 / 14.0);
    e.jpeg_index_used = true;
    check(judge(&e).chains + judge(&e).alone, 0);
    e.custom_ns = SEC;
    h = judge(&e);
    check(h.device + h.on_device + h.host_rate, 0);
}

/* Two workers beside many, and where there are no cores for them. */
TEST(test_workers)
{
    struct fdl_evidence e = run(FDL_BUCKET_PREP, FDL_BUCKET_PREP);
    e.workers = 8;
    e.cpus_usable = 64;
    check(judge(&e).two_workers, 10.0 / 8 - 1); /* 10 for 8 */
    e.cpus_usable = 9;
    check(judge(&e).two_workers, 9.0 / 8 - 1);
    e.cpus_usable = 8;
    check(judge(&e).two_workers, 0);
    e.cpus_usable = 4;
    check(judge(&e).two_workers, 0);
    e.worker_busy_ns = 80 * SEC; /* which sleep nine tenths of their time */
    e.worker_cpu_ns = 8 * SEC;
    e.worker_sleep_ns = 72 * SEC;
    check(judge(&e).two_workers, 10.0 / 8 - 1);
}

/* With a device its clock counts, and what the host cannot explain is copying.
 */
TEST(test_device)
{
    struct fdl_evidence e = run(FDL_BUCKET_SLOT, FDL_BUCKET_PREP);
    e.has_device = true;
    e.device_span_ns = 8 * SEC;
    e.device_idle_ns = 4 * SEC;
    struct fdl_headroom h = judge(&e);
    check(h.fed, 1);
    check(h.two_workers, 8.0 / 6 - 1);
    check(h.storage, 0);
    check(h.transfer, 8.0 / 7 - 1);
    e.device_idle_ns = 0;
    h = judge(&e);
    check(h.fed + h.two_workers + h.storage + h.transfer, 0);
}

static void check_bounds(double gain, double fed)
{
    assert_true(gain >= 0 && gain <= fed + 1e-9);
}

/* Nothing gains more than to be fed, and nothing is below 0 or no number. */
TEST(test_extremes)
{
    static const int64_t values[] = {INT64_MIN, -1, 0, 1, SEC, INT64_MAX};
    static const uint32_t counts[] = {0, 1, 2, UINT32_MAX};
    struct dice d = {test_seed()};
    for (int i = 0; i < 20000; i++) {
        struct fdl_evidence e;
        fdl_evidence_init(&e);
#define PICK(list) list[dice_below(&d, FDL_COUNT_OF(list))]
        e.wall_ns = PICK(values);
        e.ledger.wait_ns = PICK(values);
        for (int b = 0; b < FDL_BUCKETS; b++)
            e.ledger.ns[b] = PICK(values);
        e.batches = PICK(counts);
        e.workers = PICK(counts);
        e.cpus_usable = PICK(counts);
        e.worker_busy_ns = PICK(values);
        e.worker_cpu_ns = PICK(values);
        e.worker_sleep_ns = PICK(values);
        e.huffman_ns = PICK(values);
        e.made_ns = PICK(values);
        e.samples = PICK(counts);
        e.has_device = PICK(counts) == 1;
        e.device_span_ns = PICK(values);
        e.device_idle_ns = PICK(values);
        e.consumer_cores = i % 3 == 0 ? NAN : i % 3 == 1 ? 1e300 : -5;
#undef PICK
        struct fdl_headroom h = judge(&e);
        assert_true(h.fed >= 0 && h.fed <= 99);
        assert_true(h.batches_per_second >= 0);
        check_bounds(h.two_workers, h.fed);
        check_bounds(h.storage, h.fed);
        check_bounds(h.transfer, h.fed);
        check_bounds(h.packing, h.fed);
        check_bounds(h.chains, h.fed);
        check_bounds(h.device, h.fed);
        assert_true(h.on_device >= 0 && h.on_device <= 1);
        assert_true(h.host_rate >= 0);
        assert_true(h.huffman >= 0 && h.huffman <= 1);
    }
}

TEST_MAIN("headroom")
