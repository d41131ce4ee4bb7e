/* SPDX-License-Identifier: Apache-2.0 */
/* One row per rule: a question, and what must be chosen and said. */
#include "base/compiler.h"
#include "loader/stream/finish_choice.h"
#include "test.h"

#include <math.h>

/* 64 images of 224x224, as u8 and as f32, on PCIe 4. */
#define BATCH .images = 64, .wire_bytes = 9633792, .finished_bytes = 38535168
#define PCIE4 .latency_us = 8, .gigabytes_per_second = 25

/* One of 8x8: 192 bytes, and 768. */
#define TINY .images = 1, .wire_bytes = 192, .finished_bytes = 768

static const struct row {
    const char *name;
    struct fdl_finish_question q;
    bool device;
    const char *regime;
    const char *said[4]; /* parts of the reason */
} rows[] = {
    {"the bus is saved",
     {BATCH, PCIE4, .cpus_usable = 8, .cpu_load = 0},
     true,
     "bandwidth",
     {"batch of 64", "393.4 us as u8 (9.6 MB)",
      "1549.4 us finished (38.5 MB)"}},
    {"the host was asked for",
     {BATCH, PCIE4, .asked = FDL_FINISH_HOST, .obstacle = "of no interest"},
     false,
     "bandwidth",
     {"finish=host was asked for"}},
    {"the device was asked for, though it saves nothing",
     {PCIE4, .asked = FDL_FINISH_DEVICE, .images = 1, .wire_bytes = 100,
      .finished_bytes = 100},
     true,
     "latency",
     {"finish=device was asked for"}},
    {"the device was asked for, and cannot",
     {BATCH, .asked = FDL_FINISH_DEVICE, .obstacle = "no kernels"},
     false,
     "",
     {"the device cannot: no kernels"}},
    {"the device cannot",
     {BATCH, PCIE4, .obstacle = "images differ in size"},
     false,
     "bandwidth",
     {"the device cannot: images differ in size"}},
    {"u8 is all there is",
     {PCIE4, .images = 64, .wire_bytes = 9633792, .finished_bytes = 9633792},
     false,
     "bandwidth",
     {"nothing is saved", "9.6 MB finished"}},
    {"not measured",
     {BATCH, .cpus_usable = 8, .cpu_load = 0},
     true,
     "",
     {"9.6 MB as u8 and 38.5 MB finished", "not measured"}},
    {"all latency, cores idle",
     {TINY, PCIE4, .cpus_usable = 8, .cpu_load = 0.25},
     false,
     "latency",
     {"0.3 % of a copy of 8.0 us", "8 usable cores are only 25.0 % taken"}},
    {"all latency, cores idle, and the program copies anyway",
     {TINY, PCIE4, .cpus_usable = 8, .cpu_load = 0, .late = true},
     true,
     "latency",
     {"only 0.3 %", "own copy of a batch finishes it"}},
    {"all latency, the only core idle",
     {TINY, PCIE4, .cpus_usable = 1, .cpu_load = 0},
     false,
     "latency",
     {"1 usable core is only 0.0 % taken"}},
    {"all latency, cores taken",
     {TINY, PCIE4, .cpus_usable = 8, .cpu_load = 0.5},
     true,
     "latency",
     {"only 0.3 %", "others take 50.0 % of the 8 usable cores"}},
    {"all latency, nobody knows of the cores",
     {TINY, PCIE4, .cpus_usable = 8, .cpu_load = -1},
     true,
     "latency",
     {"only 0.3 %", "spares the workers"}},
};

TEST(test_every_rule)
{
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        const struct row *r = &rows[i];
        struct fdl_finish_choice c;
        memset(&c, 0xee, sizeof(c));
        fdl_finish_decide(&r->q, &c);
        print_message("%s: %s, %s\n  %s\n", r->name,
                      c.device ? "device" : "host", c.regime, c.reason);
        assert_int_equal(c.device, r->device);
        assert_string_equal(c.regime, r->regime);
        for (size_t k = 0; k < FDL_COUNT_OF(r->said) && r->said[k]; k++)
            assert_non_null(strstr(c.reason, r->said[k]));
        assert_in_range(strlen(c.reason), 1, sizeof(c.reason) - 1);
    }
}

/* The border is where u8 shortens the copy by a tenth. */
TEST(test_border)
{
    struct fdl_finish_question q = {.images = 1,
                                    .gigabytes_per_second = 1,
                                    .cpus_usable = 4,
                                    .cpu_load = 0,
                                    .finished_bytes = 4000,
                                    .wire_bytes = 1000};
    struct fdl_finish_choice c;
    /* 3 of latency + 4 us. */
    q.latency_us = 25.9;
    fdl_finish_decide(&q, &c);
    assert_true(c.device);
    q.latency_us = 26.1;
    fdl_finish_decide(&q, &c);
    assert_false(c.device);
}

/* The regime is that of the bytes that will cross. */
TEST(test_regime)
{
    struct fdl_finish_question q = {BATCH, .latency_us = 1000,
                                    .gigabytes_per_second = 20};
    struct fdl_finish_choice c;
    q.asked = FDL_FINISH_DEVICE;
    fdl_finish_decide(&q, &c);
    assert_string_equal(c.regime, "latency");
    q.asked = FDL_FINISH_HOST;
    fdl_finish_decide(&q, &c);
    assert_string_equal(c.regime, "bandwidth");
}

/* Whatever is asked, there is an answer that fits its place. */
TEST(test_extremes)
{
    static const double numbers[] = {0, 1e-300, 1, 1e300, INFINITY};
    static const uint64_t sizes[] = {0, 1, UINT64_MAX};
    char obstacle[1000];
    memset(obstacle, 'x', sizeof(obstacle));
    obstacle[sizeof(obstacle) - 1] = '\0';
    for (size_t i = 0; i < FDL_COUNT_OF(numbers); i++)
        for (size_t k = 0; k < FDL_COUNT_OF(numbers); k++)
            for (size_t s = 0; s < 9; s++) {
                struct fdl_finish_question q = {
                    .latency_us = numbers[i],
                    .gigabytes_per_second = numbers[k],
                    .wire_bytes = sizes[s / 3],
                    .finished_bytes = sizes[s % 3],
                    .images = UINT32_MAX,
                    .cpus_usable = UINT32_MAX,
                    .cpu_load = (double)s / 8,
                    .obstacle = s == 8 ? obstacle : NULL,
                };
                struct fdl_finish_choice c;
                fdl_finish_decide(&q, &c);
                assert_in_range(strlen(c.reason), 1, sizeof(c.reason) - 1);
                assert_non_null(c.regime);
                assert_null(strstr(c.reason, "nan"));
            }
}

TEST_MAIN("finish_choice")
