/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict JSON for small files; see profile_parse.h. Names are joined as objects
 * are entered, so nesting is bounded by the length of a name and by MAX_DEPTH.
 */
#include "loader/profile_parse.h"

#include "base/status.h"

#include <stdbool.h>
#include <string.h>

#define MAX_DEPTH 16u

struct parser {
    const char *text;
    const char *at;
    struct fdl_profile_values *out;
    char path[FDL_PROFILE_NAME_BYTES]; /* of the object that is read */
    uint32_t depth, lists;
};

static int32_t fail_at(const struct parser *p, const char *what)
{
    return fdl_fail(FEEDLINE_EINVAL, "at %td: %s", p->at - p->text, what);
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

/* ---- Strings ------------------------------------------------------------- */

struct text {
    char *bytes;
    size_t n, capacity; /* with its NUL */
};

static void add_byte(struct text *t, uint32_t byte)
{
    if (t->n + 1 < t->capacity)
        t->bytes[t->n++] = (char)(unsigned char)byte;
}

/* Halves of characters beyond 16 bits become '?'. */
static void add_character(struct text *t, uint32_t c)
{
    if (c >= 0xd800 && c < 0xe000)
        c = '?';
    if (c < 0x80) {
        add_byte(t, c);
    } else if (c < 0x800) {
        add_byte(t, 0xc0 | c >> 6);
        add_byte(t, 0x80 | (c & 0x3f));
    } else {
        add_byte(t, 0xe0 | c >> 12);
        add_byte(t, 0x80 | (c >> 6 & 0x3f));
        add_byte(t, 0x80 | (c & 0x3f));
    }
}

static int32_t parse_hex(struct parser *p, uint32_t *out)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    *out = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        const char *digit = *p->at ? strchr(digits, *p->at) : NULL;
        if (!digit)
            return fail_at(p, "four hexadecimal digits expected");
        *out = *out << 4 | (uint32_t)(digit - digits) % 16;
    }
    return *out ? FEEDLINE_OK : fail_at(p, "a NUL in a string");
}

static int32_t parse_escape(struct parser *p, struct text *t)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    const char *letter = *p->at ? strchr(letters, *p->at) : NULL;
    uint32_t c;
    if (!letter && *p->at != 'u')
        return fail_at(p, "an escape that JSON does not have");
    p->at++;
    if (letter) {
        add_byte(t, (unsigned char)meanings[letter - letters]);
        return FEEDLINE_OK;
    }
    int32_t status = parse_hex(p, &c);
    if (status >= 0)
        add_character(t, c);
    return status;
}

static int32_t parse_string(struct parser *p, char *out, size_t capacity)
{
    struct text t = {.bytes = out, .capacity = capacity};
    if (!take(p, '"'))
        return fail_at(p, "a string expected");
    while (*p->at != '"') {
        unsigned char c = (unsigned char)*p->at;
        if (c < 0x20)
            return fail_at(p, c ? "a control character in a string"
                                : "the text ends inside a string");
        p->at++;
        if (c != '\\') {
            add_byte(&t, c);
            continue;
        }
        int32_t status = parse_escape(p, &t);
        if (status < 0)
            return status;
    }
    p->at++;
    out[t.n] = '\0';
    return FEEDLINE_OK;
}

/* ---- Values -------------------------------------------------------------- */

static int32_t keep(struct parser *p, const struct fdl_profile_value *value)
{
    struct fdl_profile_values *v = p->out;
    if (p->lists > 0)
        return FEEDLINE_OK;
    if (fdl_profile_find(v, p->path))
        return fail_at(p, "a name for the second time");
    if (v->n == FDL_PROFILE_VALUES)
        return fail_at(p, "more values than a profile has");
    v->all[v->n] = *value;
    memcpy(v->all[v->n++].name, p->path, sizeof(p->path));
    return FEEDLINE_OK;
}

/* -1.5e+10 */
static int32_t parse_number(struct parser *p, struct fdl_profile_value *out)
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
    size_t length = (size_t)(at - p->at);
    if (!good)
        return fail_at(p, "a value expected");
    if (length >= sizeof(out->text))
        return fail_at(p, "a number of very many digits");
    memcpy(out->text, p->at, length);
    out->text[length] = '\0';
    out->kind = FDL_PROFILE_NUMBER;
    p->at = at;
    return FEEDLINE_OK;
}

static bool take_word(struct parser *p, struct fdl_profile_value *out)
{
    static const char *const words[] = {"true", "false", "null"};
    for (uint32_t i = 0; i < 3; i++) {
        size_t n = strlen(words[i]);
        if (strncmp(p->at, words[i], n) != 0)
            continue;
        p->at += n;
        memcpy(out->text, words[i], n + 1);
        out->kind = FDL_PROFILE_WORD;
        return true;
    }
    return false;
}

static int32_t parse_scalar(struct parser *p)
{
    struct fdl_profile_value value = {.kind = FDL_PROFILE_STRING};
    int32_t status = FEEDLINE_OK;
    if (peek(p) == '"')
        status = parse_string(p, value.text, sizeof(value.text));
    else if (!take_word(p, &value))
        status = parse_number(p, &value);
    return status < 0 ? status : keep(p, &value);
}

static int32_t parse_value(struct parser *p);

/* "key": value; the key stands behind the path meanwhile. */
static int32_t parse_member(struct parser *p)
{
    char key[FDL_PROFILE_NAME_BYTES];
    size_t before = strlen(p->path);
    peek(p);
    int32_t status = parse_string(p, key, sizeof(key));
    if (status < 0)
        return status;
    size_t n = strlen(key);
    if (before + 1 + n >= sizeof(p->path))
        return fail_at(p, "a name that is too long");
    if (before > 0)
        p->path[before] = '.';
    memcpy(p->path + before + (before > 0), key, n + 1);
    if (!take(p, ':'))
        return fail_at(p, "':' expected");
    status = parse_value(p);
    p->path[before] = '\0';
    return status;
}

static int32_t parse_value(struct parser *p)
{
    char open = peek(p);
    bool list = open == '[';
    char close = list ? ']' : '}';
    if (open != '{' && open != '[')
        return parse_scalar(p);
    if (++p->depth > MAX_DEPTH)
        return fail_at(p, "nested too deeply");
    p->lists += list;
    p->at++;
    int32_t status = FEEDLINE_OK;
    bool more = !take(p, close);
    while (more && status >= 0) {
        status = list ? parse_value(p) : parse_member(p);
        more = status >= 0 && take(p, ',');
        if (status >= 0 && !more && !take(p, close))
            status = fail_at(p, "',' or the end of a list expected");
    }
    p->lists -= list;
    p->depth--;
    return status;
}

int32_t fdl_profile_parse(const char *text, struct fdl_profile_values *out)
{
    struct parser p = {.text = text, .at = text, .out = out};
    out->n = 0;
    if (peek(&p) != '{')
        return fail_at(&p, "'{' expected");
    int32_t status = parse_value(&p);
    if (status < 0)
        return status;
    if (peek(&p) != '\0')
        return fail_at(&p, "something behind the end");
    return FEEDLINE_OK;
}

const struct fdl_profile_value *fdl_profile_find(
    const struct fdl_profile_values *v, const char *name)
{
    for (uint32_t i = 0; i < v->n; i++)
        if (strcmp(v->all[i].name, name) == 0)
            return &v->all[i];
    return NULL;
}
