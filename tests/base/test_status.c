/* SPDX-License-Identifier: Apache-2.0 */
/* Status names and the error line. */
#include "base/status.h"
#include "base/thread.h"
#include "test.h"

#include <errno.h>

TEST(names_and_texts)
{
    assert_string_equal(fdl_status_name(FEEDLINE_OK), "OK");
    assert_string_equal(fdl_status_name(FEEDLINE_EINVAL), "EINVAL");
    assert_string_equal(fdl_status_name(-11), "EABI");
    assert_string_equal(fdl_status_name(4), "REPLACED");
    assert_string_equal(fdl_status_name(5), "UNKNOWN");
    assert_string_equal(fdl_status_name(-13), "UNKNOWN");
    assert_string_equal(fdl_status_name(INT32_MIN), "UNKNOWN");
    assert_string_equal(fdl_status_name(FEEDLINE_STATUS_FORCE_INT32),
                        "UNKNOWN");
    assert_string_equal(fdl_status_text(FEEDLINE_EINVAL), "invalid argument");
    assert_string_equal(fdl_status_text(FEEDLINE_END), "end of epoch");
    assert_string_equal(fdl_status_text(99), "unknown status");
}

TEST(fail_writes_the_line)
{
    fdl_clear_error();
    assert_string_equal(fdl_last_error(), "");
    errno = 55;
    assert_int_equal(fdl_fail(FEEDLINE_EIO, "%s: read at %d", "a.jpg", 12),
                     FEEDLINE_EIO);
    assert_int_equal(errno, 55);
    assert_string_equal(fdl_last_error(), "a.jpg: read at 12");
    assert_int_equal(fdl_fail_memory(4096, "a slot"), FEEDLINE_ENOMEM);
    assert_string_equal(fdl_last_error(),
                        "out of memory: 4096 bytes for a slot");
    fdl_clear_error();
    assert_string_equal(fdl_last_error(), "");
}

TEST(line_can_wrap_the_last_one)
{
    fdl_fail(FEEDLINE_EINVAL, "no such thing");
    fdl_fail(FEEDLINE_EINVAL, "file:3: %s", fdl_last_error());
    assert_string_equal(fdl_last_error(), "file:3: no such thing");
}

TEST(long_lines_are_cut)
{
    char text[3 * FDL_ERROR_BYTES];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    fdl_fail(FEEDLINE_EIO, "%s", text);
    assert_int_equal(strlen(fdl_last_error()), FDL_ERROR_BYTES - 1);

    text[FDL_ERROR_BYTES - 1] = '\0'; /* just fits */
    fdl_fail(FEEDLINE_EIO, "%s", text);
    assert_string_equal(fdl_last_error(), text);
}

/* Characters of each length, so that the cut falls into each of their bytes. */
TEST(cut_between_characters)
{
    static const char *const characters[] = {"\xc3\xa9", "\xe2\x82\xac",
                                             "\xf0\x9f\x98\x80"};
    for (size_t c = 0; c < FDL_COUNT_OF(characters); c++) {
        size_t bytes = strlen(characters[c]);
        for (size_t shift = 0; shift < bytes; shift++) {
            char text[2 * FDL_ERROR_BYTES] = "";
            size_t length = shift;
            memset(text, '-', shift);
            while (length < FDL_ERROR_BYTES + 8) {
                memcpy(text + length, characters[c], bytes);
                length += bytes;
            }
            fdl_fail(FEEDLINE_EIO, "%s", text);
            size_t kept = strlen(fdl_last_error());
            assert_true(kept < FDL_ERROR_BYTES);
            assert_true(kept + bytes >= FDL_ERROR_BYTES);
            assert_int_equal((kept - shift) % bytes, 0);
            assert_memory_equal(fdl_last_error(), text, kept);
        }
    }
}

/* Bytes that are no characters are not taken for the start of one. */
TEST(cut_in_a_run_of_stray_bytes)
{
    char text[2 * FDL_ERROR_BYTES];
    memset(text, 0x80, sizeof(text));
    text[sizeof(text) - 1] = '\0';
    fdl_fail(FEEDLINE_EIO, "%s", text);
    assert_int_equal(strlen(fdl_last_error()), FDL_ERROR_BYTES - 1);
}

TEST(always_one_line)
{
    fdl_fail(FEEDLINE_EIO, "%s", "a\nb\rc\td\x1b[e\x7f");
    assert_string_equal(fdl_last_error(), "a?b?c?d?[e?");
}

static void *fail_elsewhere(void *arg)
{
    int *ok = arg;
    *ok = fdl_last_error()[0] == '\0';
    fdl_fail(FEEDLINE_EIO, "elsewhere");
    return NULL;
}

TEST(each_thread_has_its_own)
{
    int ok = 0;
    struct fdl_thread t = {0};
    fdl_fail(FEEDLINE_EIO, "here");
    assert_int_equal(fdl_thread_start(&t, "fail", fail_elsewhere, &ok), 0);
    fdl_thread_join(&t);
    assert_true(ok);
    assert_string_equal(fdl_last_error(), "here");
}

TEST_MAIN("base_status")
