/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server answers to a GET, from its header lines, and whether that is
 * what was asked for. A byte of the body is used only once that is known.
 */
#ifndef FDL_STORE_REPLY_H
#define FDL_STORE_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FDL_TAG_BYTES 128u

struct fdl_reply {
    int status;                 /* 0: no line yet */
    int64_t length;             /* of the body; -1: not said */
    int64_t first, last, total; /* Content-Range; -1: not said */
    int64_t retry_after_s;      /* -1: not said */
    bool encoded;               /* the body is not the object's bytes */
    bool strong;                /* tag names bytes: an ETag that is not weak */
    char tag[FDL_TAG_BYTES];    /* ETag, else Last-Modified; "": neither */
};

/* Any line; a status line begins a new answer, as after a redirect. */
void fdl_reply_line(struct fdl_reply *a, const char *line, size_t bytes);

/* Asked for: bytes from `offset` on, `length` of them or, if that is negative,
 * to the end of the object. */
struct fdl_asked {
    uint64_t offset;
    int64_t length;
    bool ranged; /* by a Range */
    bool up_to;  /* fewer where the object ends */
};

enum fdl_reply_is {
    FDL_REPLY_GOOD,    /* *bytes will come */
    FDL_REPLY_PASSING, /* it may be better the next time */
    FDL_REPLY_REFUSED, /* 400, 401, 403: a store may know what to do */
    FDL_REPLY_CHANGED, /* 412: another object is there now */
    FDL_REPLY_BAD
};

/* why: one line, unless it is good; *status: FEEDLINE_ENOENT, EIO. */
enum fdl_reply_is fdl_reply_check(const struct fdl_reply *a,
                                  const struct fdl_asked *asked,
                                  uint64_t *bytes, int32_t *status, char *why,
                                  size_t why_bytes);

#endif
