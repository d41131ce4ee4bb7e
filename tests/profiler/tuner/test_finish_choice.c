/* SPDX-License-Identifier: Apache-2.0 */
/* One row per rule: a question, and what must be chosen and said; then facts,
 * and what the closed form makes of them. */
#include "base/compiler.h"
#include "profiler/tuner/finish_choice.h"
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

static void test_every_rule(void **state)
{
    (void)state;
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
static void test_border(void **state)
{
    struct fdl_finish_question q = {.images = 1,
                                    .gigabytes_per_second = 1,
                                    .cpus_usable = 4,
                                    .cpu_load = 0,
                                    .finished_bytes = 4000,
                                    .wire_bytes = 1000};
    struct fdl_finish_choice c;
    (void)state;
    /* 3 of latency + 4 us. */
    q.latency_us = 25.9;
    fdl_finish_decide(&q, &c);
    assert_true(c.device);
    q.latency_us = 26.1;
    fdl_finish_decide(&q, &c);
    assert_false(c.device);
}

/* The regime is that of the bytes that will cross. */
static void test_regime(void **state)
{
    struct fdl_finish_question q = {BATCH, .latency_us = 1000,
                                    .gigabytes_per_second = 20};
    struct fdl_finish_choice c;
    (void)state;
    q.asked = FDL_FINISH_DEVICE;
    fdl_finish_decide(&q, &c);
    assert_string_equal(c.regime, "latency");
    q.asked = FDL_FINISH_HOST;
    fdl_finish_decide(&q, &c);
    assert_string_equal(c.regime, "bandwidth");
}

/* Whatever is asked, there is an answer that fits its place. */
static void test_extremes(void **state)
{
    static const double numbers[] = {0, 1e-300, 1, 1e300, INFINITY};
    static const uint64_t sizes[] = {0, 1, UINT64_MAX};
    char obstacle[1000];
    (void)state;
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

/* Who wants to change it later has a choice where the device is able to, and
 * bytes are saved. */
static void test_choice_is_free(void **state)
{
    struct fdl_finish_question q = {BATCH, PCIE4, .cpu_load = 0};
    struct fdl_finish_choice c;
    (void)state;
    for (int tuned = 0; tuned < 2; tuned++)
        for (int obstacle = 0; obstacle < 2; obstacle++)
            for (int asked = FDL_FINISH_AUTO; asked <= FDL_FINISH_DEVICE;
                 asked++) {
                q.tuned = tuned;
                q.obstacle = obstacle ? "for a reason" : NULL;
                q.asked = (enum fdl_finish_asked)asked;
                fdl_finish_decide(&q, &c);
                assert_int_equal(c.free, tuned && !obstacle &&
                                             asked == FDL_FINISH_AUTO);
            }
    struct fdl_finish_question same = {PCIE4, .tuned = true, .wire_bytes = 100,
                                       .finished_bytes = 100};
    fdl_finish_decide(&same, &c);
    assert_false(c.free);
}

/* ---- Measured ----------------------------------------------------------- */

#define COSTS                                                                  \
  .costs = {.host_bytes = 38535168,                                            \
            .device_bytes = 9633792,                                           \
            .latency_ns = 8000,                                                \
            .bytes_per_ns = 25,                                                \
            .sample_ns = 50e3},                                                \
  .samples = 64

static const struct measured {
    const char *name;
    struct fdl_finish_facts f;
    bool worth;
    double gain;
    const char *said[3];
} measured[] = {
    {"the bus is the limit",
     {COSTS, .step_ns = 1e6, .copy_ns = 1549406.72, .cpu_ns = 400e3,
      .cores = 64, .workers = 64},
     true,
     0.54940672,
     {"on the device", "the consumer would take 1000.0 us",
      "1549.4 us of the bus"}},
    {"the same by the bus alone",
     {COSTS, .step_ns = 1e6, .cpu_ns = 400e3, .cores = 64, .workers = 64},
     true,
     0.54940672,
     {"1549.4 us of the bus"}},
    {"the bus is slower than it could be",
     {COSTS, .step_ns = 1e6, .copy_ns = 8000 + 8e6, .cpu_ns = 400e3,
      .cores = 64, .workers = 64},
     true,
     8008000. / 2008000 - 1,
     {"the bus would take 2008.0 us"}},
    {"cores are the limit",
     {COSTS, .step_ns = 1e6, .copy_ns = 1.5e6, .cpu_ns = 400e3, .cores = 8,
      .workers = 16},
     true,
     3.2 / 2.8 - 1,
     {"workers would take 2800.0 us", "3200.0 us of workers"}},
    {"workers that sleep are",
     {COSTS, .step_ns = 1e6, .copy_ns = 1.5e6, .cpu_ns = 100e3,
      .sleep_ns = 900e3, .cores = 16, .workers = 16},
     true,
     4.0 / 3.8 - 1,
     {"4000.0 us of workers"}},
    {"nobody waits, and work is spared",
     {COSTS, .step_ns = 10e6, .copy_ns = 1.5e6, .cpu_ns = 400e3, .cores = 8,
      .workers = 8},
     true,
     0,
     {"as fast", "spared 12.5 %"}},
    {"nobody waits, and little is spared",
     {COSTS, .step_ns = 10e6, .copy_ns = 1.5e6, .cpu_ns = 600e3, .cores = 8,
      .workers = 8},
     false,
     0,
     {"10000.0 us instead of 10000.0 us"}},
    {"the kernel would cost more than that is worth",
     {COSTS, .step_ns = 10e6, .copy_ns = 1.5e6, .kernel_ns = 1e6,
      .cpu_ns = 400e3, .cores = 8, .workers = 8},
     false,
     10. / 11 - 1,
     {"11000.0 us instead of 10000.0 us"}},
    {"the device is the limit, host and bus have time",
     {COSTS, .device = true, .step_ns = 2e6, .copy_ns = 393351.68,
      .kernel_ns = 0.2e6, .cpu_ns = 350e3, .cores = 64, .workers = 64},
     true,
     2.0 / 1.8 - 1,
     {"on the host", "the consumer would take 1800.0 us"}},
    {"the bus has not",
     {COSTS, .device = true, .step_ns = 1e6, .copy_ns = 393351.68,
      .kernel_ns = 0.1e6, .cpu_ns = 350e3, .cores = 64, .workers = 64},
     false,
     1e6 / 1549406.72 - 1,
     {"1549.4 us instead of 1000.0 us"}},
    {"cores have not",
     {COSTS, .device = true, .step_ns = 2e6, .copy_ns = 393351.68,
      .kernel_ns = 0.2e6, .cpu_ns = 350e3, .cores = 12, .workers = 64},
     false,
     2e6 / (64 * 400e3 / 12) - 1,
     {"2133.3 us instead of 2000.0 us"}},
    {"nobody knows what it costs the host",
     {.costs = {.host_bytes = 4, .device_bytes = 1},
      .samples = 64,
      .device = true,
      .step_ns = 2e6,
      .kernel_ns = 1e6,
      .cpu_ns = 1},
     false,
     0,
     {"too little is known of the host"}},
};

static void test_measured(void **state)
{
    (void)state;
    for (size_t i = 0; i < FDL_COUNT_OF(measured); i++) {
        const struct measured *m = &measured[i];
        char why[160];
        double gain = 99;
        bool worth = fdl_finish_reconsider(&m->f, &gain, why, sizeof(why));
        print_message("%s: %+.4f, %s\n", m->name, gain, why);
        assert_int_equal(worth, m->worth);
        assert_true(fabs(gain - m->gain) < 1e-9);
        for (size_t k = 0; k < FDL_COUNT_OF(m->said) && m->said[k]; k++)
            assert_non_null(strstr(why, m->said[k]));
    }
}

/* Between 1 and 10^6, evenly in the logarithm. */
static double draw(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return exp((double)(*seed >> 40) / (double)(1 << 24) * log(1e6));
}

/* What is promised one way is taken back by the other, if what was predicted is
 * what is found then. */
static void test_there_and_back(void **state)
{
    uint64_t seed = test_seed();
    unsigned promised = 0, bound[3] = {0};
    (void)state;
    for (int i = 0; i < 20000; i++) {
        char why[160];
        double there, back, latency = draw(&seed);
        struct fdl_finish_facts f = {
            .costs = {.device_bytes = 1 + (uint64_t)draw(&seed),
                      .latency_ns = latency,
                      .sample_ns = draw(&seed) / 10},
            .samples = 64,
            .cores = 1 + draw(&seed) / 1e4,
            .workers = 1 + draw(&seed) / 1e4,
            .step_ns = draw(&seed) * 64,
            .kernel_ns = draw(&seed),
            .copy_ns = latency + draw(&seed),
            .sleep_ns = draw(&seed) / 10,
        };
        f.costs.host_bytes = 4 * f.costs.device_bytes;
        f.cpu_ns = f.costs.sample_ns + draw(&seed);
        bool worth = fdl_finish_reconsider(&f, &there, why, sizeof(why));
        struct fdl_finish_facts g = f;
        g.device = true;
        g.step_ns += f.kernel_ns;
        g.cpu_ns -= f.costs.sample_ns;
        g.copy_ns = latency + (f.copy_ns - latency) / 4;
        bool returns = fdl_finish_reconsider(&g, &back, why, sizeof(why));
        assert_true(fabs((1 + there) * (1 + back) - 1) < 1e-6);
        assert_false(worth && returns);
        promised += worth;

        double cpu = 64 * f.cpu_ns / f.cores;
        double prep = fmax(cpu, 64 * (f.cpu_ns + f.sleep_ns) / f.workers);
        double less = f.cpu_ns - f.costs.sample_ns;
        double other =
            fmax(64 * less / f.cores, 64 * (less + f.sleep_ns) / f.workers);
        double was = fmax(fmax(f.step_ns, f.copy_ns), prep);
        double is = fmax(fmax(g.step_ns, g.copy_ns), other);
        assert_true(fabs(there - (was / is - 1)) < 1e-9 * (1 + there));
        assert_int_equal(worth,
                         there >= FDL_FINISH_GAIN ||
                             (there > -0.005 && f.costs.sample_ns / f.cpu_ns >=
                                                    FDL_FINISH_SPARED));
        bound[was == f.step_ns ? 0 : was == f.copy_ns ? 1 : 2]++;
    }
    assert_in_range(promised, 100, 19900);
    for (int i = 0; i < 3; i++)
        assert_true(bound[i] > 100);
}

/* Nonsense is no reason for anything. */
static void test_nonsense(void **state)
{
    static const double odd[] = {-1, NAN, INFINITY, -INFINITY, 1e300};
    const struct fdl_finish_facts good = measured[0].f;
    struct fdl_finish_facts f = good;
    double *const fields[] = {
        &f.step_ns,        &f.copy_ns,          &f.kernel_ns,
        &f.cpu_ns,         &f.sleep_ns,         &f.cores,
        &f.workers,        &f.costs.latency_ns, &f.costs.bytes_per_ns,
        &f.costs.sample_ns};
    (void)state;
    for (size_t i = 0; i < FDL_COUNT_OF(fields); i++)
        for (size_t k = 0; k < FDL_COUNT_OF(odd); k++) {
            char why[160];
            double gain = 99;
            f = good;
            *fields[i] = odd[k];
            assert_false(fdl_finish_reconsider(&f, &gain, why, sizeof(why)));
            assert_true(gain == 0);
            assert_non_null(strstr(why, "too little"));
        }
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(test_every_rule),     cmocka_unit_test(test_border),
    cmocka_unit_test(test_regime),         cmocka_unit_test(test_extremes),
    cmocka_unit_test(test_choice_is_free), cmocka_unit_test(test_measured),
    cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_nonsense),
};

TEST_MAIN("finish_choice", cases)
