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

/* A child of fork() in which threads start and allocate. The sanitizers of
 * gcc 12 and clang 14 do not let go of their own locks in it: it hangs where
 * another thread of the parent had one at that moment. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#  define TEST_FORKS_SAFELY 0
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#    define TEST_FORKS_SAFELY 0
#  endif
#endif
#ifndef TEST_FORKS_SAFELY
#  define TEST_FORKS_SAFELY 1
#endif

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

static inline int test_main(int argc, char **argv,
                            const struct CMUnitTest *cases, size_t n,
                            const char *group)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests(group, cases, n, NULL, NULL);
}

#define TEST_MAIN(group, cases)                                                \
  int main(int argc, char **argv)                                              \
  {                                                                            \
    return test_main(argc, argv, cases, sizeof(cases) / sizeof((cases)[0]),    \
                     group);                                                   \
  }

#endif
