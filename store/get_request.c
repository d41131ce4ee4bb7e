/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request of any method, for the little that stores ask for beside objects:
 * credentials and lists. Connections are kept for the next one, of whatever
 * thread; after a fork those of the parent are left alone.
 */
#include "base/lock.h"
#include "base/thread.h"
#include "store/attempt.h"
#include "store/get.h"

#include <string.h>

#define TIMEOUT_MS 30000L
#define IDLE_MOST  32u

static struct fdl_lock lock = FDL_LOCK_INIT(FDL_RANK_IDLE_REQUESTS);
static void *idle[IDLE_MOST]; /* libcurl's handles */
static uint32_t n_idle, generation;

/* NULL: no memory. */
static void *take_handle(const struct fdl_curl *curl)
{
    void *easy = NULL;
    uint32_t now = fdl_fork_generation();
    fdl_lock(&lock);
    if (generation != now)
        n_idle = 0;
    generation = now;
    if (n_idle > 0)
        easy = idle[--n_idle];
    fdl_unlock(&lock);
    return easy ? easy : curl->EasyInit();
}

static void give_handle(const struct fdl_curl *curl, void *easy)
{
    curl->EasyReset(easy); /* its connections stay */
    fdl_lock(&lock);
    bool keep = n_idle < IDLE_MOST && generation == fdl_fork_generation();
    if (keep)
        idle[n_idle++] = easy;
    fdl_unlock(&lock);
    if (!keep)
        curl->EasyCleanup(easy);
}

struct asked {
    struct fdl_answer *answer;
    uint64_t left; /* of what may come */
    bool too_long;
};

static size_t on_header(char *line, size_t one, size_t n, void *user)
{
    const struct asked *a = user;
    (void)one;
    if (n > 5 && strncmp(line, "HTTP/", 5) == 0) /* after a redirect, anew */
        fdl_text_clear(&a->answer->headers);
    else
        fdl_text_add(&a->answer->headers, "%.*s", (int)n, line);
    return n;
}

static size_t on_bytes(char *bytes, size_t one, size_t n, void *user)
{
    struct asked *a = user;
    struct fdl_text *body = &a->answer->body;
    (void)one;
    a->too_long = n > a->left;
    if (a->too_long || !fdl_text_reserve(body, n))
        return 0;
    memcpy(body->data + body->length, bytes, n);
    body->length += n;
    body->data[body->length] = '\0';
    a->left -= n;
    return n;
}

static bool add_headers(const struct fdl_curl *curl,
                        const struct fdl_request *r,
                        struct fdl_curl_list **list)
{
    for (uint32_t i = 0; r->headers[i]; i++) {
        struct fdl_curl_list *longer = curl->ListAdd(*list, r->headers[i]);
        if (!longer)
            return false;
        *list = longer;
    }
    return true;
}

static int perform(const struct fdl_curl *curl, void *easy,
                   const struct fdl_request *r, struct asked *asked,
                   char error[FDL_CURL_ERROR_BYTES])
{
    long timeout = r->timeout_ms ? (long)r->timeout_ms : TIMEOUT_MS, code = 0;
    bool tls = strncmp(r->url, "https:", 6) == 0;
    fdl_attempt_usual(curl, easy, tls, r->follow);
    curl->EasySet(easy, FDL_CURL_OPT_URL, r->url);
    curl->EasySet(easy, FDL_CURL_OPT_TIMEOUT_MS, timeout);
    curl->EasySet(easy, FDL_CURL_OPT_CUSTOMREQUEST, r->method);
    if (r->body)
        curl->EasySet(easy, FDL_CURL_OPT_POSTFIELDS, r->body);
    curl->EasySet(easy, FDL_CURL_OPT_WRITEFUNCTION, on_bytes);
    curl->EasySet(easy, FDL_CURL_OPT_WRITEDATA, asked);
    curl->EasySet(easy, FDL_CURL_OPT_HEADERFUNCTION, on_header);
    curl->EasySet(easy, FDL_CURL_OPT_HEADERDATA, asked);
    curl->EasySet(easy, FDL_CURL_OPT_ERRORBUFFER, error);
    int result = curl->EasyPerform(easy);
    curl->EasyGet(easy, FDL_CURL_INFO_RESPONSE_CODE, &code);
    asked->answer->status = (int32_t)code;
    return result;
}

int32_t fdl_get_request(void *user, const struct fdl_request *r,
                        uint64_t max_bytes, struct fdl_answer *out)
{
    const struct fdl_curl *curl;
    struct fdl_curl_list *list = NULL;
    struct asked asked = {.answer = out, .left = max_bytes};
    char error[FDL_CURL_ERROR_BYTES] = "", why[FDL_CURL_ERROR_BYTES];
    (void)user;
    int32_t status = fdl_curl_load(&curl);
    if (status)
        return status;
    void *easy = take_handle(curl);
    if (!easy || !add_headers(curl, r, &list)) {
        status = fdl_fail_memory(sizeof(*r), "a request");
    } else {
        curl->EasySet(easy, FDL_CURL_OPT_HTTPHEADER, list);
        int code = perform(curl, easy, r, &asked, error);
        fdl_attempt_words(curl, code, error, why, sizeof(why));
        if (asked.too_long)
            status =
                fdl_fail(FEEDLINE_EINVAL, "an answer of more than %llu bytes",
                         (unsigned long long)max_bytes);
        else if (code != FDL_CURL_E_OK)
            status = fdl_fail(fdl_attempt_stays(code) ? FEEDLINE_EINVAL
                                                      : FEEDLINE_EIO,
                              "%s", why);
    }
    if (easy)
        give_handle(curl, easy);
    if (list)
        curl->ListFree(list);
    return status;
}
