/* SPDX-License-Identifier: Apache-2.0 */
/* Doubles as text, also where the locale writes a comma. */
#include "base/number.h"
#include "base/philox.h"
#include "test.h"

#include <float.h>
#include <locale.h>
#include <math.h>

static void check_good(const char *text, double value, const char *rest)
{
    const char *end = NULL;
    double out = -77.0;
    if (!fdl_parse_double(text, &end, &out) || out != value)
        fail_msg("'%s' was read as %g", text, out);
    assert_string_equal(end, rest);
}

TEST(good_texts)
{
    check_good("0", 0.0, "");
    check_good("12", 12.0, "");
    check_good("-0.5", -0.5, "");
    check_good("+.25", 0.25, "");
    check_good("3.", 3.0, "");
    check_good("1e3", 1000.0, "");
    check_good("2.5E-1", 0.25, "");
    check_good("0.08:1", 0.08, ":1");
    check_good("1,5", 1.0, ",5");
    check_good("1e", 1.0, "e");
    check_good("1e+x", 1.0, "e+x");
    check_good("0x10", 0.0, "x10");
    check_good("-0x1p3", 0.0, "x1p3");
    check_good("1.7976931348623157e308", DBL_MAX, "");
    check_good("1e999", (double)INFINITY, "");
    check_good("-1e999", (double)-INFINITY, "");
    check_good("1e-999", 0.0, "");
}

TEST(bad_texts)
{
    static const char *const rows[] = {
        "",   " 1", "nan", "inf", "infinity", "-",   "+",   ".",  "-.",
        "e5", "x",  "--1", "$1",  "NAN",      "\t2", "- 1", ".e1"};
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        const char *end = NULL;
        double out = 5.0;
        if (fdl_parse_double(rows[i], &end, &out))
            fail_msg("'%s' was read as %g", rows[i], out);
        assert_true(out == 5.0);
    }
}

static void check_text(double value, const char *text)
{
    char buf[FDL_DOUBLE_BYTES];
    fdl_format_double(buf, value);
    assert_string_equal(buf, text);
}

TEST(shortest_texts)
{
    check_text(0.0, "0");
    check_text(-0.0, "-0");
    check_text(0.1, "0.1");
    check_text(0.1 + 0.2, "0.30000000000000004");
    check_text(1.0 / 3.0, "0.3333333333333333"); /* 16 are enough */
    check_text(1e22, "1e+22");
    check_text(-2.5, "-2.5");
    check_text(DBL_MAX, "1.7976931348623157e+308");
    check_text(-DBL_MIN, "-2.2250738585072014e-308");
    check_text(4.9406564584124654e-324, "4.94065645841247e-324");
}

TEST(texts_read_back_equal)
{
    struct fdl_rng rng;
    fdl_rng_init(&rng, test_seed(), 0, 0, 0);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = (uint64_t)fdl_rng_u32(&rng) << 32 | fdl_rng_u32(&rng);
        double value, back;
        memcpy(&value, &bits, sizeof(value));
        if (!isfinite(value))
            continue;
        char buf[FDL_DOUBLE_BYTES];
        const char *end;
        fdl_format_double(buf, value);
        assert_true(fdl_parse_double(buf, &end, &back));
        assert_string_equal(end, "");
        assert_memory_equal(&back, &value, sizeof(value));
    }
}

/* A locale of the machine, or one made for this test. */
static const char *set_comma_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8",
                                        "fr_FR.UTF-8", "pt_BR.UTF-8"};
    char dir[] = "/tmp/feedline-locale-XXXXXX", command[256];
    const char *set = NULL;
    for (size_t i = 0; i < FDL_COUNT_OF(names) && !set; i++)
        set = setlocale(LC_ALL, names[i]);
    if (set || !mkdtemp(dir))
        return set;

    snprintf(command, sizeof(command),
             "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/log 2>&1", dir,
             dir);
    if (system(command) == 0) {
        setenv("LOCPATH", dir, 1);
        set = setlocale(LC_ALL, "de_DE.UTF-8");
        unsetenv("LOCPATH");
    }
    snprintf(command, sizeof(command), "rm -r %s", dir);
    if (system(command) != 0)
        print_message("%s is left behind\n", dir);
    return set;
}

TEST(locale_makes_no_difference)
{
    if (!set_comma_locale())
        test_skip("no locale with a decimal comma can be had");
    char text[16];
    snprintf(text, sizeof(text), "%.1f", 0.5);
    assert_string_equal(text, "0,5"); /* the locale is one that matters */

    check_good("0.5", 0.5, "");
    check_good("0,5", 0.0, ",5");
    check_text(0.5, "0.5");
    snprintf(text, sizeof(text), "%.1f", 0.5);
    assert_string_equal(text, "0,5"); /* and is still there */
}

TEST_MAIN("base_number")
