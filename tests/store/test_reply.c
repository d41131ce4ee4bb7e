/* SPDX-License-Identifier: Apache-2.0 */
/* Header lines of servers, and what they mean for what was asked. */
#include "base/compiler.h"
#include "base/status.h"
#include "store/reply.h"
#include "test.h"

static struct fdl_reply reply_of(const char *lines)
{
    struct fdl_reply r = {0};
    while (*lines) {
        size_t n = strcspn(lines, "\n") + 1;
        fdl_reply_line(&r, lines, n);
        lines += n;
    }
    return r;
}

TEST(takes_what_counts)
{
    struct fdl_reply r = reply_of("HTTP/1.1 206 Partial Content\r\n"
                                  "CONTENT-length:  100 \r\n"
                                  "Content-Range: bytes 5-104/1000\r\n"
                                  "Last-Modified: Sun, 22 Nov 2026\r\n"
                                  "ETag: \"a:b\"\r\n"
                                  "Server: x\r\n"
                                  "\r\n");
    assert_int_equal(r.status, 206);
    assert_int_equal(r.length, 100);
    assert_int_equal(r.first, 5);
    assert_int_equal(r.last, 104);
    assert_int_equal(r.total, 1000);
    assert_string_equal(r.tag, "\"a:b\"");
    assert_true(r.strong);
    assert_false(r.encoded);
}

TEST(a_status_line_begins_anew)
{
    struct fdl_reply r = reply_of("HTTP/1.1 302 Found\r\n"
                                  "Content-Length: 7\r\n"
                                  "ETag: \"old\"\r\n\r\n"
                                  "HTTP/1.1 200 OK\r\n\r\n");
    assert_int_equal(r.status, 200);
    assert_int_equal(r.length, -1);
    assert_string_equal(r.tag, "");
}

TEST(weak_tags_and_dates_name_no_bytes)
{
    struct fdl_reply r = reply_of("HTTP/1.1 200\r\nETag: W/\"x\"\r\n"
                                  "Last-Modified: yesterday\r\n");
    assert_string_equal(r.tag, "W/\"x\"");
    assert_false(r.strong);
    r = reply_of("HTTP/1.1 200\r\nLast-Modified: yesterday\r\n");
    assert_string_equal(r.tag, "yesterday");
    assert_false(r.strong);
}

static const struct fdl_asked part = {100, 50, true, false};
static const struct fdl_asked some = {0, 50, true, true};
static const struct fdl_asked rest = {100, -1, true, false};
static const struct fdl_asked all = {0, -1, false, false};

#define PART(range) "HTTP/1.1 206\nContent-Range: bytes " range "\n"

/* What is asked, what comes, and what is made of it. */
static const struct {
    const struct fdl_asked *asked;
    const char *lines;
    enum fdl_reply_is is;
    int64_t bytes;
    const char *why;
} rows[] = {
    {&part, PART("100-149/1000"), FDL_REPLY_GOOD, 50, ""},
    {&part, PART("100-149/*"), FDL_REPLY_GOOD, 50, ""},
    {&part, PART("100-149/1000") "Content-Length: 49\n", FDL_REPLY_BAD, 0,
     "Content-Length 49"},
    {&part, PART("101-150/1000"), FDL_REPLY_BAD, 0, "from 101 on"},
    {&part, PART("100-150/1000"), FDL_REPLY_BAD, 0, "sends 51 bytes"},
    {&part, PART("100-148/1000"), FDL_REPLY_PASSING, 0, "got 49"},
    {&part, PART("100-120/121"), FDL_REPLY_BAD, 0, "which is all there is"},
    {&part, PART("100-99/1000"), FDL_REPLY_BAD, 0, "no Content-Range"},
    {&part, PART("x"), FDL_REPLY_BAD, 0, "no Content-Range"},
    {&part, PART("100-99999999999999999999/1"), FDL_REPLY_BAD, 0, "no Content"},
    {&part, "HTTP/1.1 206\n", FDL_REPLY_BAD, 0, "no Content-Range"},
    {&part, "HTTP/1.1 200\nContent-Length: 50\n", FDL_REPLY_BAD, 0,
     "does not know ranges"},
    {&part, "HTTP/1.1 416\nContent-Range: bytes */10\n", FDL_REPLY_BAD, 0,
     "past the end of the object, which has 10"},
    {&part, "HTTP/1.1 416\n", FDL_REPLY_BAD, 0, "not in it"},
    {&part, "HTTP/1.1 304\n", FDL_REPLY_BAD, 0, "a redirect that is not"},
    {&some, PART("0-9/10"), FDL_REPLY_GOOD, 10, ""},
    {&some, PART("0-9/100"), FDL_REPLY_PASSING, 0, "got 10"},
    {&some, "HTTP/1.1 200\nContent-Length: 50\n", FDL_REPLY_GOOD, 50, ""},
    {&some, "HTTP/1.1 416\nContent-Range: bytes */0\n", FDL_REPLY_GOOD, 0, ""},
    {&rest, PART("100-149/150"), FDL_REPLY_GOOD, 50, ""},
    {&rest, "HTTP/1.1 416\nContent-Range: bytes */100\n", FDL_REPLY_GOOD, 0,
     ""},
    {&rest, "HTTP/1.1 416\nContent-Range: bytes */99\n", FDL_REPLY_BAD, 0,
     "past the end"},
    {&all, "HTTP/1.1 200\nContent-Length: 7\n", FDL_REPLY_GOOD, 7, ""},
    {&all, "HTTP/1.1 200\nContent-Length: -7\n", FDL_REPLY_BAD, 0, "how long"},
    {&all, "HTTP/1.1 200\n", FDL_REPLY_BAD, 0, "how long"},
    {&all, PART("0-6/7"), FDL_REPLY_BAD, 0, "HTTP 206"},
    {&all, "HTTP/1.1 200\nContent-Length: 7\nContent-Encoding: gzip\n",
     FDL_REPLY_BAD, 0, "Content-Encoding"},
    {&all, "HTTP/1.1 404\n", FDL_REPLY_BAD, 0, "no such object"},
    {&all, "HTTP/1.1 403\n", FDL_REPLY_REFUSED, 0, "denied"},
    {&all, "HTTP/1.1 412\n", FDL_REPLY_CHANGED, 0, "412"},
    {&all, "HTTP/1.1 429\n", FDL_REPLY_PASSING, 0, "429"},
    {&all, "HTTP/1.1 408\n", FDL_REPLY_PASSING, 0, "408"},
    {&all, "HTTP/1.1 503\n", FDL_REPLY_PASSING, 0, "503"},
    {&all, "HTTP/1.1 999\n", FDL_REPLY_BAD, 0, "999"},
    {&all, "HTTP/nothing\n", FDL_REPLY_BAD, 0, "HTTP 0"},
};

TEST(knows_what_it_asked_for)
{
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        struct fdl_reply r = reply_of(rows[i].lines);
        uint64_t bytes = 0;
        int32_t status = 0;
        char why[128] = "";
        enum fdl_reply_is is = fdl_reply_check(&r, rows[i].asked, &bytes,
                                               &status, why, sizeof(why));
        if (is != rows[i].is || !strstr(why, rows[i].why))
            fail_msg("row %d: %d, %s", (int)i, (int)is, why);
        assert_int_equal(bytes, rows[i].bytes);
        if (is == FDL_REPLY_GOOD)
            assert_int_equal(status, 0);
        else
            assert_int_equal(status,
                             r.status == 404 ? FEEDLINE_ENOENT : FEEDLINE_EIO);
    }
}

/* A server may send anything. */
TEST(any_line)
{
    uint64_t x = test_seed() | 1;
    for (int round = 0; round < 20000; round++) {
        char line[64] = "Content-Range: bytes ";
        size_t at = round % 2 ? strlen(line) : 0;
        for (; at < sizeof(line); at++) {
            x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
            line[at] = round % 3 ? "0123456789-/* :\r\n"[(x >> 33) % 17]
                                 : (char)(x >> 33);
        }
        struct fdl_reply r = reply_of("HTTP/1.1 206\n");
        fdl_reply_line(&r, line, sizeof(line));
        uint64_t bytes = 0;
        int32_t status = 0;
        char why[64];
        if (fdl_reply_check(&r, &part, &bytes, &status, why, sizeof(why)) ==
            FDL_REPLY_GOOD)
            assert_int_equal(bytes, 50);
    }
}

TEST_MAIN("reply")
