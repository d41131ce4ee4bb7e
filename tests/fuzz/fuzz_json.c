/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the JSON writer. The input is a little program for it: what to
 * write next, with which key and value. Whatever it writes must be read by
 * jansson, which is strict; a text that is UTF-8 and a number must come back as
 * they were; and a buffer that is too small holds the beginning.
 */
#include "base/json.h"
#include "base/number.h"
#include "base/status.h"
#include "fuzz.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 64 /* one bit each */

struct writer {
    struct fuzz_input in;
    struct fdl_json j;
    uint64_t objects; /* a bit for each open bracket: 1 is an object */
    uint32_t depth;
};

static uint64_t take_bits(struct fuzz_input *in)
{
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | fuzz_byte(in);
    return bits;
}

static double take_double(struct fuzz_input *in)
{
    uint64_t bits = take_bits(in);
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void close_one(struct writer *w)
{
    if (w->objects & 1)
        fdl_json_end_object(&w->j);
    else
        fdl_json_end_array(&w->j);
    w->objects >>= 1;
    w->depth--;
}

static void write_scalar(struct writer *w, uint8_t what, const char *key)
{
    char *text;
    switch (what % 5) {
    case 0:
        text = fuzz_text(&w->in, fuzz_byte(&w->in));
        fdl_json_string(&w->j, key, text);
        free(text);
        break;
    case 1:
        fdl_json_double(&w->j, key, take_double(&w->in));
        break;
    case 2:
        fdl_json_int(&w->j, key, (int64_t)take_bits(&w->in));
        break;
    case 3:
        fdl_json_bool(&w->j, key, what & 0x80);
        break;
    default:
        fdl_json_null(&w->j, key);
        break;
    }
}

static void write_value(struct writer *w)
{
    uint8_t what = fuzz_byte(&w->in);
    char *key = NULL;
    if (what % 8 == 7) {
        if (w->depth > 1)
            close_one(w);
        return;
    }
    if (w->objects & 1)
        key = fuzz_text(&w->in, fuzz_byte(&w->in) % 16);
    if (what % 8 >= 5 && w->depth < MAX_DEPTH) {
        bool object = what % 8 == 5;
        if (object)
            fdl_json_begin_object(&w->j, key);
        else
            fdl_json_begin_array(&w->j, key);
        w->objects = w->objects << 1 | object;
        w->depth++;
    } else {
        write_scalar(w, what >> 3, key);
    }
    free(key);
}

/* Runs the program; the status of the end. */
static int32_t run(struct fuzz_input in, char *buf, uint64_t capacity,
                   uint64_t *needed)
{
    struct writer w = {.in = in, .objects = 1, .depth = 1};
    fdl_json_init(&w.j, buf, capacity);
    fdl_json_begin_object(&w.j, NULL);
    while (w.in.size > 0)
        write_value(&w);
    while (w.depth > 0)
        close_one(&w);
    return fdl_json_finish(&w.j, needed);
}

static void check_document(struct fuzz_input in, uint32_t random)
{
    uint64_t needed, again;
    fuzz_check(run(in, NULL, 0, &needed) == FEEDLINE_OK);
    char *whole = malloc(needed);
    fuzz_check(whole);
    fuzz_check(run(in, whole, needed, &again) == FEEDLINE_OK);
    fuzz_check(again == needed && strlen(whole) == needed - 1);

    json_error_t error;
    json_t *read = json_loadb(whole, needed - 1, 0, &error);
    fuzz_check(read);
    json_decref(read);

    uint64_t small = 1 + random % needed;
    char *part = malloc(small);
    fuzz_check(part);
    int32_t status = run(in, part, small, &again);
    fuzz_check(status == (small < needed ? FEEDLINE_ERANGE : FEEDLINE_OK));
    fuzz_check(again == needed && strlen(part) == small - 1);
    fuzz_check(memcmp(part, whole, small - 1) == 0);
    free(part);
    free(whole);
}

/* One text, and whether it comes back. */
static void check_text(const char *text)
{
    struct fdl_json j;
    uint64_t needed;
    size_t capacity = 6 * strlen(text) + 3; /* all of it \u00xx, and quotes */
    char *buf = malloc(capacity);
    fuzz_check(buf);
    fdl_json_init(&j, buf, capacity);
    fdl_json_string(&j, NULL, text);
    fuzz_check(fdl_json_finish(&j, &needed) == FEEDLINE_OK);
    json_t *read = json_loadb(buf, needed - 1, JSON_DECODE_ANY, NULL);
    json_t *expected = json_string(text); /* NULL: not UTF-8 */
    fuzz_check(json_is_string(read));
    fuzz_check(!expected || json_equal(read, expected));
    json_decref(read);
    json_decref(expected);
    free(buf);
}

static void check_number(double value)
{
    char text[FDL_DOUBLE_BYTES];
    const char *end;
    double read;
    if (!isfinite(value))
        return;
    fdl_format_double(text, value);
    fuzz_check(strlen(text) < sizeof(text));
    fuzz_check(fdl_parse_double(text, &end, &read) && *end == '\0');
    fuzz_check(memcmp(&read, &value, sizeof(value)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    uint32_t random = fuzz_word(&in);
    check_document(in, random);
    struct fuzz_input numbers = in;
    check_number(take_double(&numbers));
    char *text = fuzz_text(&in, FUZZ_REST);
    check_text(text);
    free(text);
    return 0;
}
