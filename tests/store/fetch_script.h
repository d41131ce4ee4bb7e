/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server without a network: answers that are given before, in their order, to
 * requests that are written down. And an environment without anything of the
 * machine's.
 */
#ifndef FDL_TESTS_STORE_FETCH_SCRIPT_H
#define FDL_TESTS_STORE_FETCH_SCRIPT_H

#include "base/status.h"
#include "store/request.h"
#include "test.h"

#include <unistd.h>

enum { SCRIPT_MAX = 16 };

struct scripted {
    int32_t status; /* of HTTP; 0: no answer */
    const char *body, *headers;
};

static struct {
    struct scripted answers[SCRIPT_MAX];
    char *requests[SCRIPT_MAX]; /* "METHOD URL\nheaders\n\nbody" */
    int n, asked;
    int64_t now;
} script;

static inline int32_t script_fetch(void *user, const struct fdl_request *r,
                                   uint64_t max_bytes, struct fdl_answer *out)
{
    struct fdl_text t = {0};
    (void)user;
    fdl_text_add(&t, "%s %s\n", r->method, r->url);
    for (int i = 0; r->headers[i]; i++)
        fdl_text_add(&t, "%s\n", r->headers[i]);
    fdl_text_add(&t, "\n%s", r->body ? r->body : "");
    assert_true(script.asked < SCRIPT_MAX);
    script.requests[script.asked] = t.data;
    const struct scripted *a = &script.answers[script.asked++];
    if (script.asked > script.n || a->status == 0)
        return fdl_fail(FEEDLINE_EIO, "nobody is there");
    *out = (struct fdl_answer){.status = a->status};
    fdl_text_add(&out->body, "%s", a->body ? a->body : "");
    fdl_text_add(&out->headers, "%s", a->headers ? a->headers : "");
    assert_true(out->body.length <= max_bytes);
    return FEEDLINE_OK;
}

static inline int64_t script_now(void)
{
    return script.now;
}

#define SCRIPT_OPTIONS                                                         \
  {                                                                            \
    .fetch = script_fetch, .now = script_now                                   \
  }

static inline void script_answer(int32_t status, const char *body,
                                 const char *headers)
{
    assert_true(script.n < SCRIPT_MAX);
    script.answers[script.n++] = (struct scripted){status, body, headers};
}

static inline void script_reset(void)
{
    for (int i = 0; i < SCRIPT_MAX; i++)
        free(script.requests[i]);
    memset(&script, 0, sizeof(script));
    script.now = 1795305600; /* 2026-11-22 */
}

/* Was this in request i? */
static inline int script_saw(int i, const char *text)
{
    return script.requests[i] && strstr(script.requests[i], text);
}

static inline void script_clear_environment(void)
{
    assert_int_equal(clearenv(), 0);
    assert_int_equal(setenv("HOME", "/nowhere/at/all", 1), 0);
    script_reset();
}

#endif
