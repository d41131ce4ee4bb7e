/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of samples: other parts of files, beside the image.
 *
 *     shard ... | 7.jpg | 7.json | 7.npy | 7.txt | 8.jpg ...   ?fields=json,txt
 *                 ^------- one read -----------^
 *
 * Formats write what belongs to a sample in one place, so a read that covers it
 * costs what the image alone costs, and what lies between for nothing is small.
 * Whatever is far from the image is read by itself, and so are fields that are
 * files of their own, as masks often are.
 */
#include "base/memory.h"
#include "base/status.h"
#include "loader/dataset/dataset_build.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that are read for nothing between two parts: less than a read of its
 * own costs, which on a fast drive is some 20 us, and on others more. */
#define MOST_BETWEEN ((uint64_t)64 << 10)

struct range {
    uint64_t begin, end;
};

/* Whether the range grew by the part, which is close to it. */
static bool grow(struct range *r, uint64_t begin, uint64_t end)
{
    struct range all = {FDL_MIN(r->begin, begin), FDL_MAX(r->end, end)};
    bool grows = all.begin < r->begin || all.end > r->end;
    if (!grows || begin > r->end + MOST_BETWEEN ||
        end + MOST_BETWEEN < r->begin)
        return false;
    *r = all;
    return true;
}

/* All of a large record is not read for the sake of an image in it. */
static void cover_sum(struct range *r, struct fdl_source *out)
{
    bool far = out->sum_before + out->sum_after > MOST_BETWEEN;
    if (out->checksums == FDL_CHECKSUMS_FALSE ||
        (out->checksums == FDL_CHECKSUMS_AUTO && far))
        out->sum.kind = FDL_SUM_NONE;
    if (out->sum.kind == FDL_SUM_NONE)
        return;
    r->begin -= out->sum_before;
    r->end += out->sum_after;
}

static void cover_fields(const feedline_dataset *ds, uint64_t index,
                         const struct fdl_source *out, struct range *r)
{
    const struct fdl_cell *cells = fdl_dataset_cells(ds, index);
    for (bool grew = true; grew;) {
        grew = false;
        for (uint32_t i = 0; i < ds->fields.n; i++)
            if (cells[i].file == out->file &&
                cells[i].length != FEEDLINE_TO_END &&
                !fdl_field_is_number(ds->fields.kind[i]))
                grew |= grow(r, cells[i].word, cells[i].word + cells[i].length);
    }
}

void fdl_dataset_locate(const feedline_dataset *ds, uint64_t index,
                        enum fdl_checksums checksums, struct fdl_source *out)
{
    fdl_dataset_get(ds, index, out);
    out->checksums = checksums;
    if ((!ds->cells && !ds->sums) || out->file == FDL_OWN_FILE ||
        out->length < 0)
        return;
    struct range r = {out->offset, out->offset + (uint64_t)out->length};
    cover_sum(&r, out);
    if (ds->cells)
        cover_fields(ds, index, out, &r);
    out->image_at = out->offset - r.begin;
    out->image_length = out->length;
    out->offset = r.begin;
    out->length = (int64_t)(r.end - r.begin);
}

int32_t fdl_dataset_add_cells(feedline_dataset *ds, const struct fdl_cell *from,
                              uint32_t file)
{
    uint32_t n = ds->fields.n;
    int32_t status =
        fdl_array_reserve(&ds->cells, &ds->cells_capacity, ds->count - 1,
                          n * sizeof(*ds->cells), "fields of samples");
    if (status)
        return status;
    struct fdl_cell *to = &ds->cells[(ds->count - 1) * n];
    for (uint32_t i = 0; i < n; i++) {
        to[i] = from[i];
        if (to[i].file == FDL_NO_FILE)
            to[i].word = fdl_field_nothing(ds->fields.kind[i]);
        else if (file != FDL_NO_FILE)
            to[i].file = file;
    }
    return FEEDLINE_OK;
}

void fdl_dataset_get_field(const feedline_dataset *ds, uint64_t index,
                           uint32_t field, struct feedline_sample_field *out)
{
    const struct fdl_cell *c = &fdl_dataset_cells(ds, index)[field];
    int32_t kind = ds->fields.kind[field];
    *out = (struct feedline_sample_field){
        .kind = kind,
        .name = fdl_field_set_name(&ds->fields, field),
        .width = ds->fields.width[field]};
    if (out->width > 0) {
        const void *words = fdl_dataset_numbers(ds, index, field);
        out->integers = kind == FEEDLINE_FIELD_INT ? words : NULL;
        out->numbers = kind == FEEDLINE_FIELD_FLOAT ? words : NULL;
    } else if (kind == FEEDLINE_FIELD_INT) {
        out->integer = (int64_t)c->word;
    } else if (kind == FEEDLINE_FIELD_FLOAT) {
        memcpy(&out->number, &c->word, sizeof(c->word));
    } else if (c->file != FDL_NO_FILE) {
        out->file = fdl_string_list_at(&ds->files, c->file);
        out->offset = c->word;
        out->bytes = c->length == FEEDLINE_TO_END ? UINT64_MAX : c->length;
    }
}

/* ---- Files of their own -------------------------------------------------- */

/* The cells of a field more, of which no sample has anything. */
static int32_t add_column(feedline_dataset *ds, const char *name)
{
    uint32_t n = ds->fields.n;
    size_t bytes;
    if (!fdl_mul_size(ds->count, (n + 1) * sizeof(*ds->cells), &bytes))
        return fdl_fail_memory(UINT64_MAX, "fields of samples");
    struct fdl_cell *cells = malloc(bytes);
    int32_t status =
        cells ? fdl_field_set_add(&ds->fields, name, FEEDLINE_FIELD_BYTES)
              : fdl_fail_memory(bytes, "fields of samples");
    if (status) {
        free(cells);
        return status;
    }
    for (uint64_t i = 0; i < ds->count; i++) {
        if (n > 0)
            memcpy(&cells[i * (n + 1)], &ds->cells[i * n], n * sizeof(*cells));
        cells[i * (n + 1) + n] = (struct fdl_cell){.file = FDL_NO_FILE};
    }
    free(ds->cells);
    ds->cells = cells;
    ds->cells_capacity = ds->count * (n + 1);
    return FEEDLINE_OK;
}

static int32_t set_file(feedline_dataset *ds, uint64_t index, const char *path)
{
    struct fdl_cell *row = &ds->cells[index * ds->fields.n];
    uint32_t number = (uint32_t)ds->files.n;
    int32_t status = fdl_dataset_add_file(ds, path);
    if (status == FEEDLINE_OK)
        row[ds->fields.n - 1] =
            (struct fdl_cell){.file = number, .length = FEEDLINE_TO_END};
    return status;
}

int32_t fdl_dataset_add_files(feedline_dataset *ds, const char *field,
                              const char *const *paths)
{
    int32_t status = add_column(ds, field);
    for (uint64_t i = 0; status == FEEDLINE_OK && i < ds->count; i++)
        if (paths[i])
            status = set_file(ds, i, paths[i]);
    return status;
}
