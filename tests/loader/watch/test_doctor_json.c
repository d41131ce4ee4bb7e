/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The doctor as a public function: its arguments, its buffer in two calls, and
 * a GPU that is not there as a finding. What it judges is tested in
 * tests/profiler.
 */
#include "loader/read/reader.h"
#include "test.h"

#include <feedline/feedline.h>

static void expect_error(int32_t status, int32_t expected, const char *part)
{
    assert_int_equal(status, expected);
    if (!strstr(feedline_last_error(), part))
        fail_msg("%s: %s", part, feedline_last_error());
}

TEST(test_arguments)
{
    uint64_t needed = 7;
    expect_error(feedline_doctor_json(NULL, NULL, 0, &needed), FEEDLINE_EINVAL,
                 "device");
    expect_error(feedline_doctor_json("host", NULL, 0, NULL), FEEDLINE_EINVAL,
                 "needed");
    expect_error(feedline_doctor_json("tpu:0", NULL, 0, &needed),
                 FEEDLINE_EINVAL, "tpu:0");
    expect_error(feedline_doctor_json("", NULL, 0, &needed), FEEDLINE_EINVAL,
                 "");
    assert_int_equal(needed, 7);
}

/* The text of the second call has the size that the first one said, though the
 * load of the machine changes all the time. */
TEST(test_two_calls)
{
    uint64_t needed = 0;
    uint64_t again = 0;
    assert_int_equal(feedline_doctor_json("host", NULL, 0, &needed), 0);
    assert_true(needed > 100);
    char *text = malloc(needed);
    assert_non_null(text);
    assert_int_equal(feedline_doctor_json("host", text, needed, &again), 0);
    assert_int_equal(again, needed);
    assert_int_equal(strlen(text), needed - 1);
    assert_int_equal(strncmp(text, "{\"findings\":[{\"id\":", 19), 0);
    assert_int_equal(text[needed - 2], '}');
    assert_non_null(strstr(text, "\"gpu\":null"));
    free(text);
}

TEST(test_short_buffer)
{
    char small[16];
    uint64_t needed = 0;
    uint64_t again = 0;
    expect_error(feedline_doctor_json("host", small, sizeof(small), &needed),
                 FEEDLINE_ERANGE, "");
    assert_true(needed > sizeof(small));
    char *text = malloc(needed);
    assert_non_null(text);
    assert_int_equal(feedline_doctor_json("host", text, needed, &again), 0);
    assert_int_equal(again, needed);
    free(text);
}

/* What was seen for one device is not told of another. */
TEST(test_two_devices)
{
    static char text[65536];
    uint64_t needed;
    setenv("FEEDLINE_LIBCUDA", "/nonexistent/libcuda.so.1", 1);
    assert_int_equal(feedline_doctor_json("host", NULL, 0, &needed), 0);
    assert_int_equal(
        feedline_doctor_json("cuda:0", text, sizeof(text), &needed), 0);
    assert_non_null(strstr(text, "{\"id\":\"gpu\",\"level\":\"error\","));
    assert_non_null(strstr(text, "\"gpu\":{\"usable\":false,\"reason\":\""));
    assert_string_equal(feedline_last_error(), "");
}

/* As the reader finds it; each try gives back all that it took. */
TEST(test_io_uring)
{
    int32_t first = fdl_reader_uring_try();
    assert_true(first == FEEDLINE_OK || first == FEEDLINE_ENOSYS);
    for (int i = 0; i < 2000; i++)
        assert_int_equal(fdl_reader_uring_try(), first);
    if (first < 0)
        expect_error(first, FEEDLINE_ENOSYS, "io_uring");
}

TEST_MAIN("doctor_json")
