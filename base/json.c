/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON writer. Every byte goes through put(), which counts always and
 * writes while there is room, so sizing and writing are one code path and
 * cannot disagree.
 *
 * The text is valid UTF-8 whatever the strings were (file names need not be):
 * a byte that is part of no character becomes \ufffd.
 */
#include "base/json.h"

#include "base/number.h"
#include "base/status.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void put(struct fdl_json *j, char c)
{
    if (j->length + 1 < j->capacity)
        j->buf[j->length] = c;
    j->length++;
}

static void put_text(struct fdl_json *j, const char *text)
{
    for (; *text; text++)
        put(j, *text);
}

static void put_escaped(struct fdl_json *j, unsigned char c)
{
    static const char named[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *place = strchr(named, c); /* c is not 0 */
    char text[8];
    if (place)
        snprintf(text, sizeof(text), "\\%c", letters[place - named]);
    else
        snprintf(text, sizeof(text), "\\u%04x", c);
    put_text(j, text);
}

static void put_string(struct fdl_json *j, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    put(j, '"');
    while (*s) {
        uint32_t bytes = fdl_utf8_next(s, NULL);
        if (bytes == 0) {
            put_text(j, "\\ufffd");
            s++;
        } else if (*s < 0x20 || *s == '"' || *s == '\\') {
            put_escaped(j, *s++);
        } else {
            for (; bytes > 0; bytes--)
                put(j, (char)*s++);
        }
    }
    put(j, '"');
}

/* Whatever goes before a value. */
static void begin_value(struct fdl_json *j, const char *key)
{
    if (j->comma)
        put(j, ',');
    if (key) {
        put_string(j, key);
        put(j, ':');
    }
    j->comma = true;
}

static void open_bracket(struct fdl_json *j, const char *key, char bracket)
{
    begin_value(j, key);
    put(j, bracket);
    j->comma = false;
    j->depth++;
}

static void close_bracket(struct fdl_json *j, char bracket)
{
    fdl_assert(j->depth > 0);
    put(j, bracket);
    j->comma = true;
    j->depth--;
}

void fdl_json_init(struct fdl_json *j, char *buf, uint64_t capacity)
{
    *j = (struct fdl_json){.buf = buf, .capacity = capacity};
}

void fdl_json_begin_object(struct fdl_json *j, const char *key)
{
    open_bracket(j, key, '{');
}

void fdl_json_end_object(struct fdl_json *j)
{
    close_bracket(j, '}');
}

void fdl_json_begin_array(struct fdl_json *j, const char *key)
{
    open_bracket(j, key, '[');
}

void fdl_json_end_array(struct fdl_json *j)
{
    close_bracket(j, ']');
}

void fdl_json_string(struct fdl_json *j, const char *key, const char *value)
{
    if (!value) {
        fdl_json_null(j, key);
        return;
    }
    begin_value(j, key);
    put_string(j, value);
}

void fdl_json_int(struct fdl_json *j, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, value);
    begin_value(j, key);
    put_text(j, text);
}

void fdl_json_double(struct fdl_json *j, const char *key, double value)
{
    if (!isfinite(value)) {
        fdl_json_null(j, key);
        return;
    }
    char text[FDL_DOUBLE_BYTES];
    fdl_format_double(text, value);
    begin_value(j, key);
    put_text(j, text);
}

void fdl_json_bool(struct fdl_json *j, const char *key, bool value)
{
    begin_value(j, key);
    put_text(j, value ? "true" : "false");
}

void fdl_json_null(struct fdl_json *j, const char *key)
{
    begin_value(j, key);
    put_text(j, "null");
}

void fdl_json_raw(struct fdl_json *j, const char *key, const char *text)
{
    begin_value(j, key);
    put_text(j, text);
}

int32_t fdl_json_finish(struct fdl_json *j, uint64_t *needed)
{
    fdl_assert(j->depth == 0);
    if (!needed)
        return fdl_fail(FEEDLINE_EINVAL, "needed is NULL");
    uint64_t bytes = j->length + 1;
    if (j->capacity > 0)
        j->buf[FDL_MIN(j->length, j->capacity - 1)] = '\0';
    *needed = bytes;
    if (j->capacity > 0 && bytes > j->capacity)
        return fdl_fail(FEEDLINE_ERANGE,
                        "the text takes %" PRIu64 " bytes, the buffer has "
                        "%" PRIu64,
                        bytes, j->capacity);
    return FEEDLINE_OK;
}
