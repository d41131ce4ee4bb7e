/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict JSON for small files; see profile_parse.h. Names are joined as objects
 * are entered, so nesting is bounded by the length of a name and by MAX_DEPTH.
 */
#include "loader/tune/profile_parse.h"

#include "base/json_scan.h"
#include "base/status.h"

#include <stdbool.h>
#include <string.h>

#define MAX_DEPTH 16u

struct parser {
    struct fdl_json_scan scan;
    struct fdl_profile_values *out;
    char path[FDL_PROFILE_NAME_BYTES]; /* of the object that is read */
    uint32_t lists;
};

/* A string of a profile is a name or a word. */
static int32_t parse_string(struct parser *p, char *out, size_t capacity)
{
    int32_t status = fdl_json_scan_string(&p->scan, out, capacity);
    if (status >= 0 && p->scan.has_nul)
        return fdl_json_scan_fail(&p->scan, "a NUL in a string");
    return status;
}

/* ---- Values -------------------------------------------------------------- */

static int32_t keep(struct parser *p, const struct fdl_profile_value *value)
{
    struct fdl_profile_values *v = p->out;
    if (p->lists > 0)
        return FEEDLINE_OK;
    if (fdl_profile_find(v, p->path))
        return fdl_json_scan_fail(&p->scan, "a name for the second time");
    if (v->n == FDL_PROFILE_VALUES)
        return fdl_json_scan_fail(&p->scan, "more values than a profile has");
    v->all[v->n] = *value;
    memcpy(v->all[v->n++].name, p->path, sizeof(p->path));
    return FEEDLINE_OK;
}

static int32_t parse_number(struct parser *p, struct fdl_profile_value *out)
{
    struct fdl_json_scan start = p->scan;
    int32_t status = fdl_json_scan_number(&p->scan);
    if (status < 0)
        return status;
    size_t length = (size_t)(p->scan.at - start.at);
    if (length >= sizeof(out->text))
        return fdl_json_scan_fail(&start, "a number of very many digits");
    memcpy(out->text, start.at, length);
    out->text[length] = '\0';
    out->kind = FDL_PROFILE_NUMBER;
    return FEEDLINE_OK;
}

static bool take_word(struct parser *p, struct fdl_profile_value *out)
{
    static const char *const words[] = {"true", "false", "null"};
    for (uint32_t i = 0; i < 3; i++) {
        if (!fdl_json_scan_word(&p->scan, words[i]))
            continue;
        memcpy(out->text, words[i], strlen(words[i]) + 1);
        out->kind = FDL_PROFILE_WORD;
        return true;
    }
    return false;
}

static int32_t parse_scalar(struct parser *p)
{
    struct fdl_profile_value value = {.kind = FDL_PROFILE_STRING};
    int32_t status = FEEDLINE_OK;
    if (fdl_json_scan_peek(&p->scan) == '"')
        status = parse_string(p, value.text, sizeof(value.text));
    else if (!take_word(p, &value))
        status = parse_number(p, &value);
    return status < 0 ? status : keep(p, &value);
}

static int32_t parse_value(struct parser *p);

/* "key": value; the key is appended to the path meanwhile. */
static int32_t parse_member(struct fdl_json_scan *s, const char *key,
                            void *user)
{
    struct parser *p = user;
    size_t before = strlen(p->path), n = key ? strlen(key) : 0;
    if (!key)
        return parse_value(p);
    if (s->has_nul)
        return fdl_json_scan_fail(s, "a NUL in a string");
    if (before + 1 + n >= sizeof(p->path))
        return fdl_json_scan_fail(s, "a name that is too long");
    if (before > 0)
        p->path[before] = '.';
    memcpy(p->path + before + (before > 0), key, n + 1);
    int32_t status = parse_value(p);
    p->path[before] = '\0';
    return status;
}

static int32_t parse_value(struct parser *p)
{
    char open = fdl_json_scan_peek(&p->scan);
    bool list = open == '[';
    if (open != '{' && !list)
        return parse_scalar(p);
    p->lists += list;
    int32_t status = fdl_json_scan_each(&p->scan, parse_member, p);
    p->lists -= list;
    return status;
}

int32_t fdl_profile_parse(const char *text, struct fdl_profile_values *out)
{
    struct parser p = {
        .scan = {.text = text, .at = text, .what = "", .depth = MAX_DEPTH},
        .out = out};
    out->n = 0;
    if (fdl_json_scan_peek(&p.scan) != '{')
        return fdl_json_scan_fail(&p.scan, "'{' expected");
    int32_t status = parse_value(&p);
    if (status < 0)
        return status;
    if (fdl_json_scan_peek(&p.scan) != '\0')
        return fdl_json_scan_fail(&p.scan, "text after the end");
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
