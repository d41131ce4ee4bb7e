/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option values. Whatever sets more than one value at a time works on a copy
 * and swaps it in at the end, so a mistake half way leaves nothing behind.
 */
#include "base/option.h"

#include "base/abi.h"
#include "base/closest.h"
#include "base/memory.h"
#include "base/option_parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 128 /* of an environment variable */

/* ---- Make, copy, free --------------------------------------------------- */

static int32_t alloc_values(uint32_t n, struct fdl_option_value **out)
{
    struct fdl_option_value *values = calloc(FDL_MAX(n, 1), sizeof(*values));
    if (!values)
        return fdl_fail_memory((uint64_t)n * sizeof(*values), "option values");
    *out = values;
    return FEEDLINE_OK;
}

int32_t fdl_options_init(struct fdl_options *o, const char *scope,
                         const struct fdl_option *table, uint32_t n)
{
    struct fdl_options made = {.scope = scope, .table = table, .n = n};
    int32_t status = alloc_values(n, &made.values);
    for (uint32_t i = 0; i < n && status == FEEDLINE_OK; i++) {
        const char *text = table[i].default_text ? table[i].default_text : "";
        status = fdl_option_parse(&table[i], text, &made.values[i]);
        fdl_assert(status == FEEDLINE_OK || status == FEEDLINE_ENOMEM);
    }
    if (status != FEEDLINE_OK) {
        fdl_options_fini(&made);
        return status;
    }
    *o = made;
    return FEEDLINE_OK;
}

int32_t fdl_options_copy(struct fdl_options *to, const struct fdl_options *from)
{
    struct fdl_options made = *from;
    made.values = NULL;
    int32_t status = alloc_values(from->n, &made.values);
    for (uint32_t i = 0; i < from->n && status == FEEDLINE_OK; i++) {
        const char *text = from->values[i].text;
        made.values[i] = from->values[i];
        made.values[i].text = text ? fdl_strdup(text) : NULL;
        if (text && !made.values[i].text)
            status = fdl_fail_memory(strlen(text) + 1, from->table[i].name);
    }
    if (status != FEEDLINE_OK) {
        fdl_options_fini(&made);
        return status;
    }
    *to = made;
    return FEEDLINE_OK;
}

void fdl_options_fini(struct fdl_options *o)
{
    for (uint32_t i = 0; o->values && i < o->n; i++)
        free(o->values[i].text);
    free(o->values);
    o->values = NULL;
}

int32_t fdl_options_take(struct fdl_options *to, const struct fdl_options *from,
                         uint32_t row)
{
    const char *text = from->values[row].text;
    char *copy = text ? fdl_strdup(text) : NULL;
    if (text && !copy)
        return fdl_fail_memory(strlen(text) + 1, from->table[row].name);
    free(to->values[row].text);
    to->values[row] = from->values[row];
    to->values[row].text = copy;
    return FEEDLINE_OK;
}

/* ---- By name ------------------------------------------------------------ */

static bool same_name(const char *typed, const char *name)
{
    while (*typed && (*typed == *name || (*typed == '-' && *name == '_'))) {
        typed++;
        name++;
    }
    return *typed == *name;
}

int32_t fdl_options_find(const struct fdl_options *o, const char *name,
                         uint32_t *row)
{
    struct fdl_closest closest = {.typed = name};
    for (uint32_t i = 0; i < o->n; i++) {
        if (same_name(name, o->table[i].name)) {
            *row = i;
            return FEEDLINE_OK;
        }
        fdl_closest_offer(&closest, o->table[i].name);
        if (o->table[i].shorthand)
            fdl_closest_offer(&closest, o->table[i].shorthand);
    }
    if (closest.name)
        return fdl_fail(FEEDLINE_ENOENT,
                        "%s has no option '%s'; the closest is '%s'", o->scope,
                        name, closest.name);
    return fdl_fail(FEEDLINE_ENOENT, "%s has no option '%s'", o->scope, name);
}

static int32_t set_row(struct fdl_options *o, uint32_t row, const char *text)
{
    struct fdl_option_value value;
    int32_t status = fdl_option_parse(&o->table[row], text, &value);
    if (status != FEEDLINE_OK)
        return status;
    free(o->values[row].text);
    o->values[row] = value;
    return FEEDLINE_OK;
}

/* Every row that `name` is the shorthand of; ENOENT, without a message, if
 * there is none. */
static int32_t set_by_shorthand(struct fdl_options *o, const char *name,
                                const char *text)
{
    int32_t status = FEEDLINE_ENOENT;
    for (uint32_t i = 0; i < o->n; i++) {
        const char *shorthand = o->table[i].shorthand;
        if (!shorthand || !same_name(name, shorthand))
            continue;
        status = set_row(o, i, text);
        if (status != FEEDLINE_OK)
            return status;
    }
    return status;
}

int32_t fdl_options_set(struct fdl_options *o, const char *name,
                        const char *text)
{
    uint32_t row = 0;
    int32_t status = set_by_shorthand(o, name, text);
    if (status != FEEDLINE_ENOENT)
        return status;
    status = fdl_options_find(o, name, &row);
    return status == FEEDLINE_OK ? set_row(o, row, text) : status;
}

static int32_t find_number(const struct fdl_options *o, const char *name,
                           uint32_t *row)
{
    uint32_t found;
    int32_t status = fdl_options_find(o, name, &found);
    if (status != FEEDLINE_OK)
        return status;
    switch (o->table[found].type) {
    case FEEDLINE_T_DOUBLE:
    case FEEDLINE_T_DOUBLES:
    case FEEDLINE_T_STRING:
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s option '%s' is not a whole number; set it as text",
                        o->scope, o->table[found].name);
    }
    *row = found;
    return FEEDLINE_OK;
}

int32_t fdl_options_set_int(struct fdl_options *o, const char *name,
                            int64_t value)
{
    uint32_t row = 0;
    int32_t status = find_number(o, name, &row);
    if (status == FEEDLINE_OK)
        status = fdl_option_check_number(&o->table[row], value);
    if (status == FEEDLINE_OK)
        o->values[row].number = value;
    return status;
}

int32_t fdl_options_get_int(const struct fdl_options *o, const char *name,
                            int64_t *out)
{
    uint32_t row = 0;
    int32_t status = find_number(o, name, &row);
    if (status == FEEDLINE_OK)
        *out = o->values[row].number;
    return status;
}

/* ---- Many at once ------------------------------------------------------- */

/* Takes what `next` has if `status` says so, and frees the rest. */
static int32_t commit(struct fdl_options *o, struct fdl_options *next,
                      int32_t status)
{
    if (status == FEEDLINE_OK) {
        struct fdl_option_value *old = o->values;
        o->values = next->values;
        next->values = old;
    }
    fdl_options_fini(next);
    return status;
}

/* Cuts the first "name=value" off *rest. */
static int32_t cut_pair(char **rest, char **name, char **value)
{
    char *s = *rest;
    size_t length = strcspn(s, "= \t");
    if (s[length] != '=') {
        s[length] = '\0';
        return fdl_fail(FEEDLINE_EINVAL, "'%s' has no value: write %s=VALUE", s,
                        s);
    }
    if (length == 0)
        return fdl_fail(FEEDLINE_EINVAL, "'%s' has no name before the '='", s);
    s[length] = '\0';
    *name = s;
    *value = s += length + 1;

    if (*s == '"') {
        s = fdl_option_unquote(s);
        if (!s)
            return fdl_fail(FEEDLINE_EINVAL, "%s=%s has no closing quote",
                            *name, *value);
        if (*s && *s != ' ' && *s != '\t')
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s: '%s' after the closing quote, where a blank "
                            "belongs",
                            *name, s);
    } else {
        s += strcspn(s, " \t");
    }
    if (*s)
        *s++ = '\0';
    *rest = s;
    return FEEDLINE_OK;
}

static int32_t apply_args(struct fdl_options *o, char *args)
{
    for (;;) {
        args += strspn(args, " \t");
        if (!*args)
            return FEEDLINE_OK;
        char *name = NULL, *value = NULL;
        int32_t status = cut_pair(&args, &name, &value);
        if (status == FEEDLINE_OK)
            status = fdl_options_set(o, name, value);
        if (status != FEEDLINE_OK)
            return status;
    }
}

int32_t fdl_options_set_args(struct fdl_options *o, const char *args)
{
    if (!args)
        return FEEDLINE_OK;
    char *text = fdl_strdup(args);
    if (!text)
        return fdl_fail_memory(strlen(args) + 1, "arguments");

    struct fdl_options next;
    int32_t status = fdl_options_copy(&next, o);
    if (status == FEEDLINE_OK)
        status = commit(o, &next, apply_args(&next, text));
    free(text);
    return status;
}

static void variable_name(char buf[NAME_BYTES], const char *prefix,
                          const char *name)
{
    snprintf(buf, NAME_BYTES, "%s_%s", prefix, name);
    for (char *s = buf; *s; s++) {
        if (*s >= 'a' && *s <= 'z')
            *s = (char)(*s - 'a' + 'A');
    }
}

static int32_t apply_environment(struct fdl_options *o, const char *prefix)
{
    for (uint32_t i = 0; i < o->n; i++) {
        char variable[NAME_BYTES];
        variable_name(variable, prefix, o->table[i].name);
        const char *text = getenv(variable);
        int32_t status = text ? set_row(o, i, text) : FEEDLINE_OK;
        if (status != FEEDLINE_OK)
            return fdl_fail(status, "environment variable %s: %s", variable,
                            fdl_last_error());
    }
    return FEEDLINE_OK;
}

int32_t fdl_options_set_environment(struct fdl_options *o, const char *prefix)
{
    struct fdl_options next;
    int32_t status = fdl_options_copy(&next, o);
    if (status == FEEDLINE_OK)
        status = commit(o, &next, apply_environment(&next, prefix));
    return status;
}

int32_t fdl_options_check(const struct fdl_options *o)
{
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; i < o->n && status == FEEDLINE_OK; i++) {
        if (o->table[i].check)
            status = o->table[i].check(o, i);
    }
    return status;
}

/* ---- By row ------------------------------------------------------------- */

const struct fdl_option_value *fdl_option_value(const struct fdl_options *o,
                                                uint32_t row)
{
    fdl_assert(row < o->n);
    return &o->values[row];
}

int64_t fdl_option_int(const struct fdl_options *o, uint32_t row)
{
    return fdl_option_value(o, row)->number;
}

double fdl_option_double(const struct fdl_options *o, uint32_t row)
{
    return fdl_option_value(o, row)->doubles[0];
}

const char *fdl_option_text(const struct fdl_options *o, uint32_t row)
{
    const char *text = fdl_option_value(o, row)->text;
    return text ? text : "";
}

static void fill_field(const struct fdl_option *row,
                       const struct fdl_option_value *value, void *field)
{
    if (row->type == FEEDLINE_T_DOUBLE) {
        fdl_assert(row->field_bytes == sizeof(value->doubles[0]));
        memcpy(field, value->doubles, sizeof(value->doubles[0]));
    } else if (row->field_bytes == sizeof(bool)) {
        *(bool *)field = value->number != 0;
    } else if (row->field_bytes == sizeof(uint32_t)) {
        *(uint32_t *)field = (uint32_t)value->number;
    } else {
        fdl_assert(row->field_bytes == sizeof(int64_t));
        *(int64_t *)field = value->number;
    }
}

void fdl_options_fill(const struct fdl_options *o, void *out)
{
    for (uint32_t i = 0; i < o->n; i++) {
        const struct fdl_option *row = &o->table[i];
        if (row->field_bytes)
            fill_field(row, &o->values[i], (char *)out + row->field_at);
    }
}

const char *fdl_option_choice(const struct fdl_option *row, int64_t value,
                              char *buf, uint64_t capacity)
{
    const char *choice = "?";
    size_t length = 0;
    if (value >= 0)
        length = fdl_option_choice_at(row->choices, value, &choice);
    snprintf(buf, capacity, "%.*s", length > 0 ? (int)length : 1, choice);
    return buf;
}

/* ---- Describe ----------------------------------------------------------- */

static void value_json(const struct fdl_option *row,
                       const struct fdl_option_value *value, struct fdl_json *j)
{
    char choice[NAME_BYTES];
    switch (row->type) {
    case FEEDLINE_T_DOUBLE:
        fdl_json_double(j, row->name, value->doubles[0]);
        break;
    case FEEDLINE_T_DOUBLES:
        fdl_json_begin_array(j, row->name);
        for (uint32_t i = 0; i < value->n_doubles; i++)
            fdl_json_double(j, NULL, value->doubles[i]);
        fdl_json_end_array(j);
        break;
    case FEEDLINE_T_BOOL:
        if (value->number <= 1) {
            fdl_json_bool(j, row->name, value->number != 0);
            break;
        }
        /* fall through */
    case FEEDLINE_T_ENUM:
        fdl_option_choice(row, value->number, choice, sizeof(choice));
        fdl_json_string(j, row->name, choice);
        break;
    case FEEDLINE_T_STRING:
        fdl_json_string(j, row->name, value->text);
        break;
    default:
        fdl_json_int(j, row->name, value->number);
        break;
    }
}

void fdl_options_json(const struct fdl_options *o, struct fdl_json *j)
{
    for (uint32_t i = 0; i < o->n; i++)
        value_json(&o->table[i], &o->values[i], j);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

int32_t fdl_option_describe(const struct fdl_option *table, uint32_t n,
                            uint32_t index, struct feedline_option_info *out)
{
    if (index >= n)
        return fdl_fail(FEEDLINE_ERANGE,
                        "option %" PRIu32 " is out of range: there are "
                        "%" PRIu32,
                        index, n);
    const struct fdl_option *row = &table[index];
    struct feedline_option_info info = {
        .flags = row->flags,
        .type = row->type,
        .min = row->min,
        .max = row->max,
        .double_min = row->double_min,
        .double_max = row->double_max,
        .name = row->name,
        .default_text = or_empty(row->default_text),
        .unit = or_empty(row->unit),
        .choices = row->choices,
        .help = or_empty(row->help),
    };
    return fdl_copy_out(out, &info, sizeof(info));
}
