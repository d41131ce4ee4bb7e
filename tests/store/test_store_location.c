/* SPDX-License-Identifier: Apache-2.0 */
/* Names of objects, and the addresses that they become. */
#include "base/compiler.h"
#include "base/status.h"
#include "store/location.h"
#include "test.h"

TEST(buckets)
{
    static const struct {
        const char *text, *scheme, *bucket, *key;
    } cases[] = {
        {"s3://bucket/a/b.tar", "s3", "bucket", "a/b.tar"},
        {"s3://bucket", "s3", "bucket", ""},
        {"s3://bucket/", "s3", "bucket", ""},
        {"s3://b.c-d_e/a//b/./c?d#e%20", "s3", "b.c-d_e", "a//b/./c?d#e%20"},
        {"gs://bucket//a", "gs", "bucket", "/a"},
        {"az://$web/index", "az", "$web", "index"}};
    for (size_t i = 0; i < FDL_COUNT_OF(cases); i++) {
        struct fdl_location l;
        assert_int_equal(fdl_location_parse(cases[i].text, cases[i].scheme, &l),
                         FEEDLINE_OK);
        assert_string_equal(l.bucket, cases[i].bucket);
        assert_string_equal(l.key, cases[i].key);
    }
}

TEST(data_sets_of_the_hub)
{
    static const struct {
        const char *text, *bucket, *revision, *key;
    } cases[] = {{"hf://datasets/o/n/d/a.tar", "o/n", "main", "d/a.tar"},
                 {"hf://datasets/o/n", "o/n", "main", ""},
                 {"hf://datasets/o/n@v1.0/a", "o/n", "v1.0", "a"},
                 {"hf://datasets/o/n@refs/convert/parquet/x/y", "o/n",
                  "refs/convert/parquet", "x/y"},
                 {"hf://datasets/o/n@refs/pr/7/x", "o/n", "refs/pr/7", "x"},
                 {"hf://datasets/o/n@abc", "o/n", "abc", ""}};
    for (size_t i = 0; i < FDL_COUNT_OF(cases); i++) {
        struct fdl_location l;
        assert_int_equal(fdl_location_parse(cases[i].text, "hf", &l),
                         FEEDLINE_OK);
        assert_string_equal(l.bucket, cases[i].bucket);
        assert_string_equal(l.revision, cases[i].revision);
        assert_string_equal(l.key, cases[i].key);
    }
}

TEST(what_is_no_name)
{
    static const char *const bad[][2] = {
        {"s3:/bucket/a", "s3"},
        {"gs://bucket/a", "s3"},
        {"s3://", "s3"},
        {"s3:///a", "s3"},
        {"s3://evil.example#/a", "s3"},
        {"s3://u:p@h/a", "s3"},
        {"s3://../a", "s3"},
        {"s3://./a", "s3"},
        {"s3://a..b/a", "s3"},
        {"hf://o/n/a", "hf"},
        {"hf://datasets/o", "hf"},
        {"hf://datasets/o/", "hf"},
        {"hf://datasets//n/a", "hf"},
        {"hf://datasets/../../x", "hf"},
        {"hf://datasets/o/..", "hf"},
        {"hf://datasets/./n/a", "hf"},
        {"hf://datasets/o/n@/a", "hf"},
        {"hf://datasets/o/n@../a", "hf"},
        {"hf://datasets/o/n@refs/pr/../a", "hf"},
        {"hf://datasets/o/n?a", "hf"}};
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        struct fdl_location l = {.key = "untouched"};
        assert_int_equal(fdl_location_parse(bad[i][0], bad[i][1], &l),
                         FEEDLINE_EINVAL);
        assert_non_null(strstr(fdl_last_error(), bad[i][0]));
        assert_string_equal(l.key, "untouched");
    }
    char longer[400] = "s3://";
    struct fdl_location l;
    memset(longer + 5, 'b', 300);
    assert_int_equal(fdl_location_parse(longer, "s3", &l), FEEDLINE_EINVAL);
}

TEST(endpoints)
{
    static const struct {
        const char *text, *host, *path;
        bool tls;
    } cases[] = {{"https://s3.example", "s3.example", "", true},
                 {"https://s3.example:443/", "s3.example", "", true},
                 {"http://127.0.0.1:80", "127.0.0.1", "", false},
                 {"http://127.0.0.1:443", "127.0.0.1:443", "", false},
                 {"http://[::1]:9000/a/b//", "[::1]:9000", "/a/b", false}};
    struct fdl_endpoint e;
    for (size_t i = 0; i < FDL_COUNT_OF(cases); i++) {
        assert_int_equal(fdl_endpoint_parse(cases[i].text, "", &e),
                         FEEDLINE_OK);
        assert_string_equal(e.host, cases[i].host);
        assert_string_equal(e.path, cases[i].path);
        assert_int_equal(e.tls, cases[i].tls);
    }
    static const char *const bad[] = {
        "s3.example",      "ftp://h",          "https://",
        "https:///a",      "https://h/?query", "https://user:SECRET@h",
        "https://h\r\nX:", "https://h/a#b",    "https://h h"};
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        assert_int_equal(fdl_endpoint_parse(bad[i], "AWS_ENDPOINT_URL", &e),
                         FEEDLINE_EINVAL);
        assert_non_null(strstr(fdl_last_error(), "AWS_ENDPOINT_URL"));
        assert_null(strstr(fdl_last_error(), "SECRET"));
    }
}

TEST(buckets_in_the_host_or_in_the_path)
{
    struct fdl_endpoint e, b;
    struct fdl_text t = {0};
    assert_int_equal(fdl_endpoint_parse("https://h:9/p", "", &e), FEEDLINE_OK);
    assert_int_equal(fdl_endpoint_of_bucket(&e, "bucket", true, &b),
                     FEEDLINE_OK);
    fdl_endpoint_add_path(&b, "a b", &t);
    char *url = fdl_endpoint_url(&b, t.data, "q=1");
    assert_string_equal(url, "https://bucket.h:9/p/a%20b?q=1");
    free(url);
    fdl_text_clear(&t);
    assert_int_equal(fdl_endpoint_of_bucket(&e, "bucket", false, &b),
                     FEEDLINE_OK);
    fdl_endpoint_add_path(&b, "", &t);
    url = fdl_endpoint_url(&b, t.data, "");
    assert_string_equal(url, "https://h:9/p/bucket");
    free(url);
    fdl_text_free(&t);
    char long_name[FDL_BUCKET_BYTES];
    memset(long_name, 'b', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    assert_int_equal(fdl_endpoint_of_bucket(&e, long_name, false, &b),
                     FEEDLINE_EINVAL);
    assert_true(fdl_bucket_is_label("a-b9"));
    static const char *const none[] = {"ab",  "a.b.c", "a_bc",
                                       "Abc", "-abc",  "abc-"};
    for (size_t i = 0; i < FDL_COUNT_OF(none); i++)
        assert_false(fdl_bucket_is_label(none[i]));
}

TEST_MAIN("store_location")
