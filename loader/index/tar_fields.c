/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/index/tar_fields.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* webdataset/autodecode.py, basichandlers. */
static const struct {
    const char *extension;
    int32_t kind;
} kinds[] = {
    {"txt", FEEDLINE_FIELD_TEXT},        {"text", FEEDLINE_FIELD_TEXT},
    {"transcript", FEEDLINE_FIELD_TEXT}, {"json", FEEDLINE_FIELD_JSON},
    {"jsn", FEEDLINE_FIELD_JSON},        {"cls", FEEDLINE_FIELD_INT},
    {"cls2", FEEDLINE_FIELD_INT},        {"class", FEEDLINE_FIELD_INT},
    {"count", FEEDLINE_FIELD_INT},       {"index", FEEDLINE_FIELD_INT},
    {"inx", FEEDLINE_FIELD_INT},         {"id", FEEDLINE_FIELD_INT},
};

/* Only the last part of "7.meta.json" counts. */
static int32_t kind_of(const char *extension)
{
    const char *dot = strrchr(extension, '.');
    const char *last = dot ? dot + 1 : extension;
    for (size_t i = 0; i < FDL_COUNT_OF(kinds); i++)
        if (strcmp(kinds[i].extension, last) == 0)
            return kinds[i].kind;
    return FEEDLINE_FIELD_BYTES;
}

void fdl_tar_fields_free(struct fdl_tar_fields *t)
{
    free(t->cells);
    *t = (struct fdl_tar_fields){0};
}

/* Rows up to that of the group. */
static int32_t reserve(struct fdl_tar_fields *t, uint32_t n, uint64_t group)
{
    int32_t status = fdl_array_reserve(&t->cells, &t->capacity, group,
                                       n * sizeof(*t->cells), "fields");
    for (; status == FEEDLINE_OK && t->rows <= group; t->rows++)
        for (uint32_t i = 0; i < n; i++)
            t->cells[t->rows * n + i].file = FDL_NO_FILE;
    return status;
}

/* Nobody reads its bytes again. */
static int32_t check_number(struct fdl_shard *s, const char *name,
                            const struct fdl_tar_member *m)
{
    const uint8_t *bytes;
    int32_t status = fdl_shard_bytes(s, m->begin, m->size, &bytes);
    if (status == FEEDLINE_OK &&
        fdl_sum_check(&m->sum, bytes, m->size, m->begin, "the archive",
                      "damaged=skip among the options of the data set's name") <
            0)
        status = fdl_shard_fail(s, m->begin, "%s: %s", name, fdl_last_error());
    return status;
}

int32_t fdl_tar_fields_take(struct fdl_tar_fields *t, struct fdl_shard *s,
                            uint64_t group, const char *extension,
                            const char *name, const struct fdl_tar_member *m,
                            struct fdl_text *text, bool *taken)
{
    const struct fdl_field_set *fields = s->list->fields;
    int32_t field = fields ? fdl_field_set_find(fields, extension) : -1;
    *taken = field >= 0;
    if (!*taken)
        return FEEDLINE_OK;
    int32_t status = reserve(t, fields->n, group);
    if (status)
        return status;
    struct fdl_cell *cell = &t->cells[group * fields->n + (uint32_t)field];
    if (cell->file != FDL_NO_FILE)
        return fdl_shard_fail(s, m->begin, "%s: a second field '%s'", name,
                              extension);
    if (m->size >= UINT32_MAX)
        return fdl_shard_fail(s, m->begin, "%s: a field of 4 GiB or more",
                              name);
    *cell = (struct fdl_cell){
        .word = m->begin, .length = (uint32_t)m->size, .sum = m->sum};
    if (kind_of(extension) == FEEDLINE_FIELD_INT) {
        int64_t number = 0;
        status =
            fdl_tar_integer_read(s, name, m->begin, m->size, &number, text);
        cell->word = (uint64_t)number;
        if (status == FEEDLINE_OK)
            status = check_number(s, name, m);
    }
    return status;
}

int32_t fdl_tar_fields_add(const struct fdl_tar_fields *t,
                           const struct fdl_shard *s, uint64_t group)
{
    const struct fdl_field_set *fields = s->list->fields;
    int32_t status = FEEDLINE_OK;
    if (!fields || group >= t->rows)
        return FEEDLINE_OK;
    for (uint32_t i = 0; status == FEEDLINE_OK && i < fields->n; i++) {
        const struct fdl_cell *c = &t->cells[group * fields->n + i];
        int32_t kind = kind_of(fdl_field_set_name(fields, i));
        if (c->file == FDL_NO_FILE)
            continue;
        if (fdl_field_is_number(kind)) {
            status = fdl_listing_cell(s->list, i, kind, c->word);
            continue;
        }
        status = fdl_listing_part(s->list, i, kind, c->word, c->length);
        if (status == FEEDLINE_OK)
            fdl_listing_part_sum(s->list, i, c->sum);
    }
    return status;
}
