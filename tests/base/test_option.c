/* SPDX-License-Identifier: Apache-2.0 */
/* Option values: defaults, copies, names, arguments, environment. */
#include "base/compiler.h"
#include "base/option.h"
#include "option_table.h"
#include "test.h"

static struct fdl_options o;

static void set_up(void)
{
    assert_int_equal(fdl_options_init(&o, "loader", test_table, N_ROWS), 0);
}

static void tear_down(void)
{
    fdl_options_fini(&o);
}

static void check_error(int32_t got, int32_t status, const char *line)
{
    assert_int_equal(got, status);
    assert_string_equal(fdl_last_error(), line);
}

TEST_WITH(defaults, set_up, tear_down)
{
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 64);
    assert_int_equal(fdl_option_int(&o, ROW_WORKERS), 0);
    assert_int_equal(fdl_option_int(&o, ROW_OFFSET), -1);
    assert_int_equal(fdl_option_int(&o, ROW_READ_BYTES), 65536);
    assert_int_equal(fdl_option_int(&o, ROW_WINDOW), 10000000);
    assert_true(fdl_option_double(&o, ROW_RATIO) == 1.5);
    assert_int_equal(fdl_option_int(&o, ROW_SHUFFLE), 1);
    assert_int_equal(fdl_option_int(&o, ROW_FILTER), 1);
    assert_string_equal(fdl_option_text(&o, ROW_TRACE), "");
    const struct fdl_option_value *scale = fdl_option_value(&o, ROW_SCALE);
    assert_int_equal(scale->n_doubles, 2);
    assert_true(scale->doubles[0] == 0.08 && scale->doubles[1] == 1.0);
}

TEST(empty_table)
{
    struct fdl_options none, copy;
    uint32_t row = 5;
    assert_int_equal(fdl_options_init(&none, "flip", NULL, 0), FEEDLINE_OK);
    check_error(fdl_options_find(&none, "x", &row), FEEDLINE_ENOENT,
                "flip has no option 'x'");
    assert_int_equal(fdl_options_copy(&copy, &none), FEEDLINE_OK);
    assert_int_equal(fdl_options_set_args(&copy, " \t"), FEEDLINE_OK);
    fdl_options_fini(&copy);
    fdl_options_fini(&none);
    fdl_options_fini(&none); /* nothing */
}

TEST_WITH(find_by_name, set_up, tear_down)
{
    uint32_t row = 99;
    assert_int_equal(fdl_options_find(&o, "batch_size", &row), FEEDLINE_OK);
    assert_int_equal(row, ROW_BATCH_SIZE);
    assert_int_equal(fdl_options_find(&o, "read-bytes", &row), FEEDLINE_OK);
    assert_int_equal(row, ROW_READ_BYTES);

    row = 99;
    check_error(fdl_options_find(&o, "batchsize", &row), FEEDLINE_ENOENT,
                "loader has no option 'batchsize'; the closest is "
                "'batch_size'");
    check_error(fdl_options_find(&o, "batch_siz", &row), FEEDLINE_ENOENT,
                "loader has no option 'batch_siz'; the closest is "
                "'batch_size'");
    check_error(fdl_options_find(&o, "temperature", &row), FEEDLINE_ENOENT,
                "loader has no option 'temperature'");
    check_error(fdl_options_find(&o, "", &row), FEEDLINE_ENOENT,
                "loader has no option ''");
    assert_int_equal(fdl_options_find(&o, "batch_size_", &row),
                     FEEDLINE_ENOENT);
    assert_int_equal(fdl_options_find(&o, "Batch_size", &row), FEEDLINE_ENOENT);
    assert_int_equal(row, 99);
}

TEST_WITH(set_and_keep_on_error, set_up, tear_down)
{
    assert_int_equal(fdl_options_set(&o, "batch-size", "128"), FEEDLINE_OK);
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 128);
    check_error(fdl_options_set(&o, "batch_size", "0"), FEEDLINE_ERANGE,
                "batch_size=0 is out of range: 1 to 65536 samples");
    assert_int_equal(fdl_options_set(&o, "batch_size", "x"), FEEDLINE_EINVAL);
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 128);

    assert_int_equal(fdl_options_set(&o, "trace", "one"), FEEDLINE_OK);
    assert_int_equal(fdl_options_set(&o, "trace", "two"), FEEDLINE_OK);
    assert_string_equal(fdl_option_text(&o, ROW_TRACE), "two");

    assert_int_equal(fdl_options_set(&o, "scale", "0.5"), FEEDLINE_OK);
    assert_int_equal(fdl_option_value(&o, ROW_SCALE)->n_doubles, 1);
    assert_int_equal(fdl_options_set(&o, "scale", "0.5:2"), FEEDLINE_ERANGE);
    assert_int_equal(fdl_option_value(&o, ROW_SCALE)->n_doubles, 1);
}

TEST_WITH(numbers_in_and_out, set_up, tear_down)
{
    int64_t out = 0;
    assert_int_equal(fdl_options_set_int(&o, "batch_size", 32), FEEDLINE_OK);
    assert_int_equal(fdl_options_set_int(&o, "window", 5), FEEDLINE_OK);
    assert_int_equal(fdl_options_set_int(&o, "workers", 0), FEEDLINE_OK);
    assert_int_equal(fdl_options_set_int(&o, "filter", 2), FEEDLINE_OK);
    assert_int_equal(fdl_options_set_int(&o, "shuffle", 0), FEEDLINE_OK);
    assert_int_equal(fdl_options_get_int(&o, "batch-size", &out), FEEDLINE_OK);
    assert_int_equal(out, 32);
    assert_int_equal(fdl_options_get_int(&o, "window", &out), FEEDLINE_OK);
    assert_int_equal(out, 5);
    assert_int_equal(fdl_options_get_int(&o, "filter", &out), FEEDLINE_OK);
    assert_int_equal(out, 2);

    assert_int_equal(fdl_options_set_int(&o, "batch_size", 0), FEEDLINE_ERANGE);
    assert_int_equal(fdl_options_set_int(&o, "filter", 3), FEEDLINE_ERANGE);
    assert_int_equal(fdl_options_set_int(&o, "nothing", 3), FEEDLINE_ENOENT);
    check_error(fdl_options_set_int(&o, "ratio", 1), FEEDLINE_EINVAL,
                "loader option 'ratio' is not a whole number; set it as text");
    assert_int_equal(fdl_options_set_int(&o, "trace", 1), FEEDLINE_EINVAL);
    assert_int_equal(fdl_options_set_int(&o, "scale", 1), FEEDLINE_EINVAL);
    assert_int_equal(fdl_options_get_int(&o, "trace", &out), FEEDLINE_EINVAL);
    assert_int_equal(fdl_options_get_int(&o, "nothing", &out), FEEDLINE_ENOENT);
    assert_int_equal(out, 2);
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 32);
}

TEST_WITH(copies_are_separate, set_up, tear_down)
{
    struct fdl_options copy;
    assert_int_equal(fdl_options_set_args(&o, "trace=a batch_size=2 scale=1"),
                     FEEDLINE_OK);
    assert_int_equal(fdl_options_copy(&copy, &o), FEEDLINE_OK);
    assert_ptr_equal(copy.table, test_table);
    assert_string_equal(copy.scope, "loader");
    assert_int_equal(fdl_options_set_args(&o, "trace=b batch_size=3 scale=0"),
                     FEEDLINE_OK);
    assert_string_equal(fdl_option_text(&copy, ROW_TRACE), "a");
    assert_int_equal(fdl_option_int(&copy, ROW_BATCH_SIZE), 2);
    assert_true(fdl_option_double(&copy, ROW_SCALE) == 1.0);
    assert_int_equal(fdl_options_set(&copy, "trace", "c"), FEEDLINE_OK);
    assert_string_equal(fdl_option_text(&o, ROW_TRACE), "b");
    fdl_options_fini(&copy);
    assert_string_equal(fdl_option_text(&o, ROW_TRACE), "b");
}

/* ---- Arguments ---------------------------------------------------------- */

TEST_WITH(args_are_set, set_up, tear_down)
{
    assert_int_equal(
        fdl_options_set_args(&o, "  batch-size=8\tscale=0.1:0.9 "
                                 "trace=\"/a b/\\\"c\\\".json\"\tratio=2 "),
        FEEDLINE_OK);
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 8);
    assert_true(fdl_option_value(&o, ROW_SCALE)->doubles[1] == 0.9);
    assert_string_equal(fdl_option_text(&o, ROW_TRACE), "/a b/\"c\".json");
    assert_true(fdl_option_double(&o, ROW_RATIO) == 2.0);

    assert_int_equal(fdl_options_set_args(&o, "trace= batch_size=9"),
                     FEEDLINE_OK);
    assert_string_equal(fdl_option_text(&o, ROW_TRACE), "");
    assert_int_equal(fdl_options_set_args(&o, "trace=\"\""), FEEDLINE_OK);
    assert_int_equal(fdl_options_set_args(&o, "trace=a=b\"c"), FEEDLINE_OK);
    assert_string_equal(fdl_option_text(&o, ROW_TRACE), "a=b\"c");
    assert_int_equal(fdl_options_set_args(&o, "batch_size=1 batch_size=2"),
                     FEEDLINE_OK);
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 2);
    assert_int_equal(fdl_options_set_args(&o, NULL), FEEDLINE_OK);
    assert_int_equal(fdl_options_set_args(&o, ""), FEEDLINE_OK);
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 2);
}

TEST_WITH(bad_args_set_nothing, set_up, tear_down)
{
    static const struct {
        const char *args;
        int32_t status;
        const char *line;
    } rows[] = {
        {"batch_size=9 trace=z bogus=1", FEEDLINE_ENOENT,
         "loader has no option 'bogus'"},
        {"batch_size=9 trace=z ratio=9", FEEDLINE_ERANGE,
         "ratio=9 is out of range: 0.25 to 4"},
        {"batch_size=9 shuffle", FEEDLINE_EINVAL,
         "'shuffle' has no value: write shuffle=VALUE"},
        {"batch_size=9 shuffle =1", FEEDLINE_EINVAL,
         "'shuffle' has no value: write shuffle=VALUE"},
        {"batch_size=9 =1", FEEDLINE_EINVAL, "'=1' has no name before the '='"},
        {"batch_size=9 trace=\"abc", FEEDLINE_EINVAL,
         "trace=\"abc has no closing quote"},
        {"batch_size=9 trace=\"a\"b", FEEDLINE_EINVAL,
         "trace: 'b' after the closing quote, where a blank belongs"},
    };
    assert_int_equal(fdl_options_set(&o, "trace", "kept"), FEEDLINE_OK);
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        check_error(fdl_options_set_args(&o, rows[i].args), rows[i].status,
                    rows[i].line);
        assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 64);
        assert_string_equal(fdl_option_text(&o, ROW_TRACE), "kept");
    }
}

/* ---- Environment -------------------------------------------------------- */

TEST_WITH(environment_is_set, set_up, tear_down)
{
    setenv("FDLTEST_BATCH_SIZE", "12", 1);
    setenv("FDLTEST_TRACE", "a b.json", 1);
    setenv("FDLTEST_BOGUS", "1", 1); /* not ours to judge */
    assert_int_equal(fdl_options_set_environment(&o, "FDLTEST"), FEEDLINE_OK);
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 12);
    assert_string_equal(fdl_option_text(&o, ROW_TRACE), "a b.json");
    unsetenv("FDLTEST_BATCH_SIZE");
    unsetenv("FDLTEST_TRACE");
    unsetenv("FDLTEST_BOGUS");
    assert_int_equal(fdl_options_set_environment(&o, "FDLTEST"), FEEDLINE_OK);
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 12);
}

TEST_WITH(bad_environment_sets_nothing, set_up, tear_down)
{
    setenv("FDLTEST_BATCH_SIZE", "12", 1);
    setenv("FDLTEST_FILTER", "sharp", 1);
    check_error(fdl_options_set_environment(&o, "FDLTEST"), FEEDLINE_EINVAL,
                "environment variable FDLTEST_FILTER: filter='sharp' is not "
                "one of nearest|bilinear|bicubic");
    assert_int_equal(fdl_option_int(&o, ROW_BATCH_SIZE), 64);
    unsetenv("FDLTEST_BATCH_SIZE");
    unsetenv("FDLTEST_FILTER");
}

/* ---- Descriptions ------------------------------------------------------- */

TEST(choices_have_names)
{
    const struct fdl_option *row = &test_table[ROW_FILTER];
    char buf[32], small[5];
    assert_ptr_equal(fdl_option_choice(row, 0, buf, sizeof(buf)), buf);
    assert_string_equal(buf, "nearest");
    fdl_option_choice(row, 2, buf, sizeof(buf));
    assert_string_equal(buf, "bicubic");
    fdl_option_choice(row, 3, buf, sizeof(buf));
    assert_string_equal(buf, "?");
    fdl_option_choice(row, -1, buf, sizeof(buf));
    assert_string_equal(buf, "?");
    fdl_option_choice(row, 1, small, sizeof(small));
    assert_string_equal(small, "bili");
}

TEST_WITH(json_has_every_option, set_up, tear_down)
{
    char text[1024];
    struct fdl_json j;
    uint64_t needed;
    assert_int_equal(fdl_options_set(&o, "trace", "a\"b"), FEEDLINE_OK);
    fdl_json_init(&j, text, sizeof(text));
    fdl_json_begin_object(&j, NULL);
    fdl_options_json(&o, &j);
    fdl_json_end_object(&j);
    assert_int_equal(fdl_json_finish(&j, &needed), FEEDLINE_OK);
    assert_string_equal(
        text, "{\"batch_size\":64,\"workers\":0,\"offset\":-1,\"any\":0,"
              "\"read_bytes\":65536,\"budget\":0,\"window\":10000000,"
              "\"ratio\":1.5,\"gain\":1,\"shuffle\":true,"
              "\"filter\":\"bilinear\",\"trace\":\"a\\\"b\","
              "\"scale\":[0.08,1]}");
}

TEST(descriptions)
{
    struct feedline_option_info info = {.struct_size = sizeof(info)};
    assert_int_equal(
        fdl_option_describe(test_table, N_ROWS, ROW_BATCH_SIZE, &info),
        FEEDLINE_OK);
    assert_int_equal(info.struct_size, sizeof(info));
    assert_string_equal(info.name, "batch_size");
    assert_int_equal(info.type, FEEDLINE_T_INT);
    assert_int_equal(info.min, 1);
    assert_int_equal(info.max, 65536);
    assert_string_equal(info.default_text, "64");
    assert_string_equal(info.unit, "samples");
    assert_string_equal(info.help, "Samples in a batch");
    assert_null(info.choices);

    assert_int_equal(
        fdl_option_describe(test_table, N_ROWS, ROW_WORKERS, &info),
        FEEDLINE_OK);
    assert_int_equal(info.flags, FEEDLINE_OPT_AUTO | FEEDLINE_OPT_LIVE);
    assert_int_equal(fdl_option_describe(test_table, N_ROWS, ROW_FILTER, &info),
                     FEEDLINE_OK);
    assert_string_equal(info.choices, "nearest|bilinear|bicubic");
    assert_int_equal(fdl_option_describe(test_table, N_ROWS, ROW_TRACE, &info),
                     FEEDLINE_OK);
    assert_string_equal(info.default_text, ""); /* never NULL */
    assert_string_equal(info.unit, "");
    assert_string_equal(info.help, "");

    check_error(fdl_option_describe(test_table, N_ROWS, N_ROWS, &info),
                FEEDLINE_ERANGE, "option 13 is out of range: there are 13");
    assert_string_equal(info.name, "trace");
    info.struct_size = 0;
    assert_int_equal(fdl_option_describe(test_table, N_ROWS, 0, &info),
                     FEEDLINE_EINVAL);
}

/* clang-format off: one case per line */
struct bound {
    bool flag, choice;
    uint32_t small;
    double part;
    uint64_t large;
};

static const struct fdl_option bound_rows[] = {
    {.name = "flag",
     .type = FEEDLINE_T_BOOL,
     .max = 1,
     .default_text = "true",
     .unit = "",
     FDL_OPTION_FIELD(struct bound, flag)},
    {.name = "choice",
     .type = FEEDLINE_T_ENUM,
     .choices = "a|b",
     .default_text = "b",
     .unit = "",
     FDL_OPTION_FIELD(struct bound, choice)},
    {.name = "small",
     .type = FEEDLINE_T_INT,
     .max = UINT32_MAX,
     .default_text = "4294967295",
     .unit = "",
     FDL_OPTION_FIELD(struct bound, small)},
    {.name = "unbound",
     .type = FEEDLINE_T_INT,
     .max = 9,
     .default_text = "7",
     .unit = ""},
    {.name = "part",
     .type = FEEDLINE_T_DOUBLE,
     .double_max = 1,
     .default_text = "0.5",
     .unit = "",
     FDL_OPTION_FIELD(struct bound, part)},
    {.name = "large",
     .type = FEEDLINE_T_SIZE,
     .max = INT64_MAX,
     .default_text = "9223372036854775807",
     .unit = "bytes",
     FDL_OPTION_FIELD(struct bound, large)},
};

TEST(rows_fill_their_fields)
{
    struct fdl_options values;
    assert_int_equal(fdl_options_init(&values, "bound", bound_rows,
                                      FDL_COUNT_OF(bound_rows)),
                     FEEDLINE_OK);
    struct bound b;
    fdl_options_fill(&values, &b);
    assert_true(b.flag && b.choice && b.part == 0.5);
    assert_true(b.small == UINT32_MAX && b.large == INT64_MAX);
    assert_int_equal(fdl_options_set(&values, "flag", "no"), FEEDLINE_OK);
    assert_int_equal(fdl_options_set(&values, "choice", "a"), FEEDLINE_OK);
    fdl_options_fill(&values, &b);
    assert_true(!b.flag && !b.choice);
    fdl_options_fini(&values);
}

TEST_MAIN("base_option")
