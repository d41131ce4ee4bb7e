/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out of memory at the first allocation, at the second, and so on until none is
 * left to fail. The ledger's scratch must say so; the facts of the machine must
 * come out whole and no better than they are known, and leak nothing (which the
 * address sanitizer sees).
 */
#include "base/status.h"
#include "profiler/measure/ledger.h"
#include "profiler/system/affinity.h"
#include "profiler/system/machine.h"
#include "profiler/system/nvml.h"
#include "profiler/system/nvml_devices.h"
#include "profiler/system/signals.h"
#include "test.h"
#include "tests/wrap_memory.h"

WRAP(char *, strdup, const char *text)
{
    return memory_fails(strlen(text)) ? NULL : __real_strdup(text);
}

/* What *out holds after a failure is undefined: here, no pointer at all. */
WRAP(int, asprintf, char **out, const char *fmt, ...)
{
    va_list args;
    if (memory_fails(strlen(fmt))) {
        *out = (char *)(uintptr_t)1;
        return -1;
    }
    va_start(args, fmt);
    int n = vasprintf(out, fmt, args);
    va_end(args);
    return n;
}

TEST(test_scratch)
{
    struct fdl_ledger_scratch *s = NULL;
    memory_left = 1;
    assert_int_equal(fdl_ledger_scratch_create(256, &s), FEEDLINE_ENOMEM);
    assert_true(memory_failed);
    assert_null(s);
    assert_non_null(strstr(fdl_last_error(), "stall ledger"));
    assert_int_equal(fdl_ledger_scratch_create(256, &s), FEEDLINE_OK);
    assert_non_null(s);
    fdl_ledger_scratch_destroy(s);
    fdl_ledger_scratch_destroy(NULL);
}

TEST(test_machine)
{
    struct fdl_machine whole;
    fdl_machine_read(&whole, "");
    for (int n = 1; n < 10000; n++) {
        struct fdl_machine m;
        memory_failed = false;
        memory_left = n;
        fdl_machine_read(&m, "");
        memory_left = 0;
        if (!memory_failed) {
            assert_true(n > 5);
            assert_memory_equal(&m, &whole, sizeof(m));
            return;
        }
        assert_in_range(m.cpus_online, 1, whole.cpus_online);
        assert_in_range(m.cpus_allowed, 1, m.cpus_online);
        assert_in_range(m.cpus_usable, 1, m.cpus_allowed);
        assert_true(m.memory_bytes == 0 ||
                    m.memory_bytes == whole.memory_bytes);
    }
    fail();
}

/* No reader at all, or one that knows less and nothing wrong. */
TEST(test_signals)
{
    struct fdl_system_signals whole;
    struct fdl_signals *s = NULL;
    assert_int_equal(fdl_signals_open("", &s), FEEDLINE_OK);
    fdl_signals_read(s, &whole);
    fdl_signals_close(s);
    for (int n = 1; n < 10000; n++) {
        struct fdl_system_signals got;
        struct fdl_foreign_thread list[FDL_FOREIGN_MAX];
        memory_failed = false;
        memory_left = n;
        int32_t status = fdl_signals_open("", &s);
        if (status == FEEDLINE_OK) {
            fdl_signals_read(s, &got);
            fdl_signals_foreign(s, list);
        }
        memory_left = 0;
        if (status != FEEDLINE_OK) {
            assert_int_equal(status, FEEDLINE_ENOMEM);
            assert_null(s);
            assert_true(memory_failed);
            continue;
        }
        assert_true(got.has_throttle <= whole.has_throttle);
        assert_true(got.has_host <= whole.has_host);
        assert_true(got.process_cpu_ns >= whole.process_cpu_ns);
        fdl_signals_close(s);
        if (!memory_failed) {
            assert_true(n > 10);
            assert_int_equal(got.has_memory, whole.has_memory);
            return;
        }
    }
    fail();
}

TEST(test_nvml)
{
    char why[64] = "";
    memory_left = 1;
    assert_null(fdl_nvml_open("0000:1b:00.0", why, sizeof(why)));
    assert_true(memory_failed);
    assert_string_equal(why, "out of memory");
}

TEST(test_nvml_devices)
{
    struct fdl_nvml_devices found = {.n = 77};
    memory_left = 1;
    assert_int_equal(fdl_nvml_list(&found), FEEDLINE_ENOMEM);
    assert_true(memory_failed);
    assert_int_equal(found.n, 77);
}

/* What cannot be read is not known. */
TEST(test_affinity)
{
    struct fdl_affinity_question q = {"auto", "0000:1b:00.0", 0, 1};
    for (int n = 1; n < 1000; n++) {
        struct fdl_affinity a;
        memory_left = n;
        memory_failed = false;
        assert_int_equal(fdl_affinity_choose(&q, "", &a), FEEDLINE_OK);
        memory_left = 0;
        assert_true(a.share >= 1 && a.share <= a.usable);
        if (!memory_failed)
            return;
    }
    fail();
}

TEST_MAIN("profiler_fault")
