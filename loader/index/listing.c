/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/index/listing.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fdl_listing_free(struct fdl_listing *l)
{
    free(l->tag);
    free(l->samples);
    free(l->names.text);
    free(l->cells);
    fdl_name_table_free(&l->classes);
    *l = (struct fdl_listing){.path = l->path, .fields = l->fields};
}

static uint32_t n_fields(const struct fdl_listing *l)
{
    return l->fields ? l->fields->n : 0;
}

/* Of a sample that is about to be added. */
static int32_t add_cells(struct fdl_listing *l)
{
    uint32_t n = n_fields(l);
    if (n == 0)
        return FEEDLINE_OK;
    int32_t status =
        fdl_array_reserve(&l->cells, &l->cells_capacity, l->count,
                          n * sizeof(*l->cells), "fields of samples");
    for (uint32_t i = 0; status == FEEDLINE_OK && i < n; i++)
        l->cells[l->count * n + i] = (struct fdl_cell){.file = FDL_NO_FILE};
    return status;
}

int32_t fdl_listing_add(struct fdl_listing *l, const char *name,
                        uint64_t offset, uint64_t length)
{
    if (length >= UINT32_MAX)
        return fdl_fail(FEEDLINE_EINVAL,
                        "a sample of %" PRIu64 " bytes: less than 4 GiB is "
                        "supported",
                        length);
    int32_t status = fdl_array_reserve(&l->samples, &l->capacity, l->count,
                                       sizeof(*l->samples), "samples");
    if (status == FEEDLINE_OK)
        status = add_cells(l);
    if (status)
        return status;
    struct fdl_listed *s = &l->samples[l->count];
    *s = (struct fdl_listed){.offset = offset, .length = (uint32_t)length};
    status = fdl_strings_add(&l->names, "", name, &s->name_at);
    if (status == FEEDLINE_OK)
        l->count++;
    return status;
}

/* What is further away nobody reads for the sake of a checksum. */
void fdl_listing_sum(struct fdl_listing *l, struct fdl_sum sum, uint64_t begin,
                     uint64_t end)
{
    struct fdl_listed *s = &l->samples[l->count - 1];
    uint64_t before = s->offset - begin;
    uint64_t after = end - s->offset - s->length;
    if (before > UINT32_MAX || after > UINT32_MAX)
        return;
    s->sum = (struct fdl_image_sum){sum, (uint32_t)before, (uint32_t)after};
    l->summed = true;
}

void fdl_listing_drop(struct fdl_listing *l)
{
    fdl_assert(l->labelled < l->count);
    l->count--;
    l->names.bytes = l->samples[l->count].name_at;
}

/* The sample that was added last, in front of what is wrong with it. */
static int32_t fail_last(const struct fdl_listing *l, const char *what,
                         const char *name)
{
    const char *sample = l->names.text + l->samples[l->count - 1].name_at;
    return fdl_fail(FEEDLINE_EINVAL, "%s: sample %" PRIu64 "%s%s: its %s%s",
                    l->path ? l->path : "shard", l->count - 1,
                    *sample ? ", " : "", sample, what, name);
}

static int32_t label(struct fdl_listing *l, enum fdl_label_kind kind,
                     int64_t value)
{
    fdl_assert(l->labelled < l->count);
    if (l->labelled > 0 && l->labels != kind)
        return fail_last(l, "label is a ",
                         kind == FDL_LABEL_CLASS
                             ? "name, those before it are numbers"
                             : "number, those before it are names");
    l->labels = kind;
    l->labelled++;
    l->samples[l->count - 1].label = value;
    return FEEDLINE_OK;
}

int32_t fdl_listing_number(struct fdl_listing *l, int64_t value)
{
    return label(l, FDL_LABEL_NUMBER, value);
}

int32_t fdl_listing_class(struct fdl_listing *l, const char *name)
{
    uint64_t number;
    int32_t status = fdl_name_table_add(&l->classes, name, &number);
    return status ? status : label(l, FDL_LABEL_CLASS, (int64_t)number);
}

int32_t fdl_listing_class_of_folder(struct fdl_listing *l, const char *member)
{
    const char *end = strrchr(member, '/');
    if (!end || end == member)
        return FEEDLINE_OK;
    const char *begin = end;
    while (begin > member && begin[-1] != '/')
        begin--;
    char *name = fdl_strdup(begin);
    if (!name)
        return fdl_fail_memory(strlen(begin) + 1, "a class name");
    name[end - begin] = '\0';
    int32_t status = fdl_listing_class(l, name);
    free(name);
    return status;
}

static int32_t set_cell(struct fdl_listing *l, uint32_t field, int32_t kind,
                        const struct fdl_cell *cell)
{
    uint64_t last = l->count - 1;
    if (l->kinds[field] != FDL_FIELD_UNKNOWN && l->kinds[field] != kind)
        return fail_last(l,
                         "value is of another kind than those before it, of "
                         "field ",
                         fdl_field_set_name(l->fields, field));
    l->kinds[field] = (uint8_t)kind;
    l->cells[last * l->fields->n + field] = *cell;
    return FEEDLINE_OK;
}

int32_t fdl_listing_part(struct fdl_listing *l, uint32_t field, int32_t kind,
                         uint64_t offset, uint64_t length)
{
    struct fdl_cell cell = {.word = offset, .length = (uint32_t)length};
    if (length >= UINT32_MAX)
        return fdl_fail(FEEDLINE_EINVAL,
                        "a field of %" PRIu64 " bytes: less than 4 GiB is "
                        "supported",
                        length);
    return set_cell(l, field, kind, &cell);
}

void fdl_listing_part_sum(struct fdl_listing *l, uint32_t field,
                          struct fdl_sum sum)
{
    l->cells[(l->count - 1) * l->fields->n + field].sum = sum;
}

int32_t fdl_listing_cell(struct fdl_listing *l, uint32_t field, int32_t kind,
                         uint64_t word)
{
    struct fdl_cell cell = {.word = word};
    return set_cell(l, field, kind, &cell);
}

void fdl_listing_odd(struct fdl_listing *l, const char *what, const char *first)
{
    uint32_t i = 0;
    while (i < l->n_oddities && strcmp(l->oddities[i].what, what) != 0)
        i++;
    if (i == FDL_ODDITIES)
        return;
    struct fdl_oddity *o = &l->oddities[i];
    if (i == l->n_oddities) {
        l->n_oddities++;
        o->what = what;
        snprintf(o->first, sizeof(o->first), "%s", first);
    }
    o->count++;
}
