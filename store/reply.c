/* SPDX-License-Identifier: Apache-2.0 */
#include "store/reply.h"

#include "base/status.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Header lines -------------------------------------------------------- */

/* Digits at *at, which moves behind them; -1: there are none, or too many. */
static int64_t take_number(const char **at)
{
    const char *digits = *at;
    if (!isdigit((unsigned char)*digits))
        return -1;
    errno = 0;
    char *end;
    long long value = strtoll(digits, &end, 10);
    *at = end;
    return errno ? -1 : value;
}

static int64_t whole_number(const char *text)
{
    int64_t value = take_number(&text);
    return *text == '\0' ? value : -1;
}

/* "bytes 0-99/1000", "bytes 0-99/" and a star, "bytes", a star, "/1000". */
static void take_range(struct fdl_reply *a, const char *text)
{
    if (strncasecmp(text, "bytes ", 6) != 0)
        return;
    text += 6;
    if (*text == '*') {
        text++;
    } else {
        a->first = take_number(&text);
        if (*text++ != '-')
            return;
        a->last = take_number(&text);
    }
    if (*text == '/')
        a->total = whole_number(text + 1);
}

static void take_tag(struct fdl_reply *a, const char *text, bool is_etag)
{
    size_t n = strlen(text);
    if (n == 0 || n >= sizeof(a->tag) || (!is_etag && *a->tag))
        return;
    memcpy(a->tag, text, n + 1);
    a->strong = is_etag && *text == '"';
}

static void take_header(struct fdl_reply *a, const char *name,
                        const char *value)
{
    if (strcasecmp(name, "content-length") == 0)
        a->length = whole_number(value);
    else if (strcasecmp(name, "content-range") == 0)
        take_range(a, value);
    else if (strcasecmp(name, "content-encoding") == 0)
        a->encoded = *value && strcasecmp(value, "identity") != 0;
    else if (strcasecmp(name, "etag") == 0)
        take_tag(a, value, true);
    else if (strcasecmp(name, "last-modified") == 0)
        take_tag(a, value, false);
    else if (strcasecmp(name, "retry-after") == 0)
        a->retry_after_s = whole_number(value);
}

static void begin(struct fdl_reply *a, const char *line)
{
    const char *code = strchr(line, ' ');
    *a = (struct fdl_reply){.length = -1,
                            .first = -1,
                            .last = -1,
                            .total = -1,
                            .retry_after_s = -1,
                            .status = code ? atoi(code) : 0};
}

void fdl_reply_line(struct fdl_reply *a, const char *line, size_t bytes)
{
    char text[1024];
    if (bytes >= sizeof(text)) /* none that is known is so long */
        return;
    memcpy(text, line, bytes);
    text[bytes] = '\0';
    while (bytes > 0 && isspace((unsigned char)text[bytes - 1]))
        text[--bytes] = '\0';
    if (strncasecmp(text, "HTTP/", 5) == 0) {
        begin(a, text);
        return;
    }
    char *colon = strchr(text, ':');
    if (!colon)
        return;
    *colon = '\0';
    take_header(a, text, colon + 1 + strspn(colon + 1, " \t"));
}

/* ---- What it means ------------------------------------------------------- */

/* Where it says what is wrong. */
struct words {
    char *at;
    size_t bytes;
    int32_t *status;
};

static enum fdl_reply_is say(const struct words *w, enum fdl_reply_is is,
                             const char *fmt, ...) FDL_PRINTF(3, 4);
static enum fdl_reply_is say(const struct words *w, enum fdl_reply_is is,
                             const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fdl_format_line(w->at, w->bytes, fmt, args);
    va_end(args);
    *w->status = FEEDLINE_EIO;
    return is;
}

static enum fdl_reply_is check_part(const struct fdl_reply *a,
                                    const struct fdl_asked *asked,
                                    const struct words *w, uint64_t *bytes)
{
    if (a->first < 0 || a->last < a->first)
        return say(w, FDL_REPLY_BAD,
                   "HTTP 206, and no Content-Range says which part");
    if ((uint64_t)a->first != asked->offset)
        return say(w, FDL_REPLY_BAD,
                   "the server sends bytes from %" PRId64 " on", a->first);
    uint64_t n = (uint64_t)(a->last - a->first) + 1;
    if (asked->length >= 0 && n > (uint64_t)asked->length)
        return say(w, FDL_REPLY_BAD, "the server sends %" PRIu64 " bytes", n);
    bool ends = a->total == a->last + 1;
    if (asked->length >= 0 && n < (uint64_t)asked->length &&
        !(asked->up_to && ends))
        return say(w, ends ? FDL_REPLY_BAD : FDL_REPLY_PASSING,
                   "expected %" PRId64 " bytes at offset %" PRIu64
                   ", got %" PRIu64 "%s",
                   asked->length, asked->offset, n,
                   ends ? ", which is all there is" : "");
    if (a->length >= 0 && (uint64_t)a->length != n)
        return say(w, FDL_REPLY_BAD,
                   "Content-Range says %" PRIu64 " bytes, and Content-Length "
                   "%" PRId64,
                   n, a->length);
    *bytes = n;
    return FDL_REPLY_GOOD;
}

static enum fdl_reply_is check_whole(const struct fdl_reply *a,
                                     const struct fdl_asked *asked,
                                     const struct words *w, uint64_t *bytes)
{
    if (a->length < 0)
        return say(w, FDL_REPLY_BAD,
                   "the server does not say how long the object is");
    bool fits = asked->up_to ? a->length <= asked->length
                             : asked->length < 0 || a->length == asked->length;
    if (asked->ranged && (asked->offset > 0 || !fits))
        return say(w, FDL_REPLY_BAD,
                   "the server sends the whole object, and no part of it: it "
                   "does not know ranges");
    if (!fits)
        return say(w, FDL_REPLY_BAD,
                   "the object had %" PRId64 " bytes, and now has %" PRId64,
                   asked->length, a->length);
    *bytes = (uint64_t)a->length;
    return FDL_REPLY_GOOD;
}

/* 416: there is no byte at the offset. */
static enum fdl_reply_is check_end(const struct fdl_reply *a,
                                   const struct fdl_asked *asked,
                                   const struct words *w, uint64_t *bytes)
{
    if (a->total >= 0 && (uint64_t)a->total == asked->offset &&
        (asked->length <= 0 || asked->up_to)) {
        *bytes = 0;
        return FDL_REPLY_GOOD;
    }
    if (a->total < 0)
        return say(w, FDL_REPLY_BAD, "HTTP 416: the range is not in it");
    if (asked->offset > (uint64_t)a->total)
        return say(w, FDL_REPLY_BAD,
                   "offset %" PRIu64 " is past the end of the object, which "
                   "has %" PRId64 " bytes",
                   asked->offset, a->total);
    return say(w, FDL_REPLY_BAD,
               "expected %" PRId64 " bytes at offset %" PRIu64 ", got %" PRIu64
               ", which is all there is",
               asked->length, asked->offset,
               (uint64_t)a->total - asked->offset);
}

static enum fdl_reply_is check_status(const struct fdl_reply *a,
                                      const struct words *w)
{
    switch (a->status) {
    case 404:
    case 410:
        say(w, FDL_REPLY_BAD, "HTTP %d: no such object", a->status);
        *w->status = FEEDLINE_ENOENT;
        return FDL_REPLY_BAD;
    case 400:
        return say(w, FDL_REPLY_REFUSED, "HTTP 400: a bad request");
    case 401:
    case 403:
        return say(w, FDL_REPLY_REFUSED, "HTTP %d: access is denied",
                   a->status);
    case 412:
        return say(w, FDL_REPLY_CHANGED, "HTTP 412");
    case 408:
    case 425:
    case 429:
        return say(w, FDL_REPLY_PASSING, "HTTP %d: the server is busy",
                   a->status);
    default:
        break;
    }
    if (a->status >= 500 && a->status < 600)
        return say(w, FDL_REPLY_PASSING, "HTTP %d: the server has failed",
                   a->status);
    if (a->status >= 300 && a->status < 400)
        return say(w, FDL_REPLY_BAD, "HTTP %d: a redirect that is not taken",
                   a->status);
    return say(w, FDL_REPLY_BAD, "HTTP %d", a->status);
}

enum fdl_reply_is fdl_reply_check(const struct fdl_reply *a,
                                  const struct fdl_asked *asked,
                                  uint64_t *bytes, int32_t *status, char *why,
                                  size_t why_bytes)
{
    const struct words w = {why, why_bytes, status};
    if (a->status == 416 && asked->ranged)
        return check_end(a, asked, &w, bytes);
    if (a->status != 200 && (a->status != 206 || !asked->ranged))
        return check_status(a, &w);
    if (a->encoded)
        return say(&w, FDL_REPLY_BAD,
                   "the server sends it with a Content-Encoding, and not as "
                   "it is");
    return a->status == 206 ? check_part(a, asked, &w, bytes)
                            : check_whole(a, asked, &w, bytes);
}
