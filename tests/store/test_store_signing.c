/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures, against those that are published. Random ones are held against
 * botocore's in tests/python/test_store_requests.py.
 */
#include "base/compiler.h"
#include "base/cpu.h"
#include "base/status.h"
#include "store/azure_key.h"
#include "store/dates.h"
#include "store/s3_request.h"
#include "store/sha256.h"
#include "store/sigv4.h"
#include "test.h"

static void check_sha256(const void *data, size_t n, const char *expected)
{
    struct fdl_digest d;
    char hex[FDL_SHA256_HEX];
    for (int level = 0; level < FDL_CPU_LEVELS; level++) {
        fdl_cpu_set_level((enum fdl_cpu_level)level);
        fdl_sha256(data, n, &d);
        fdl_digest_hex(&d, hex);
        assert_string_equal(hex, expected);
    }
}

/* FIPS 180-4's examples, and lengths around a block's end, by sha256sum. */
TEST(sha256)
{
    static char many[1000000];
    memset(many, 'a', sizeof(many));
    check_sha256("", 0, FDL_PAYLOAD_NONE);
    check_sha256("abc", 3,
                 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f200"
                 "15ad");
    check_sha256(
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_sha256(many, sizeof(many),
                 "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc711"
                 "2cd0");
    check_sha256(many, 55,
                 "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f73"
                 "4318");
    check_sha256(many, 64,
                 "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154"
                 "668eb");
}

/* RFC 4231, cases 1, 2 and 6. */
TEST(hmac)
{
    static const struct {
        const char *key, *data, *expected;
        size_t key_bytes; /* of key's first character, if not 0 */
    } cases[] = {
        {"\x0b", "Hi There",
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
         20},
        {"Jefe", "what do ya want for nothing?",
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", 0},
        {"\xaa", "Test Using Larger Than Block-Size Key - Hash Key First",
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
         131}};
    for (size_t i = 0; i < FDL_COUNT_OF(cases); i++) {
        char key[131], hex[FDL_SHA256_HEX];
        size_t n = cases[i].key_bytes;
        struct fdl_digest d;
        memset(key, cases[i].key[0], sizeof(key));
        if (n == 0)
            memcpy(key, cases[i].key, n = strlen(cases[i].key));
        fdl_hmac_sha256(key, n, cases[i].data, strlen(cases[i].data), &d);
        fdl_digest_hex(&d, hex);
        assert_string_equal(hex, cases[i].expected);
    }
}

/* RFC 4648, section 10. */
TEST(base64)
{
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"ab", "YWI="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};
    unsigned char out[16];
    size_t n;
    for (size_t i = 0; i < FDL_COUNT_OF(pairs); i++) {
        struct fdl_text t = {0};
        fdl_text_add(&t, "%s", "");
        fdl_base64_add(&t, pairs[i][0], strlen(pairs[i][0]));
        assert_string_equal(t.data, pairs[i][1]);
        assert_true(fdl_base64_undo(t.data, out, sizeof(out), &n));
        assert_int_equal(n, strlen(pairs[i][0]));
        assert_memory_equal(out, pairs[i][0], n);
        assert_true(n == 0 || !fdl_base64_undo(t.data, out, n - 1, &n));
        fdl_text_free(&t);
    }
    static const char *const bad[] = {"Z", "Zg=", "Zg===", "Z*==", "Zg==Zg=="};
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++)
        assert_false(fdl_base64_undo(bad[i], out, sizeof(out), &n));
}

/* ---- Signature V4 -------------------------------------------------------- */

static void check_signature(const struct fdl_sigv4 *s, const char *expected)
{
    struct fdl_text t = {0};
    assert_int_equal(fdl_sigv4_authorization(s, &t), FEEDLINE_OK);
    const char *signature = strstr(t.data, ", Signature=");
    assert_non_null(signature);
    assert_string_equal(signature + strlen(", Signature="), expected);
    fdl_text_free(&t);
}

/* Amazon S3 API Reference, "Signature Calculations for the Authorization
 * Header: Transferring Payload in a Single Chunk", examples of GET. */
TEST(published_by_amazon_for_s3)
{
    struct fdl_pair headers[] = {{"x-amz-date", "20130524T000000Z"},
                                 {"x-amz-content-sha256", FDL_PAYLOAD_NONE},
                                 {"host", "examplebucket.s3.amazonaws.com"},
                                 {"range", "bytes=0-9"}};
    struct fdl_sigv4 s = {.id = "AKIAIOSFODNN7EXAMPLE",
                          .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                          .region = "us-east-1",
                          .service = "s3",
                          .time = 1369353600,
                          .method = "GET",
                          .path = "/test.txt",
                          .query = "",
                          .headers = headers,
                          .n_headers = 4,
                          .payload = FDL_PAYLOAD_NONE};
    check_signature(
        &s, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
    s.path = "/";
    s.n_headers = 3;
    s.query = "lifecycle=";
    check_signature(
        &s, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    s.query = "max-keys=2&prefix=J";
    check_signature(
        &s, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

/* AWS Signature Version 4 Test Suite: get-vanilla,
 * get-vanilla-query-order-key-case, get-header-value-trim. */
TEST(published_by_amazon_as_a_suite)
{
    struct fdl_pair headers[] = {{"host", "example.amazonaws.com"},
                                 {"x-amz-date", "20150830T123600Z"},
                                 {"my-header1", " value1"},
                                 {"my-header2", " \"a   b   c\""}};
    struct fdl_sigv4 s = {.id = "AKIDEXAMPLE",
                          .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                          .region = "us-east-1",
                          .service = "service",
                          .time = 1440938160,
                          .method = "GET",
                          .path = "/",
                          .query = "",
                          .headers = headers,
                          .n_headers = 2,
                          .payload = FDL_PAYLOAD_NONE};
    check_signature(
        &s, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    const struct fdl_pair pairs[] = {{"Param2", "value2"},
                                     {"Param1", "value1"}};
    struct fdl_text query = {0};
    fdl_percent_query(&query, pairs, 2);
    s.query = query.data;
    check_signature(
        &s, "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
    fdl_text_free(&query);
    s.query = "";
    s.n_headers = 4;
    check_signature(
        &s, "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736");
}

static const char *header(const struct fdl_request *r, const char *name)
{
    size_t n = strlen(name);
    for (int i = 0; r->headers[i]; i++)
        if (strncmp(r->headers[i], name, n) == 0 && r->headers[i][n] == ':')
            return r->headers[i] + n + 2;
    return NULL;
}

static void check_request(const struct fdl_s3_call *c, const char *url,
                          const char *expected)
{
    struct fdl_request r;
    assert_int_equal(fdl_s3_request(c, &r), FEEDLINE_OK);
    assert_string_equal(r.url, url);
    const char *signature = strstr(header(&r, "Authorization"), ", Signature=");
    assert_non_null(signature);
    assert_string_equal(signature + strlen(", Signature="), expected);
    fdl_request_free(&r);
}

/* Names of objects that other clients get wrong; botocore 1.44.5's signatures.
 */
TEST(awkward_names)
{
    char id[] = "AK", secret[] = "SK", token[] = "TOK";
    struct fdl_credentials credentials = {.id = id, .secret = secret};
    struct fdl_endpoint server, bucket;
    assert_int_equal(fdl_endpoint_parse("http://127.0.0.1:8700", "", &server),
                     FEEDLINE_OK);
    assert_int_equal(fdl_endpoint_of_bucket(&server, "bkt", false, &bucket),
                     FEEDLINE_OK);
    struct fdl_s3_call c = {.bucket = &bucket,
                            .key = "d/x y+\xc3\xa9.tar",
                            .range = "bytes=0-99",
                            .region = "us-east-1",
                            .now = 1795305600,
                            .credentials = &credentials};
    check_request(
        &c, "http://127.0.0.1:8700/bkt/d/x%20y%2B%C3%A9.tar",
        "70d73d1a7569f46762de656dcd9e7eab4779916487d603847ad03346952800c9");
    c.range = NULL;
    c.key = "a//b/./c=d&e*~(1).jpg";
    credentials.token = token;
    check_request(
        &c, "http://127.0.0.1:8700/bkt/a//b/./c%3Dd%26e%2A~%281%29.jpg",
        "6106621b59c3e989e0449ed9caac910f0c19ebada153370c64b04ae9b9a86c63");
    credentials.token = NULL;
    const struct fdl_pair query[] = {{"uploads", ""},
                                     {"prefix", "d/x y"},
                                     {"list-type", "2"},
                                     {"max-keys", "2"}};
    c.key = "";
    c.query = query;
    c.n_query = 4;
    check_request(
        &c,
        "http://127.0.0.1:8700/"
        "bkt?list-type=2&max-keys=2&prefix=d%2Fx%20y&uploads=",
        "54bf53ff567a2cd81d38e20b516d26f6fc5ac391ee8bc7895f5aeddc81bdd9bd");
}

TEST(what_is_sent)
{
    char id[] = "AK", secret[] = "SK";
    struct fdl_credentials credentials = {.id = id, .secret = secret};
    const struct fdl_endpoint bucket = {.tls = true, .host = "b.example"};
    struct fdl_s3_call c = {.bucket = &bucket,
                            .key = "k",
                            .tag = "\"e\"",
                            .region = "eu-west-3",
                            .credentials = &credentials};
    struct fdl_request r;
    assert_int_equal(fdl_s3_request(&c, &r), FEEDLINE_OK);
    assert_string_equal(header(&r, "x-amz-content-sha256"), "UNSIGNED-PAYLOAD");
    assert_null(header(&r, "If-Match")); /* the sender's */
    assert_non_null(strstr(header(&r, "Authorization"), "host;if-match;"));
    fdl_request_free(&r);
    credentials = (struct fdl_credentials){0};
    assert_int_equal(fdl_s3_request(&c, &r), FEEDLINE_OK);
    assert_string_equal(r.url, "https://b.example/k");
    assert_null(r.headers[0]);
    fdl_request_free(&r);
    char broken[] = "TOK\r\nX: y";
    credentials =
        (struct fdl_credentials){.id = id, .secret = secret, .token = broken};
    assert_int_equal(fdl_s3_request(&c, &r), FEEDLINE_EINVAL);
    assert_null(strstr(fdl_last_error(), "TOK"));
}

/* Sorted by name, not by the whole pair: '-' and '%' are before '='. */
TEST(queries_are_sorted_by_name)
{
    const struct fdl_pair pairs[] = {
        {"a", "z"}, {"a-b", "1"}, {"a b", "2"}, {"a", ""}, {"B", "/+"}};
    struct fdl_text t = {0};
    fdl_percent_query(&t, pairs, FDL_COUNT_OF(pairs));
    assert_string_equal(t.data, "B=%2F%2B&a=&a=z&a%20b=2&a-b=1");
    fdl_text_free(&t);
}

TEST(percent_undone)
{
    char good[] = "a%2fb+c%C3%A9", plain[] = "a+b";
    assert_true(fdl_percent_undo(good, true));
    assert_string_equal(good, "a/b c\xc3\xa9");
    assert_true(fdl_percent_undo(plain, false));
    assert_string_equal(plain, "a+b");
    static const char *const bad[] = {"%", "%4", "%4g", "%00", "a%"};
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        char text[8];
        strcpy(text, bad[i]);
        assert_false(fdl_percent_undo(text, false));
    }
}

/* ---- Azure --------------------------------------------------------------- */

/* The key is the published one of Azure's storage emulator; the signature was
 * computed by Python's hmac from the text that Azure's documentation,
 * "Authorize with Shared Key", prescribes. */
TEST(shared_key)
{
    const struct fdl_pair query[] = {{"restype", "container"},
                                     {"comp", "list"}};
    struct fdl_azure_key k = {
        .account = "devstoreaccount1",
        .key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6"
               "tq/K1SZFPTOtr/KBHBeksoGMGw==",
        .path = "/devstoreaccount1/box",
        .query = query,
        .n_query = 2,
        .date = "Sun, 22 Nov 2026 00:00:00 GMT",
        .version = "2021-12-02",
        .range = "bytes=0-99",
        .match = "\"0x8D\""};
    struct fdl_text t = {0};
    assert_int_equal(fdl_azure_authorization(&k, &t), FEEDLINE_OK);
    assert_string_equal(
        t.data,
        "SharedKey "
        "devstoreaccount1:OmfvKFI9nwXioEbf6hQUKxnGH8YUt7yv5FwO43gxsF8=");
    fdl_text_free(&t);
    k.key = "not*base64";
    assert_int_equal(fdl_azure_authorization(&k, &t), FEEDLINE_EINVAL);
    assert_null(strstr(fdl_last_error(), "not*"));
}

/* ---- Dates --------------------------------------------------------------- */

TEST(dates)
{
    char basic[FDL_DATE_BASIC], http[FDL_DATE_HTTP];
    int64_t t;
    fdl_date_basic(1795305600, basic);
    assert_string_equal(basic, "20261122T000000Z");
    fdl_date_http(1795305600, http);
    assert_string_equal(http, "Sun, 22 Nov 2026 00:00:00 GMT");
    assert_true(fdl_date_parse_http(http, &t));
    assert_int_equal(t, 1795305600);
    static const char *const same[] = {
        "2026-11-22T00:00:00Z", "2026-11-22T00:00:00.123Z",
        "2026-11-22T01:30:00+01:30", "2026-11-21T23:00:00-01:00"};
    for (size_t i = 0; i < FDL_COUNT_OF(same); i++) {
        assert_true(fdl_date_parse_iso(same[i], &t));
        assert_int_equal(t, 1795305600);
    }
    static const char *const bad[] = {"",
                                      "2026-11-22",
                                      "2026-13-22T00:00:00Z",
                                      "2026-11-22T00:00:00",
                                      "2026-11-22T00:00:00Zx",
                                      "2026-11-22T25:00:00Z",
                                      "x026-11-22T00:00:00Z"};
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        assert_false(fdl_date_parse_iso(bad[i], &t));
        assert_false(fdl_date_parse_http(bad[i], &t));
    }
    assert_false(fdl_date_parse_http("Sun, 22 Nov 2026 00:00:00 CET", &t));
    assert_false(fdl_date_parse_http("Sun, 22 Now 2026 00:00:00 GMT", &t));
}

TEST_MAIN("store_signing")
