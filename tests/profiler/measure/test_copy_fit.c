/* SPDX-License-Identifier: Apache-2.0 */
/* The line through copy times, and what is refused, through the public door. */
#include "base/compiler.h"
#include "base/philox.h"
#include "profiler/measure/copy_fit.h"
#include "test.h"

#include <feedline/bench.h>
#include <feedline/feedline.h>

#include <math.h>

/* 4 KiB to 256 MiB */
#define POINTS 17

static uint64_t bytes[POINTS];
static double us[POINTS];

static void line(double latency_us, double gbps)
{
    for (uint32_t i = 0; i < POINTS; i++) {
        bytes[i] = UINT64_C(4096) << i;
        us[i] = latency_us + (double)bytes[i] / (gbps * 1e3);
    }
}

static void near(double found, double wanted, double relative)
{
    assert_true(fabs(found - wanted) <= relative * fabs(wanted));
}

static struct feedline_copy_fit fit(uint32_t n)
{
    struct feedline_copy_fit f = {.struct_size = sizeof(f)};
    assert_int_equal(feedline_copy_fit(bytes, us, n, &f), FEEDLINE_OK);
    assert_int_equal(f.struct_size, sizeof(f));
    return f;
}

TEST(test_exact)
{
    line(7, 25);
    for (uint32_t n = 2; n <= POINTS; n++) {
        struct feedline_copy_fit f = fit(n);
        near(f.latency_us, 7, 1e-9);
        near(f.gigabytes_per_second, 25, 1e-9);
        near(f.half_bytes, 7 * 25e3, 1e-9);
        assert_true(f.worst_error < 1e-9);
    }
}

/* 3 % of noise move the line by less than that, and show in worst_error. */
TEST(test_noise)
{
    struct fdl_rng rng;
    fdl_rng_init(&rng, test_seed(), 0, 0, 0);
    for (int i = 0; i < 1000; i++) {
        double worst = 0;
        line(10, 50);
        for (uint32_t k = 0; k < POINTS; k++) {
            double off = 0.03 * (2 * fdl_rng_uniform(&rng) - 1);
            us[k] *= 1 + off;
            worst = fmax(worst, fabs(off));
        }
        struct feedline_copy_fit f = fit(POINTS);
        near(f.latency_us, 10, 0.05);
        near(f.gigabytes_per_second, 50, 0.04);
        assert_true(f.worst_error < 2 * worst + 1e-9);
        assert_true(f.worst_error > 0);
    }
}

/* What the fit makes as small as it can. */
static double badness(double latency_us, double gbps)
{
    double sum = 0;
    for (uint32_t i = 0; i < POINTS; i++) {
        double at = latency_us + (double)bytes[i] / (gbps * 1e3);
        sum += (at / us[i] - 1) * (at / us[i] - 1);
    }
    return sum;
}

/* No line nearby is better. */
TEST(test_best)
{
    struct fdl_rng rng;
    fdl_rng_init(&rng, test_seed(), 1, 0, 0);
    line(10, 20);
    for (uint32_t i = 0; i < POINTS; i++)
        us[i] *= 0.8 + 0.4 * fdl_rng_uniform(&rng);
    struct feedline_copy_fit f = fit(POINTS);
    double best = badness(f.latency_us, f.gigabytes_per_second);
    for (int i = -1; i <= 1; i++)
        for (int k = -1; k <= 1; k++)
            if (i != 0 || k != 0)
                assert_true(badness(f.latency_us * (1 + 0.01 * i),
                                    f.gigabytes_per_second * (1 + 0.01 * k)) >
                            best);
}

/* A latency below 0 makes no sense: then the line goes through 0. */
TEST(test_no_latency)
{
    for (uint32_t i = 0; i < 3; i++) {
        bytes[i] = UINT64_C(1000) << i;
        us[i] = (double)bytes[i] / 1e3 - 0.1;
    }
    struct feedline_copy_fit f = fit(3);
    assert_true(f.latency_us == 0);
    assert_true(f.half_bytes == 0);
    near(f.gigabytes_per_second, 1.05, 0.05);
    assert_true(f.worst_error > 0 && f.worst_error < 0.1);
}

static void refused(uint32_t n, const char *words)
{
    struct feedline_copy_fit f, before;
    memset(&f, 0x5a, sizeof(f));
    f.struct_size = sizeof(f);
    before = f;
    assert_int_equal(feedline_copy_fit(bytes, us, n, &f), FEEDLINE_EINVAL);
    assert_non_null(strstr(feedline_last_error(), words));
    assert_memory_equal(&f, &before, sizeof(f));
}

TEST(test_refused)
{
    static const double bad[] = {0, -1, NAN, INFINITY, -INFINITY};
    struct feedline_copy_fit f = {.struct_size = sizeof(f)};
    line(5, 10);
    refused(0, "two sizes");
    refused(1, "two sizes");
    bytes[1] = bytes[0];
    refused(2, "two sizes");
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        line(5, 10);
        us[3] = bad[i];
        refused(POINTS, "above 0");
    }
    line(5, 10);
    us[0] = 50;
    refused(2, "do not grow");
    us[1] = us[0];
    refused(2, "do not grow");
    assert_int_equal(feedline_copy_fit(NULL, us, 2, &f), FEEDLINE_EINVAL);
    assert_int_equal(feedline_copy_fit(bytes, NULL, 2, &f), FEEDLINE_EINVAL);
    assert_int_equal(feedline_copy_fit(bytes, us, 2, NULL), FEEDLINE_EINVAL);
    f.struct_size = 0;
    assert_int_equal(feedline_copy_fit(bytes, us, 2, &f), FEEDLINE_EINVAL);
}

/* A program of an older header gets what it knows of. */
TEST(test_old_struct)
{
    struct feedline_copy_fit f;
    line(5, 10);
    memset(&f, 0x5a, sizeof(f));
    f.struct_size = offsetof(struct feedline_copy_fit, half_bytes);
    assert_int_equal(feedline_copy_fit(bytes, us, POINTS, &f), FEEDLINE_OK);
    near(f.gigabytes_per_second, 10, 1e-9);
    uint8_t untouched[sizeof(double)];
    memset(untouched, 0x5a, sizeof(untouched));
    assert_memory_equal(&f.half_bytes, untouched, sizeof(untouched));
}

TEST(test_regime)
{
    assert_string_equal(fdl_copy_regime(0, 0, 1000), "");
    assert_string_equal(fdl_copy_regime(10, 25, 249999), "latency");
    assert_string_equal(fdl_copy_regime(10, 25, 250000), "latency");
    assert_string_equal(fdl_copy_regime(10, 25, 250001), "bandwidth");
    assert_string_equal(fdl_copy_regime(0, 25, 1), "bandwidth");
}

TEST_MAIN("copy_fit")
