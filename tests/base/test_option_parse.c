/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that are taken, texts that are refused, and in which words. */
#include "base/option_parse.h"
#include "option_table.h"
#include "test.h"

struct good {
    int row;
    const char *text;
    int64_t number;
};

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

static const struct good good_numbers[] = {
    {ROW_BATCH_SIZE, "1", 1},
    {ROW_BATCH_SIZE, "65536", 65536},
    {ROW_BATCH_SIZE, "+7", 7},
    {ROW_BATCH_SIZE, "010", 10}, /* not octal */
    {ROW_BATCH_SIZE, "0x40", 64},
    {ROW_BATCH_SIZE, "0XfF", 255},
    {ROW_WORKERS, "auto", 0},
    {ROW_WORKERS, "AUTO", 0},
    {ROW_WORKERS, "0", 0},
    {ROW_OFFSET, "-10", -10},
    {ROW_OFFSET, "-0xa", -10},
    {ROW_ANY, "9223372036854775807", INT64_MAX},
    {ROW_ANY, "-9223372036854775808", INT64_MIN},
    {ROW_ANY, "0x7fffffffffffffff", INT64_MAX},
    {ROW_ANY, "000000000000000000000000000000001", 1},
    {ROW_READ_BYTES, "4096", 4096},
    {ROW_READ_BYTES, "4096b", 4096},
    {ROW_READ_BYTES, "64k", 65536},
    {ROW_READ_BYTES, "64K", 65536},
    {ROW_READ_BYTES, "64kb", 65536},
    {ROW_READ_BYTES, "64KiB", 65536},
    {ROW_READ_BYTES, "1.5m", 3 << 19},
    {ROW_READ_BYTES, "0.5GB", 1 << 29},
    {ROW_READ_BYTES, ".5g", 1 << 29},
    {ROW_READ_BYTES, "2.g", INT64_C(2) << 30},
    {ROW_READ_BYTES, "1t", INT64_C(1) << 40},
    {ROW_READ_BYTES, "5.1k", 5222}, /* 5222.4 */
    {ROW_READ_BYTES, "5.2k", 5325}, /* 5324.8 */
    {ROW_BUDGET, "auto", 0},
    {ROW_WINDOW, "0", 0},
    {ROW_WINDOW, "0s", 0},
    {ROW_WINDOW, "250ns", 250},
    {ROW_WINDOW, "250us", 250000},
    {ROW_WINDOW, "10ms", 10 * MS},
    {ROW_WINDOW, "1.5s", 1500 * MS},
    {ROW_WINDOW, "1.234567891s", 1234567891},
    {ROW_WINDOW, "0.1h", 360 * S},
    {ROW_WINDOW, "2m", 120 * S},
    {ROW_WINDOW, "2h", 7200 * S},
    {ROW_SHUFFLE, "true", 1},
    {ROW_SHUFFLE, "yes", 1},
    {ROW_SHUFFLE, "on", 1},
    {ROW_SHUFFLE, "1", 1},
    {ROW_SHUFFLE, "True", 1},
    {ROW_SHUFFLE, "false", 0},
    {ROW_SHUFFLE, "no", 0},
    {ROW_SHUFFLE, "OFF", 0},
    {ROW_SHUFFLE, "0", 0},
    {ROW_FILTER, "nearest", 0},
    {ROW_FILTER, "bilinear", 1},
    {ROW_FILTER, "bicubic", 2},
};

TEST(numbers_that_parse)
{
    for (size_t i = 0; i < FDL_COUNT_OF(good_numbers); i++) {
        const struct good *g = &good_numbers[i];
        struct fdl_option_value value;
        memset(&value, 0x5a, sizeof(value));
        int32_t status = fdl_option_parse(&test_table[g->row], g->text, &value);
        if (status != FEEDLINE_OK || value.number != g->number)
            fail_msg("%s=%s: %d, %lld: %s", test_table[g->row].name, g->text,
                     status, (long long)value.number, fdl_last_error());
        assert_null(value.text);
        assert_int_equal(value.n_doubles, 0);
    }
}

static void check_doubles(int row, const char *text, uint32_t n,
                          const double *expected)
{
    struct fdl_option_value value;
    if (fdl_option_parse(&test_table[row], text, &value) != FEEDLINE_OK)
        fail_msg("%s=%s: %s", test_table[row].name, text, fdl_last_error());
    assert_int_equal(value.n_doubles, n);
    for (uint32_t i = 0; i < n; i++)
        assert_true(value.doubles[i] == expected[i]);
}

TEST(doubles_that_parse)
{
    static const double numbers[] = {0.08, 1.0, 0.5, 0.25};
    check_doubles(ROW_SCALE, "0.08", 1, numbers);
    check_doubles(ROW_SCALE, "0.08:1", 2, numbers);
    check_doubles(ROW_SCALE, "0.08,1,0.5", 3, numbers);
    check_doubles(ROW_SCALE, "8e-2, 1.0, .5:\t0.25", 4, numbers);
    check_doubles(ROW_RATIO, "0.5", 1, &numbers[2]);
    check_doubles(ROW_RATIO, "2.5e-1", 1, &numbers[3]);
    check_doubles(ROW_GAIN, "+1", 1, &numbers[1]);
}

TEST(strings_are_copied)
{
    static const char *const rows[] = {"", "a b", "auto", "\xc3\xa9=#"};
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        struct fdl_option_value value;
        assert_int_equal(
            fdl_option_parse(&test_table[ROW_TRACE], rows[i], &value),
            FEEDLINE_OK);
        assert_string_equal(value.text, rows[i]);
        assert_ptr_not_equal(value.text, rows[i]);
        free(value.text);
    }
}

static void check_refused(int row, const char *text, int32_t status,
                          const char *line)
{
    struct fdl_option_value value;
    int32_t got = fdl_option_parse(&test_table[row], text, &value);
    if (got != status)
        fail_msg("%s=%s: %d instead of %d", test_table[row].name, text, got,
                 status);
    assert_string_equal(fdl_last_error(), line);
    assert_null(value.text);
}

#define CHECK_RANGE(row, text, range)                                          \
  check_refused(                                                               \
      row, text, FEEDLINE_ERANGE,                                              \
      (snprintf(range_line, sizeof(range_line), "%s=%s is out of range: %s",   \
                test_table[row].name, text, range),                            \
       range_line))

static char range_line[256];

TEST(out_of_range)
{
    CHECK_RANGE(ROW_BATCH_SIZE, "0", "1 to 65536 samples");
    CHECK_RANGE(ROW_BATCH_SIZE, "65537", "1 to 65536 samples");
    CHECK_RANGE(ROW_BATCH_SIZE, "-5", "1 to 65536 samples");
    CHECK_RANGE(ROW_BATCH_SIZE, "99999999999999999999", "1 to 65536 samples");
    CHECK_RANGE(ROW_BATCH_SIZE, "18446744073709551617", "1 to 65536 samples");
    CHECK_RANGE(ROW_WORKERS, "513", "1 to 512 threads, or auto");
    CHECK_RANGE(ROW_WORKERS, "-1", "1 to 512 threads, or auto");
    CHECK_RANGE(ROW_OFFSET, "-11", "at least -10");
    CHECK_RANGE(ROW_ANY, "9223372036854775808", "at most 9223372036854775807");
    CHECK_RANGE(ROW_ANY, "-9223372036854775809", "at most 9223372036854775807");
    CHECK_RANGE(ROW_READ_BYTES, "4095", "4k to 1t bytes");
    CHECK_RANGE(ROW_READ_BYTES, "2t", "4k to 1t bytes");
    CHECK_RANGE(ROW_READ_BYTES, "-1", "4k to 1t bytes");
    CHECK_RANGE(ROW_READ_BYTES, "99999999999t", "4k to 1t bytes");
    CHECK_RANGE(ROW_BUDGET, "1", "at least 1m bytes, or auto");
    /* 2^64 and what rounds up to it are not 0, which would be auto. */
    CHECK_RANGE(ROW_BUDGET, "18446744073709551616",
                "at least 1m bytes, or auto");
    CHECK_RANGE(ROW_BUDGET, "16777216t", "at least 1m bytes, or auto");
    CHECK_RANGE(ROW_BUDGET, "16777215.9999999999999t",
                "at least 1m bytes, or auto");
    CHECK_RANGE(ROW_WINDOW, "3h", "0 to 2h");
    CHECK_RANGE(ROW_WINDOW, "-1ns", "0 to 2h");
    CHECK_RANGE(ROW_WINDOW, "9999999999999999h", "0 to 2h");
    CHECK_RANGE(ROW_RATIO, "0.2", "0.25 to 4");
    CHECK_RANGE(ROW_RATIO, "4.01", "0.25 to 4");
    CHECK_RANGE(ROW_RATIO, "1e999", "0.25 to 4");
    CHECK_RANGE(ROW_GAIN, "-0.1", "at least 0 x");
    CHECK_RANGE(ROW_GAIN, "1e999", "at least 0 x"); /* no infinities */
    CHECK_RANGE(ROW_SCALE, "0.5:1.5", "0 to 1, each");
    CHECK_RANGE(ROW_SCALE, "-1", "0 to 1, each");
}

/* Up to a NULL, each is refused, with what would be taken. */
static void check_none_parses(int row, const char *const *texts,
                              const char *expected)
{
    for (; *texts; texts++) {
        char line[256];
        snprintf(line, sizeof(line), "%s='%s' is not %s", test_table[row].name,
                 *texts, expected);
        check_refused(row, *texts, FEEDLINE_EINVAL, line);
    }
}

TEST(whole_numbers_that_do_not_parse)
{
    static const char *const rows[] = {
        "",    " 1",    "1 ",           "12x", "x",   "-",   "1.0",
        "1e3", "0x",    "0xg",          "64k", "--1", "+-1", "auto",
        "nan", "1,000", "\xef\xbc\x91", NULL};
    static const char *const words[] = {"automatic", NULL};
    check_none_parses(ROW_BATCH_SIZE, rows,
                      "a whole number, such as 64 or 0x40");
    check_none_parses(ROW_WORKERS, words,
                      "a whole number, such as 64 or 0x40, or auto");
}

TEST(sizes_that_do_not_parse)
{
    static const char *const rows[] = {
        "",     "k", "1.5", "1.5b", "64 k",  "1p",    "64kk", "-",
        "64ki", ".", ".k",  "0x10", "1..5k", "1.5.k", "auto", NULL};
    check_none_parses(ROW_READ_BYTES, rows,
                      "a size, such as 4096, 64k, 1.5m or 2g");
}

TEST(times_that_do_not_parse)
{
    static const char *const rows[] = {"",    "ms",    "10 ms", "1.5ns", "10d",
                                       ".s",  "10sec", "0x1s",  "-",     "s1",
                                       "nan", "1,5s",  "10ms ", NULL};
    static const char *const bare[] = {
        "10", "1.5", "0.5", "-3", "99999999999999999999", NULL};
    check_none_parses(ROW_WINDOW, rows, "a time, such as 250us, 10ms or 1.5s");
    check_none_parses(ROW_WINDOW, bare,
                      "a time: it needs a unit, one of ns us ms s m h");
}

TEST(doubles_that_do_not_parse)
{
    static const char *const rows[] = {"",    "x",   "1 ",   " 1",  "1x", "nan",
                                       "inf", "0,5", "1..2", "0x1", NULL};
    static const char *const lists[] = {
        "",     "1:",     "1::1", ":1",  "1;1",
        "1:x",  "1 1",    "1,1,", "nan", "1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1",
        "1 ,1", "0.5:1 ", NULL};
    check_none_parses(ROW_RATIO, rows, "a number, such as 0.5");
    check_none_parses(ROW_SCALE, lists, "one to 16 numbers, such as 0.08:1");
}

TEST(words_that_do_not_parse)
{
    static const char *const switches[] = {"maybe", "", NULL};
    static const char *const rows[] = {
        "", "near", "nearest|bilinear", "Nearest", "0", "bicubic ", "|", NULL};
    check_none_parses(ROW_SHUFFLE, switches,
                      "one of true, false, yes, no, on, off, 1, 0");
    check_none_parses(ROW_FILTER, rows, "one of nearest|bilinear|bicubic");
}

TEST(unknown_types_are_refused)
{
    const struct fdl_option row = {.name = "odd", .type = 99};
    struct fdl_option_value value;
    assert_int_equal(fdl_option_parse(&row, "1", &value), FEEDLINE_EINVAL);
}

TEST(numbers_are_checked)
{
    static const struct {
        int row;
        int64_t value;
        int32_t status;
    } rows[] = {
        {ROW_BATCH_SIZE, 1, FEEDLINE_OK},
        {ROW_BATCH_SIZE, 0, FEEDLINE_ERANGE},
        {ROW_WORKERS, 0, FEEDLINE_OK},
        {ROW_WORKERS, -1, FEEDLINE_ERANGE},
        {ROW_ANY, INT64_MIN, FEEDLINE_OK},
        {ROW_BUDGET, 0, FEEDLINE_OK},
        {ROW_BUDGET, 1, FEEDLINE_ERANGE},
        {ROW_WINDOW, -1, FEEDLINE_ERANGE},
        {ROW_SHUFFLE, 1, FEEDLINE_OK},
        {ROW_SHUFFLE, 2, FEEDLINE_ERANGE},
        {ROW_SHUFFLE, -1, FEEDLINE_ERANGE},
        {ROW_FILTER, 2, FEEDLINE_OK},
        {ROW_FILTER, 3, FEEDLINE_ERANGE},
        {ROW_FILTER, -1, FEEDLINE_ERANGE},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++)
        assert_int_equal(
            fdl_option_check_number(&test_table[rows[i].row], rows[i].value),
            rows[i].status);
    fdl_option_check_number(&test_table[ROW_FILTER], 3);
    assert_string_equal(fdl_last_error(), "filter=3 is out of range: 0 to 2");
}

/* A bound is written so that it can be typed: read back, it is the bound. */
TEST(bounds_can_be_typed)
{
    static const int64_t values[] = {
        1,        1000,   1024,    1500000, 65536,     65537,        60 * S,
        3600 * S, 90 * S, 3 << 20, S + 1,   INT64_MAX, INT64_MAX - 1};
    static const int32_t types[] = {FEEDLINE_T_INT, FEEDLINE_T_SIZE,
                                    FEEDLINE_T_TIME};
    for (size_t i = 0; i < FDL_COUNT_OF(values); i++) {
        for (size_t t = 0; t < FDL_COUNT_OF(types); t++) {
            struct fdl_option row = {.name = "x", .type = types[t]};
            row.min = row.max = values[i];
            fdl_option_check_number(&row, 0);
            const char *low = strstr(fdl_last_error(), ": ") + 2;
            if (strncmp(low, "at least ", 9) == 0)
                low += 9;
            char typed[64];
            assert_int_equal(sscanf(low, "%63s", typed), 1);
            struct fdl_option_value value;
            assert_int_equal(fdl_option_parse(&row, typed, &value),
                             FEEDLINE_OK);
            assert_int_equal(value.number, values[i]);
        }
    }
}

TEST(choices_by_place)
{
    const char *out = NULL;
    assert_int_equal(fdl_option_choice_at("a|bcd|e", 0, &out), 1);
    assert_memory_equal(out, "a", 1);
    assert_int_equal(fdl_option_choice_at("a|bcd|e", 1, &out), 3);
    assert_memory_equal(out, "bcd", 3);
    assert_int_equal(fdl_option_choice_at("a|bcd|e", 2, &out), 1);
    assert_int_equal(fdl_option_choice_at("a|bcd|e", 3, &out), 0);
    assert_int_equal(fdl_option_choice_at("a|bcd|e", 1000, &out), 0);
}

TEST(quotes)
{
    char plain[] = "\"a b\"rest", escaped[] = "\"a\\\"b\\\\c\\n\"";
    char empty[] = "\"\"", open[] = "\"abc", open2[] = "\"abc\\\"";
    assert_string_equal(fdl_option_unquote(plain), "rest");
    assert_string_equal(plain, "a b");
    assert_string_equal(fdl_option_unquote(escaped), "");
    assert_string_equal(escaped, "a\"b\\c\\n");
    assert_string_equal(fdl_option_unquote(empty), "");
    assert_string_equal(empty, "");
    assert_null(fdl_option_unquote(open));
    assert_null(fdl_option_unquote(open2));
    assert_string_equal(open, "\"abc"); /* for the message */
    assert_string_equal(open2, "\"abc\\\"");
}

/* A BOOL with more choices has the words of every BOOL too. */
TEST(switch_with_more_positions)
{
    static const struct fdl_option row = {.name = "shuffle",
                                          .type = FEEDLINE_T_BOOL,
                                          .choices = "false|true|block"};
    static const struct {
        const char *text;
        int64_t number;
    } good[] = {{"false", 0}, {"no", 0}, {"true", 1}, {"1", 1}, {"block", 2}};
    struct fdl_option_value value;
    for (size_t i = 0; i < FDL_COUNT_OF(good); i++) {
        assert_int_equal(fdl_option_parse(&row, good[i].text, &value),
                         FEEDLINE_OK);
        assert_int_equal(value.number, good[i].number);
    }
    assert_int_equal(fdl_option_parse(&row, "2", &value), FEEDLINE_EINVAL);
    assert_non_null(
        strstr(fdl_last_error(), "'2' is not one of false|true|block"));
    assert_int_equal(fdl_option_check_number(&row, 2), FEEDLINE_OK);
    assert_int_equal(fdl_option_check_number(&row, 3), FEEDLINE_ERANGE);
}

TEST_MAIN("base_option_parse")
