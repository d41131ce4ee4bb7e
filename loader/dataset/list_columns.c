/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/dataset/list_columns.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define FIRST "path\tlabel"
#define PARTS "\toffset\tlength"

static bool begins(const char *text, const char *with)
{
    size_t n = strlen(with);
    return strncmp(text, with, n) == 0 && (text[n] == '\0' || text[n] == '\t');
}

bool fdl_list_columns_are(const char *line)
{
    return begins(line, FIRST);
}

/* Of "score:float", whose kind is cut off; FDL_FIELD_UNKNOWN: no such kind. */
static int32_t take_kind(char *name, uint32_t *width)
{
    static const struct {
        const char *name;
        int32_t kind;
        uint32_t width;
    } kinds[] = {
        {"text", FEEDLINE_FIELD_TEXT, 0},
        {"json", FEEDLINE_FIELD_JSON, 0},
        {"int", FEEDLINE_FIELD_INT, 0},
        {"float", FEEDLINE_FIELD_FLOAT, 0},
        {"ints", FEEDLINE_FIELD_INT, FDL_LIST_VECTOR},
        {"floats", FEEDLINE_FIELD_FLOAT, FDL_LIST_VECTOR},
        {"file", FEEDLINE_FIELD_BYTES, 0},
    };
    *width = 0;
    char *colon = strrchr(name, ':');
    if (!colon)
        return FEEDLINE_FIELD_TEXT;
    *colon = '\0';
    for (size_t i = 0; i < FDL_COUNT_OF(kinds); i++)
        if (strcmp(colon + 1, kinds[i].name) == 0) {
            *width = kinds[i].width;
            return kinds[i].kind;
        }
    return FDL_FIELD_UNKNOWN;
}

/* A column that nobody asked for may be called anything. */
static int32_t read_column(struct fdl_list_columns *c,
                           struct fdl_field_set *fields, const char *list,
                           char *name)
{
    uint32_t width;
    int32_t kind = take_kind(name, &width);
    int32_t field = fdl_field_set_find(fields, name);
    if (c->n == FDL_LIST_COLUMNS)
        return fdl_fail(FEEDLINE_EINVAL, "%s: more than %u columns", list,
                        FDL_LIST_COLUMNS);
    if (field >= 0 && fields->kind[field] != FDL_FIELD_UNKNOWN)
        return fdl_fail(FEEDLINE_EINVAL, "%s: two columns '%s'", list, name);
    if (field >= 0 && kind == FDL_FIELD_UNKNOWN)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: column '%s' is of an unknown kind: text, json, "
                        "int, float, ints, floats or file",
                        list, name);
    if (field >= 0) {
        fields->kind[field] = kind;
        fields->width[field] = width;
        c->of_field[field] = c->n;
    }
    c->n++;
    return FEEDLINE_OK;
}

int32_t fdl_list_columns_read(struct fdl_list_columns *c,
                              struct fdl_field_set *fields, const char *list,
                              char *line)
{
    int32_t status = FEEDLINE_OK;
    char *at = line + strlen(FIRST);
    c->parts = begins(at, PARTS);
    c->n = c->parts ? 4 : 2;
    if (c->parts)
        at += strlen(PARTS);
    for (char *name = *at ? at + 1 : NULL, *next; name && status == FEEDLINE_OK;
         name = next) {
        next = strchr(name, '\t');
        if (next)
            *next++ = '\0';
        status = read_column(c, fields, list, name);
    }
    for (uint32_t i = 0; status == FEEDLINE_OK && i < fields->n; i++)
        if (fields->kind[i] == FDL_FIELD_UNKNOWN)
            status = fdl_fail(FEEDLINE_ENOENT,
                              "%s: no column '%s' in its first line", list,
                              fdl_field_set_name(fields, i));
    return status;
}

bool fdl_list_columns_split(const struct fdl_list_columns *c, char *line,
                            char **out)
{
    out[0] = line;
    for (uint32_t i = c->n - 1; i > 0; i--) {
        char *tab = strrchr(line, '\t');
        if (!tab)
            return false;
        *tab = '\0';
        out[i] = tab + 1;
    }
    return true;
}

bool fdl_list_columns_number(int32_t kind, const char *text, uint64_t *word)
{
    const char *end;
    double number;
    if (kind == FEEDLINE_FIELD_FLOAT) {
        if (!fdl_parse_double(text, &end, &number) || *end)
            return false;
        *word = fdl_field_word(number);
        return true;
    }
    const char *digits = text + (*text == '-' || *text == '+');
    errno = 0;
    *word = (uint64_t)strtoll(text, NULL, 10);
    return *digits && digits[strspn(digits, "0123456789")] == '\0' && !errno;
}

uint32_t fdl_list_columns_take(const struct fdl_list_columns *c,
                               const struct fdl_field_set *fields,
                               const struct fdl_line *line, char *const *texts,
                               struct fdl_cell *out)
{
    for (uint32_t i = 0; i < fields->n; i++) {
        const char *found = texts[c->of_field[i]];
        size_t n = strlen(found);
        out[i] = (struct fdl_cell){
            .word = line->at + (uint64_t)(found - line->text),
            .file = FDL_LIST_ITSELF,
            .length = (uint32_t)FDL_MIN(n, UINT32_MAX),
        };
        if (!fdl_field_is_number(fields->kind[i]) || fields->width[i] > 0)
            continue;
        if (n == 0)
            out[i].file = FDL_NO_FILE;
        else if (!fdl_list_columns_number(fields->kind[i], found, &out[i].word))
            return i;
    }
    return fields->n;
}
