/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer, byte by byte. */
#include "base/json.h"
#include "base/status.h"
#include "test.h"

#include <math.h>

static char text[1024];

static void check_string(const char *value, const char *expected)
{
    struct fdl_json j;
    uint64_t needed;
    fdl_json_init(&j, text, sizeof(text));
    fdl_json_string(&j, NULL, value);
    assert_int_equal(fdl_json_finish(&j, &needed), FEEDLINE_OK);
    assert_string_equal(text, expected);
    assert_int_equal(needed, strlen(expected) + 1);
}

TEST(strings_are_escaped)
{
    check_string("", "\"\"");
    check_string("plain", "\"plain\"");
    check_string("a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
    check_string("\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"");
    check_string("\x01\x1f\x7f", "\"\\u0001\\u001f\x7f\"");
    check_string(NULL, "null");
}

TEST(utf8_passes)
{
    static const char *const rows[] = {
        "\xc2\x80",         "\xdf\xbf",         "\xe0\xa0\x80",
        "\xed\x9f\xbf",     "\xee\x80\x80",     "\xef\xbf\xbf",
        "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "\xe2\x82\xac and \xc3\xa9",
    };
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        char expected[64];
        snprintf(expected, sizeof(expected), "\"%s\"", rows[i]);
        check_string(rows[i], expected);
    }
}

#define BAD "\\ufffd"

TEST(other_bytes_are_replaced)
{
    check_string("\x80", "\"" BAD "\"");
    check_string("a\xff"
                 "b",
                 "\"a" BAD "b\"");
    check_string("\xc3", "\"" BAD "\"");                 /* cut short */
    check_string("\xe2\x82", "\"" BAD BAD "\"");         /* cut short */
    check_string("\xc3(", "\"" BAD "(\"");               /* second missing */
    check_string("\xc0\xaf", "\"" BAD BAD "\"");         /* overlong '/' */
    check_string("\xe0\x9f\xbf", "\"" BAD BAD BAD "\""); /* overlong */
    check_string("\xed\xa0\x80", "\"" BAD BAD BAD "\""); /* a surrogate */
    check_string("\xf4\x90\x80\x80", "\"" BAD BAD BAD BAD "\"");
    check_string("\xf5\x80", "\"" BAD BAD "\"");
    check_string("\xf0\x9f\x98\"", "\"" BAD BAD BAD "\\\"\"");
}

/* One of everything, nested. */
static void write_sample(struct fdl_json *j)
{
    fdl_json_begin_object(j, NULL);
    fdl_json_int(j, "int", INT64_MIN);
    fdl_json_double(j, "half", 0.5);
    fdl_json_double(j, "nan", (double)NAN);
    fdl_json_double(j, "inf", (double)-INFINITY);
    fdl_json_bool(j, "yes", true);
    fdl_json_bool(j, "no", false);
    fdl_json_null(j, "null");
    fdl_json_begin_array(j, "empty");
    fdl_json_end_array(j);
    fdl_json_begin_object(j, "o\"");
    fdl_json_end_object(j);
    fdl_json_begin_array(j, "list");
    fdl_json_int(j, NULL, 1);
    fdl_json_begin_array(j, NULL);
    fdl_json_string(j, NULL, "x");
    fdl_json_end_array(j);
    fdl_json_begin_object(j, NULL);
    fdl_json_int(j, "a", 2);
    fdl_json_end_object(j);
    fdl_json_int(j, NULL, 3);
    fdl_json_end_array(j);
    fdl_json_string(j, "last", "\n");
    fdl_json_end_object(j);
}

static const char sample[] =
    "{\"int\":-9223372036854775808,\"half\":0.5,\"nan\":null,\"inf\":null,"
    "\"yes\":true,\"no\":false,\"null\":null,\"empty\":[],\"o\\\"\":{},"
    "\"list\":[1,[\"x\"],{\"a\":2},3],\"last\":\"\\n\"}";

TEST(commas_and_nesting)
{
    struct fdl_json j;
    uint64_t needed;
    fdl_json_init(&j, text, sizeof(text));
    write_sample(&j);
    assert_int_equal(fdl_json_finish(&j, &needed), FEEDLINE_OK);
    assert_string_equal(text, sample);
    assert_int_equal(needed, sizeof(sample));
}

/* Every capacity: what fits is written, nothing beyond is touched, and the
 * size is the same. */
TEST(any_capacity)
{
    for (uint64_t capacity = 1; capacity < sizeof(sample) + 3; capacity++) {
        struct fdl_json j;
        uint64_t needed = 0;
        memset(text, '?', sizeof(text));
        fdl_json_init(&j, text, capacity);
        write_sample(&j);
        int32_t status = fdl_json_finish(&j, &needed);
        bool fits = capacity >= sizeof(sample);
        assert_int_equal(status, fits ? FEEDLINE_OK : FEEDLINE_ERANGE);
        assert_int_equal(needed, sizeof(sample));
        size_t written = fits ? sizeof(sample) - 1 : capacity - 1;
        assert_memory_equal(text, sample, written);
        assert_int_equal(text[written], '\0');
        assert_int_equal(text[FDL_MAX(capacity, written + 1)], '?');
    }
}

TEST(size_first)
{
    struct fdl_json j;
    uint64_t needed = 0;
    fdl_json_init(&j, NULL, 0);
    write_sample(&j);
    assert_int_equal(fdl_json_finish(&j, &needed), FEEDLINE_OK);
    assert_int_equal(needed, sizeof(sample));
}

TEST_MAIN("base_json")
