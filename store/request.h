/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request to a server, ready to be sent, and what it answered. Who sends it
 * is given as a function, so that all that makes and judges requests knows no
 * network and is tested without one.
 *
 * URL, headers and body may hold credentials: nothing of them goes into a
 * message.
 */
#ifndef FDL_STORE_REQUEST_H
#define FDL_STORE_REQUEST_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FDL_REQUEST_HEADERS 12

struct fdl_request {
    const char *method; /* static: "GET", "PUT", "POST" */
    char *url;          /* http:// or https://; sent as it is */
    char *headers[FDL_REQUEST_HEADERS + 1]; /* "name: value", NULL at the end */
    char *body;                             /* or NULL */
    uint32_t timeout_ms;                    /* 0: the sender's own */
    bool follow; /* redirects; Authorization goes to the first host only */
};

struct fdl_answer {
    int32_t status;          /* of HTTP */
    struct fdl_text headers; /* "name: value" lines */
    struct fdl_text body;
};

/* Sends it and waits. EIO: there was no answer; EINVAL: nor will there be one
 * to the same request, or it is longer than max_bytes; ENOSYS, ENOMEM. Any
 * thread. */
typedef int32_t fdl_fetch(void *user, const struct fdl_request *r,
                          uint64_t max_bytes, struct fdl_answer *out);

/* What is known of a store beside its location; zeroed: the environment's. */
struct fdl_store_options {
    const char *region, *endpoint, *profile; /* NULL: the environment's */
    bool anonymous;                          /* nothing is signed */
    fdl_fetch *fetch;                        /* NULL: nothing can be asked */
    void *user;
    int64_t (*now)(void); /* Unix time; NULL: the clock's */
};

/* What to do with a request that was answered with an error. */
enum fdl_refusal {
    FDL_REFUSED_FINAL = 0,
    FDL_REFUSED_LATER, /* the same again, after a while */
    FDL_REFUSED_AGAIN /* at once, made anew: what it is made from has changed */
};

/* Adds "name: value". ENOMEM; EINVAL: a value that would end the line. */
int32_t fdl_request_header(struct fdl_request *r, const char *name,
                           const char *value);

/* Wipes it. */
void fdl_request_free(struct fdl_request *r);

/* The value of the last header of that name, cut after capacity - 1 bytes;
 * false, and "": there is none. */
bool fdl_answer_header(const struct fdl_answer *a, const char *name, char *out,
                       size_t capacity);
void fdl_answer_free(struct fdl_answer *a);

/* Wipes a text of the heap and frees it; NULL is fine. */
void fdl_wipe(char *text);

#endif
