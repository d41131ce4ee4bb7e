/* SPDX-License-Identifier: Apache-2.0 */
/* Job files: what is read, and the file and line of every mistake. */
#include "base/option.h"
#include "option_table.h"
#include "test.h"

#include <unistd.h>

static struct fdl_options o;
static char path[] = "/tmp/feedline-test-XXXXXX";

static void set_up(void)
{
    strcpy(path + strlen(path) - 6, "XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(fdl_options_init(&o, "loader", test_table, N_ROWS), 0);
}

static void tear_down(void)
{
    fdl_options_fini(&o);
    assert_int_equal(unlink(path), 0);
}

static void write_bytes(const char *bytes, size_t n)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static int32_t load(const char *text, const char *section)
{
    write_bytes(text, strlen(text));
    return fdl_options_load(&o, path, section);
}

static void check_loads(const char *text, const char *section)
{
    if (load(text, section) != FEEDLINE_OK)
        fail_msg("%s", fdl_last_error());
}

/* tail: what follows the path. Nothing may be set. */
static void check_fails(const char *text, const char *section, int32_t status,
                        const char *tail)
{
    int32_t got = load(text, section);
    if (got != status)
        fail_msg("%d instead of %d: %s", got, status, fdl_last_error());
    assert_memory_equal(fdl_last_error(), path, strlen(path));
    assert_string_equal(fdl_last_error() + strlen(path), tail);
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 64);
    assert_string_equal(fdl_option_text(&o, ROW_TRACE), "");
}

static const char job[] = "# a job file\n"
                          "; with comments\n"
                          "\n"
                          "[train]\n"
                          "  batch-size = 32   # of the section\n"
                          "trace=\"a #b; \\\"c\\\".json\" ; quoted\n"
                          "[global]\n"
                          "batch_size=16\n"
                          "\tread_bytes\t=\t1m\t\n"
                          "filter = bicubic;not a comment\n";

TEST_WITH(sections_override_global, set_up, tear_down)
{
    static const char text[] = "[train]\nbatch_size = 32 # wins\n"
                               "[ global ] ; written later\n"
                               "batch_size = 16\nread_bytes = 1m\n"
                               "[eval]\nbatch_size = 8\n"
                               "[train]\nworkers = 3";
    check_loads(text, "train");
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 32);
    assert_int_equal(fdl_option_int(&o, ROW_READ_BYTES), 1 << 20);
    assert_int_equal(fdl_option_int(&o, ROW_WORKERS), 3);

    check_loads(text, "eval");
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 8);
    check_loads(text, NULL);
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 16);
    check_loads(text, "eval");
    check_loads(text, "global");
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 16);
}

TEST_WITH(comments_blanks_and_quotes, set_up, tear_down)
{
    check_fails(job, "train", FEEDLINE_EINVAL,
                ":10: filter='bicubic;not a comment' is not one of "
                "nearest|bilinear|bicubic");
    char good[sizeof(job)];
    memcpy(good, job, sizeof(job));
    strstr(good, ";not")[0] = ' ';
    memcpy(strstr(good, " not a comment"), " ; a comment  ", 14);
    check_loads(good, "train");
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 32);
    assert_int_equal(fdl_option_int(&o, ROW_READ_BYTES), 1 << 20);
    assert_int_equal(fdl_option_int(&o, ROW_FILTER), 2);
    assert_string_equal(fdl_option_text(&o, ROW_TRACE), "a #b; \"c\".json");
}

TEST_WITH(values_of_all_kinds, set_up, tear_down)
{
    check_loads("[global]\ntrace = a b#c=d\n", NULL);
    assert_string_equal(fdl_option_text(&o, ROW_TRACE), "a b#c=d");
    check_loads("[global]\ntrace =\n", NULL);
    assert_string_equal(fdl_option_text(&o, ROW_TRACE), "");
    check_loads("[global]\ntrace = # nothing\n", NULL);
    assert_string_equal(fdl_option_text(&o, ROW_TRACE), "");
    check_loads("[global]\ntrace = \"  \"\n", NULL);
    assert_string_equal(fdl_option_text(&o, ROW_TRACE), "  ");
    check_loads("[global]\nscale = 0.1, 0.2, 0.3\n", NULL);
    assert_int_equal(fdl_option_value(&o, ROW_SCALE)->n_doubles, 3);
}

TEST_WITH(last_of_duplicates_wins, set_up, tear_down)
{
    check_loads("[global]\nbatch_size=1\nbatch-size=2\n[global]\n"
                "batch_size=3\n",
                NULL);
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 3);
}

TEST_WITH(files_from_other_editors, set_up, tear_down)
{
    check_loads("\xef\xbb\xbf[global]\r\nbatch_size = 5\r\n"
                "trace = \"x\"\r\n\r\n",
                NULL);
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 5);
    assert_string_equal(fdl_option_text(&o, ROW_TRACE), "x");
    check_loads("", NULL);
    check_loads("\xef\xbb\xbf", NULL);
    check_loads("# only a comment", NULL);
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 5);
}

TEST_WITH(bad_lines_name_file_and_line, set_up, tear_down)
{
    static const struct {
        const char *text, *tail;
    } rows[] = {
        {"[global]\nbatch_size: 3\n",
         ":2: expected name = value, not batch_size: 3"},
        {"[global]\n\n\nbatch_size\n",
         ":4: expected name = value, not batch_size"},
        {"[global]\nbatch_size=2\n= 3\n", ":3: expected name = value, not = 3"},
        {"batch_size = 3\n", ":1: before the first section; write [global] "
                             "above batch_size = 3"},
        {"[global\nbatch_size=3\n", ":1: no ']' after [global"},
        {"[global] x\n", ":1: a section's line ends at ']', not with x"},
        {"[global]]\n", ":1: a section's line ends at ']', not with ]"},
        {"[global]\n[ ]\n", ":2: a section without a name"},
        {"[global]\ntrace = \"abc\n", ":2: no closing quote: \"abc"},
        {"[global]\ntrace = \"a\" b\n",
         ":2: a value ends at its closing quote, not with b"},
        {"[global]\nbatch_size=2\nratio=nan\n",
         ":3: ratio='nan' is not a number, such as 0.5"},
        {"[global]\ntrace=x\n[other]\nbatch_size=abc\n",
         ":4: batch_size='abc' is not a whole number, such as 64 or 0x40"},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++)
        check_fails(rows[i].text, NULL, FEEDLINE_EINVAL, rows[i].tail);
    check_fails("[global]\nbatch_size=2\r\nbatch_size=0\r\n", NULL,
                FEEDLINE_ERANGE,
                ":3: batch_size=0 is out of range: 1 to 65536 samples");
    check_fails("[global]\ntrace=x\n[train]\nbatchsize=2\n", NULL,
                FEEDLINE_ENOENT,
                ":4: loader has no option 'batchsize'; the closest is "
                "'batch_size'");
}

TEST_WITH(zero_bytes_are_refused, set_up, tear_down)
{
    static const char text[] = "[global]\ntrace=x\nbatch\0_size=3\n";
    write_bytes(text, sizeof(text) - 1);
    assert_int_equal(fdl_options_load(&o, path, NULL), FEEDLINE_EINVAL);
    assert_non_null(
        strstr(fdl_last_error(), ":3: a zero byte: this is not a text file"));
    assert_string_equal(fdl_option_text(&o, ROW_TRACE), "");
}

TEST_WITH(unknown_sections_name_the_known, set_up, tear_down)
{
    static const char text[] = "[train]\n[global]\nbatch_size=2\n[eval]\n"
                               "[train]\n";
    check_fails(text, "trian", FEEDLINE_ENOENT,
                " has no section [trian]; it has [train] [global] [eval]");
    check_fails("# nothing\n", "train", FEEDLINE_ENOENT,
                " has no section [train]; it has none");
    check_loads("[train]\n", "train"); /* known, and empty */
}

TEST_WITH(many_sections_fit_the_line, set_up, tear_down)
{
    char text[16384] = "";
    size_t length = 0;
    for (int i = 0; i < 500; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length,
                                   "[section_%d]\n", i);
    assert_int_equal(load(text, "x"), FEEDLINE_ENOENT);
    assert_true(strlen(fdl_last_error()) < FDL_ERROR_BYTES);
}

TEST_WITH(files_that_cannot_be_read, set_up, tear_down)
{
    assert_int_equal(fdl_options_load(&o, "/nowhere/job.ini", NULL),
                     FEEDLINE_ENOENT);
    assert_string_equal(fdl_last_error(),
                        "/nowhere/job.ini: No such file or directory");
    assert_int_equal(fdl_options_load(&o, "/tmp", NULL), FEEDLINE_EIO);
    assert_string_equal(fdl_last_error(), "/tmp: Is a directory");
}

TEST_WITH(large_files_are_refused, set_up, tear_down)
{
    const size_t limit = (size_t)1 << 20;
    char *bytes = malloc(limit + 1);
    assert_non_null(bytes);
    memset(bytes, '\n', limit + 1);
    memcpy(bytes, "[global]\nbatch_size=7\n", 22);
    write_bytes(bytes, limit);
    assert_int_equal(fdl_options_load(&o, path, NULL), FEEDLINE_OK);
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 7);
    write_bytes(bytes, limit + 1);
    assert_int_equal(fdl_options_load(&o, path, NULL), FEEDLINE_EINVAL);
    free(bytes);
}

/* clang-format off: one case per line */
TEST_MAIN("base_option_ini")
