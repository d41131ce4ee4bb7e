/* SPDX-License-Identifier: Apache-2.0 */
#include "store/answer_fields.h"

#include "base/json_scan.h"
#include "base/memory.h"
#include "base/status.h"
#include "store/xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON_DEPTH 8

struct wanted {
    struct fdl_field *fields;
    uint32_t n;
};

static struct fdl_field *find(const struct wanted *w, const char *name)
{
    for (uint32_t i = 0; i < w->n; i++) {
        if (strcmp(w->fields[i].name, name) == 0 && !w->fields[i].text)
            return &w->fields[i];
    }
    return NULL;
}

static int32_t set(struct fdl_field *f, const char *text)
{
    f->text = fdl_strdup(text);
    return f->text ? FEEDLINE_OK : fdl_fail_memory(strlen(text), f->name);
}

static int32_t scan_value(struct fdl_json_scan *s, char *value)
{
    if (fdl_json_scan_peek(s) == '"') {
        int32_t status = fdl_json_scan_string(s, value, FDL_FIELD_BYTES);
        if (status == FEEDLINE_OK && strlen(value) == FDL_FIELD_BYTES - 1)
            status = fdl_json_scan_fail(s, "a text that is too long");
        return status;
    }
    const char *begin = s->at;
    int32_t status = fdl_json_scan_skip(s);
    size_t n = (size_t)(s->at - begin);
    if (status < 0)
        return status;
    n = *begin == '{' || *begin == '[' || n >= FDL_FIELD_BYTES ? 0 : n;
    memcpy(value, begin, n);
    value[n] = '\0';
    return FEEDLINE_OK;
}

static int32_t take_json(struct fdl_json_scan *s, const char *key, void *user)
{
    struct fdl_field *f = key ? find(user, key) : NULL;
    if (!f)
        return fdl_json_scan_skip(s);
    char *value = malloc(FDL_FIELD_BYTES);
    if (!value)
        return fdl_fail_memory(FDL_FIELD_BYTES, f->name);
    int32_t status = scan_value(s, value);
    if (status == FEEDLINE_OK)
        status = set(f, value);
    explicit_bzero(value, FDL_FIELD_BYTES);
    free(value);
    return status;
}

int32_t fdl_fields_json(const struct fdl_text *body, const char *what,
                        struct fdl_field *fields, uint32_t n)
{
    char before[FDL_ERROR_BYTES];
    const char *text = body->length ? body->data : "";
    struct wanted w = {fields, n};
    snprintf(before, sizeof(before), "%s: ", what);
    struct fdl_json_scan s = {
        .text = text, .at = text, .what = before, .depth = JSON_DEPTH};
    int32_t status = fdl_json_scan_peek(&s) == '{'
                         ? fdl_json_scan_each(&s, take_json, &w)
                         : fdl_json_scan_fail(&s, "no object");
    if (status < 0)
        fdl_fields_free(fields, n);
    return status;
}

static int32_t take_xml(void *user, const struct fdl_xml *element)
{
    struct fdl_field *f = find(user, element->names[element->depth - 1]);
    return f ? set(f, element->text) : FEEDLINE_OK;
}

int32_t fdl_fields_xml(const struct fdl_text *body, const char *what,
                       struct fdl_field *fields, uint32_t n)
{
    struct wanted w = {fields, n};
    int32_t status = fdl_xml_read(body->data, body->length, what, take_xml, &w);
    if (status < 0)
        fdl_fields_free(fields, n);
    return status;
}

void fdl_fields_free(struct fdl_field *fields, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        fdl_wipe(fields[i].text);
        fields[i].text = NULL;
    }
}
