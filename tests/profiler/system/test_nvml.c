/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU's own words, from a double of the library (nvml_double.c): every
 * value, every function missing or failing, and the GPU lost at every call.
 */
#include "base/compiler.h"
#include "profiler/system/nvml.h"
#include "tests/profiler/system/nvml_says.h"

#define PCI "0000:1b:00.0"

static struct fdl_nvml *open_double(void)
{
    char why[256] = "";
    struct fdl_nvml *n = fdl_nvml_open(PCI, why, sizeof(why));
    if (!n)
        fail_msg("%s", why);
    return n;
}

/* A second after the last. */
static bool look(struct fdl_nvml *n, struct fdl_gpu_signals *out)
{
    static int64_t now = 1;
    now += 1000000000;
    return fdl_nvml_read(n, now, out);
}

static bool near(double a, double b)
{
    double d = a - b;
    return d < 1e-9 && d > -1e-9;
}

/* -1 in every field, and no words. */
static void expect_unknown(const struct fdl_gpu_signals *s)
{
    const double fields[] = {
        s->utilization,        s->memory_utilization, s->memory_used_bytes,
        s->memory_total_bytes, s->power_watts,        s->power_limit_watts,
        s->temperature,        s->sm_clock_mhz,       s->max_sm_clock_mhz,
        s->sm_active,          s->pcie_rx_gbps,       s->pcie_tx_gbps,
        s->energy_joules};
    for (size_t i = 0; i < FDL_COUNT_OF(fields); i++)
        assert_true(near(fields[i], -1));
    assert_false(s->power_capped);
    assert_false(s->thermal_capped);
    assert_string_equal(s->driver, "");
}

TEST_WITH(test_values, setup_double, teardown)
{
    struct fdl_gpu_signals s;
    say("utilization 87\nmemory_utilization 35\nmemory_used 1000000000\n"
        "memory_total 4000000000\npower 250500\npower_limit 300000\n"
        "temperature 71\nclock 1200\nmax_clock 1980\nrx 1000000\ntx 500000\n"
        "energy 123456\nsm 40\n");
    struct fdl_nvml *n = open_double();
    assert_true(look(n, &s));
    assert_true(near(s.utilization, 0.87));
    assert_true(near(s.memory_utilization, 0.35));
    assert_true(near(s.memory_used_bytes, 1e9));
    assert_true(near(s.memory_total_bytes, 4e9));
    assert_true(near(s.power_watts, 250.5));
    assert_true(near(s.power_limit_watts, 300));
    assert_true(near(s.temperature, 71));
    assert_true(near(s.sm_clock_mhz, 1200));
    assert_true(near(s.max_sm_clock_mhz, 1980));
    assert_true(near(s.energy_joules, 123.456));
    assert_string_equal(s.driver, "550.54.15");
    assert_string_equal(fdl_gpu_cap_name(&s), "");
    /* The rest is the difference of two samples. */
    assert_true(near(s.pcie_rx_gbps, -1));
    assert_true(near(s.pcie_tx_gbps, -1));
    assert_true(near(s.sm_active, -1));
    say("rx 2000000\ntx 500000\nsm 40\nfail_nvmlDeviceGetPcieThroughput 15\n");
    assert_true(look(n, &s)); /* the slow call is not made */
    assert_true(near(s.pcie_rx_gbps, 2.048));
    assert_true(near(s.pcie_tx_gbps, 0.512));
    assert_true(near(s.sm_active, 0.4));
    fdl_nvml_close(n);
}

/* The slow call measures one direction at a time. */
static void expect_bus(struct fdl_nvml *n, int64_t now, double rx, double tx)
{
    struct fdl_gpu_signals s;
    assert_true(fdl_nvml_read(n, now, &s));
    assert_true(near(s.pcie_rx_gbps, rx));
    assert_true(near(s.pcie_tx_gbps, tx));
}

TEST_WITH(test_bus_once_a_second, setup_double, teardown)
{
    const int64_t second = 1000000000;
    static const char *const without[] = {"gpm 0", "gpm_bus 0"};
    for (size_t i = 0; i < FDL_COUNT_OF(without); i++) {
        char text[2][96];
        int64_t now = (int64_t)(i + 1) * 100 * second;
        for (int k = 0; k < 2; k++)
            snprintf(text[k], sizeof(text[k]), "%s\nrx %d\ntx %d\n", without[i],
                     (k + 1) * 1000000, (k + 1) * 500000);
        say(text[0]);
        struct fdl_nvml *n = open_double();
        struct fdl_nvml *other = open_double();
        struct fdl_gpu_signals s;
        if (i == 1) { /* that GPM has no bus shows at the second sample */
            assert_true(fdl_nvml_read(n, now - 20 * second, &s));
            assert_true(fdl_nvml_read(other, now - 20 * second, &s));
            assert_true(fdl_nvml_read(n, now - 19 * second, &s));
            assert_true(fdl_nvml_read(other, now - 19 * second, &s));
            assert_true(fdl_nvml_read(n, now - 18 * second, &s));
        } else {
            expect_bus(n, now, 1.024, -1);
            expect_bus(n, now + second, 1.024, 0.512);
        }
        now += 2 * second;
        say(text[1]);
        expect_bus(n, now, 2.048, 0.512);
        expect_bus(n, now + second / 2, 2.048, 0.512);
        expect_bus(other, now + second / 2, 2.048, 0.512);
        expect_bus(other, now + second, 2.048, 1.024);
        expect_bus(n, now + second, 2.048, 1.024);
        fdl_nvml_close(other);
        fdl_nvml_close(n);
    }
}

TEST_WITH(test_caps, setup_double, teardown)
{
    static const struct {
        unsigned bits;
        const char *name;
    } of[] = {{0x00, ""},
              {0x01, ""},
              {0x02, ""},
              {0x04, "power"},
              {0x80, "power"},
              {0x88, "power"},
              {0x08, "thermal"},
              {0x20, "thermal"},
              {0x40, "thermal"},
              {0x48, "thermal"},
              {0x24, "power, thermal"},
              {0x10, ""},
              {0x100, ""}};
    struct fdl_gpu_signals s;
    struct fdl_nvml *n;
    say("");
    n = open_double();
    for (size_t i = 0; i < FDL_COUNT_OF(of); i++) {
        char text[64];
        snprintf(text, sizeof(text), "reasons %u\n", of[i].bits);
        say(text);
        assert_true(look(n, &s));
        assert_string_equal(fdl_gpu_cap_name(&s), of[i].name);
    }
    fdl_nvml_close(n);
}

TEST_WITH(test_not_there, setup_double, teardown)
{
    char why[256];
    static const struct {
        const char *library, *says, *missing, *reason;
    } of[] = {
        {"/nonexistent/libnvidia-ml.so.1", "", NULL, "/nonexistent/"},
        {NULL, "", "nvmlInit_v2", "NVML has no nvmlInit"},
        {NULL, "", "nvmlDeviceGetHandleByPciBusId_v2",
         "has no nvmlDeviceGetHandleByPciBusId"},
        {NULL, "fail_nvmlInit_v2 9\n", NULL, "nvmlInit: Driver Not Loaded"},
        {NULL, "fail_nvmlInit_v2 9\n", "nvmlErrorString",
         "an error without a text"},
        {NULL, "fail_nvmlDeviceGetHandleByPciBusId_v2 6\n", NULL,
         "GPU " PCI ": Not Found"},
    };
    char library[512];
    assert_non_null(getenv("FEEDLINE_NVML"));
    snprintf(library, sizeof(library), "%s", getenv("FEEDLINE_NVML"));
    for (size_t i = 0; i < FDL_COUNT_OF(of); i++) {
        setenv("FEEDLINE_NVML", of[i].library ? of[i].library : library, 1);
        say(of[i].says);
        missing = of[i].missing;
        strcpy(why, "?");
        assert_null(fdl_nvml_open(PCI, why, sizeof(why)));
        if (!strstr(why, of[i].reason))
            fail_msg("%s: %s", of[i].reason, why);
        assert_null(fdl_nvml_open(PCI, why, 5));
        assert_true(strlen(why) < 5);
        assert_null(fdl_nvml_open(PCI, NULL, 0));
    }
}

static const char *const optional[] = {
    "nvmlShutdown",
    "nvmlErrorString",
    "nvmlSystemGetDriverVersion",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetMaxClockInfo",
    "nvmlDeviceGetPcieThroughput",
    "nvmlDeviceGetTotalEnergyConsumption",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlGpmQueryDeviceSupport",
    "nvmlGpmSampleAlloc",
    "nvmlGpmSampleFree",
    "nvmlGpmSampleGet",
    "nvmlGpmMetricsGet",
};

/* How many of the numbers are known. */
static int known(const struct fdl_gpu_signals *s)
{
    return (s->utilization >= 0) + (s->memory_utilization >= 0) +
           (s->memory_used_bytes >= 0) + (s->memory_total_bytes >= 0) +
           (s->power_watts >= 0) + (s->power_limit_watts >= 0) +
           (s->temperature >= 0) + (s->sm_clock_mhz >= 0) +
           (s->max_sm_clock_mhz >= 0) + (s->sm_active >= 0) +
           (s->pcie_rx_gbps >= 0) + (s->pcie_tx_gbps >= 0) +
           (s->energy_joules >= 0) + (s->driver[0] != '\0') + s->power_capped;
}

enum { ALL_KNOWN = 15 };

/* What a function gives is unknown without it, and nothing else. */
static int known_to(const char *function)
{
    if (strstr(function, "Gpm"))
        return ALL_KNOWN - 1;
    if (strstr(function, "Utilization") || strstr(function, "MemoryInfo"))
        return ALL_KNOWN - 2;
    /* GPM has the bus as well. */
    return strstr(function, "Error") || strstr(function, "Shutdown") ||
                   strstr(function, "Pcie")
               ? ALL_KNOWN
               : ALL_KNOWN - 1;
}

TEST_WITH(test_each_function_missing, setup_double, teardown)
{
    struct fdl_gpu_signals s;
    say("reasons 4\n");
    for (size_t i = 0; i < FDL_COUNT_OF(optional); i++) {
        missing = optional[i];
        struct fdl_nvml *n = open_double();
        for (int k = 0; k < 3; k++)
            assert_true(look(n, &s));
        assert_int_equal(known(&s), known_to(optional[i]));
        fdl_nvml_close(n);
    }
}

/* Older libraries have older names. */
TEST_WITH(test_each_function_fails, setup_double, teardown)
{
    struct fdl_gpu_signals s;
    static const int statuses[] = {2, 3, 4, 6, 10, 13, 999};
    for (size_t i = 0; i < FDL_COUNT_OF(optional); i++) {
        if (strcmp(optional[i], "nvmlGpmSampleFree") == 0)
            continue;
        char text[128];
        snprintf(text, sizeof(text), "reasons 4\nfail_%s %d\n", optional[i],
                 statuses[i % FDL_COUNT_OF(statuses)]);
        say(text);
        struct fdl_nvml *n = open_double();
        for (int k = 0; k < 3; k++)
            assert_true(look(n, &s));
        assert_int_equal(known(&s), known_to(optional[i]));
        fdl_nvml_close(n);
    }
}

/* It fails while it runs, and comes back. */
TEST_WITH(test_fails_in_the_middle, setup_double, teardown)
{
    struct fdl_gpu_signals s;
    say("utilization 50\n");
    struct fdl_nvml *n = open_double();
    assert_true(look(n, &s));
    assert_true(near(s.utilization, 0.5));
    say("utilization 60\nfail_nvmlDeviceGetUtilizationRates 999\n");
    assert_true(look(n, &s));
    assert_true(near(s.utilization, -1));
    assert_true(s.power_watts > 0);
    say("utilization 70\n");
    assert_true(look(n, &s));
    assert_true(near(s.utilization, 0.7));
    fdl_nvml_close(n);
}

/* Everything fails, with nothing lost: nothing is known, and it is asked again.
 */
TEST_WITH(test_all_fail, setup_double, teardown)
{
    struct fdl_gpu_signals s;
    char text[4096] = "";
    say("");
    struct fdl_nvml *n = open_double();
    for (size_t i = 0; i < FDL_COUNT_OF(optional); i++) {
        size_t length = strlen(text);
        snprintf(text + length, sizeof(text) - length, "fail_%s 999\n",
                 optional[i]);
    }
    say(text);
    assert_false(look(n, &s));
    expect_unknown(&s);
    say("");
    assert_true(look(n, &s));
    fdl_nvml_close(n);
}

/* At each call in turn; then it is left alone, though it would answer again. */
TEST_WITH(test_lost, setup_double, teardown)
{
    struct fdl_gpu_signals s;
    char text[64];
    bool read = false;
    for (int calls = 0; !read; calls++) {
        assert_true(calls < 100);
        snprintf(text, sizeof(text), "lost_after %d\n", calls);
        say(text);
        struct fdl_nvml *n = open_double();
        read = look(n, &s) && look(n, &s);
        if (!read) {
            expect_unknown(&s);
            say("");
            memset(&s, 0, sizeof(s));
            assert_false(look(n, &s));
            expect_unknown(&s);
        } else {
            assert_true(calls > 20);
        }
        fdl_nvml_close(n);
    }
    fdl_nvml_close(NULL);
}

/* The bus is not known where neither GPM nor the slow call has it. */
TEST_WITH(test_no_bus, setup_double, teardown)
{
    struct fdl_gpu_signals s;
    say("reasons 4\ngpm_bus 0\n");
    missing = "nvmlDeviceGetPcieThroughput";
    struct fdl_nvml *n = open_double();
    for (int k = 0; k < 3; k++)
        assert_true(look(n, &s));
    assert_int_equal(known(&s), ALL_KNOWN - 2);
    assert_true(near(s.sm_active, 0.5));
    fdl_nvml_close(n);
}

/* No GPU before Hopper has GPM. */
TEST_WITH(test_no_gpm, setup_double, teardown)
{
    struct fdl_gpu_signals s;
    say("gpm 0\nreasons 4\n");
    struct fdl_nvml *n = open_double();
    assert_true(look(n, &s));
    assert_true(look(n, &s));
    assert_int_equal(known(&s), ALL_KNOWN - 1);
    assert_true(near(s.sm_active, -1));
    fdl_nvml_close(n);
}

TEST_MAIN("nvml")
