/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request to a server, on a handle of libcurl: it is sent, its answer is
 * checked before a byte of it is used, and the bytes go to their place at once.
 */
#ifndef FDL_STORE_ATTEMPT_H
#define FDL_STORE_ATTEMPT_H

#include "store/curl_api.h"
#include "store/reply.h"
#include "store/request.h"

#include <stdbool.h>
#include <stdint.h>

#define FDL_ATTEMPT_WHY 256

enum fdl_attempt_go {
    FDL_ATTEMPT_GO,    /* `to` is set */
    FDL_ATTEMPT_LATER, /* there is no place yet: fdl_attempt_resume */
    FDL_ATTEMPT_STOP   /* nobody wants it any more */
};

struct fdl_attempt {
    /* By the caller. */
    struct fdl_asked asked;
    struct fdl_request request; /* freed with the attempt */
    const char *range, *tag;    /* headers; NULL: none. Until it was sent. */
    uint32_t stall_s;           /* no byte for so long is an error */
    uint32_t connect_ms;
    bool fresh;  /* on a connection of its own */
    bool second; /* beside another one */
    int64_t began_ns;
    void *user;
    /* The answer is right, and `bytes` of it will come. */
    enum fdl_attempt_go (*place)(struct fdl_attempt *a);
    uint8_t *to;

    /* What came of it. */
    struct fdl_reply reply;
    bool judged; /* `is` and the rest are set */
    enum fdl_reply_is is;
    int32_t status;
    char why[FDL_ATTEMPT_WHY];
    uint64_t bytes, got;
    struct fdl_answer answer; /* of an error */
    bool paused, dropped;     /* dropped: no byte of it counts */
    bool unreachable;         /* the connection failed, and not the server */

    /* Its own. */
    const struct fdl_curl *curl;
    void *easy;
    struct fdl_curl_list *headers;
    char error[FDL_CURL_ERROR_BYTES];
    struct fdl_attempt *next; /* of its download, or idle */
};

/* Makes the handle ready for the request; the caller adds it to the others.
 * ENOMEM. */
int32_t fdl_attempt_prepare(struct fdl_attempt *a, const struct fdl_curl *curl);

/* Goes on where place said LATER. */
void fdl_attempt_resume(struct fdl_attempt *a);

/* libcurl has ended it with `code`. */
void fdl_attempt_end(struct fdl_attempt *a, int code);

/* It is of nobody; the handle stays. */
void fdl_attempt_clear(struct fdl_attempt *a);

/* What all requests have in common; also for get.c. */
void fdl_attempt_usual(const struct fdl_curl *curl, void *easy, bool tls,
                       bool follow);

/* Whether what libcurl ended with `code` ends so the next time as well. */
bool fdl_attempt_stays(int code);

/* "curl: host not found", of a code and what libcurl wrote. */
void fdl_attempt_words(const struct fdl_curl *curl, int code, const char *error,
                       char *why, size_t bytes);

#endif
