/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of CPUs: their text, and the threads that are bound to them. */
#include "base/compiler.h"
#include "base/cpu_set.h"
#include "test.h"

#include <errno.h>

static uint32_t count(const char *text)
{
    struct fdl_cpu_set set;
    return fdl_cpu_set_parse(&set, text) ? fdl_cpu_set_count(&set) : 0;
}

TEST(cpu_lists)
{
    assert_int_equal(count("0"), 1);
    assert_int_equal(count("0-3\n"), 4);
    assert_int_equal(count("0-3,8,10-11\n"), 7);
    assert_int_equal(count("63-64"), 2);
    assert_int_equal(count("0,0,0-1"), 2);
    assert_int_equal(count(" \t5 "), 1);
}

/* More than CPU_SETSIZE: 1024 is no limit here. */
TEST(many_cpus)
{
    assert_int_equal(count("0-4095"), 4096);
    assert_int_equal(count("1024-2047,8191"), 1025);
    assert_int_equal(count("0-99999999999"), FDL_CPU_SET_MAX);
}

TEST(garbled_lists)
{
    static const char *const bad[] = {
        "",     "\n",  "x",   "1,",   ",1",
        "3-1",  "1-",  "-1",  "1 2",  "1-2-3",
        "0x10", "1,,", "1;2", "none", "99999999999999999999999",
    };
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        struct fdl_cpu_set set = {{0x5a}};
        assert_false(fdl_cpu_set_parse(&set, bad[i]));
        assert_int_equal(set.word[0], 0x5a);
    }
}

TEST(intersect)
{
    struct fdl_cpu_set a;
    struct fdl_cpu_set b;
    assert_true(fdl_cpu_set_parse(&a, "0-9,100-199"));
    assert_true(fdl_cpu_set_parse(&b, "5-104"));
    fdl_cpu_set_intersect(&a, &b);
    assert_int_equal(fdl_cpu_set_count(&a), 10);
    assert_int_equal(fdl_cpu_set_count(&b), 100);
}

static void prints(const char *list, uint64_t capacity, const char *printed)
{
    struct fdl_cpu_set set = {{0}};
    char text[64] = "?";
    assert_true(*list == '\0' || fdl_cpu_set_parse(&set, list));
    fdl_cpu_set_print(&set, text, capacity);
    assert_string_equal(text, printed);
}

TEST(prints_lists)
{
    prints("", 64, "");
    prints("0", 64, "0");
    prints("3,1,2,7,63-64", 64, "1-3,7,63-64");
    prints("0-16383", 64, "0-16383");
    prints("0-16383", 8, "0-16383");
    prints("1-3,7,63-64", 6, "1-3,7");
    prints("1-3,7,63-64", 5, "1-3");
    prints("1-3,7,63-64", 1, "");
}

TEST(has)
{
    struct fdl_cpu_set set;
    assert_true(fdl_cpu_set_parse(&set, "1,64,16383"));
    assert_true(fdl_cpu_set_has(&set, 1));
    assert_true(fdl_cpu_set_has(&set, 64));
    assert_true(fdl_cpu_set_has(&set, 16383));
    assert_false(fdl_cpu_set_has(&set, 0));
    assert_false(fdl_cpu_set_has(&set, 16384));
}

TEST(binds_this_thread)
{
    struct fdl_cpu_set all, now, one = {{0}}, none;
    assert_true(fdl_cpu_set_of_thread(0, &all));
    uint32_t last = FDL_CPU_SET_MAX;
    while (!fdl_cpu_set_has(&all, --last))
        continue;
    one.word[last / 64] = UINT64_C(1) << last % 64;
    assert_int_equal(fdl_cpu_set_bind(&one), 0);
    assert_true(fdl_cpu_set_of_thread(0, &now));
    assert_memory_equal(&now, &one, sizeof(now));
    assert_int_equal(fdl_cpu_set_bind(&all), 0);
    assert_true(fdl_cpu_set_parse(&none, "16383"));
    assert_int_equal(fdl_cpu_set_bind(&none), EINVAL);
    assert_true(fdl_cpu_set_of_thread(0, &now));
    assert_memory_equal(&now, &all, sizeof(now));
}

TEST(no_such_thread)
{
    struct fdl_cpu_set set = {{0x5a}};
    assert_false(fdl_cpu_set_of_thread(INT32_MAX, &set));
    assert_int_equal(set.word[0], 0x5a);
}

TEST_MAIN("cpu_set")
