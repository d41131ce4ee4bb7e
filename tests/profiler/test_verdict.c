/* SPDX-License-Identifier: Apache-2.0 */
/* One row per code: a minute of work that went so, and what must be said. */
#include "base/compiler.h"
#include "profiler/verdict.h"
#include "test.h"

#include <math.h>

#define SEC INT64_C(1000000000)

/* A run of 1000 batches of 64 in 100 s. */
#define RUN .batches = 1000, .samples = 64000, .wall_ns = 100 * SEC

/* A GPU that was watched all the while. */
#define GPU .has_device = true, .device_span_ns = 100 * SEC

struct row {
    const char *name;
    struct fdl_evidence e;
    const char *code, *level;
    double gain;
    const char *said[5]; /* parts of the sentence */
    const char *action;  /* part of the action */
};

static const struct row rows[] = {
    {"too few batches",
     {.batches = 7, .wall_ns = 50 * SEC, .workers = 2, .cpus_usable = 2},
     "INSUFFICIENT_DATA",
     "UNKNOWN",
     0,
     {"7 batches", "50.0 s"},
     "64 batches"},
    {"too little time",
     {.batches = 63, .wall_ns = SEC / 2, .workers = 2, .cpus_usable = 2},
     "INSUFFICIENT_DATA",
     "UNKNOWN",
     0,
     {"63 batches", "500 ms"},
     "64 batches"},
    {"nothing at all",
     {.batches = 0},
     "INSUFFICIENT_DATA",
     "UNKNOWN",
     0,
     {"0 batches", "0 us"},
     "64 batches"},
    {"fed",
     {RUN, .workers = 4, .cpus_usable = 8, .worker_blocked_ns = 40 * SEC,
      .ledger = {.ns = {[FDL_BUCKET_PREP] = SEC / 4}}},
     "FED",
     "FED",
     0,
     {"0.3 % of the time (250 ms of 100 s)", "4 workers"},
     "Nothing to do"},
    {"fed without any wait",
     {RUN, .workers = 1, .cpus_usable = 1, .worker_blocked_ns = 99 * SEC},
     "FED",
     "FED",
     0,
     {"waited 0 % of the time", "1 worker."},
     "Nothing to do"},
    {"fed by too many",
     {RUN, .workers = 8, .cpus_usable = 8, .worker_blocked_ns = 600 * SEC,
      .ledger = {.ns = {[FDL_BUCKET_WAKE] = SEC / 10}}},
     "FED_OVERPROVISIONED",
     "FED",
     0,
     {"8 workers", "75 %"},
     "Use fewer workers: 3 would do."},
    {"one worker of two cores",
     {RUN, .workers = 1, .cpus_usable = 2,
      .ledger = {.ns = {[FDL_BUCKET_PREP] = 40 * SEC,
                        [FDL_BUCKET_WORKER_WAIT] = 2 * SEC,
                        [FDL_BUCKET_WAKE] = 1 * SEC}}},
     "PREP_BOUND_TUNABLE",
     "HIGH",
     1 / (1 - 0.42) - 1,
     {"43 % of the time (43.0 s of 100 s)", "98 % of that",
      "decode and augment on 1 worker."},
     "Use more workers: 2 cores are usable and 1 is used."},
    {"more workers give no more than their ratio",
     {RUN, .workers = 3, .cpus_usable = 4,
      .ledger = {.ns = {[FDL_BUCKET_PREP] = 90 * SEC}}},
     "PREP_BOUND_TUNABLE",
     "HIGH",
     1.0 / 3,
     {"90 % of the time", "100 % of that", "3 workers"},
     "4 cores are usable and 3 are used"},
    {"every core decodes",
     {RUN, .workers = 8, .cpus_usable = 8, .worker_busy_ns = 780 * SEC,
      .worker_cpu_ns = 770 * SEC,
      .ledger = {.ns = {[FDL_BUCKET_PREP] = 15 * SEC}}},
     "PREP_BOUND_CPU_SATURATED",
     "MODERATE",
     1 / 0.85 - 1,
     {"15 % of the time", "8 workers", "8 usable cores"},
     "cheaper to decode"},
    {"every core decodes, and so do others",
     {RUN, .workers = 8, .cpus_usable = 8, .worker_busy_ns = 780 * SEC,
      .worker_cpu_ns = 600 * SEC,
      .ledger = {.ns = {[FDL_BUCKET_PREP] = 20 * SEC}}},
     "PREP_BOUND_CPU_SATURATED",
     "HIGH",
     0.25,
     {"20 % of the time", "8 workers with 8 usable cores"},
     "cheaper to decode"},
    {"a wait as long as the clock",
     {RUN, .workers = 2, .cpus_usable = 1,
      .ledger = {.ns = {[FDL_BUCKET_PREP] = 200 * SEC}}},
     "PREP_BOUND_CPU_SATURATED",
     "HIGH",
     99,
     {"100 % of the time", "1 usable core."},
     "cheaper to decode"},
    {"slow images while others are done",
     {RUN, .workers = 4, .cpus_usable = 4, .worker_blocked_ns = 120 * SEC,
      .ledger = {.ns = {[FDL_BUCKET_PREP] = 20 * SEC}}},
     "HEAD_OF_LINE",
     "HIGH",
     0.25,
     {"20 % of the time", "4 workers", "30 %"},
     "Raise depth"},
    {"more workers than cores",
     {RUN, .workers = 16, .cpus_usable = 2, .worker_busy_ns = 1000 * SEC,
      .worker_cpu_ns = 200 * SEC,
      .ledger = {.ns = {[FDL_BUCKET_PREP] = 20 * SEC}}},
     "OVERSUBSCRIBED",
     "HIGH",
     0,
     {"with 16 workers on 2 usable cores", "80 % of their time"},
     "Use fewer workers: 2,"},
    {"other threads take the cores",
     {RUN, .workers = 2, .cpus_usable = 4, .worker_busy_ns = 200 * SEC,
      .worker_cpu_ns = 100 * SEC,
      .ledger = {.ns = {[FDL_BUCKET_PREP] = 20 * SEC}}},
     "OVERSUBSCRIBED",
     "HIGH",
     0,
     {"with 2 workers on 4 usable cores", "50 % of their time"},
     "OMP_NUM_THREADS=1"},
    {"the consumer is woken late, all cores taken",
     {RUN, .workers = 4, .cpus_usable = 2,
      .ledger = {.ns = {[FDL_BUCKET_WAKE] = 4 * SEC}}},
     "OVERSUBSCRIBED",
     "MINOR",
     0,
     {"4.0 % of the time", "after the batch was ready"},
     "Use fewer workers: 2,"},
    {"the consumer is woken late, cores free",
     {RUN, .workers = 1, .cpus_usable = 8,
      .ledger =
          {.ns = {[FDL_BUCKET_WAKE] = 4 * SEC, [FDL_BUCKET_PREP] = 3 * SEC}}},
     "OUT_OF_SCOPE",
     "MODERATE",
     0,
     {"7.0 % of the time", "57 % of that", "not the loader"},
     "consumer's core"},
    {"reads wait for the I/O depth",
     {RUN, .workers = 4, .cpus_usable = 4, .mean_file_bytes = 100 * 1024,
      .ledger = {.ns = {[FDL_BUCKET_FETCH_QUEUE] = 30 * SEC,
                        [FDL_BUCKET_FETCH] = 20 * SEC}}},
     "FETCH_LATENCY_BOUND",
     "HIGH",
     1,
     {"50 % of the time", "reading", "640 files/s", "65.5 MB/s", "100 KiB"},
     "Raise io_depth, so"},
    {"large files on their way",
     {RUN, .workers = 4, .cpus_usable = 4, .mean_file_bytes = 1024 * 1024,
      .ledger = {.ns = {[FDL_BUCKET_FETCH] = 50 * SEC}}},
     "FETCH_LATENCY_BOUND",
     "HIGH",
     1,
     {"671.1 MB/s", "1024 KiB", "on their way"},
     "storage is the limit"},
    {"files of unknown size on their way",
     {RUN, .workers = 4, .cpus_usable = 4,
      .ledger = {.ns = {[FDL_BUCKET_FETCH] = 50 * SEC}}},
     "FETCH_LATENCY_BOUND",
     "HIGH",
     1,
     {"640 files/s; most"},
     "io_depth"},
    {"small files on their way",
     {RUN, .workers = 4, .cpus_usable = 4, .mean_file_bytes = 10 * 1024,
      .ledger = {.ns = {[FDL_BUCKET_FETCH] = 20 * SEC}}},
     "SMALL_FILES",
     "HIGH",
     0.25,
     {"6.6 MB/s", "10 KiB"},
     "faster storage"},
    {"the copy",
     {RUN, .workers = 4, .cpus_usable = 4,
      .ledger = {.ns = {[FDL_BUCKET_TRANSFER] = 6 * SEC,
                        [FDL_BUCKET_TRANSFER_QUEUE] = 4 * SEC,
                        [FDL_BUCKET_PREP] = 9 * SEC}}},
     "XFER_BOUND",
     "MODERATE",
     1 / 0.9 - 1,
     {"19 % of the time", "53 % of that", "copy to the device"},
     "uint8"},
    {"the budget",
     {RUN, .workers = 4, .cpus_usable = 4, .memory_limited = true,
      .ledger = {.ns = {[FDL_BUCKET_SLOT] = 20 * SEC}}},
     "MEMORY_LIMITED",
     "HIGH",
     0.25,
     {"20 % of the time", "memory budget"},
     "Raise the memory budget"},
    {"a consumer that keeps its batches",
     {RUN, .workers = 4, .cpus_usable = 4,
      .ledger = {.ns = {[FDL_BUCKET_SLOT] = 20 * SEC}}},
     "CONSUMER_HOLDS_SLOTS",
     "HIGH",
     0.25,
     {"20 % of the time", "held every batch"},
     "Release each batch"},
    {"too few ahead",
     {RUN, .workers = 4, .cpus_usable = 4,
      .ledger = {.ns = {[FDL_BUCKET_SLOT] = 5 * SEC,
                        [FDL_BUCKET_NOT_ISSUED] = 15 * SEC}}},
     "DEPTH_LIMITED",
     "HIGH",
     0.25,
     {"20 % of the time", "too few batches"},
     "Raise depth"},
    {"a host that runs ahead of its GPU",
     {RUN, GPU, .workers = 4, .cpus_usable = 4, .device_idle_ns = 4 * SEC / 10,
      .copy_ns = 40 * SEC, .overlap_ns = 39 * SEC,
      .ledger = {.ns = {[FDL_BUCKET_SLOT] = 60 * SEC}}},
     "FED",
     "FED",
     0,
     {"idle for want of images 0.4 % of the time (400 ms of 100 s)",
      "the host waited 60 % (60.0 s of 100 s)", "4 workers"},
     "Nothing to do"},
    {"no step on the device yet: the host's clock counts",
     {RUN, .has_device = true, .workers = 4, .cpus_usable = 4,
      .ledger = {.ns = {[FDL_BUCKET_PREP] = 20 * SEC}}},
     "PREP_BOUND_CPU_SATURATED",
     "HIGH",
     0.25,
     {"The consumer waited 20 % of the time"},
     "cheaper to decode"},
    {"decoding starves the GPU",
     {RUN, GPU, .workers = 1, .cpus_usable = 4, .device_idle_ns = 20 * SEC,
      .copy_ns = 5 * SEC,
      .ledger =
          {.ns = {[FDL_BUCKET_PREP] = 30 * SEC, [FDL_BUCKET_SLOT] = 40 * SEC}}},
     "PREP_BOUND_TUNABLE",
     "HIGH",
     0.25,
     {"The GPU was idle for want of images 20 % of the time (20.0 s of 100 s)",
      "100 % of that was decode and augment on 1 worker."},
     "more workers"},
    {"decoding starves the GPU, and so its copies are alone",
     {RUN, GPU, .workers = 4, .cpus_usable = 4, .device_idle_ns = 20 * SEC,
      .copy_ns = 18 * SEC, .ledger = {.ns = {[FDL_BUCKET_PREP] = 19 * SEC}}},
     "PREP_BOUND_CPU_SATURATED",
     "HIGH",
     1 / (1 - 0.2 * 0.95) - 1,
     {"95 % of that was decode and augment"},
     "cheaper to decode"},
    {"batches are not begun in time",
     {RUN, GPU, .workers = 4, .cpus_usable = 4, .device_idle_ns = 10 * SEC,
      .ledger = {.ns = {[FDL_BUCKET_NOT_ISSUED] = 10 * SEC,
                        [FDL_BUCKET_SLOT] = 30 * SEC}}},
     "DEPTH_LIMITED",
     "MODERATE",
     1 / 0.9 - 1,
     {"too few batches"},
     "Raise depth"},
    {"the bus is full",
     {RUN, GPU, .workers = 4, .cpus_usable = 4, .device_idle_ns = 40 * SEC,
      .copy_ns = 95 * SEC, .overlap_ns = 50 * SEC, .copy_gbps = 24.06,
      .ceiling_gbps = 25, .ledger = {.ns = {[FDL_BUCKET_SLOT] = 80 * SEC}}},
     "XFER_BOUND",
     "HIGH",
     1 / 0.6 - 1,
     {"40 % of the time",
      "copies took 95 % of the time, at 24.1 of 25.0 GB/s."},
     "finish=device"},
    {"the bus is slower than it can be",
     {RUN, GPU, .workers = 4, .cpus_usable = 4, .device_idle_ns = 40 * SEC,
      .copy_ns = 60 * SEC, .overlap_ns = 20 * SEC, .copy_gbps = 5,
      .ceiling_gbps = 25},
     "XFER_BOUND",
     "HIGH",
     1 / 0.6 - 1,
     {"copies took 60 % of the time, at 5.0 of 25.0 GB/s, far below"},
     "NUMA node"},
    {"copies beside nothing",
     {RUN, GPU, .workers = 4, .cpus_usable = 4, .device_idle_ns = 15 * SEC,
      .copy_ns = 15 * SEC, .overlap_ns = SEC, .copy_gbps = 24,
      .ceiling_gbps = 25, .ledger = {.ns = {[FDL_BUCKET_SLOT] = 10 * SEC}}},
     "COPY_NOT_OVERLAPPED",
     "MODERATE",
     1 / 0.85 - 1,
     {"15 % of the time (15.0 s of 100 s); copies took 15 % of the time",
      "24.0 of 25.0 GB/s", "only 6.7 % of them lay beside"},
     "Release each batch"},
    {"copies beside nothing, on a bus that nobody measured",
     {RUN, GPU, .workers = 4, .cpus_usable = 4, .device_idle_ns = 3 * SEC,
      .copy_ns = 3 * SEC, .copy_gbps = 24},
     "COPY_NOT_OVERLAPPED",
     "MINOR",
     1 / 0.97 - 1,
     {"copies took 3.0 % of the time, at 24.0 GB/s, and only 0 %"},
     "raise depth"},
    {"the copy, for no reason that is known",
     {RUN, GPU, .workers = 4, .cpus_usable = 4, .device_idle_ns = 10 * SEC,
      .copy_ns = 20 * SEC, .overlap_ns = 18 * SEC, .copy_gbps = 24,
      .ceiling_gbps = 25},
     "XFER_BOUND",
     "MODERATE",
     1 / 0.9 - 1,
     {"100 % of that was the copy to the device."},
     "uint8"},
};

static struct fdl_verdict judge(struct fdl_evidence e)
{
    struct fdl_verdict v;
    e.ledger.wait_ns = 0;
    for (int i = 0; i < FDL_BUCKETS; i++)
        e.ledger.wait_ns += e.ledger.ns[i];
    memset(&v, 0xee, sizeof(v));
    fdl_verdict_judge(&e, &v);
    return v;
}

static void check_text(const char *text, size_t capacity)
{
    size_t length = strlen(text);
    assert_in_range(length, 1, capacity - 2);
    assert_int_equal(text[length - 1], '.');
    assert_null(strstr(text, "  "));
    assert_null(strstr(text, ".."));
    assert_null(strstr(text, "nan"));
}

static void test_every_code(void **state)
{
    (void)state;
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        const struct row *r = &rows[i];
        struct fdl_verdict v = judge(r->e);
        print_message("%s: %s (%s, gain %.2f)\n  %s\n  %s\n", r->name, v.code,
                      v.level, v.predicted_gain, v.sentence, v.action);
        assert_string_equal(v.code, r->code);
        assert_string_equal(v.level, r->level);
        assert_true(fabs(v.predicted_gain - r->gain) < 1e-6);
        for (size_t k = 0; k < FDL_COUNT_OF(r->said) && r->said[k]; k++)
            assert_non_null(strstr(v.sentence, r->said[k]));
        assert_non_null(strstr(v.action, r->action));
        check_text(v.sentence, sizeof(v.sentence));
        check_text(v.action, sizeof(v.action));
        assert_in_range(v.confidence_ppm, 0, 1000000);
    }
}

/* The levels change at 1, 5 and 20 %, each of which belongs to the upper. */
static void test_levels(void **state)
{
    static const struct {
        int64_t per_mille;
        const char *level;
    } of[] = {{0, "FED"},    {9, "FED"},       {10, "MINOR"},
              {49, "MINOR"}, {50, "MODERATE"}, {199, "MODERATE"},
              {200, "HIGH"}, {1000, "HIGH"}};
    (void)state;
    for (size_t i = 0; i < FDL_COUNT_OF(of); i++) {
        struct fdl_evidence e = {RUN, .workers = 2, .cpus_usable = 2};
        e.ledger.ns[FDL_BUCKET_PREP] = of[i].per_mille * SEC / 10;
        assert_string_equal(judge(e).level, of[i].level);
    }
}

/* With a device its stall decides, whatever the host's is. */
static void test_device_levels(void **state)
{
    static const struct {
        int64_t per_mille;
        const char *level;
    } of[] = {{0, "FED"},    {9, "FED"},       {10, "MINOR"},
              {49, "MINOR"}, {50, "MODERATE"}, {199, "MODERATE"},
              {200, "HIGH"}, {1000, "HIGH"}};
    (void)state;
    for (size_t i = 0; i < FDL_COUNT_OF(of); i++) {
        struct fdl_evidence e = {RUN, GPU, .workers = 2, .cpus_usable = 2};
        e.ledger.ns[FDL_BUCKET_PREP] = 50 * SEC;
        e.device_idle_ns = of[i].per_mille * SEC / 10;
        assert_string_equal(judge(e).level, of[i].level);
        e.has_device = false;
        assert_string_equal(judge(e).level, "HIGH");
    }
}

/* More batches and a clearer cause are believed more. */
static void test_confidence(void **state)
{
    (void)state;
    struct fdl_evidence e = {RUN, .workers = 2, .cpus_usable = 2};
    e.ledger.ns[FDL_BUCKET_PREP] = 40 * SEC;
    uint32_t clear = judge(e).confidence_ppm;
    e.ledger.ns[FDL_BUCKET_FETCH] = 39 * SEC;
    uint32_t mixed = judge(e).confidence_ppm;
    e.batches = 8;
    uint32_t few = judge(e).confidence_ppm;
    assert_in_range(clear, 980000, 1000000);
    assert_in_range(mixed, 480000, 520000);
    assert_in_range(few, 240000, 270000);
    e.batches = 7;
    assert_int_equal(judge(e).confidence_ppm, 0);
}

/* Anything a caller may hand in gives a code and whole sentences. */
static void test_extremes(void **state)
{
    (void)state;
    for (int cause = 0; cause < FDL_BUCKETS; cause++) {
        struct fdl_evidence e = {.batches = UINT64_MAX,
                                 .samples = UINT64_MAX,
                                 .wall_ns = INT64_MAX,
                                 .workers = UINT32_MAX,
                                 .cpus_usable = UINT32_MAX,
                                 .worker_busy_ns = INT64_MAX,
                                 .worker_cpu_ns = 1,
                                 .worker_blocked_ns = INT64_MAX,
                                 .mean_file_bytes = 1e15};
        e.ledger.ns[cause] = INT64_MAX;
        struct fdl_verdict v = judge(e);
        check_text(v.sentence, sizeof(v.sentence));
        check_text(v.action, sizeof(v.action));
        assert_in_range(v.confidence_ppm, 0, 1000000);
        for (int idle = 0; idle <= 2; idle++) {
            e.has_device = true;
            e.device_span_ns = INT64_MAX;
            e.device_idle_ns = INT64_MAX / 2 * idle;
            e.copy_ns = INT64_MAX;
            e.copy_gbps = e.ceiling_gbps = 1e300;
            v = judge(e);
            check_text(v.sentence, sizeof(v.sentence));
            check_text(v.action, sizeof(v.action));
            assert_in_range(v.confidence_ppm, 0, 1000000);
        }
        e = (struct fdl_evidence){.batches = 8, .wall_ns = SEC};
        e.ledger.ns[cause] = SEC;
        v = judge(e);
        check_text(v.sentence, sizeof(v.sentence));
        assert_string_equal(v.level, "HIGH");
    }
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(test_every_code),    cmocka_unit_test(test_levels),
    cmocka_unit_test(test_device_levels), cmocka_unit_test(test_confidence),
    cmocka_unit_test(test_extremes),
};

TEST_MAIN("verdict", cases)
