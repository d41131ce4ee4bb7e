/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a file, against the file cut up as a whole. */
#include "base/lines.h"
#include "base/status.h"
#include "dice.h"
#include "test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static char path[] = "/tmp/feedline-lines-XXXXXX";

static void write_file(const char *text, size_t bytes)
{
    strcpy(path, "/tmp/feedline-lines-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write(fd, text + done, bytes - done);
        assert_true(n > 0);
        done += (size_t)n;
    }
    assert_int_equal(close(fd), 0);
}

/* Every line is what lies there in the file, and none is left out. */
static void check(const char *text, size_t bytes)
{
    struct fdl_lines lines;
    struct fdl_line line;
    size_t at = 0;
    write_file(text, bytes);
    assert_int_equal(fdl_lines_open(&lines, path), 0);
    for (;;) {
        assert_int_equal(fdl_lines_next(&lines, &line), 0);
        if (!line.text)
            break;
        assert_int_equal(line.at, at);
        assert_true(at < bytes && line.bytes <= bytes - at);
        assert_memory_equal(line.text, text + at, line.bytes);
        assert_null(memchr(line.text, '\n', line.bytes));
        assert_int_equal(line.text[line.bytes], '\0');
        memset(line.text, '\n', line.bytes + 1); /* it may be changed */
        at += line.bytes + 1;
        assert_true(at > bytes || text[at - 1] == '\n');
    }
    assert_true(at == bytes || at == bytes + 1);
    assert_int_equal(fdl_lines_next(&lines, &line), 0); /* and again */
    assert_null(line.text);
    fdl_lines_close(&lines);
    assert_int_equal(unlink(path), 0);
}

TEST(small_files)
{
    static const char *const texts[] = {
        "", "\n", "a", "a\n", "a\nb", "a\n\n\n", "\n\nb", "\r\na", "a\nb\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        check(texts[i], strlen(texts[i]));
    check("a\0b\n\0", 5);
}

/* Lines and pieces of the file end where they like. */
TEST(lines_around_the_ends_of_pieces)
{
    size_t most = 5 * MIB;
    char *text = malloc(most);
    assert_non_null(text);
    struct dice d = {test_seed()};
    for (int i = 0; i < 12; i++) {
        static const uint32_t lengths[] = {3, 80, 5000, 1u << 20, 3u << 20};
        uint32_t length = lengths[i % 5];
        size_t bytes = 4 * MIB + dice_below(&d, MIB);
        memset(text, 'x', bytes);
        for (size_t at = 0; at < bytes; at += 1 + dice_below(&d, length))
            text[at] = '\n';
        check(text, bytes);
    }
    memset(text, 'y', most);
    check(text, most); /* one line */
    text[MIB - 1] = text[2 * MIB - 1] = '\n';
    check(text, 2 * MIB);
    free(text);
}

/* A list may be written anew while it is read: what is gone is not there. */
TEST(file_that_becomes_shorter)
{
    struct fdl_lines lines;
    struct fdl_line line;
    size_t bytes = 4 * MIB;
    char *text = malloc(bytes);
    assert_non_null(text);
    memset(text, '\n', bytes);
    write_file(text, bytes);
    assert_int_equal(fdl_lines_open(&lines, path), 0);
    assert_int_equal(fdl_lines_next(&lines, &line), 0);
    assert_int_equal(truncate(path, 100), 0);
    size_t n = 1;
    for (; line.text; n++)
        assert_int_equal(fdl_lines_next(&lines, &line), 0);
    assert_true(n < bytes);
    fdl_lines_close(&lines);
    assert_int_equal(unlink(path), 0);
    free(text);
}

TEST(what_is_no_file)
{
    struct fdl_lines lines = {0};
    struct fdl_line line;
    fdl_lines_close(&lines);
    assert_int_equal(fdl_lines_open(&lines, "/nowhere/at/all"),
                     FEEDLINE_ENOENT);
    fdl_lines_close(&lines);
    assert_int_equal(fdl_lines_open(&lines, "/tmp"), 0);
    assert_int_equal(fdl_lines_next(&lines, &line), FEEDLINE_EIO);
    fdl_lines_close(&lines);
}

TEST_MAIN("lines")
