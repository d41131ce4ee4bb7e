/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/system/sysfile.h"
#include "test.h"

#include <unistd.h>

TEST(test_fields)
{
    static const char text[] = "name\t: one two \nname too: three\nempty:\n"
                               "  name: four\nlast:five";
    char value[16] = "kept";
    assert_true(fdl_sysfile_field(text, "name", value, sizeof(value)));
    assert_string_equal(value, "one two");
    assert_true(fdl_sysfile_field(text, "name too", value, sizeof(value)));
    assert_string_equal(value, "three");
    assert_true(fdl_sysfile_field(text, "empty", value, sizeof(value)));
    assert_string_equal(value, "");
    assert_true(fdl_sysfile_field(text, "last", value, sizeof(value)));
    assert_string_equal(value, "five");
    assert_true(fdl_sysfile_field(text, "name", value, 4));
    assert_string_equal(value, "one");
    assert_false(fdl_sysfile_field(text, "na", value, sizeof(value)));
    assert_false(fdl_sysfile_field(text, "last:five and more", value, 16));
    assert_false(fdl_sysfile_field("", "x", value, sizeof(value)));
    assert_string_equal(value, "one");
}

/* Longer than any first guess at a buffer. */
TEST(test_read_long_file)
{
    enum { BYTES = 300000 };
    char folder[] = "/tmp/fdl_sysfile_XXXXXX";
    char path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/long", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < BYTES; i++)
        fputc('a' + i % 26, f);
    assert_int_equal(fclose(f), 0);
    char *text = fdl_sysfile_read(folder, "/long");
    assert_non_null(text);
    assert_int_equal(strlen(text), BYTES);
    for (int i = 0; i < BYTES; i++)
        assert_int_equal(text[i], 'a' + i % 26);
    free(text);
    assert_null(fdl_sysfile_read(folder, "/none"));
    assert_null(fdl_sysfile_read(folder, "/")); /* a folder */
    assert_int_equal(remove(path), 0);
    assert_int_equal(remove(folder), 0);
}

TEST(test_numbers)
{
    static const struct {
        const char *text;
        uint64_t value;
        bool known;
        const char *rest;
    } of[] = {
        {"12\n", 12, true, "\n"},
        {" \t7 8\n", 7, true, " 8\n"},
        {"3/80\n", 3, true, "/80\n"},
        {"18446744073709551615 ", UINT64_MAX, true, " "},
        {"99999999999999999999\n", UINT64_MAX, true, "\n"},
        {"12", 1, false, "12"},
        {"", 1, false, ""},
        {"-1\n", 1, false, "-1\n"},
        {"+1\n", 1, false, "+1\n"},
        {"0.5\n", 1, false, "0.5\n"},
        {"max\n", 1, false, "max\n"},
        {"\n7\n", 1, false, "\n7\n"},
    };
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        const char *p = of[i].text;
        uint64_t value = 1;
        assert_int_equal(fdl_sysfile_number(&p, &value), of[i].known);
        assert_int_equal(value, of[i].value);
        assert_string_equal(p, of[i].rest);
    }
}

TEST(test_counts)
{
    static const char text[] = "nr_periods 5\nnr_throttled 4\nnr 9\n\n"
                               "nr_throttled 8\nlast 3";
    uint64_t value = 1;
    assert_true(fdl_sysfile_count(text, "nr_throttled", &value));
    assert_int_equal(value, 4);
    assert_true(fdl_sysfile_count(text, "nr", &value));
    assert_int_equal(value, 9);
    assert_false(fdl_sysfile_count(text, "nr_", &value));
    assert_false(fdl_sysfile_count(text, "periods", &value));
    assert_false(fdl_sysfile_count(text, "last", &value));
    assert_false(fdl_sysfile_count("", "nr", &value));
    assert_int_equal(value, 9);
}

/* As often as one likes, whatever its length has become. */
TEST(test_read_again)
{
    char folder[] = "/tmp/fdl_sysfile_XXXXXX";
    char path[64];
    char text[8];
    static const char *const says[] = {"a", "", "bcd", "0123456", "01234567"};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/file", folder);
    for (int i = 0; i < 2; i++) {
        int fd = -1;
        for (size_t k = 0; k < sizeof(says) / sizeof(*says); k++) {
            FILE *f = fopen(path, "w");
            assert_non_null(f);
            assert_true(fputs(says[k], f) >= 0);
            assert_int_equal(fclose(f), 0);
            fd = fd < 0 ? fdl_sysfile_open(folder, "/file") : fd;
            assert_true(fd >= 0);
            memset(text, 'x', sizeof(text));
            assert_true(fdl_sysfile_again(fd, text, sizeof(text)));
            assert_int_equal(strncmp(text, says[k], sizeof(text) - 1), 0);
            assert_true(strlen(text) < sizeof(text));
        }
        assert_int_equal(close(fd), 0);
        assert_int_equal(remove(path), 0);
        assert_int_equal(fdl_sysfile_open(folder, "/file"), -1);
    }
    assert_false(fdl_sysfile_again(-1, text, sizeof(text)));
    assert_string_equal(text, "");
    assert_int_equal(remove(folder), 0);
}

TEST_MAIN("sysfile")
