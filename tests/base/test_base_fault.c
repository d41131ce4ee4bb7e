/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each operation is run with its first allocation failing, then with its
 * second, and so on until none is left to fail. Each time it must say ENOMEM,
 * change nothing and free what it had.
 */
#include "base/memory.h"
#include "base/option.h"
#include "base/thread.h"
#include "option_table.h"
#include "test.h"
#include "tests/wrap.h"

#include <unistd.h>

/* ---- The allocator (linked with --wrap) --------------------------------- */

static long fail_at; /* 0: never; counts down */
static bool failed;
static long live; /* blocks */

static bool fails_now(void)
{
    bool now = fail_at > 0 && --fail_at == 0;
    failed = failed || now;
    return now;
}

static void *counted(void *p)
{
    live += p != NULL;
    return p;
}

WRAP(void *, malloc, size_t bytes)
{
    return fails_now() ? NULL : counted(__real_malloc(bytes));
}

WRAP(void *, calloc, size_t n, size_t bytes)
{
    return fails_now() ? NULL : counted(__real_calloc(n, bytes));
}

WRAP(void *, realloc, void *p, size_t bytes)
{
    if (fails_now())
        return NULL;
    live -= p != NULL;
    return counted(__real_realloc(p, bytes));
}

WRAP(void *, aligned_alloc, size_t alignment, size_t bytes)
{
    return fails_now() ? NULL : counted(__real_aligned_alloc(alignment, bytes));
}

WRAP(void, free, void *p)
{
    live -= p != NULL;
    __real_free(p);
}

/* Runs `operation` until it gets all of its memory, then returns how many
 * times it did not. unchanged: may be NULL. */
static int fail_each(int32_t (*operation)(void), void (*unchanged)(void))
{
    for (int n = 1;; n++) {
        long before = live;
        fdl_clear_error();
        failed = false;
        fail_at = n;
        int32_t status = operation();
        fail_at = 0;
        if (!failed) {
            assert_int_equal(status, FEEDLINE_OK);
            return n - 1;
        }
        assert_int_equal(status, FEEDLINE_ENOMEM);
        assert_memory_equal(fdl_last_error(), "out of memory: ", 15);
        assert_int_equal(live, before);
        if (unchanged)
            unchanged();
    }
}

/* ---- Operations --------------------------------------------------------- */

static const struct fdl_option two_texts[] = {
    {.name = "first", .type = FEEDLINE_T_STRING, .default_text = "one"},
    {.name = "number", .type = FEEDLINE_T_INT, .max = 9, .default_text = "1"},
    {.name = "second", .type = FEEDLINE_T_STRING, .default_text = "two"},
};

static struct fdl_options o, copy;
static char path[] = "/tmp/feedline-test-XXXXXX";

static int32_t init(void)
{
    return fdl_options_init(&copy, "loader", two_texts,
                            FDL_COUNT_OF(two_texts));
}

static int32_t make_copy(void)
{
    return fdl_options_copy(&copy, &o);
}

static void copy_untouched(void)
{
    assert_null(copy.values);
}

static int32_t set_text(void)
{
    return fdl_options_set(&o, "first", "new");
}

static int32_t set_args(void)
{
    return fdl_options_set_args(&o, "first=new number=2 second=\"n e w\"");
}

static int32_t set_environment(void)
{
    return fdl_options_set_environment(&o, "FDLTEST");
}

static int32_t load(void)
{
    return fdl_options_load(&o, path, "x");
}

static void o_unchanged(void)
{
    assert_string_equal(fdl_option_text(&o, 0), "one");
    assert_int_equal(fdl_option_int(&o, 1), 1);
    assert_string_equal(fdl_option_text(&o, 2), "two");
}

static void o_changed(void)
{
    assert_string_equal(fdl_option_text(&o, 0), "new");
    fdl_options_fini(&o);
}

static void make_options(void)
{
    assert_int_equal(
        fdl_options_init(&o, "loader", two_texts, FDL_COUNT_OF(two_texts)),
        FEEDLINE_OK);
}

TEST(options_init)
{
    long before = live;
    assert_int_equal(fail_each(init, copy_untouched), 3);
    fdl_options_fini(&copy);
    assert_int_equal(live, before);
}

TEST(options_copy)
{
    long before = live;
    make_options();
    assert_int_equal(fail_each(make_copy, copy_untouched), 3);
    fdl_options_fini(&copy);
    fdl_options_fini(&o);
    assert_int_equal(live, before);
}

TEST(options_set)
{
    long before = live;
    make_options();
    assert_int_equal(fail_each(set_text, o_unchanged), 1);
    o_changed();
    assert_int_equal(live, before);
}

TEST(options_set_args)
{
    long before = live;
    make_options();
    assert_int_equal(fail_each(set_args, o_unchanged), 1 + 3 + 2);
    o_changed();
    assert_int_equal(live, before);
}

/* The variable is named, so the line has another start. */
TEST(options_set_environment)
{
    long before = live;
    make_options();
    setenv("FDLTEST_FIRST", "new", 1);
    for (int n = 1; n <= 4; n++) {
        fail_at = n;
        assert_int_equal(set_environment(), FEEDLINE_ENOMEM);
        fail_at = 0;
        assert_non_null(strstr(fdl_last_error(), "out of memory: "));
        o_unchanged();
    }
    assert_non_null(strstr(fdl_last_error(), "FDLTEST_FIRST"));
    assert_int_equal(set_environment(), FEEDLINE_OK);
    unsetenv("FDLTEST_FIRST");
    o_changed();
    assert_int_equal(live, before);
}

/* fopen's own memory is not ours to fail: it comes from inside libc. */
TEST(options_load)
{
    static const char text[] = "[global]\nfirst=old\n[x]\nfirst=new\n";
    long before = live;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    close(fd);
    make_options();
    int n = 0;
    for (int32_t status = FEEDLINE_ENOMEM; status != FEEDLINE_OK; n++) {
        failed = false;
        fail_at = n + 1;
        status = load();
        fail_at = 0;
        assert_int_equal(status, failed ? FEEDLINE_ENOMEM : FEEDLINE_OK);
        if (!failed)
            break;
        assert_non_null(strstr(fdl_last_error(), "out of memory: "));
        o_unchanged();
    }
    /* Bytes, entries, two copies of three, two values for each. */
    assert_int_equal(n, 2 + 3 + 2 + 3 + 2);
    unlink(path);
    o_changed();
    assert_int_equal(live, before);
}

static void *nothing(void *arg)
{
    return arg;
}

static struct fdl_thread thread;

static int32_t start(void)
{
    return fdl_thread_start(&thread, "nobody", nothing, NULL);
}

static void not_running(void)
{
    assert_false(thread.running);
}

TEST(thread_start)
{
    assert_int_equal(fail_each(start, not_running), 1);
    fdl_thread_join(&thread);
}

static int32_t alloc_both(void)
{
    void *p = fdl_alloc_aligned(100);
    if (!p)
        return fdl_fail_memory(100, "a test");
    char *text = fdl_strdup("text");
    free(p);
    if (!text)
        return fdl_fail_memory(5, "a test");
    free(text);
    return FEEDLINE_OK;
}

TEST(memory)
{
    assert_int_equal(fail_each(alloc_both, NULL), 2);
}

TEST_MAIN("base_fault")
