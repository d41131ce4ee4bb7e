/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FFCV's .beton, version 2 (ffcv/types.py, ffcv/fields/):
 *
 *     u16 version | u16 n fields | u32 page | u64 n samples | u64 at of table
 *     n fields times: u8 type | name[16] | arguments[1024]
 *     n samples times: a value of each field
 *     pages with what values point to
 *     table: u64 sample | u64 at | u64 bytes, in any order, up to the end
 *
 * Values lie as in a C struct, but that those of images and bytes are packed
 * and aligned to 1: an image is u8 mode | u16 width | u16 height | u64 at, 13
 * bytes, and has its length in the table only.
 */
#include "loader/index/index_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION      2u
#define HEADER_BYTES 24u
#define FIELD_BYTES  1041u
#define NAME_BYTES   16u
#define ENTRY_BYTES  24u
#define MAX_FIELDS   256u
#define LEAST_PAGE   512u
#define MODE_JPEG    0u
#define IMAGE_PTR    5u /* behind mode, width and height */
#define NONE         "none"

enum { ROW_DAMAGED, ROW_IMAGE, ROW_LABEL, ROW_FIELDS, ROW_MISSING_FIELD, ROWS };

static const struct fdl_option options[ROWS] = {
    [ROW_DAMAGED] = FDL_INDEX_DAMAGED,
    [ROW_IMAGE] = FDL_INDEX_STRING(
        "image", "",
        "field with the image, RGBImageField or BytesField; by default the "
        "only one of the former"),
    [ROW_LABEL] = FDL_INDEX_STRING("label", "",
                                   "IntField with the label; by default the "
                                   "only one; none: none"),
    [ROW_FIELDS] = FDL_INDEX_FIELDS("fields by their names"),
    [ROW_MISSING_FIELD] = FDL_INDEX_MISSING_FIELD,
};

enum type {
    TYPE_FLOAT,
    TYPE_INT,
    TYPE_IMAGE,
    TYPE_BYTES,
    TYPE_ARRAY,
    TYPE_JSON,
    TYPE_TENSOR,
    TYPES
};

/* By number, as ffcv/types.py has them. */
static const struct {
    const char *name;
    uint8_t bytes, align;
} types[TYPES] = {
    {"FloatField", 8, 8},       {"IntField", 8, 8},
    {"RGBImageField", 13, 1},   {"BytesField", 16, 1},
    {"NDArrayField", 8, 8},     {"JSONField", 16, 1},
    {"TorchTensorField", 8, 8},
};

struct field {
    char name[NAME_BYTES + 1];
    uint8_t type;
    uint32_t at; /* in a sample's values */
};

struct beton {
    struct fdl_shard *shard;
    struct field fields[MAX_FIELDS];
    uint32_t n_fields, row_bytes;
    uint64_t n, rows_at, table_at, entries;
    const struct field *label; /* NULL: none */
    uint8_t *rows;             /* [n] */

    /* What is delivered: the image, then the fields that are asked for. */
    struct part {
        const struct field *field; /* NULL: the file has none */
        uint64_t *bytes; /* [n], 0: not known; NULL: values have them */
    } parts[1 + FEEDLINE_FIELDS_MAX];
    uint32_t n_parts;
};

static bool matches(const uint8_t *head, uint64_t bytes)
{
    if (bytes < HEADER_BYTES + 1)
        return false;
    uint32_t page = fdl_le32(head + 4);
    uint32_t fields = head[2] | (uint32_t)head[3] << 8;
    return head[0] == VERSION && head[1] == 0 && fields > 0 &&
           fields <= MAX_FIELDS && page >= LEAST_PAGE &&
           (page & (page - 1)) == 0 &&
           (head[HEADER_BYTES] < TYPES || head[HEADER_BYTES] == UINT8_MAX);
}

/* ---- The header ---------------------------------------------------------- */

static int32_t take_header(struct beton *b)
{
    const uint8_t *p;
    int32_t status = fdl_shard_bytes(b->shard, 0, HEADER_BYTES, &p);
    if (status)
        return status;
    uint32_t version = p[0] | (uint32_t)p[1] << 8;
    b->n_fields = p[2] | (uint32_t)p[3] << 8;
    b->n = fdl_le64(p + 8);
    b->table_at = fdl_le64(p + 16);
    if (version != VERSION)
        return fdl_shard_fail(b->shard, 0,
                              "a .beton of version %" PRIu32 ", and version 2 "
                              "is read: write it with ffcv 1.0",
                              version);
    if (b->n_fields == 0 || b->n_fields > MAX_FIELDS)
        return fdl_shard_fail(b->shard, 2, "%" PRIu32 " fields", b->n_fields);
    if (b->table_at < HEADER_BYTES || b->table_at > b->shard->size)
        return fdl_shard_fail(b->shard, 16,
                              "its table of lengths is at %" PRIu64
                              ", and the file ends after %" PRIu64,
                              b->table_at, b->shard->size);
    b->entries = (b->shard->size - b->table_at) / ENTRY_BYTES;
    return FEEDLINE_OK;
}

static int32_t take_field(struct beton *b, uint32_t i, uint32_t *align)
{
    const uint8_t *p;
    struct field *f = &b->fields[i];
    uint64_t at = HEADER_BYTES + (uint64_t)i * FIELD_BYTES;
    int32_t status = fdl_shard_bytes(b->shard, at, FIELD_BYTES, &p);
    if (status)
        return status;
    f->type = p[0];
    memcpy(f->name, p + 1, NAME_BYTES);
    if (f->type >= TYPES)
        return fdl_shard_fail(b->shard, at,
                              "field '%s' is of a type of its own (%u), whose "
                              "size nobody knows: write the file without it",
                              f->name, f->type);
    uint32_t own = types[f->type].align;
    f->at = (b->row_bytes + own - 1) / own * own;
    b->row_bytes = f->at + types[f->type].bytes;
    *align = own > *align ? own : *align;
    return FEEDLINE_OK;
}

static int32_t take_fields(struct beton *b)
{
    uint32_t align = 1;
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; status == FEEDLINE_OK && i < b->n_fields; i++)
        status = take_field(b, i, &align);
    if (status)
        return status;
    b->row_bytes = (b->row_bytes + align - 1) / align * align;
    b->rows_at = HEADER_BYTES + (uint64_t)b->n_fields * FIELD_BYTES;
    if (b->n > (b->shard->size - b->rows_at) / b->row_bytes)
        return fdl_shard_fail(b->shard, 8,
                              "%" PRIu64 " samples of %" PRIu32
                              " bytes do not fit the file",
                              b->n, b->row_bytes);
    return FEEDLINE_OK;
}

/* ---- Which fields -------------------------------------------------------- */

/* The one that is named, or else the only one of a type; NULL: none. */
static int32_t choose(const struct beton *b, uint32_t row, enum type type,
                      enum type other, const struct field **out)
{
    const char *wanted = fdl_option_text(b->shard->options, row);
    bool named = wanted && *wanted;
    *out = NULL;
    if (named && row == ROW_LABEL && strcmp(wanted, NONE) == 0)
        return FEEDLINE_OK;
    for (uint32_t i = 0; i < b->n_fields; i++) {
        const struct field *f = &b->fields[i];
        if (named ? strcmp(f->name, wanted) != 0 : f->type != type)
            continue;
        if (f->type != type && f->type != other)
            return fdl_shard_fail(b->shard, HEADER_BYTES,
                                  "field '%s' is a %s, which cannot be the %s",
                                  f->name, types[f->type].name,
                                  options[row].name);
        if (*out)
            return fdl_shard_fail(
                b->shard, HEADER_BYTES,
                "fields '%s' and '%s' may both be the %s: choose (?%s=)",
                (*out)->name, f->name, options[row].name, options[row].name);
        *out = f;
    }
    if (!*out && (named || row == ROW_IMAGE))
        return fdl_shard_fail(b->shard, HEADER_BYTES,
                              "no field '%s': the first is '%s', a %s; choose "
                              "(?%s=)",
                              named ? wanted : types[type].name,
                              b->fields[0].name, types[b->fields[0].type].name,
                              options[row].name);
    return FEEDLINE_OK;
}

static const struct field *field_named(const struct beton *b, const char *name)
{
    for (uint32_t i = 0; i < b->n_fields; i++)
        if (strcmp(b->fields[i].name, name) == 0)
            return &b->fields[i];
    return NULL;
}

static void choose_fields(struct beton *b)
{
    const struct fdl_field_set *set = b->shard->list->fields;
    b->n_parts = 1;
    for (uint32_t i = 0; set && i < set->n; i++)
        b->parts[b->n_parts++].field =
            field_named(b, fdl_field_set_name(set, i));
}

/* ---- Samples ------------------------------------------------------------- */

static const uint8_t *value(const struct beton *b, uint64_t i,
                            const struct field *f)
{
    return b->rows + i * b->row_bytes + f->at;
}

static uint64_t pointer(const struct beton *b, uint64_t i,
                        const struct field *f)
{
    bool packed = f->type == TYPE_IMAGE;
    return fdl_le64(value(b, i, f) + (packed ? IMAGE_PTR : 0));
}

static bool is_in_table(const struct part *p)
{
    return p->field &&
           (p->field->type == TYPE_IMAGE || p->field->type == TYPE_ARRAY ||
            p->field->type == TYPE_TENSOR);
}

static int32_t take_lengths(struct beton *b)
{
    for (uint64_t i = 0; i < b->entries; i++) {
        const uint8_t *p;
        int32_t status = fdl_shard_bytes(
            b->shard, b->table_at + i * ENTRY_BYTES, ENTRY_BYTES, &p);
        if (status)
            return status;
        uint64_t sample = fdl_le64(p), at = fdl_le64(p + 8);
        for (uint32_t k = 0; sample < b->n && k < b->n_parts; k++)
            if (b->parts[k].bytes &&
                at == pointer(b, sample, b->parts[k].field))
                b->parts[k].bytes[sample] = fdl_le64(p + 16);
    }
    return FEEDLINE_OK;
}

static int32_t find_lengths(struct beton *b)
{
    bool any = false;
    for (uint32_t k = 0; k < b->n_parts; k++) {
        if (!is_in_table(&b->parts[k]))
            continue;
        any = true;
        b->parts[k].bytes = calloc(b->n, sizeof(*b->parts[k].bytes));
        if (!b->parts[k].bytes)
            return fdl_fail_memory(b->n * sizeof(*b->parts[k].bytes),
                                   b->shard->path);
    }
    return any ? take_lengths(b) : FEEDLINE_OK;
}

struct span {
    uint64_t at, bytes;
};

/* Where a part of sample i lies, whose name is for messages. */
static int32_t find_part(const struct beton *b, uint64_t i, const char *name,
                         const struct part *part, struct span *out)
{
    const struct field *f = part->field;
    uint64_t row = b->rows_at + i * b->row_bytes, at = pointer(b, i, f);
    uint64_t bytes =
        part->bytes ? part->bytes[i] : fdl_le64(value(b, i, f) + 8);
    if (f->type == TYPE_IMAGE && *value(b, i, f) != MODE_JPEG)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "%s:%s: raw pixels, and encoded images are read: write "
                        "the .beton with RGBImageField(write_mode='jpg')",
                        b->shard->path, name);
    if (bytes == 0 && part->bytes)
        return fdl_shard_fail(b->shard, row,
                              "sample %s has no entry in the table of lengths: "
                              "the file is cut",
                              name);
    if ((at == 0 && bytes > 0) || !fdl_shard_has(b->shard, at, bytes))
        return fdl_shard_fail(b->shard, row,
                              "sample %s is %" PRIu64 " bytes at %" PRIu64
                              ", and the file ends after %" PRIu64,
                              name, bytes, at, b->shard->size);
    *out = (struct span){at, bytes};
    return FEEDLINE_OK;
}

/* A NUL ends it, which is no JSON. */
static int32_t cut_json(struct fdl_shard *s, struct span *json)
{
    const uint8_t *p;
    if (json->bytes == 0)
        return FEEDLINE_OK;
    int32_t status = fdl_shard_bytes(s, json->at + json->bytes - 1, 1, &p);
    if (status == FEEDLINE_OK && *p == 0)
        json->bytes--;
    return status;
}

/* Of the sample that was listed last. */
static int32_t add_field(const struct beton *b, uint64_t i, const char *name,
                         uint32_t field, const struct part *part)
{
    struct span span = {0};
    struct fdl_listing *list = b->shard->list;
    bool json = part->field->type == TYPE_JSON;
    if (part->field->type == TYPE_INT || part->field->type == TYPE_FLOAT)
        return fdl_listing_cell(list, field,
                                part->field->type == TYPE_INT
                                    ? FEEDLINE_FIELD_INT
                                    : FEEDLINE_FIELD_FLOAT,
                                fdl_le64(value(b, i, part->field)));
    int32_t status = find_part(b, i, name, part, &span);
    if (status == FEEDLINE_OK && json)
        status = cut_json(b->shard, &span);
    return status ? status
                  : fdl_listing_part(list, field,
                                     json ? FEEDLINE_FIELD_JSON
                                          : FEEDLINE_FIELD_BYTES,
                                     span.at, span.bytes);
}

static int32_t add_fields(const struct beton *b, uint64_t i, const char *name)
{
    int32_t status = FEEDLINE_OK;
    for (uint32_t k = 1; status == FEEDLINE_OK && k < b->n_parts; k++)
        if (b->parts[k].field)
            status = add_field(b, i, name, k - 1, &b->parts[k]);
    if (status)
        fdl_listing_drop(b->shard->list);
    return status;
}

static int32_t add_sample(const struct beton *b, uint64_t i)
{
    char name[24];
    struct span image;
    snprintf(name, sizeof(name), "%" PRIu64, i);
    int32_t status = find_part(b, i, name, &b->parts[0], &image);
    if (status == FEEDLINE_OK)
        status = fdl_listing_add(b->shard->list, name, image.at, image.bytes);
    if (status == FEEDLINE_OK)
        status = add_fields(b, i, name);
    if (status || !b->label)
        return status;
    uint64_t label = fdl_le64(value(b, i, b->label));
    return fdl_listing_number(b->shard->list, (int64_t)label);
}

static int32_t list_samples(struct beton *b)
{
    const uint8_t *p;
    uint64_t bytes = b->n * b->row_bytes;
    if (b->n == 0)
        return FEEDLINE_OK;
    int32_t status = fdl_shard_bytes(b->shard, b->rows_at, bytes, &p);
    if (status)
        return status;
    b->rows = malloc(bytes);
    if (!b->rows)
        return fdl_fail_memory(bytes, b->shard->path);
    memcpy(b->rows, p, bytes);
    status = find_lengths(b);
    for (uint64_t i = 0; status == FEEDLINE_OK && i < b->n; i++)
        status = add_sample(b, i);
    return status;
}

static int32_t list_shard(struct fdl_shard *s)
{
    struct beton b = {.shard = s};
    int32_t status = take_header(&b);
    if (status == FEEDLINE_OK)
        status = take_fields(&b);
    if (status == FEEDLINE_OK)
        status =
            choose(&b, ROW_IMAGE, TYPE_IMAGE, TYPE_BYTES, &b.parts[0].field);
    if (status == FEEDLINE_OK)
        status = choose(&b, ROW_LABEL, TYPE_INT, TYPE_INT, &b.label);
    if (status == FEEDLINE_OK) {
        choose_fields(&b);
        status = list_samples(&b);
    }
    for (uint32_t k = 0; k < b.n_parts; k++)
        free(b.parts[k].bytes);
    free(b.rows);
    return status;
}

const struct fdl_index_format fdl_index_beton = {
    .name = "beton",
    .help = "FFCV's .beton files, version 2, whose images are JPEG and not raw "
            "pixels",
    .endings = {".beton"},
    .matches = matches,
    .options = options,
    .n_options = ROWS,
    .index = list_shard,
};
