/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that are parts of files: what builders add to the table, and the kind
 * whose table the program brings itself.
 */
#include "base/abi.h"
#include "loader/dataset/dataset.h"
#include "loader/dataset/dataset_build.h"
#include "loader/dataset/dataset_remote.h"

#include <inttypes.h>
#include <stdlib.h>

int32_t fdl_dataset_add_file(feedline_dataset *ds, const char *path)
{
    if (ds->files.n >= FDL_OWN_FILE)
        return fdl_fail(FEEDLINE_EINVAL, "more than %" PRIu32 " files",
                        FDL_OWN_FILE);
    char *cut;
    int32_t status =
        fdl_dataset_remote_admit(&ds->remote, ds->files.n, &path, &cut);
    if (status == FEEDLINE_OK)
        status = fdl_string_list_add(&ds->files, "", path);
    free(cut);
    return status;
}

int32_t fdl_dataset_add_extent(feedline_dataset *ds, const char *name,
                               const struct feedline_extent *extent,
                               int64_t label)
{
    int32_t status =
        fdl_array_reserve(&ds->extents, &ds->extents_capacity, ds->count,
                          sizeof(*ds->extents), "extents of samples");
    if (status)
        return status;
    ds->extents[ds->count] = *extent;
    return fdl_dataset_add_joined(ds, "", name, label);
}

int32_t fdl_dataset_finish_extents(feedline_dataset *ds)
{
    /* Pages of it that nobody asks for are never touched. */
    ds->full_names = calloc(ds->count, sizeof(*ds->full_names));
    if (!ds->full_names)
        return fdl_fail_memory(ds->count * sizeof(*ds->full_names),
                               "names of samples");
    ds->extents =
        fdl_array_trimmed(ds->extents, ds->count * sizeof(*ds->extents));
    ds->extents_capacity = ds->count;
    ds->cells = fdl_array_trimmed(ds->cells, ds->count * ds->fields.n *
                                                 sizeof(*ds->cells));
    fdl_dataset_finish(ds, "");
    return FEEDLINE_OK;
}

uint64_t fdl_dataset_extent_bytes(const feedline_dataset *ds)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; ds->extents && i < ds->count; i++)
        if (ds->extents[i].length != FEEDLINE_TO_END)
            bytes += ds->extents[i].length;
    return bytes;
}

static int32_t add_files(feedline_dataset *ds,
                         const struct feedline_extents *from)
{
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; status == FEEDLINE_OK && i < from->n_files; i++)
        status = from->files[i]
                     ? fdl_dataset_add_file(ds, from->files[i])
                     : fdl_fail(FEEDLINE_EINVAL, "file %" PRIu32 " is NULL", i);
    for (uint64_t i = 0; status == FEEDLINE_OK && i < from->n_classes; i++)
        status =
            from->classes[i]
                ? fdl_string_list_add(&ds->classes, "", from->classes[i])
                : fdl_fail(FEEDLINE_EINVAL, "class %" PRIu64 " is NULL", i);
    return status;
}

static int32_t add_sample(feedline_dataset *ds,
                          const struct feedline_extents *from, uint64_t i)
{
    const struct feedline_extent *e = &from->extents[i];
    const char *name = from->names ? from->names[i] : "";
    if (e->file >= from->n_files)
        return fdl_fail(FEEDLINE_EINVAL,
                        "sample %" PRIu64 " is in file %" PRIu32
                        ", and there are %" PRIu32,
                        i, e->file, from->n_files);
    if (e->offset > INT64_MAX)
        return fdl_fail(FEEDLINE_EINVAL,
                        "sample %" PRIu64 " begins at %" PRIu64
                        ", which is past the end of any file",
                        i, e->offset);
    if (!name)
        return fdl_fail(FEEDLINE_EINVAL, "name %" PRIu64 " is NULL", i);
    return fdl_dataset_add_extent(ds, name, e,
                                  from->labels ? from->labels[i] : 0);
}

/* ---- Fields -------------------------------------------------------------- */

struct fields {
    struct feedline_field_table each[FEEDLINE_FIELDS_MAX];
};

static bool has_values(const struct feedline_field_table *t)
{
    switch (t->kind) {
    case FEEDLINE_FIELD_BYTES:
    case FEEDLINE_FIELD_TEXT:
    case FEEDLINE_FIELD_JSON:
        return t->parts;
    case FEEDLINE_FIELD_INT:
        return t->integers;
    case FEEDLINE_FIELD_FLOAT:
        return t->numbers;
    default:
        return false;
    }
}

static int32_t add_fields(feedline_dataset *ds,
                          const struct feedline_extents *from,
                          struct fields *out)
{
    int32_t status = FEEDLINE_OK;
    if (from->n_fields > FEEDLINE_FIELDS_MAX ||
        (from->n_fields > 0 && !from->fields))
        return fdl_fail(FEEDLINE_EINVAL, "%" PRIu64 " fields, of %d at most",
                        from->n_fields, FEEDLINE_FIELDS_MAX);
    for (uint32_t i = 0; status == FEEDLINE_OK && i < from->n_fields; i++) {
        struct feedline_field_table *t = &out->each[i];
        status = fdl_copy_in(t, from->fields[i], sizeof(*t));
        if (status == FEEDLINE_OK && (!t->name || !has_values(t)))
            status = fdl_fail(
                FEEDLINE_EINVAL,
                "field %" PRIu32 " has no name, or nothing of its kind", i);
        if (status == FEEDLINE_OK)
            status = fdl_field_set_add(&ds->fields, t->name, t->kind);
    }
    return status;
}

static int32_t take_part(const struct feedline_extents *from, uint64_t i,
                         const struct feedline_field_table *t,
                         struct fdl_cell *out)
{
    const struct feedline_extent *e = &t->parts[i];
    if (e->length == 0)
        return FEEDLINE_OK;
    if (e->file >= from->n_files || e->offset > INT64_MAX ||
        e->length == FEEDLINE_TO_END)
        return fdl_fail(FEEDLINE_EINVAL,
                        "field '%s' of sample %" PRIu64 " is %" PRIu32
                        " bytes at %" PRIu64 " of file %" PRIu32
                        ", which cannot be; there are %" PRIu32 " files",
                        t->name, i, e->length, e->offset, e->file,
                        from->n_files);
    *out = (struct fdl_cell){
        .word = e->offset, .file = e->file, .length = e->length};
    return FEEDLINE_OK;
}

static int32_t add_cells(feedline_dataset *ds,
                         const struct feedline_extents *from,
                         const struct fields *fields, uint64_t i)
{
    struct fdl_cell cells[FEEDLINE_FIELDS_MAX];
    int32_t status = FEEDLINE_OK;
    for (uint32_t k = 0; status == FEEDLINE_OK && k < ds->fields.n; k++) {
        const struct feedline_field_table *t = &fields->each[k];
        cells[k] = (struct fdl_cell){.file = FDL_NO_FILE};
        if (t->kind == FEEDLINE_FIELD_INT)
            cells[k] = (struct fdl_cell){.word = (uint64_t)t->integers[i]};
        else if (t->kind == FEEDLINE_FIELD_FLOAT)
            cells[k] = (struct fdl_cell){.word = fdl_field_word(t->numbers[i])};
        else
            status = take_part(from, i, t, &cells[k]);
    }
    return status || ds->fields.n == 0
               ? status
               : fdl_dataset_add_cells(ds, cells, FDL_NO_FILE);
}

/* ---- All of it ----------------------------------------------------------- */

int32_t fdl_dataset_open_extents(const struct feedline_extents *from,
                                 feedline_dataset **out)
{
    if (!from->files || !from->extents || from->count == 0 ||
        (from->n_classes > 0 && !from->classes))
        return fdl_fail(FEEDLINE_EINVAL, "the data set has no extents");

    feedline_dataset *ds = NULL;
    struct fields fields;
    int32_t status = fdl_dataset_create(&ds);
    if (status == FEEDLINE_OK)
        status = add_files(ds, from);
    if (status == FEEDLINE_OK)
        status = add_fields(ds, from, &fields);
    for (uint64_t i = 0; status == FEEDLINE_OK && i < from->count; i++) {
        status = add_sample(ds, from, i);
        if (status == FEEDLINE_OK)
            status = add_cells(ds, from, &fields, i);
    }
    if (status == FEEDLINE_OK)
        status = fdl_dataset_finish_extents(ds);
    return fdl_dataset_hand_out(ds, status, out);
}
