/* SPDX-License-Identifier: Apache-2.0 */
/* Each store as a whole: from a location and an environment to requests, and
 * through the pages of a list. */
#include "base/compiler.h"
#include "base/status.h"
#include "fetch_script.h"
#include "store/store.h"

static const struct fdl_store_options options = SCRIPT_OPTIONS;
static struct fdl_store *store;
static struct fdl_text told;

static void setting(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

static void open_store(const struct fdl_store_ops *ops, const char *location,
                       const struct fdl_store_options *o)
{
    int32_t status = ops->open(location, o ? o : &options, &store);
    if (status < 0)
        print_error("%s\n", fdl_last_error());
    assert_int_equal(status, FEEDLINE_OK);
}

static void close_store(void)
{
    store->ops->close(store);
    fdl_text_free(&told);
}

/* The request as one text, as the script has it. */
static const char *signed_as(const char *location)
{
    static char text[4096];
    struct fdl_request r;
    assert_int_equal(store->ops->sign(store, location, "bytes=0-9", NULL, &r),
                     FEEDLINE_OK);
    size_t n = (size_t)snprintf(text, sizeof(text), "%s\n", r.url);
    for (int i = 0; r.headers[i]; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\n", r.headers[i]);
    fdl_request_free(&r);
    return text;
}

static void expect_request(const char *location, const char *part)
{
    const char *text = signed_as(location);
    if (!strstr(text, part))
        assert_string_equal(text, part);
}

static void expect_address(const char *location, const char *url)
{
    const char *text = signed_as(location);
    size_t n = strlen(url);
    if (strncmp(text, url, n) != 0 || text[n] != '\n')
        assert_string_equal(text, url);
}

static enum fdl_refusal refuse(int32_t http, const char *headers,
                               const char *body)
{
    struct fdl_answer a = {.status = http};
    int32_t status = FEEDLINE_OK;
    fdl_text_add(&a.headers, "%s", headers);
    fdl_text_add(&a.body, "%s", body);
    enum fdl_refusal what =
        store->ops->refused(store, "s3://bucket/k", "bytes=0-9", &a, &status);
    fdl_answer_free(&a);
    return what;
}

static int32_t tell(void *user, const struct fdl_object *o)
{
    (void)user;
    fdl_text_add(&told, "%s %llu\n", o->key, (unsigned long long)o->bytes);
    return FEEDLINE_OK;
}

static int32_t tell_folder(void *user, const char *key)
{
    (void)user;
    fdl_text_add(&told, "[%s]\n", key);
    return FEEDLINE_OK;
}

static void expect_told(const char *location, fdl_folder_each *folder,
                        const char *objects)
{
    fdl_text_clear(&told);
    fdl_text_add(&told, "%s", "");
    int32_t status = store->ops->list(store, location, tell, folder, NULL);
    if (status < 0)
        print_error("%s\n", fdl_last_error());
    assert_int_equal(status, FEEDLINE_OK);
    assert_string_equal(told.data, objects);
}

static void expect_list(const char *location, const char *objects)
{
    expect_told(location, NULL, objects);
}

static void expect_level(const char *location, const char *objects)
{
    expect_told(location, tell_folder, objects);
}

static void with_keys(void)
{
    script_clear_environment();
    setting("AWS_ACCESS_KEY_ID", "AK");
    setting("AWS_SECRET_ACCESS_KEY", "SK");
}

/* ---- S3 ------------------------------------------------------------------ */

TEST_WITH(s3_at_amazon, with_keys, script_reset)
{
    open_store(&fdl_store_s3, "s3://bucket/k", NULL);
    expect_address("s3://bucket/a b", "https://bucket.s3.us-east-1.amazonaws."
                                      "com/a%20b");
    expect_address("s3://a.bucket/k",
                   "https://s3.us-east-1.amazonaws.com/a.bucket/k");
    expect_request("s3://bucket/k", "/20261122/us-east-1/s3/aws4_request, "
                                    "SignedHeaders=host;range;");
    close_store();
    setting("AWS_DEFAULT_REGION", "cn-north-1");
    open_store(&fdl_store_s3, "s3://bucket/k", NULL);
    expect_address("s3://bucket/k",
                   "https://bucket.s3.cn-north-1.amazonaws.com.cn/k");
    close_store();
    setting("AWS_REGION", "eu-west-3");
    open_store(&fdl_store_s3, "s3://bucket/k", NULL);
    expect_request("s3://bucket/k", "/eu-west-3/s3/");
    close_store();
    setting("AWS_REGION", "evil.example/");
    assert_int_equal(fdl_store_s3.open("s3://bucket/k", &options, &store),
                     FEEDLINE_EINVAL);
    assert_int_equal(fdl_store_s3.open("s3://", &options, &store),
                     FEEDLINE_EINVAL);
}

static void expect_host(const char *host, const char *endpoint)
{
    struct fdl_store_options o = options;
    o.endpoint = endpoint;
    open_store(&fdl_store_s3, "s3://bucket/k", &o);
    expect_address("s3://bucket/k", host);
    close_store();
}

TEST_WITH(s3_elsewhere, with_keys, script_reset)
{
    char path[] = "/tmp/feedline-store-XXXXXX";
    int fd = mkstemp(path);
    static const char config[] = "[default]\nendpoint_url = http://profile:1\n";
    assert_int_equal(write(fd, config, strlen(config)), strlen(config));
    close(fd);
    setting("AWS_CONFIG_FILE", path);
    expect_host("http://profile:1/bucket/k", NULL);
    setting("AWS_ENDPOINT_URL", "http://all:2/");
    expect_host("http://all:2/bucket/k", NULL);
    setting("AWS_ENDPOINT_URL_S3", "https://s3:3/prefix");
    expect_host("https://s3:3/prefix/bucket/k", NULL);
    expect_host("http://option:4/bucket/k", "http://option:4");
    setting("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true");
    expect_host("https://bucket.s3.us-east-1.amazonaws.com/k", NULL);
    assert_int_equal(unlink(path), 0);
}

TEST_WITH(s3_moves_to_the_bucket_s_region, with_keys, script_reset)
{
    open_store(&fdl_store_s3, "s3://bucket/k", NULL);
    assert_int_equal(refuse(301, "x-amz-bucket-region: eu-west-3\r\n", ""),
                     FDL_REFUSED_AGAIN);
    expect_address("s3://bucket/k",
                   "https://bucket.s3.eu-west-3.amazonaws.com/k");
    /* Others that were under way; and then it is right, and refused. */
    assert_int_equal(refuse(301, "x-amz-bucket-region: eu-west-3\r\n", ""),
                     FDL_REFUSED_AGAIN);
    script.now += 10;
    assert_int_equal(refuse(301, "x-amz-bucket-region: eu-west-3\r\n", ""),
                     FDL_REFUSED_FINAL);
    assert_int_equal(refuse(400, "",
                            "<Error><Code>AuthorizationHeaderMalformed</Code>"
                            "<Region>eu-west-1</Region></Error>"),
                     FDL_REFUSED_AGAIN);
    expect_request("s3://bucket/k", "/eu-west-1/s3/");
    assert_int_equal(refuse(301, "x-amz-bucket-region: a.evil/\r\n", ""),
                     FDL_REFUSED_FINAL);
    expect_request("s3://bucket/k", "/eu-west-1/s3/");
    close_store();
}

TEST_WITH(s3_signs_with_the_server_s_clock, with_keys, script_reset)
{
    open_store(&fdl_store_s3, "s3://bucket/k", NULL);
    expect_request("s3://bucket/k", "x-amz-date: 20261122T000000Z\n");
    assert_int_equal(refuse(403, "date: Sun, 22 Nov 2026 03:00:00 GMT\r\n",
                            "<Error><Code>RequestTimeTooSkewed</Code></Error>"),
                     FDL_REFUSED_AGAIN);
    expect_request("s3://bucket/k", "x-amz-date: 20261122T030000Z\n");
    close_store();
}

TEST_WITH(s3_for_everybody, script_clear_environment, script_reset)
{
    struct fdl_request r;
    open_store(&fdl_store_s3, "s3://bucket/k", NULL);
    assert_int_equal(store->ops->sign(store, "s3://bucket/k", NULL, NULL, &r),
                     FEEDLINE_EINVAL);
    assert_non_null(strstr(fdl_last_error(), "AWS_NO_SIGN_REQUEST=1"));
    close_store();
    setting("AWS_NO_SIGN_REQUEST", "1");
    open_store(&fdl_store_s3, "s3://bucket/k", NULL);
    int asked = script.asked;
    assert_string_equal(signed_as("s3://bucket/k"),
                        "https://bucket.s3.us-east-1.amazonaws.com/k\n");
    assert_int_equal(script.asked, asked);
    assert_int_equal(store->ops->sign(store, "s3://bucket/", NULL, NULL, &r),
                     FEEDLINE_EINVAL);
    close_store();
}

#define S3_PAGE(key, more)                                                     \
  "<ListBucketResult><IsTruncated>" more "</IsTruncated>"                      \
  "<NextContinuationToken>n/+=</NextContinuationToken><Contents><Key>" key     \
  "</Key><Size>7</Size></Contents></ListBucketResult>"

TEST_WITH(s3_lists, with_keys, script_reset)
{
    open_store(&fdl_store_s3, "s3://bucket/p", NULL);
    script_answer(200, S3_PAGE("p/1", "true"), NULL);
    script_answer(503, "<Error><Code>SlowDown</Code></Error>", NULL);
    script_answer(301, "", "x-amz-bucket-region: eu-west-3\n");
    script_answer(200,
                  "<ListBucketResult><Contents><Key>p/2</Key><Size>8</Size>"
                  "</Contents></ListBucketResult>",
                  NULL);
    expect_list("s3://bucket/p/", "p/1 7\np/2 8\n");
    assert_true(script_saw(0, "GET https://bucket.s3.us-east-1.amazonaws.com/?"
                              "encoding-type=url&list-type=2&prefix=p%2F\n"));
    assert_true(script_saw(1, "continuation-token=n%2F%2B%3D&encoding-type"));
    assert_true(script_saw(3, "s3.eu-west-3.amazonaws.com/?continuation-"
                              "token=n%2F%2B%3D&"));
    script_answer(403, "<Error><Code>AccessDenied</Code></Error>", NULL);
    assert_int_equal(
        store->ops->list(store, "s3://bucket/p/", tell, NULL, NULL),
        FEEDLINE_EIO);
    assert_string_equal(
        fdl_last_error(),
        "s3://bucket/p/ at bucket.s3.eu-west-3.amazonaws.com: the "
        "server answers 403 AccessDenied; may these "
        "credentials read it?");
    int asked = script.asked;
    assert_int_equal(
        store->ops->list(store, "s3://bucket/p/", tell, NULL, NULL),
        FEEDLINE_EIO);
    assert_string_equal(fdl_last_error(),
                        "s3://bucket/p/ at bucket.s3.eu-west-3.amazonaws.com: "
                        "nobody is there");
    assert_int_equal(script.asked, asked + 6);
    close_store();
}

TEST_WITH(s3_lists_a_level, with_keys, script_reset)
{
    open_store(&fdl_store_s3, "s3://bucket/p/", NULL);
    script_answer(200,
                  "<ListBucketResult><Contents><Key>p/1</Key><Size>7</Size>"
                  "</Contents><CommonPrefixes><Prefix>p/a/</Prefix>"
                  "</CommonPrefixes></ListBucketResult>",
                  NULL);
    expect_level("s3://bucket/p/", "p/1 7\n[p/a/]\n");
    assert_true(script_saw(0, ".com/?delimiter=%2F&encoding-type=url&"
                              "list-type=2&prefix=p%2F\n"));
    close_store();
}

/* ---- Google -------------------------------------------------------------- */

TEST_WITH(google, script_clear_environment, script_reset)
{
    setting("GOOGLE_OAUTH_ACCESS_TOKEN", "TOK");
    open_store(&fdl_store_gs, "gs://bucket/k", NULL);
    assert_string_equal(signed_as("gs://bucket/a b"),
                        "https://storage.googleapis.com/bucket/a%20b\n"
                        "Authorization: Bearer TOK\n");
    script_answer(200,
                  "{\"items\":[{\"name\":\"p/1\",\"size\":\"7\"}],"
                  "\"nextPageToken\":\"n=\"}",
                  NULL);
    script_answer(200, "{\"items\":[{\"name\":\"p/2\",\"size\":\"8\"}]}", NULL);
    expect_list("gs://bucket/p/", "p/1 7\np/2 8\n");
    assert_true(script_saw(0, "GET https://storage.googleapis.com/storage/v1/b/"
                              "bucket/o?fields="));
    assert_true(script_saw(0, "&prefix=p%2F\nAuthorization: Bearer TOK\n"));
    assert_true(script_saw(1, "&pageToken=n%3D&prefix="));
    script_answer(200, "{\"prefixes\":[\"p/a/\",\"p/b/\"]}", NULL);
    expect_level("gs://bucket/p/", "[p/a/]\n[p/b/]\n");
    assert_true(script_saw(2, "/o?delimiter=%2F&fields=items%28name%2Csize%2C"
                              "md5Hash%29%2Cprefixes%2CnextPageToken&"));
    close_store();

    setting("GS_ACCESS_KEY_ID", "GOOG");
    setting("GS_SECRET_ACCESS_KEY", "SK");
    setting("STORAGE_EMULATOR_HOST", "127.0.0.1:9");
    open_store(&fdl_store_gs, "gs://bucket/k", NULL);
    expect_address("gs://bucket/k", "http://127.0.0.1:9/bucket/k");
    expect_request("gs://bucket/k", "Credential=GOOG/20261122/auto/s3/");
    script_answer(200, S3_PAGE("p/3", "false"), NULL);
    script_answer(200, "<ListBucketResult></ListBucketResult>", NULL);
    expect_list("gs://bucket/p/", "p/3 7\n");
    close_store();
    setting("GOOGLE_SKIP_SIGNATURE", "true");
    open_store(&fdl_store_gs, "gs://bucket/k", NULL);
    assert_string_equal(signed_as("gs://bucket/k"),
                        "http://127.0.0.1:9/bucket/k\n");
    close_store();
}

/* ---- Azure --------------------------------------------------------------- */

TEST_WITH(azure, script_clear_environment, script_reset)
{
    assert_int_equal(fdl_store_az.open("az://box/k", &options, &store),
                     FEEDLINE_EINVAL);
    assert_non_null(strstr(fdl_last_error(), "AZURE_STORAGE_ACCOUNT"));
    setting("AZURE_STORAGE_ACCOUNT", "acc");
    setting("AZURE_STORAGE_SAS_TOKEN", "sv=1&sig=S%2B");
    open_store(&fdl_store_az, "az://box/k", NULL);
    assert_string_equal(signed_as("az://box/a b"),
                        "https://acc.blob.core.windows.net/box/a%20b?sv=1&"
                        "sig=S%2B\nx-ms-version: 2021-12-02\n"
                        "x-ms-date: Sun, 22 Nov 2026 00:00:00 GMT\n");
    script_answer(200,
                  "<EnumerationResults><Blobs><Blob><Name>p/1</Name>"
                  "<Properties><Content-Length>7</Content-Length></Properties>"
                  "</Blob></Blobs><NextMarker>m</NextMarker>"
                  "</EnumerationResults>",
                  NULL);
    script_answer(200, "<EnumerationResults><NextMarker/></EnumerationResults>",
                  NULL);
    expect_list("az://box/p/", "p/1 7\n");
    assert_true(script_saw(0, "GET https://acc.blob.core.windows.net/box?comp="
                              "list&maxresults=5000&prefix=p%2F&restype="
                              "container&sv=1&sig=S%2B\n"));
    assert_true(script_saw(1, "?comp=list&marker=m&maxresults=5000&"));
    script_answer(200,
                  "<EnumerationResults><Blobs><BlobPrefix><Name>p/a/</Name>"
                  "</BlobPrefix><Blob><Name>p/1</Name><Properties>"
                  "<Content-Length>7</Content-Length></Properties></Blob>"
                  "</Blobs></EnumerationResults>",
                  NULL);
    expect_level("az://box/p/", "[p/a/]\np/1 7\n");
    assert_true(script_saw(2, "?comp=list&delimiter=%2F&maxresults=5000&"));
    close_store();
    setting("AZURE_STORAGE_CONNECTION_STRING",
            "AccountName=other;AccountKey=AAAA;"
            "BlobEndpoint=http://127.0.0.1:10000/other");
    open_store(&fdl_store_az, "az://box/k", NULL);
    expect_address("az://box/k", "http://127.0.0.1:10000/other/box/k");
    expect_request("az://box/k", "Authorization: SharedKey other:");
    close_store();
}

/* ---- The hub ------------------------------------------------------------- */

TEST_WITH(hub, script_clear_environment, script_reset)
{
    struct fdl_request r;
    open_store(&fdl_store_hf, "hf://datasets/o/n/k", NULL);
    assert_string_equal(signed_as("hf://datasets/o/n@refs/pr/1/d/a b.tar"),
                        "https://huggingface.co/datasets/o/n/resolve/"
                        "refs%2Fpr%2F1/d/a%20b.tar\n");
    assert_int_equal(
        store->ops->sign(store, "hf://datasets/o/n/k", NULL, NULL, &r),
        FEEDLINE_OK);
    assert_true(r.follow);
    fdl_request_free(&r);
    close_store();

    setting("HF_TOKEN", "hf_TOK");
    setting("HF_ENDPOINT", "http://hub:1");
    open_store(&fdl_store_hf, "hf://datasets/o/n/k", NULL);
    expect_request("hf://datasets/o/n/k", "Authorization: Bearer hf_TOK\n");
    static const char page[] =
        "[{\"type\":\"file\",\"size\":7,\"path\":\"d/a1\"},"
        "{\"type\":\"file\",\"size\":9,\"path\":\"d/b\"}]";
    script_answer(200, page, "Link: <http://hub:1/api?c=2>; rel=\"next\"\n");
    script_answer(200, "[{\"type\":\"file\",\"size\":8,\"path\":\"d/a2\"}]",
                  "");
    expect_list("hf://datasets/o/n/d/a", "d/a1 7\n"
                                         "d/a2 8\n");
    assert_true(script_saw(0, "GET http://hub:1/api/datasets/o/n/tree/main/d?"
                              "recursive=true\nAuthorization: Bearer hf_TOK"));
    assert_true(script_saw(1, "GET http://hub:1/api?c=2\nAuthorization: "));

    script_answer(200,
                  "[{\"type\":\"directory\",\"size\":0,\"path\":\"d/c\"},"
                  "{\"type\":\"file\",\"size\":8,\"path\":\"d/e\"}]",
                  "");
    expect_level("hf://datasets/o/n/d/", "[d/c/]\n"
                                         "d/e 8\n");
    assert_true(script_saw(2, "/tree/main/d\nAuthorization: Bearer hf_TOK"));

    /* The token goes to no other host. */
    static const char *const others[] = {"http://hub:12/x", "https://hub:1/x",
                                         "http://hub:1@evil/x", "/api?c=2"};
    for (size_t i = 0; i < FDL_COUNT_OF(others); i++) {
        char link[64];
        snprintf(link, sizeof(link), "Link: <%s>; rel=\"next\"\n", others[i]);
        script_answer(200, page, link);
        int asked = script.asked;
        assert_int_equal(
            store->ops->list(store, "hf://datasets/o/n/", tell, NULL, NULL),
            FEEDLINE_EINVAL);
        assert_non_null(strstr(fdl_last_error(), "at another host"));
        assert_int_equal(script.asked, asked + 1);
    }
    close_store();
}

TEST_WITH(hub_token_files, script_clear_environment, script_reset)
{
    char folder[] = "/tmp/feedline-store-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/token", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(" hf_FILE\n", f);
    fclose(f);
    setting("HF_HOME", folder);
    open_store(&fdl_store_hf, "hf://datasets/o/n/k", NULL);
    expect_request("hf://datasets/o/n/k", "Authorization: Bearer hf_FILE\n");
    close_store();
    setting("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1");
    open_store(&fdl_store_hf, "hf://datasets/o/n/k", NULL);
    assert_null(strstr(signed_as("hf://datasets/o/n/k"), "Authorization"));
    close_store();
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

TEST_MAIN("store_kinds")
