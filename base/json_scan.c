/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a JSON text; see json_scan.h. */
#include "base/json_scan.h"

#include "base/file.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *bytes;
    size_t n, capacity; /* with its NUL */
};

int32_t fdl_json_scan_fail(const struct fdl_json_scan *s, const char *why)
{
    return fdl_fail(FEEDLINE_EINVAL, "%sat %td: %s", s->what, s->at - s->text,
                    why);
}

char fdl_json_scan_peek(struct fdl_json_scan *s)
{
    s->at += strspn(s->at, " \t\r\n");
    return *s->at;
}

/* Skips it if it comes next, after white space. */
static bool take(struct fdl_json_scan *s, char c)
{
    if (fdl_json_scan_peek(s) != c)
        return false;
    s->at++;
    return true;
}

bool fdl_json_scan_word(struct fdl_json_scan *s, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(s->at, word, n) != 0)
        return false;
    s->at += n;
    return true;
}

/* ---- Strings ------------------------------------------------------------- */

static void add_byte(struct text *t, uint32_t byte)
{
    if (t->n + 1 < t->capacity)
        t->bytes[t->n++] = (char)(unsigned char)byte;
}

static void add_character(struct text *t, uint32_t c)
{
    if (c == 0 || (c >= 0xd800 && c < 0xe000))
        c = '?';
    if (c < 0x80) {
        add_byte(t, c);
    } else if (c < 0x800) {
        add_byte(t, 0xc0 | c >> 6);
        add_byte(t, 0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        add_byte(t, 0xe0 | c >> 12);
        add_byte(t, 0x80 | (c >> 6 & 0x3f));
        add_byte(t, 0x80 | (c & 0x3f));
    } else {
        add_byte(t, 0xf0 | c >> 18);
        add_byte(t, 0x80 | (c >> 12 & 0x3f));
        add_byte(t, 0x80 | (c >> 6 & 0x3f));
        add_byte(t, 0x80 | (c & 0x3f));
    }
}

static int32_t scan_hex(struct fdl_json_scan *s, uint32_t *out)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    *out = 0;
    for (int i = 0; i < 4; i++, s->at++) {
        const char *digit = *s->at ? strchr(digits, *s->at) : NULL;
        if (!digit)
            return fdl_json_scan_fail(s, "four hexadecimal digits expected");
        *out = *out << 4 | (uint32_t)(digit - digits) % 16;
    }
    return FEEDLINE_OK;
}

/* Behind "\\u" and four digits; if these were the first half of a character
 * beyond 16 bits, the second may follow. */
static int32_t scan_other_half(struct fdl_json_scan *s, uint32_t *c)
{
    const char *begin = s->at;
    uint32_t low;
    if (*c < 0xd800 || *c >= 0xdc00 || strncmp(begin, "\\u", 2) != 0)
        return FEEDLINE_OK;
    s->at += 2;
    int32_t status = scan_hex(s, &low);
    if (status < 0)
        return status;
    if (low >= 0xdc00 && low < 0xe000)
        *c = 0x10000 + ((*c - 0xd800) << 10) + (low - 0xdc00);
    else
        s->at = begin; /* it is another character */
    return FEEDLINE_OK;
}

static int32_t scan_escape(struct fdl_json_scan *s, struct text *t)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    const char *letter = *s->at ? strchr(letters, *s->at) : NULL;
    uint32_t c;
    if (!letter && *s->at != 'u')
        return fdl_json_scan_fail(s, "an escape that JSON does not have");
    s->at++;
    if (letter) {
        add_byte(t, (unsigned char)meanings[letter - letters]);
        return FEEDLINE_OK;
    }
    int32_t status = scan_hex(s, &c);
    if (status == FEEDLINE_OK)
        status = scan_other_half(s, &c);
    if (status < 0)
        return status;
    s->has_nul |= c == 0;
    add_character(t, c);
    return FEEDLINE_OK;
}

int32_t fdl_json_scan_string(struct fdl_json_scan *s, char *out,
                             size_t capacity)
{
    struct text t = {.bytes = out, .capacity = capacity};
    if (!take(s, '"'))
        return fdl_json_scan_fail(s, "a string expected");
    while (*s->at != '"') {
        unsigned char c = (unsigned char)*s->at;
        if (c < 0x20)
            return fdl_json_scan_fail(s, c ? "a control character in a string"
                                           : "the text ends inside a string");
        s->at++;
        if (c != '\\') {
            add_byte(&t, c);
            continue;
        }
        int32_t status = scan_escape(s, &t);
        if (status < 0)
            return status;
    }
    s->at++;
    out[t.n] = '\0';
    return FEEDLINE_OK;
}

/* ---- Numbers ------------------------------------------------------------- */

int32_t fdl_json_scan_number(struct fdl_json_scan *s)
{
    static const char digits[] = "0123456789";
    const char *at = s->at + (*s->at == '-');
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
        return fdl_json_scan_fail(s, "a value expected");
    s->at = at;
    return FEEDLINE_OK;
}

/* ---- Objects and lists --------------------------------------------------- */

static int32_t scan_key(struct fdl_json_scan *s, char key[FDL_JSON_KEY_BYTES])
{
    fdl_json_scan_peek(s);
    int32_t status = fdl_json_scan_string(s, key, FDL_JSON_KEY_BYTES);
    if (status >= 0 && !take(s, ':'))
        status = fdl_json_scan_fail(s, "':' expected");
    return status;
}

int32_t fdl_json_scan_each(struct fdl_json_scan *s, fdl_json_each *each,
                           void *user)
{
    char key[FDL_JSON_KEY_BYTES];
    bool list = fdl_json_scan_peek(s) == '[';
    char close = list ? ']' : '}';
    if (s->depth == 0)
        return fdl_json_scan_fail(s, "nested too deeply");
    s->depth--;
    s->at++;
    bool more = !take(s, close);
    while (more) {
        int32_t status = list ? FEEDLINE_OK : scan_key(s, key);
        if (status >= 0)
            status = each(s, list ? NULL : key, user);
        if (status < 0)
            return status;
        more = take(s, ',');
        if (!more && !take(s, close))
            return fdl_json_scan_fail(s,
                                      list ? "',' or the end of a list expected"
                                           : "',' or '}' expected");
    }
    s->depth++;
    return FEEDLINE_OK;
}

static int32_t skip_one(struct fdl_json_scan *s, const char *key, void *user)
{
    (void)key;
    (void)user;
    return fdl_json_scan_skip(s);
}

int32_t fdl_json_scan_skip(struct fdl_json_scan *s)
{
    char ignored[1];
    char c = fdl_json_scan_peek(s);
    if (c == '{' || c == '[')
        return fdl_json_scan_each(s, skip_one, NULL);
    if (c == '"')
        return fdl_json_scan_string(s, ignored, sizeof(ignored));
    if (fdl_json_scan_word(s, "true") || fdl_json_scan_word(s, "false") ||
        fdl_json_scan_word(s, "null"))
        return FEEDLINE_OK;
    return fdl_json_scan_number(s);
}

/* ---- Files --------------------------------------------------------------- */

int32_t fdl_json_scan_file(const char *path, uint32_t depth,
                           fdl_json_each *each, void *user)
{
    char what[FDL_ERROR_BYTES], *text = NULL;
    uint64_t bytes;
    int32_t status = fdl_file_load(path, &text, &bytes);
    if (status)
        return status;
    snprintf(what, sizeof(what), "%s: ", path);
    struct fdl_json_scan s = {
        .text = text, .at = text, .what = what, .depth = depth};
    status = fdl_json_scan_peek(&s) == '{'
                 ? fdl_json_scan_each(&s, each, user)
                 : fdl_json_scan_fail(&s, "no object");
    free(text);
    return status;
}
