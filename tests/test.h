/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every test binary shares: cmocka, one case per process (the case's name
 * is the argument), skips with a reason, random inputs that print their seed.
 */
#ifndef FDL_TESTS_TEST_H
#define FDL_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The case ends here, not run. Exit status 77 is a skip for CTest. */
#define test_skip(...)                                                         \
  do {                                                                         \
    printf("skipped: " __VA_ARGS__);                                           \
    printf("\n");                                                              \
    exit(77);                                                                  \
  } while (0)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#  define TEST_SANITIZED 1
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#    define TEST_SANITIZED 1
#  endif
#endif
#ifndef TEST_SANITIZED
#  define TEST_SANITIZED 0
#endif

/* A child of fork() in which threads start and allocate. The sanitizers of
 * gcc 12 and clang 14 do not let go of their own locks in it: it hangs where
 * another thread of the parent had one at that moment. */
#define TEST_FORKS_SAFELY (!TEST_SANITIZED)

/* Rounds of the same, where only bad luck tells one from the next. A sanitizer
 * sees a race or a stray access without that luck, and takes ten times as long.
 */
#define TEST_ROUNDS(n) (TEST_SANITIZED ? (n) / 8 : (n))

/* FDL_TEST_SEED in the environment repeats a run. */
static inline uint64_t test_seed(void)
{
    const char *text = getenv("FDL_TEST_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : 0x5eedu;
    printf("FDL_TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

/* The real images, or NULL: FEEDLINE_TEST_DATA, else ../shared/data beside the
 * source tree. */
static inline const char *test_data(void)
{
    static char path[4096];
    const char *env = getenv("FEEDLINE_TEST_DATA");
    snprintf(path, sizeof(path), "%s", env ? env : FDL_TEST_DATA_DEFAULT);
    FILE *f = fopen(path, "r");
    if (!f)
        return NULL;
    fclose(f);
    return path;
}

/* ---- Cases -------------------------------------------------------------- */

/*
 *     TEST(a_case)
 *     {
 *         assert_true(...);
 *     }
 *     TEST_WITH(another, setup, teardown)
 *     {
 *         ...
 *     }
 *     TEST_MAIN("group")
 *
 * A case registers itself before main(); feedline_test (cmake) finds its name
 * in the source. setup and teardown are functions without arguments, or NULL.
 */
struct test_case {
    const char *name;
    void (*run)(void);
    void (*setup)(void);
    void (*teardown)(void);
};

enum { TEST_CASES_MAX = 128 };
static struct CMUnitTest test_cases[TEST_CASES_MAX];
static size_t test_n_cases;

static inline void test_run(void **state)
{
    ((const struct test_case *)*state)->run();
}

static inline int test_setup(void **state)
{
    ((const struct test_case *)*state)->setup();
    return 0;
}

static inline int test_teardown(void **state)
{
    ((const struct test_case *)*state)->teardown();
    return 0;
}

static inline void test_add(struct test_case *c)
{
    if (test_n_cases == TEST_CASES_MAX)
        abort();
    test_cases[test_n_cases++] =
        (struct CMUnitTest){c->name, test_run, c->setup ? test_setup : NULL,
                            c->teardown ? test_teardown : NULL, c};
}

#define TEST_WITH(case_name, setup, teardown)                                  \
  static void case_name(void);                                                 \
  __attribute__((constructor)) static void add_##case_name(void)               \
  {                                                                            \
    static struct test_case c = {#case_name, case_name, setup, teardown};      \
    test_add(&c);                                                              \
  }                                                                            \
  static void case_name(void)

#define TEST(case_name) TEST_WITH(case_name, NULL, NULL)

#define TEST_MAIN(group)                                                       \
  int main(int argc, char **argv)                                              \
  {                                                                            \
    if (argc > 1)                                                              \
      cmocka_set_test_filter(argv[1]);                                         \
    return _cmocka_run_group_tests(group, test_cases, test_n_cases, NULL,      \
                                   NULL);                                      \
  }

#endif
