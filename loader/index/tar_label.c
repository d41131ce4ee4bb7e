/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/index/tar_label.h"

#include "base/json_scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FIELD (16u << 20)
#define MAX_DEPTH 32u
#define BLANKS    " \t\r\n\v\f"

int32_t fdl_tar_labels_parse(const char *text, struct fdl_tar_labels *out)
{
    static const char *const names[] = {
        [FDL_TAR_AUTO] = "auto",     [FDL_TAR_CLS] = "cls",
        [FDL_TAR_JSON] = "json:",    [FDL_TAR_TEXT] = "txt",
        [FDL_TAR_FOLDER] = "folder", [FDL_TAR_NONE] = "none",
    };
    static const char *const pickles[] = {"pyd", "pkl", "pickle", "pth"};
    size_t json = strlen(names[FDL_TAR_JSON]);
    if (strncmp(text, names[FDL_TAR_JSON], json) == 0 && text[json]) {
        *out = (struct fdl_tar_labels){FDL_TAR_JSON, text + json};
        return FEEDLINE_OK;
    }
    for (uint32_t i = 0; i < FDL_COUNT_OF(names); i++)
        if (strcmp(text, names[i]) == 0 && i != FDL_TAR_JSON) {
            *out = (struct fdl_tar_labels){(enum fdl_tar_source)i, NULL};
            return FEEDLINE_OK;
        }
    for (uint32_t i = 0; i < FDL_COUNT_OF(pickles); i++)
        if (strcmp(text, pickles[i]) == 0)
            return fdl_fail(FEEDLINE_ENOSYS,
                            "label=%s: a pickle is a program, and is not run; "
                            "write the labels as .cls or .json",
                            text);
    return fdl_fail(FEEDLINE_ENOENT,
                    "label=%s: use auto, cls, json:NAME.NAME, txt, folder or "
                    "none",
                    text);
}

bool fdl_tar_labels_in(const struct fdl_tar_labels *l, const char *extension)
{
    switch (l->source) {
    case FDL_TAR_AUTO:
    case FDL_TAR_CLS:
        return strcmp(extension, "cls") == 0;
    case FDL_TAR_JSON:
        return strcmp(extension, "json") == 0;
    case FDL_TAR_TEXT:
        return strcmp(extension, "txt") == 0;
    default:
        return false;
    }
}

/* The integer that the text is, blanks aside. */
static bool take_integer(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return end != text && errno == 0 && end[strspn(end, BLANKS)] == '\0';
}

/* Cuts the blanks around it. */
static void trim(struct fdl_text *t)
{
    size_t front = strspn(t->data, BLANKS);
    memmove(t->data, t->data + front, t->length - front + 1);
    t->length -= front;
    while (t->length > 0 && strchr(BLANKS, t->data[t->length - 1]))
        t->data[--t->length] = '\0';
}

/* ---- JSON ---------------------------------------------------------------- */

struct search {
    const char *path; /* what is left of it */
    enum fdl_label_kind *kind;
    int64_t *number;
    char *out; /* as large as all of the JSON */
    size_t capacity;
};

static int32_t take_value(struct fdl_json_scan *s, struct search *f)
{
    char c = fdl_json_scan_peek(s);
    *f->kind = FDL_LABEL_NONE;
    if (c == '"') {
        *f->kind = FDL_LABEL_CLASS;
        return fdl_json_scan_string(s, f->out, f->capacity);
    }
    if (fdl_json_scan_word(s, "null"))
        return FEEDLINE_OK;
    const char *begin = s->at;
    int32_t status = fdl_json_scan_skip(s);
    if (status)
        return status;
    size_t n = FDL_MIN((size_t)(s->at - begin), f->capacity - 1);
    memcpy(f->out, begin, n);
    f->out[n] = '\0';
    if (!take_integer(f->out, f->number))
        return fdl_json_scan_fail(s, "neither an integer nor a string");
    *f->kind = FDL_LABEL_NUMBER;
    return FEEDLINE_OK;
}

static int32_t look_for(struct fdl_json_scan *s, const char *key, void *user)
{
    struct search *f = user;
    const char *path = f->path;
    size_t n = strcspn(path, ".");
    if (!key || strlen(key) != n || memcmp(key, path, n) != 0)
        return fdl_json_scan_skip(s);
    if (path[n] == '\0')
        return take_value(s, f);
    if (fdl_json_scan_peek(s) != '{')
        return fdl_json_scan_skip(s);
    f->path = path + n + 1;
    int32_t status = fdl_json_scan_each(s, look_for, f);
    f->path = path;
    return status;
}

/* text: the JSON; then the class. */
static int32_t search_json(const char *path, struct fdl_text *text,
                           enum fdl_label_kind *kind, int64_t *number)
{
    struct fdl_text json = {0};
    struct search f = {.path = path, .kind = kind, .number = number};
    struct fdl_json_scan s = {.what = "", .depth = MAX_DEPTH};
    if (!fdl_text_reserve(&json, text->length))
        return fdl_fail_memory(text->length, "JSON");
    memcpy(json.data, text->data, text->length + 1);
    s.text = s.at = json.data;
    f.out = text->data;
    f.capacity = text->length + 1;
    *kind = FDL_LABEL_NONE;
    int32_t status = FEEDLINE_OK;
    if (fdl_json_scan_peek(&s) == '{')
        status = fdl_json_scan_each(&s, look_for, &f);
    else
        status = fdl_json_scan_fail(&s, "no object");
    fdl_text_free(&json);
    return status;
}

/* ---- All of them --------------------------------------------------------- */

static int32_t read_text(struct fdl_shard *s, uint64_t at, uint64_t size,
                         struct fdl_text *text)
{
    const uint8_t *bytes = (const uint8_t *)"";
    int32_t status = size ? fdl_shard_bytes(s, at, size, &bytes) : FEEDLINE_OK;
    if (status)
        return status;
    if (!fdl_text_reserve(text, size))
        return fdl_fail_memory(size, "a label");
    memcpy(text->data, bytes, size);
    text->data[size] = '\0';
    text->length = strlen(text->data);
    return FEEDLINE_OK;
}

static int32_t read_json(const struct fdl_tar_labels *l,
                         const struct fdl_shard *s, const char *name,
                         uint64_t at, enum fdl_label_kind *kind,
                         int64_t *number, struct fdl_text *text)
{
    char why[FDL_ERROR_BYTES];
    int32_t status = search_json(l->path, text, kind, number);
    if (status != FEEDLINE_EINVAL)
        return status;
    memcpy(why, fdl_last_error(), sizeof(why));
    why[sizeof(why) - 1] = '\0';
    return fdl_shard_fail(s, at, "%s, label=json:%s: %s", name, l->path, why);
}

int32_t fdl_tar_label_read(const struct fdl_tar_labels *l, struct fdl_shard *s,
                           const char *name, uint64_t at, uint64_t size,
                           enum fdl_label_kind *kind, int64_t *number,
                           struct fdl_text *text)
{
    if (size > MAX_FIELD)
        return fdl_shard_fail(s, at, "%s: %" PRIu64 " bytes for a label", name,
                              size);
    int32_t status = read_text(s, at, size, text);
    if (status)
        return status;
    if (l->source == FDL_TAR_JSON)
        return read_json(l, s, name, at, kind, number, text);
    if (l->source == FDL_TAR_TEXT) {
        trim(text);
        *kind = FDL_LABEL_CLASS;
        return FEEDLINE_OK;
    }
    *kind = FDL_LABEL_NUMBER;
    if (!take_integer(text->data, number))
        return fdl_shard_fail(s, at,
                              "%s is no integer: choose another label "
                              "(?label=json:NAME, txt, folder or none)",
                              name);
    return FEEDLINE_OK;
}

int32_t fdl_tar_integer_read(struct fdl_shard *s, const char *name, uint64_t at,
                             uint64_t size, int64_t *number,
                             struct fdl_text *text)
{
    int32_t status =
        size > MAX_FIELD
            ? fdl_shard_fail(s, at, "%s: %" PRIu64 " bytes for an integer",
                             name, size)
            : read_text(s, at, size, text);
    if (status == FEEDLINE_OK && !take_integer(text->data, number))
        status = fdl_shard_fail(s, at, "%s is no integer", name);
    return status;
}
