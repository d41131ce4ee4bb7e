/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The saved position as one line of JSON. Unknown keys are skipped when it is
 * read.
 *
 * It is read twice: first for the version alone, as a later version may give
 * the other keys another meaning; then for the fields. Numbers are taken digit
 * by digit, as a double loses seeds above 2^53.
 */
#include "loader/order/state.h"

#include "base/json_scan.h"
#include "base/philox.h"
#include "base/status.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define VERSION   1
#define MAX_DEPTH 33 /* with the object itself */

enum kind { KIND_NUMBER, KIND_HEX, KIND_SHUFFLE };

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
    {"shuffle", KIND_SHUFFLE, offsetof(struct fields, state.shuffle)},
    {"repeats", KIND_NUMBER, offsetof(struct fields, state.repeats)},
    {"epoch_samples", KIND_NUMBER,
     offsetof(struct fields, state.epoch_samples)},
    {"epoch", KIND_NUMBER, offsetof(struct fields, state.epoch)},
    {"position", KIND_NUMBER, offsetof(struct fields, state.position)},
};

static const struct field block_fields[] = {
    {"block", KIND_NUMBER, offsetof(struct fields, state.blocks.samples)},
    {"lanes", KIND_NUMBER, offsetof(struct fields, state.blocks.lanes)},
};

static const char *const shuffle_words[] = {[FDL_SHUFFLE_NONE] = "false",
                                            [FDL_SHUFFLE_FULL] = "true",
                                            [FDL_SHUFFLE_BLOCK] = "\"block\""};

int32_t fdl_state_write(const struct fdl_state *s, char *buf, uint64_t capacity,
                        uint64_t *needed)
{
    char blocks[64] = "";
    if (s->shuffle == FDL_SHUFFLE_BLOCK)
        snprintf(blocks, sizeof(blocks),
                 ",\"block\":%" PRIu64 ",\"lanes\":%" PRIu64, s->blocks.samples,
                 s->blocks.lanes);
    int n = snprintf(
        buf, capacity,
        "{\"feedline_state\":%d,\"dataset\":\"%016" PRIx64 "\","
        "\"count\":%" PRIu64 ",\"seed\":%" PRIu64
        ",\"shuffle\":%s%s,\"repeats\":%" PRIu64 ",\"epoch_samples\":%" PRIu64
        ",\"epoch\":%" PRIu64 ",\"position\":%" PRIu64 "}",
        VERSION, s->fingerprint, s->count, s->seed, shuffle_words[s->shuffle],
        blocks, s->repeats, s->epoch_samples, s->epoch, s->position);
    *needed = (uint64_t)n + 1;
    if (capacity > 0 && *needed > capacity)
        return fdl_fail(FEEDLINE_ERANGE,
                        "the state takes %" PRIu64
                        " bytes, the buffer has %" PRIu64,
                        *needed, capacity);
    return FEEDLINE_OK;
}

static int digit_value(char c, int base)
{
    int value = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : base;
    return value < base ? value : -1;
}

static int32_t parse_digits(struct fdl_json_scan *p, const char *text, int base,
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
            return fdl_json_scan_fail(p, "a number beyond 64 bits");
        value = value * step + (uint64_t)digit;
    }
    bool leading_zero = base == 10 && *start == '0' && text - start > 1;
    if (text == start || leading_zero || (*text && strchr(".eE", *text)))
        return fdl_json_scan_fail(p, "a whole number expected");
    if (base == 10)
        p->at = text;
    *out = value;
    return FEEDLINE_OK;
}

static int32_t parse_field(struct fdl_json_scan *p, const struct field *f,
                           struct fields *out)
{
    char *target = (char *)out + f->at;
    uint64_t number = 0;
    char text[20];
    fdl_json_scan_peek(p);
    struct fdl_json_scan start = *p;
    int32_t status = FEEDLINE_OK;
    switch (f->kind) {
    case KIND_NUMBER:
        status = parse_digits(p, p->at, 10, &number);
        break;
    case KIND_HEX:
        status = fdl_json_scan_string(p, text, sizeof(text));
        if (status)
            return status;
        if (strspn(text, "0123456789abcdefABCDEF") != 16 || text[16])
            return fdl_json_scan_fail(&start, "16 hexadecimal digits expected");
        status = parse_digits(p, text, 16, &number);
        break;
    case KIND_SHUFFLE: {
        enum fdl_shuffle value = FDL_SHUFFLE_NONE;
        while (!fdl_json_scan_word(p, shuffle_words[value]))
            if (++value == FDL_COUNT_OF(shuffle_words))
                return fdl_json_scan_fail(p,
                                          "true, false or \"block\" expected");
        memcpy(target, &value, sizeof(value));
        return FEEDLINE_OK;
    }
    }
    if (status == FEEDLINE_OK)
        memcpy(target, &number, sizeof(number));
    return status;
}

/* The fields that are asked for, and those that were there. */
struct wanted {
    const struct field *fields;
    size_t n;
    struct fields *out;
    uint32_t seen;
};

static int32_t parse_member(struct fdl_json_scan *p, const char *key,
                            void *user)
{
    struct wanted *w = user;
    size_t i = 0;
    while (i < w->n && strcmp(key, w->fields[i].key) != 0)
        i++;
    if (i == w->n)
        return fdl_json_scan_skip(p);
    w->seen |= 1u << i;
    return parse_field(p, &w->fields[i], w->out);
}

/* One pass over the object: every field asked for must be there, all others are
 * skipped. */
static int32_t parse_object(const char *text, const struct field *fields,
                            size_t n_fields, struct fields *out)
{
    struct fdl_json_scan p = {.text = text,
                              .at = text,
                              .what = "not a saved state: ",
                              .depth = MAX_DEPTH};
    struct wanted w = {fields, n_fields, out, 0};
    if (fdl_json_scan_peek(&p) != '{')
        return fdl_json_scan_fail(&p, "'{' expected");
    int32_t status = fdl_json_scan_each(&p, parse_member, &w);
    if (status)
        return status;
    if (fdl_json_scan_peek(&p) != '\0')
        return fdl_json_scan_fail(&p, "text after the end");
    for (size_t i = 0; i < n_fields; i++) {
        if (!(w.seen & 1u << i))
            return fdl_fail(FEEDLINE_EINVAL,
                            "not a saved state: at %td: \"%s\" is missing",
                            p.at - text, fields[i].key);
    }
    return FEEDLINE_OK;
}

/* What a block shuffle adds fits 256 bytes beside numbers that can be. */
static int32_t check_blocks(const struct fdl_state *s)
{
    uint64_t places = FDL_SAMPLES_MAX * FDL_COPIES_MAX;
    if (s->blocks.samples <= FDL_BLOCK_MAX &&
        s->blocks.lanes <= FDL_LANES_MAX && s->count <= FDL_SAMPLES_MAX &&
        s->repeats <= FDL_COPIES_MAX && s->epoch_samples <= places &&
        s->position <= places && s->epoch <= UINT64_C(1) << 62)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "not a saved state: a number is larger than it can be");
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
    if (status == FEEDLINE_OK && fields.state.shuffle == FDL_SHUFFLE_BLOCK) {
        status = parse_object(text, block_fields, FDL_COUNT_OF(block_fields),
                              &fields);
        if (status == FEEDLINE_OK)
            status = check_blocks(&fields.state);
    }
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
                        shuffle_words[saved->shuffle],
                        shuffle_words[here->shuffle]);
    if (saved->blocks.samples != here->blocks.samples ||
        saved->blocks.lanes != here->blocks.lanes)
        return fdl_fail(FEEDLINE_EINVAL,
                        "the state belongs to block=%" PRIu64 " lanes=%" PRIu64
                        ", this loader has block=%" PRIu64 " lanes=%" PRIu64,
                        saved->blocks.samples, saved->blocks.lanes,
                        here->blocks.samples, here->blocks.lanes);
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
