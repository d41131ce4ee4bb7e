/* SPDX-License-Identifier: Apache-2.0 */
#include "store/refusal.h"

#include "base/json_scan.h"
#include "base/status.h"
#include "store/xml.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define JSON_DEPTH 8
/* Before it is cut: it is searched for secrets as a whole. */
#define MESSAGE_BYTES FDL_XML_TEXT_BYTES
#define DATE_BYTES    64
#define HINT_BYTES    160

struct reading {
    struct fdl_refused *out;
    char *message; /* [MESSAGE_BYTES] */
};

/* ---- What it says -------------------------------------------------------- */

static void copy(char *out, size_t capacity, const char *text)
{
    size_t n = strnlen(text, capacity - 1);
    memcpy(out, text, n);
    out[n] = '\0';
}

/* S3: Error/Code, Message, Region; Azure: Error/Code, Message. */
static int32_t take_xml(void *user, const struct fdl_xml *e)
{
    struct reading *r = user;
    const char *name = e->names[e->depth - 1];
    if (strcmp(name, "Code") == 0)
        copy(r->out->code, sizeof(r->out->code), e->text);
    else if (strcmp(name, "Message") == 0)
        copy(r->message, MESSAGE_BYTES, e->text);
    else if (strcmp(name, "Region") == 0)
        copy(r->out->region, sizeof(r->out->region), e->text);
    return FEEDLINE_OK;
}

/* Google: {"error": {"message": ...}}; the hub: {"error": ...}. */
static int32_t take_json(struct fdl_json_scan *s, const char *key, void *user)
{
    struct reading *r = user;
    bool is_message =
        key && (strcmp(key, "error") == 0 || strcmp(key, "message") == 0);
    if (is_message && fdl_json_scan_peek(s) == '"') {
        int32_t status = fdl_json_scan_string(s, r->message, MESSAGE_BYTES);
        if (status < 0 || strlen(r->message) + 1 == MESSAGE_BYTES)
            r->message[0] = '\0'; /* it may hold half of a secret */
        return status;
    }
    if (is_message && fdl_json_scan_peek(s) == '{')
        return fdl_json_scan_each(s, take_json, user);
    return fdl_json_scan_skip(s);
}

/* What is cut off, or is neither, says what it says until there. */
static void read_body(const struct fdl_answer *a, struct reading *r)
{
    const char *text = a->body.length ? a->body.data : "";
    struct fdl_json_scan s = {
        .text = text, .at = text, .what = "", .depth = JSON_DEPTH};
    int32_t ignored = FEEDLINE_OK;
    char first = fdl_json_scan_peek(&s);
    if (first == '{')
        ignored = fdl_json_scan_each(&s, take_json, r);
    else if (a->body.length)
        ignored = fdl_xml_read(text, a->body.length, "", take_xml, r);
    (void)ignored;
}

static void read_header(const struct fdl_answer *a, const char *name, char *out,
                        size_t capacity)
{
    char value[MESSAGE_BYTES];
    if (!*out && fdl_answer_header(a, name, value, sizeof(value)) &&
        strlen(value) + 1 < sizeof(value))
        copy(out, capacity, value);
}

void fdl_refused_read(const struct fdl_answer *a, struct fdl_keeper *k,
                      struct fdl_refused *out)
{
    char message[MESSAGE_BYTES] = "";
    struct reading r = {.out = out, .message = message};
    *out = (struct fdl_refused){0};
    read_body(a, &r);
    read_header(a, "x-amz-bucket-region", out->region, sizeof(out->region));
    read_header(a, "x-ms-error-code", out->code, sizeof(out->code));
    read_header(a, "X-Error-Code", out->code, sizeof(out->code));
    read_header(a, "X-Error-Message", message, sizeof(message));
    fdl_keeper_redact(k, out->code);
    fdl_keeper_redact(k, message);
    copy(out->message, sizeof(out->message), message);
}

/* ---- What to do ---------------------------------------------------------- */

/* SIGNED: the signature is not what it should be; some servers say so as well
 * if only the time in it is not theirs. */
enum action { FINAL, LATER, RENEW, CLOCK, SIGNED };

static enum action action_of(const struct fdl_refused *r, int32_t status)
{
    static const struct {
        const char *code;
        enum action action;
    } known[] = {
        {"SlowDown", LATER},
        {"InternalError", LATER},
        {"RequestTimeout", LATER},
        {"ServiceUnavailable", LATER},
        {"Throttling", LATER},
        {"ThrottlingException", LATER},
        {"RequestLimitExceeded", LATER},
        {"ServerBusy", LATER},
        {"OperationTimedOut", LATER},
        {"ExpiredToken", RENEW},
        {"ExpiredTokenException", RENEW},
        {"TokenRefreshRequired", RENEW},
        {"InvalidToken", RENEW},
        {"InvalidAccessKeyId", RENEW},
        {"RequestTimeTooSkewed", CLOCK},
        {"RequestExpired", CLOCK},
        {"SignatureDoesNotMatch", SIGNED},
        {"AuthenticationFailed", SIGNED}, /* Azure's, for all that is wrong */
    };
    for (size_t i = 0; i < FDL_COUNT_OF(known); i++) {
        if (strcmp(r->code, known[i].code) == 0)
            return known[i].action;
    }
    switch (status) {
    case 408:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
        return LATER;
    case 401:
        return RENEW;
    default:
        return FINAL;
    }
}

/* How this machine's clock is wrong, as far as known. */
static void tell_clock(int64_t ahead_by, char *out, size_t capacity)
{
    int64_t by = ahead_by < 0 ? -ahead_by : ahead_by;
    snprintf(out, capacity,
             "; this machine's clock is %" PRId64 " s %s the server's", by,
             ahead_by < 0 ? "ahead of" : "behind");
}

static const char *words_for(int32_t http, enum action action, bool anonymous)
{
    if (action == CLOCK)
        return "; is this machine's clock right?";
    if (anonymous && (http == 401 || http == 403))
        return "; it was asked without credentials";
    if (action == SIGNED)
        return "; is this the right key, and that of this account?";
    if (action == RENEW)
        return "; the credentials are not valid, or not any more";
    if (http == 403)
        return "; may these credentials read it?";
    if (http == 412)
        return "; it was replaced since it was opened";
    if (http == 416)
        return "; it is shorter than it was";
    return "";
}

/* What may be wrong, or what to look at. */
static void write_hint(struct fdl_keeper *k, int32_t http, enum action action,
                       char out[HINT_BYTES])
{
    const char *words = words_for(http, action, fdl_keeper_is_anonymous(k));
    int64_t ahead_by = fdl_keeper_ahead_by(k);
    bool skewed = ahead_by && (action == CLOCK || action == SIGNED);
    size_t n = 0;
    if (!skewed || action != CLOCK) {
        snprintf(out, HINT_BYTES, "%s", words);
        n = strlen(out);
    }
    if (skewed)
        tell_clock(ahead_by, out + n, HINT_BYTES - n);
}

enum fdl_refusal fdl_refused_judge(const struct fdl_refused *r,
                                   const struct fdl_answer *a,
                                   struct fdl_keeper *k, const char *location,
                                   const char *range, int32_t *status)
{
    char date[DATE_BYTES], hint[HINT_BYTES];
    enum action action = action_of(r, a->status);
    bool by_time = action == CLOCK || action == SIGNED;
    bool changed = by_time &&
                   fdl_answer_header(a, "Date", date, sizeof(date)) &&
                   fdl_keeper_set_clock(k, date);
    if (!changed && (action == RENEW || by_time))
        changed = fdl_keeper_renew(k);
    write_hint(k, a->status, action, hint);
    *status = fdl_fail(a->status == 404 ? FEEDLINE_ENOENT : FEEDLINE_EIO,
                       "%s%s%s: the server answers %" PRId32 "%s%s%s%s%s",
                       location, range ? ", " : "", range ? range : "",
                       a->status, *r->code ? " " : "", r->code,
                       *r->message ? ": " : "", r->message, hint);
    if (changed)
        return FDL_REFUSED_AGAIN;
    return action == LATER ? FDL_REFUSED_LATER : FDL_REFUSED_FINAL;
}
