/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The saved position as one line of JSON, written by hand and read by a parser
 * that knows objects, strings and whole numbers, and steps over the rest.
 *
 * It is read twice: first for the version alone, as a later version may give
 * the other keys another meaning; then for the fields. Numbers are taken digit
 * by digit, as a double loses seeds above 2^53.
 */
#include "loader/state.h"

#include "base/status.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define VERSION   1
#define KEY_BYTES 20 /* longer ones are none of ours */
#define MAX_DEPTH 32 /* of values that we step over */

enum kind { KIND_NUMBER, KIND_HEX, KIND_BOOL };

struct field {
    const char *key;
    enum kind kind;
    size_t at; /* in struct fields */
};

struct fields {
    uint64_t version;
    struct fdl_state state;
};

static const struct field version_field[] = {
    {"feedline_state", KIND_NUMBER, offsetof(struct fields, version)},
};

static const struct field state_fields[] = {
    {"dataset", KIND_HEX, offsetof(struct fields, state.fingerprint)},
    {"count", KIND_NUMBER, offsetof(struct fields, state.count)},
    {"seed", KIND_NUMBER, offsetof(struct fields, state.seed)},
    {"shuffle", KIND_BOOL, offsetof(struct fields, state.shuffle)},
    {"repeats", KIND_NUMBER, offsetof(struct fields, state.repeats)},
    {"epoch_samples", KIND_NUMBER,
     offsetof(struct fields, state.epoch_samples)},
    {"epoch", KIND_NUMBER, offsetof(struct fields, state.epoch)},
    {"position", KIND_NUMBER, offsetof(struct fields, state.position)},
};

int32_t fdl_state_write(const struct fdl_state *s, char *buf, uint64_t capacity,
                        uint64_t *needed)
{
    int n = snprintf(buf, capacity,
                     "{\"feedline_state\":%d,\"dataset\":\"%016" PRIx64 "\","
                     "\"count\":%" PRIu64 ",\"seed\":%" PRIu64
                     ",\"shuffle\":%s,\"repeats\":%" PRIu64
                     ",\"epoch_samples\":%" PRIu64 ",\"epoch\":%" PRIu64
                     ",\"position\":%" PRIu64 "}",
                     VERSION, s->fingerprint, s->count, s->seed,
                     s->shuffle ? "true" : "false", s->repeats,
                     s->epoch_samples, s->epoch, s->position);
    *needed = (uint64_t)n + 1;
    if (capacity > 0 && *needed > capacity)
        return fdl_fail(FEEDLINE_ERANGE,
                        "the state takes %" PRIu64
                        " bytes, the buffer has %" PRIu64,
                        *needed, capacity);
    return FEEDLINE_OK;
}

struct parser {
    const char *text;
    const char *at;
};

static int32_t fail_at(const struct parser *p, const char *what)
{
    return fdl_fail(FEEDLINE_EINVAL, "not a saved state: at %td: %s",
                    p->at - p->text, what);
}

static char peek(struct parser *p)
{
    p->at += strspn(p->at, " \t\r\n");
    return *p->at;
}

static bool take(struct parser *p, char c)
{
    if (peek(p) != c)
        return false;
    p->at++;
    return true;
}

static bool take_word(struct parser *p, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(p->at, word, n) != 0)
        return false;
    p->at += n;
    return true;
}

static int digit_value(char c, int base)
{
    int value = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : base;
    return value < base ? value : -1;
}

/* What follows a backslash, as one character: none of our keys and values has
 * any beyond ASCII, so those all become '?'. */
static int32_t parse_escape(struct parser *p, char *out)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    const char *letter = *p->at ? strchr(letters, *p->at) : NULL;
    if (letter) {
        *out = meanings[letter - letters];
        p->at++;
        return FEEDLINE_OK;
    }
    if (*p->at != 'u')
        return fail_at(p, "an escape that JSON does not have");
    p->at++;
    int code = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        int value = digit_value(*p->at, 16);
        if (value < 0)
            return fail_at(p, "four hexadecimal digits expected");
        code = code * 16 + value;
    }
    *out = code > 0 && code < 0x80 ? (char)code : '?';
    return FEEDLINE_OK;
}

/* A string, cut after KEY_BYTES - 1: then it is too long for any of ours and
 * equal to none. */
static int32_t parse_string(struct parser *p, char out[KEY_BYTES])
{
    size_t n = 0;
    if (!take(p, '"'))
        return fail_at(p, "a string expected");
    while (*p->at != '"') {
        char c = *p->at;
        if ((unsigned char)c < 0x20)
            return fail_at(p, c ? "a control character in a string"
                                : "the text ends inside a string");
        p->at++;
        if (c == '\\') {
            int32_t status = parse_escape(p, &c);
            if (status)
                return status;
        }
        if (n < KEY_BYTES - 1)
            out[n++] = c;
    }
    p->at++;
    out[n] = '\0';
    return FEEDLINE_OK;
}

/* -1.5e+10: its shape only. */
static int32_t skip_number(struct parser *p)
{
    static const char digits[] = "0123456789";
    const char *at = p->at + (*p->at == '-');
    size_t n = strspn(at, digits);
    bool good = n == 1 || (n > 1 && *at != '0');
    at += n;
    if (good && *at == '.') {
        n = strspn(at + 1, digits);
        good = n > 0;
        at += 1 + n;
    }
    if (good && (*at == 'e' || *at == 'E')) {
        at++;
        at += *at == '+' || *at == '-';
        n = strspn(at, digits);
        good = n > 0;
        at += n;
    }
    if (!good)
        return fail_at(p, "a value expected");
    p->at = at;
    return FEEDLINE_OK;
}

/* Steps over any value. Brackets are kept on a stack of bits, so nesting costs
 * no recursion: 1 is an object. */
static int32_t skip_value(struct parser *p)
{
    char ignored[KEY_BYTES];
    uint64_t objects = 0;
    int depth = 0;
    for (;;) {
        bool opened = false;
        char c = peek(p);
        int32_t status = FEEDLINE_OK;
        if (c == '{' || c == '[') {
            if (++depth > MAX_DEPTH)
                return fail_at(p, "nested too deeply");
            objects = objects << 1 | (c == '{');
            p->at++;
            opened = true;
        } else if (c == '"') {
            status = parse_string(p, ignored);
        } else if (!take_word(p, "true") && !take_word(p, "false") &&
                   !take_word(p, "null")) {
            status = skip_number(p);
        }
        if (status)
            return status;

        /* Ends that follow, then what must stand before the next value. */
        while (depth > 0 && take(p, objects & 1 ? '}' : ']')) {
            objects >>= 1;
            depth--;
            opened = false;
        }
        if (depth == 0)
            return FEEDLINE_OK;
        if (!opened && !take(p, ','))
            return fail_at(p, "',' or the end of a list expected");
        if (objects & 1) {
            peek(p);
            status = parse_string(p, ignored);
            if (status)
                return status;
            if (!take(p, ':'))
                return fail_at(p, "':' expected");
        }
    }
}

static int32_t parse_digits(struct parser *p, const char *text, int base,
                            uint64_t *out)
{
    const char *start = text;
    uint64_t value = 0;
    uint64_t step = (uint64_t)base;
    for (;; text++) {
        int digit = digit_value(*text, base);
        if (digit < 0)
            break;
        if (value > (UINT64_MAX - (uint64_t)digit) / step)
            return fail_at(p, "a number beyond 64 bits");
        value = value * step + (uint64_t)digit;
    }
    bool leading_zero = base == 10 && *start == '0' && text - start > 1;
    if (text == start || leading_zero || (*text && strchr(".eE", *text)))
        return fail_at(p, "a whole number expected");
    if (base == 10)
        p->at = text;
    *out = value;
    return FEEDLINE_OK;
}

static int32_t parse_field(struct parser *p, const struct field *f,
                           struct fields *out)
{
    char *target = (char *)out + f->at;
    uint64_t number = 0;
    char text[KEY_BYTES];
    peek(p);
    struct parser start = *p;
    int32_t status = FEEDLINE_OK;
    switch (f->kind) {
    case KIND_NUMBER:
        status = parse_digits(p, p->at, 10, &number);
        break;
    case KIND_HEX:
        status = parse_string(p, text);
        if (status)
            return status;
        if (strspn(text, "0123456789abcdefABCDEF") != 16 || text[16])
            return fail_at(&start, "16 hexadecimal digits expected");
        status = parse_digits(p, text, 16, &number);
        break;
    case KIND_BOOL: {
        bool yes = take_word(p, "true");
        if (!yes && !take_word(p, "false"))
            return fail_at(p, "true or false expected");
        memcpy(target, &yes, sizeof(yes));
        return FEEDLINE_OK;
    }
    }
    if (status == FEEDLINE_OK)
        memcpy(target, &number, sizeof(number));
    return status;
}

/* One pass over the object: takes the fields that are asked for, each of which
 * must be there, and steps over all others. */
static int32_t parse_object(const char *text, const struct field *fields,
                            size_t n_fields, struct fields *out)
{
    struct parser p = {text, text};
    uint32_t seen = 0;
    if (!take(&p, '{'))
        return fail_at(&p, "'{' expected");
    bool more = !take(&p, '}');
    while (more) {
        char key[KEY_BYTES];
        peek(&p);
        int32_t status = parse_string(&p, key);
        if (status)
            return status;
        if (!take(&p, ':'))
            return fail_at(&p, "':' expected");
        size_t i = 0;
        while (i < n_fields && strcmp(key, fields[i].key) != 0)
            i++;
        if (i < n_fields) {
            status = parse_field(&p, &fields[i], out);
            seen |= 1u << i;
        } else {
            status = skip_value(&p);
        }
        if (status)
            return status;
        more = take(&p, ',');
        if (!more && !take(&p, '}'))
            return fail_at(&p, "',' or '}' expected");
    }
    if (peek(&p) != '\0')
        return fail_at(&p, "text after the end");
    for (size_t i = 0; i < n_fields; i++) {
        if (!(seen & 1u << i))
            return fdl_fail(FEEDLINE_EINVAL,
                            "not a saved state: at %td: \"%s\" is missing",
                            p.at - text, fields[i].key);
    }
    return FEEDLINE_OK;
}

int32_t fdl_state_read(const char *text, struct fdl_state *out)
{
    struct fields fields = {0};
    if (!text)
        return fdl_fail(FEEDLINE_EINVAL, "the state is NULL");
    int32_t status =
        parse_object(text, version_field, FDL_COUNT_OF(version_field), &fields);
    if (status)
        return status;
    if (fields.version > VERSION)
        return fdl_fail(FEEDLINE_EABI,
                        "the state has version %" PRIu64
                        ", this library reads up to %d",
                        fields.version, VERSION);
    if (fields.version == 0)
        return fdl_fail(FEEDLINE_EINVAL, "there is no state of version 0");

    status =
        parse_object(text, state_fields, FDL_COUNT_OF(state_fields), &fields);
    if (status)
        return status;
    *out = fields.state;
    return FEEDLINE_OK;
}

int32_t fdl_state_check(const struct fdl_state *saved,
                        const struct fdl_state *here)
{
    if (saved->count != here->count)
        return fdl_fail(FEEDLINE_EINVAL,
                        "the state belongs to a data set of %" PRIu64
                        " samples, this one has %" PRIu64,
                        saved->count, here->count);
    if (saved->fingerprint != here->fingerprint)
        return fdl_fail(FEEDLINE_EINVAL,
                        "the state belongs to data set %016" PRIx64
                        ", this one is %016" PRIx64 ": names or labels differ",
                        saved->fingerprint, here->fingerprint);
    if (saved->seed != here->seed)
        return fdl_fail(FEEDLINE_EINVAL,
                        "the state belongs to seed %" PRIu64
                        ", this loader has seed %" PRIu64,
                        saved->seed, here->seed);
    if (saved->shuffle != here->shuffle)
        return fdl_fail(FEEDLINE_EINVAL,
                        "the state belongs to shuffle=%s, this loader has "
                        "shuffle=%s",
                        saved->shuffle ? "true" : "false",
                        here->shuffle ? "true" : "false");
    if (saved->repeats != here->repeats)
        return fdl_fail(FEEDLINE_EINVAL,
                        "the state belongs to repeats=%" PRIu64
                        ", this loader has repeats=%" PRIu64,
                        saved->repeats, here->repeats);
    if (saved->epoch_samples != here->epoch_samples)
        return fdl_fail(FEEDLINE_EINVAL,
                        "the state belongs to epochs of %" PRIu64
                        " samples, those of this loader have %" PRIu64
                        "; set epoch_samples",
                        saved->epoch_samples, here->epoch_samples);
    return FEEDLINE_OK;
}
