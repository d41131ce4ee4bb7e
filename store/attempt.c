/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1, one range per connection at a time: many ranges over one connection
 * would share the rate of one. Certificates are always verified; where they are
 * is libcurl's to know, unless CURL_CA_BUNDLE or SSL_CERT_FILE name a file, as
 * for the program curl.
 *
 * A redirect never leaves its scheme, and libcurl sends Authorization to the
 * first host only.
 */
#include "store/attempt.h"

#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_REDIRECTS    5L
#define SOCKET_BYTES     (512L << 10) /* libcurl's largest buffer */
#define ERROR_BODY_BYTES 4096u        /* what is kept of it */
#define ERROR_BODY_MOST  (1u << 20)   /* more is not listened to */

#define WORDS_(x) #x
#define WORDS(x)  WORDS_(x)
#define AGENT                                                                  \
  "feedline/" WORDS(FEEDLINE_VERSION_MAJOR) "." WORDS(                         \
      FEEDLINE_VERSION_MINOR) "." WORDS(FEEDLINE_VERSION_PATCH)

void fdl_attempt_usual(const struct fdl_curl *curl, void *easy, bool tls,
                       bool follow)
{
    const char *bundle = getenv("CURL_CA_BUNDLE");
    if (!bundle || !*bundle)
        bundle = getenv("SSL_CERT_FILE");
    long protocol = tls ? FDL_CURL_HTTPS : FDL_CURL_HTTP;
    curl->EasySet(easy, FDL_CURL_OPT_NOSIGNAL, 1L);
    curl->EasySet(easy, FDL_CURL_OPT_USERAGENT, AGENT);
    curl->EasySet(easy, FDL_CURL_OPT_PROTOCOLS, protocol);
    curl->EasySet(easy, FDL_CURL_OPT_REDIR_PROTOCOLS, protocol);
    curl->EasySet(easy, FDL_CURL_OPT_FOLLOWLOCATION, follow ? 1L : 0L);
    curl->EasySet(easy, FDL_CURL_OPT_MAXREDIRS, MAX_REDIRECTS);
    curl->EasySet(easy, FDL_CURL_OPT_PATH_AS_IS, 1L);
    curl->EasySet(easy, FDL_CURL_OPT_HTTP_VERSION, (long)FDL_CURL_HTTP_1_1);
    curl->EasySet(easy, FDL_CURL_OPT_TCP_KEEPALIVE, 1L);
    curl->EasySet(easy, FDL_CURL_OPT_DNS_SHUFFLE_ADDRESSES, 1L);
    if (bundle && *bundle)
        curl->EasySet(easy, FDL_CURL_OPT_CAINFO, bundle);
}

void fdl_attempt_words(const struct fdl_curl *curl, int code, const char *error,
                       char *why, size_t bytes)
{
    snprintf(why, bytes, "%s", *error ? error : curl->EasyWords(code));
}

/* ---- The answer ---------------------------------------------------------- */

static void judge(struct fdl_attempt *a)
{
    if (a->judged)
        return;
    a->judged = true;
    a->is = fdl_reply_check(&a->reply, &a->asked, &a->bytes, &a->status, a->why,
                            sizeof(a->why));
}

static void fail(struct fdl_attempt *a, enum fdl_reply_is is, const char *why)
{
    a->judged = true;
    a->is = is;
    a->status = FEEDLINE_EIO;
    snprintf(a->why, sizeof(a->why), "%s", why);
}

static size_t on_header(char *line, size_t one, size_t n, void *user)
{
    struct fdl_attempt *a = user;
    (void)one;
    fdl_reply_line(&a->reply, line, n);
    if (a->reply.status < 300)
        return n;
    if (n > 5 && strncasecmp(line, "HTTP/", 5) == 0)
        fdl_text_clear(&a->answer.headers);
    if (a->answer.headers.length < ERROR_BODY_BYTES)
        fdl_text_add(&a->answer.headers, "%.*s", (int)n, line);
    return n;
}

/* Of an answer that is none of ours; it may have a reason. 0 ends the rest. */
static size_t take_error(struct fdl_attempt *a, const char *bytes, size_t n)
{
    struct fdl_text *body = &a->answer.body;
    if (a->reply.status < 300)
        return 0;
    if (body->length < ERROR_BODY_BYTES)
        fdl_text_add(body, "%.*s",
                     (int)FDL_MIN(n, ERROR_BODY_BYTES - body->length), bytes);
    a->got += n;
    return a->got > ERROR_BODY_MOST ? 0 : n;
}

/* 0: ended. */
static size_t on_bytes(char *bytes, size_t one, size_t n, void *user)
{
    struct fdl_attempt *a = user;
    (void)one;
    if (a->dropped)
        return 0;
    judge(a);
    if (a->is != FDL_REPLY_GOOD)
        return take_error(a, bytes, n);
    if (n > a->bytes - a->got) {
        fail(a, FDL_REPLY_BAD, "the server sends more than it said");
        return 0;
    }
    if (!a->to) {
        enum fdl_attempt_go go = a->place(a);
        a->paused = go == FDL_ATTEMPT_LATER;
        if (go != FDL_ATTEMPT_GO)
            return a->paused ? FDL_CURL_PAUSE : 0;
    }
    memcpy(a->to + a->got, bytes, n);
    a->got += n;
    return n;
}

void fdl_attempt_resume(struct fdl_attempt *a)
{
    a->paused = false;
    a->curl->Pause(a->easy, FDL_CURL_CONTINUE);
}

bool fdl_attempt_stays(int code)
{
    return code == FDL_CURL_E_URL_MALFORMAT ||
           code == FDL_CURL_E_TOO_MANY_REDIRECTS ||
           code == FDL_CURL_E_PEER_FAILED_VERIFICATION ||
           code == FDL_CURL_E_SSL_CACERT_BADFILE;
}

static bool stays(const struct fdl_attempt *a, int code)
{
    if (code == FDL_CURL_E_UNSUPPORTED_PROTOCOL) /* or it was no HTTP at all */
        return a->reply.status >= 300 && a->reply.status < 400;
    return fdl_attempt_stays(code);
}

void fdl_attempt_end(struct fdl_attempt *a, int code)
{
    char why[FDL_ATTEMPT_WHY];
    bool was_bad = a->judged && a->is != FDL_REPLY_GOOD;
    if (code == FDL_CURL_E_OK)
        judge(a);
    if (a->dropped || was_bad || (a->judged && a->is != FDL_REPLY_GOOD))
        return;
    if (code != FDL_CURL_E_OK) {
        fdl_attempt_words(a->curl, code, a->error, why, sizeof(why));
        a->unreachable = true;
        fail(a, stays(a, code) ? FDL_REPLY_BAD : FDL_REPLY_PASSING, why);
    } else if (a->got < a->bytes) {
        fail(a, FDL_REPLY_PASSING, "the server sends less than it said");
    } else if (!a->to && a->place(a) == FDL_ATTEMPT_LATER) { /* no bytes */
        fail(a, FDL_REPLY_PASSING, "no memory");
    }
}

/* ---- The request --------------------------------------------------------- */

static bool add_header(struct fdl_attempt *a, const char *text)
{
    struct fdl_curl_list *list = a->curl->ListAdd(a->headers, text);
    if (list)
        a->headers = list;
    return list != NULL;
}

static bool add_headers(struct fdl_attempt *a)
{
    char text[FDL_TAG_BYTES + 16];
    for (uint32_t i = 0; a->request.headers[i]; i++)
        if (!add_header(a, a->request.headers[i]))
            return false;
    if (!a->tag)
        return true;
    snprintf(text, sizeof(text), "If-Match: %s", a->tag);
    return add_header(a, text);
}

int32_t fdl_attempt_prepare(struct fdl_attempt *a, const struct fdl_curl *curl)
{
    a->curl = curl;
    if (!a->easy)
        a->easy = curl->EasyInit();
    if (!a->easy || !add_headers(a))
        return fdl_fail_memory(sizeof(*a), "a request");
    void *easy = a->easy;
    bool tls = strncmp(a->request.url, "https:", 6) == 0;
    fdl_attempt_usual(curl, easy, tls, a->request.follow);
    curl->EasySet(easy, FDL_CURL_OPT_URL, a->request.url);
    curl->EasySet(easy, FDL_CURL_OPT_HTTPHEADER, a->headers);
    curl->EasySet(easy, FDL_CURL_OPT_RANGE,
                  a->range ? a->range + strlen("bytes=") : NULL);
    curl->EasySet(easy, FDL_CURL_OPT_WRITEFUNCTION, on_bytes);
    curl->EasySet(easy, FDL_CURL_OPT_WRITEDATA, a);
    curl->EasySet(easy, FDL_CURL_OPT_HEADERFUNCTION, on_header);
    curl->EasySet(easy, FDL_CURL_OPT_HEADERDATA, a);
    curl->EasySet(easy, FDL_CURL_OPT_ERRORBUFFER, a->error);
    curl->EasySet(easy, FDL_CURL_OPT_PRIVATE, a);
    curl->EasySet(easy, FDL_CURL_OPT_BUFFERSIZE, SOCKET_BYTES);
    curl->EasySet(easy, FDL_CURL_OPT_CONNECTTIMEOUT_MS, (long)a->connect_ms);
    curl->EasySet(easy, FDL_CURL_OPT_LOW_SPEED_LIMIT, 1L);
    curl->EasySet(easy, FDL_CURL_OPT_LOW_SPEED_TIME, (long)a->stall_s);
    curl->EasySet(easy, FDL_CURL_OPT_FRESH_CONNECT, a->fresh ? 1L : 0L);
    return FEEDLINE_OK;
}

void fdl_attempt_clear(struct fdl_attempt *a)
{
    const struct fdl_curl *curl = a->curl;
    void *easy = a->easy;
    if (easy)
        curl->EasyReset(easy);
    if (a->headers)
        curl->ListFree(a->headers);
    fdl_request_free(&a->request);
    fdl_answer_free(&a->answer);
    *a = (struct fdl_attempt){.curl = curl, .easy = easy};
}
