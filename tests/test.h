/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every test binary shares: cmocka, one case per process (the case's name
 * is the argument), skips with a reason, random inputs that print their seed.
 */
#ifndef FDL_TESTS_TEST_H
#define FDL_TESTS_TEST_H

#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#undef stop /* a macro of cmocka 2, for a name that members have */

/* ---- Assertions --------------------------------------------------------- */

/* cmocka's own show two numbers in hexadecimal and no expression. These show
 * what was written and what it was: `list.n == 3: 20003 == 20004 is false`. */
struct test_value {
    uintmax_t value;
    const char *text;
    int is_signed;
};

/* `text` is x before its macros were expanded. */
#define TEST_VALUE(x, text)                                                    \
  ((struct test_value){(uintmax_t)(x), text,                                   \
                       _Generic(+(x), unsigned : 0, unsigned long : 0,         \
                                unsigned long long : 0, default : 1)})

static inline const char *test_decimal(const struct test_value *v, char *text)
{
    enum { DIGITS = 24 };
    if (v->is_signed)
        snprintf(text, DIGITS, "%jd", (intmax_t)v->value);
    else
        snprintf(text, DIGITS, "%ju", v->value);
    return text;
}

static inline void test_ints(const struct test_value *a, const char *relation,
                             const struct test_value *b, int holds,
                             const char *file, int line)
{
    char left[24], right[24];
    if (holds)
        return;
    print_error("%s %s %s: %s %s %s is false\n", a->text, relation, b->text,
                test_decimal(a, left), relation, test_decimal(b, right));
    _fail(file, line);
}

static inline void test_strings(const char *a, const char *a_text, int equal,
                                const char *b, const char *b_text,
                                const char *file, int line)
{
    if (a && b && (strcmp(a, b) == 0) == equal)
        return;
    const char *relation = equal ? "==" : "!=";
    print_error("%s %s %s:\n  \"%s\" %s\n  \"%s\" is false\n", a_text, relation,
                b_text, a ? a : "(null)", relation, b ? b : "(null)");
    _fail(file, line);
}

#define TEST_INTS(a, a_text, relation, b, b_text)                              \
  do {                                                                         \
    const struct test_value test_a = TEST_VALUE(a, a_text);                    \
    const struct test_value test_b = TEST_VALUE(b, b_text);                    \
    test_ints(&test_a, #relation, &test_b, test_a.value relation test_b.value, \
              __FILE__, __LINE__);                                             \
  } while (0)

#undef assert_int_equal
#define assert_int_equal(a, b) TEST_INTS(a, #a, ==, b, #b)
#undef assert_int_not_equal
#define assert_int_not_equal(a, b) TEST_INTS(a, #a, !=, b, #b)
#undef assert_in_range
#define assert_in_range(x, least, most)                                        \
  do {                                                                         \
    const uintmax_t test_x = (uintmax_t)(x);                                   \
    TEST_INTS(test_x, #x, >=, least, #least);                                  \
    TEST_INTS(test_x, #x, <=, most, #most);                                    \
  } while (0)
#undef assert_string_equal
#define assert_string_equal(a, b)                                              \
  test_strings(a, #a, 1, b, #b, __FILE__, __LINE__)
#undef assert_string_not_equal
#define assert_string_not_equal(a, b)                                          \
  test_strings(a, #a, 0, b, #b, __FILE__, __LINE__)

/* ---- Skips and random inputs -------------------------------------------- */

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

/* A name or a pattern that matches no case would run nothing, with success. */
static inline void test_choose(const char *pattern)
{
    for (size_t i = 0; i < test_n_cases; i++)
        if (fnmatch(pattern, test_cases[i].name, 0) == 0) {
            cmocka_set_test_filter(pattern);
            return;
        }
    fprintf(stderr, "there is no case %s; it may not be built yet\n", pattern);
    exit(1);
}

#define TEST_MAIN(group)                                                       \
  int main(int argc, char **argv)                                              \
  {                                                                            \
    if (argc > 1)                                                              \
      test_choose(argv[1]);                                                    \
    return _cmocka_run_group_tests(group, test_cases, test_n_cases, NULL,      \
                                   NULL);                                      \
  }

#endif
