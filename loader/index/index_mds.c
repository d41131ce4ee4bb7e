/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shards of MosaicML's Streaming (MDS, streaming/base/format/mds):
 *
 *     u32 n | u32 offsets[n + 1] | JSON: the columns | samples
 *     sample: u32 size of each column without a fixed one | the columns' bytes
 *
 * Each shard describes its columns itself; the folder's index.json
 * (mds_folder.c) only says which shards there are. What has to be known of a
 * sample are the sizes in front of it, its label and its name.
 */
#include "base/json_scan.h"
#include "base/memory.h"
#include "loader/index/index_format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS  64u
#define COLUMN_BYTES 64u
#define MAX_JSON     (1u << 16)
#define MAX_DEPTH    16u
#define TEXT_BYTES   1024u
#define NONE         "none"

enum {
    ROW_DAMAGED,
    ROW_IMAGE,
    ROW_LABEL,
    ROW_NAME,
    ROW_FIELDS,
    ROW_MISSING_FIELD,
    ROWS
};

/* What a column can be: what one of the first rows says, or a field. */
#define ROLES (ROWS + FEEDLINE_FIELDS_MAX)

static const struct fdl_option options[ROWS] = {
    [ROW_DAMAGED] = FDL_INDEX_DAMAGED,
    [ROW_IMAGE] = FDL_INDEX_STRING("image", "",
                                   "column with the encoded image; by default "
                                   "the one that is jpeg, png or bytes"),
    [ROW_LABEL] = FDL_INDEX_STRING("label", "",
                                   "column with the label: integers, or names "
                                   "of classes (str); by default label, class, "
                                   "y or the only one of integers; none: none"),
    [ROW_NAME] = FDL_INDEX_STRING("name", "",
                                  "column with the sample's name (str); by "
                                  "default filename or name, if there is one"),
    [ROW_FIELDS] = FDL_INDEX_FIELDS("further columns"),
    [ROW_MISSING_FIELD] = FDL_INDEX_MISSING_FIELD,
};

static const char *const usual[ROWS][4] = {
    [ROW_LABEL] = {"label", "class", "y"},
    [ROW_NAME] = {"filename", "name"},
};

enum kind {
    KIND_OTHER,
    KIND_IMAGE,
    KIND_BYTES,
    KIND_INT,
    KIND_TEXT,
    KIND_JSON,
    KIND_FLOAT
};

static const struct encoding {
    const char *name;
    enum kind kind;
    uint8_t bytes; /* 0: of any size */
    bool is_unsigned;
} encodings[] = {
    {"jpeg", KIND_IMAGE, 0, false},    {"png", KIND_IMAGE, 0, false},
    {"bytes", KIND_BYTES, 0, false},   {"int", KIND_INT, 8, false},
    {"int8", KIND_INT, 1, false},      {"int16", KIND_INT, 2, false},
    {"int32", KIND_INT, 4, false},     {"int64", KIND_INT, 8, false},
    {"uint8", KIND_INT, 1, true},      {"uint16", KIND_INT, 2, true},
    {"uint32", KIND_INT, 4, true},     {"uint64", KIND_INT, 8, true},
    {"str_int", KIND_INT, 0, false},   {"str", KIND_TEXT, 0, false},
    {"json", KIND_JSON, 0, false},     {"float32", KIND_FLOAT, 4, false},
    {"float64", KIND_FLOAT, 8, false},
};

struct column {
    char name[COLUMN_BYTES], encoding[COLUMN_BYTES];
    uint32_t size; /* 0: it stands in front of each sample */
    const struct encoding *known;
};

/* A shard's columns, and which of them are used; -1: none. */
struct layout {
    struct column columns[MAX_COLUMNS];
    uint32_t names, encodings, sizes;
    int32_t role[ROLES];
    uint32_t roles;    /* [] in use */
    uint32_t variable; /* columns without a fixed size */
};

static bool matches(const uint8_t *head, uint64_t bytes)
{
    if (bytes < 12)
        return false;
    uint64_t n = fdl_le32(head), table = 4 * (n + 2);
    uint64_t first = fdl_le32(head + 4);
    if (n == 0 || first < table + 2 || first - table > MAX_JSON)
        return false;
    for (uint64_t at = 8; at + 4 <= FDL_MIN(bytes, table); at += 4)
        if (fdl_le32(head + at) < fdl_le32(head + at - 4))
            return false;
    return table >= bytes || head[table] == '{';
}

/* ---- Columns ------------------------------------------------------------- */

static int32_t take_size(struct fdl_json_scan *s, uint32_t *out)
{
    fdl_json_scan_peek(s);
    *out = 0;
    if (fdl_json_scan_word(s, "null"))
        return FEEDLINE_OK;
    errno = 0;
    const char *from = s->at;
    int32_t status = fdl_json_scan_number(s);
    unsigned long long size = strtoull(from, NULL, 10);
    if (status == FEEDLINE_OK &&
        (*from == '-' || errno || size == 0 || size > UINT32_MAX))
        return fdl_json_scan_fail(s, "a column of no possible size");
    *out = (uint32_t)size;
    return status;
}

static int32_t take_name(struct fdl_json_scan *s, const char *key, void *user)
{
    struct layout *l = user;
    (void)key;
    if (l->names == MAX_COLUMNS)
        return fdl_json_scan_fail(s, "too many columns");
    fdl_json_scan_peek(s);
    return fdl_json_scan_string(s, l->columns[l->names++].name, COLUMN_BYTES);
}

static int32_t take_encoding(struct fdl_json_scan *s, const char *key,
                             void *user)
{
    struct layout *l = user;
    (void)key;
    if (l->encodings == MAX_COLUMNS)
        return fdl_json_scan_fail(s, "too many columns");
    fdl_json_scan_peek(s);
    return fdl_json_scan_string(s, l->columns[l->encodings++].encoding,
                                COLUMN_BYTES);
}

static int32_t take_column_size(struct fdl_json_scan *s, const char *key,
                                void *user)
{
    struct layout *l = user;
    (void)key;
    if (l->sizes == MAX_COLUMNS)
        return fdl_json_scan_fail(s, "too many columns");
    return take_size(s, &l->columns[l->sizes++].size);
}

static int32_t take_member(struct fdl_json_scan *s, const char *key, void *user)
{
    bool list = fdl_json_scan_peek(s) == '[';
    if (list && strcmp(key, "column_names") == 0)
        return fdl_json_scan_each(s, take_name, user);
    if (list && strcmp(key, "column_encodings") == 0)
        return fdl_json_scan_each(s, take_encoding, user);
    if (list && strcmp(key, "column_sizes") == 0)
        return fdl_json_scan_each(s, take_column_size, user);
    return fdl_json_scan_skip(s);
}

static const struct encoding *encoding_of(const char *name)
{
    for (size_t i = 0; i < FDL_COUNT_OF(encodings); i++)
        if (strcmp(encodings[i].name, name) == 0)
            return &encodings[i];
    return NULL;
}

static enum kind kind_of(const struct layout *l, uint32_t i)
{
    const struct encoding *known = l->columns[i].known;
    return known ? known->kind : KIND_OTHER;
}

static int32_t check_columns(const struct fdl_shard *s, struct layout *l)
{
    if (l->names == 0 || l->names != l->encodings || l->names != l->sizes)
        return fdl_shard_fail(s, 0,
                              "no MDS shard: its columns have %" PRIu32
                              " names, %" PRIu32 " encodings and %" PRIu32
                              " sizes",
                              l->names, l->encodings, l->sizes);
    for (uint32_t i = 0; i < l->names; i++) {
        struct column *c = &l->columns[i];
        c->known = encoding_of(c->encoding);
        l->variable += c->size == 0;
        if (c->known && c->known->bytes != c->size)
            return fdl_shard_fail(s, 0,
                                  "column '%s' is %s and has %" PRIu32 " bytes",
                                  c->name, c->encoding, c->size);
    }
    return FEEDLINE_OK;
}

static int32_t read_columns(struct fdl_shard *s, uint64_t at, uint64_t end,
                            struct layout *l)
{
    char *text, what[FDL_ERROR_BYTES];
    if (end < at + 2 || end - at > MAX_JSON)
        return fdl_shard_fail(s, 0,
                              "no MDS shard, or a compressed one, which has to "
                              "be decompressed first");
    int32_t status = fdl_shard_text(s, at, end - at, &text);
    if (status)
        return status;
    snprintf(what, sizeof(what), "%s: columns ", s->path);
    struct fdl_json_scan scan = {
        .text = text, .at = text, .what = what, .depth = MAX_DEPTH};
    if (fdl_json_scan_peek(&scan) == '{')
        status = fdl_json_scan_each(&scan, take_member, l);
    free(text);
    return status ? status : check_columns(s, l);
}

/* ---- Which column is what ------------------------------------------------ */

/* Whether a column can be what the row says. */
static bool serves(uint32_t row, enum kind kind)
{
    switch (row) {
    case ROW_IMAGE:
        return kind == KIND_IMAGE || kind == KIND_BYTES;
    case ROW_LABEL:
        return kind == KIND_INT || kind == KIND_TEXT;
    default:
        return kind == KIND_TEXT;
    }
}

static int32_t column_named(const struct layout *l, const char *name)
{
    for (uint32_t i = 0; i < l->names; i++)
        if (strcmp(l->columns[i].name, name) == 0)
            return (int32_t)i;
    return -1;
}

static int32_t choose_named(const struct fdl_shard *s, struct layout *l,
                            uint32_t row, const char *name)
{
    int32_t i = column_named(l, name);
    if (i < 0 && strcmp(name, NONE) == 0 && row != ROW_IMAGE)
        return FEEDLINE_OK;
    if (i < 0)
        return fdl_shard_fail(s, 0, "no column '%s'", name);
    if (!serves(row, kind_of(l, (uint32_t)i)))
        return fdl_shard_fail(s, 0,
                              "column '%s' is %s, which cannot be the %s: that "
                              "has to be %s",
                              name, l->columns[i].encoding, options[row].name,
                              row == ROW_IMAGE   ? "jpeg, png or bytes"
                              : row == ROW_LABEL ? "an integer or str"
                                                 : "str");
    l->role[row] = i;
    return FEEDLINE_OK;
}

/* The only column of a kind. */
static int32_t choose_only(const struct fdl_shard *s, struct layout *l,
                           uint32_t row, enum kind kind)
{
    for (uint32_t i = 0; i < l->names; i++) {
        if (kind_of(l, i) != kind)
            continue;
        if (l->role[row] >= 0)
            return fdl_shard_fail(
                s, 0, "columns '%s' and '%s' may both be the %s: choose (?%s=)",
                l->columns[l->role[row]].name, l->columns[i].name,
                options[row].name, options[row].name);
        l->role[row] = (int32_t)i;
    }
    return FEEDLINE_OK;
}

static int32_t choose(const struct fdl_shard *s, struct layout *l, uint32_t row)
{
    const char *wanted = fdl_option_text(s->options, row);
    l->role[row] = -1;
    if (wanted && *wanted)
        return choose_named(s, l, row, wanted);
    for (uint32_t i = 0; usual[row][i]; i++) {
        int32_t column = column_named(l, usual[row][i]);
        if (column >= 0 && serves(row, kind_of(l, (uint32_t)column))) {
            l->role[row] = column;
            return FEEDLINE_OK;
        }
    }
    if (row == ROW_NAME)
        return FEEDLINE_OK;
    if (row == ROW_LABEL)
        return choose_only(s, l, row, KIND_INT);
    int32_t status = choose_only(s, l, row, KIND_IMAGE);
    if (status == FEEDLINE_OK && l->role[row] < 0)
        status = choose_only(s, l, row, KIND_BYTES);
    if (status == FEEDLINE_OK && l->role[row] < 0)
        status = fdl_shard_fail(s, 0,
                                "no column is jpeg, png or bytes (the first is "
                                "'%s', %s): write images as one of these",
                                l->columns[0].name, l->columns[0].encoding);
    return status;
}

/* ---- Samples ------------------------------------------------------------- */

struct span {
    uint64_t at, bytes;
};

/* Where the columns of the sample in [at, end) that are used are. */
static int32_t find_columns(struct fdl_shard *s, const struct layout *l,
                            uint64_t at, uint64_t end, struct span spans[ROLES])
{
    const uint8_t *sizes;
    uint64_t head = 4 * (uint64_t)l->variable, from = at;
    if (end < at || end - at < head)
        return fdl_shard_fail(s, at, "a sample without room for its columns");
    int32_t status = fdl_shard_bytes(s, at, head, &sizes);
    if (status)
        return status;
    at += head;
    for (uint32_t i = 0; i < l->names; i++) {
        uint64_t bytes = l->columns[i].size;
        if (bytes == 0) {
            bytes = fdl_le32(sizes);
            sizes += 4;
        }
        if (bytes > end - at)
            return fdl_shard_fail(s, from,
                                  "column '%s' has %" PRIu64
                                  " bytes in a sample with %" PRIu64 " left",
                                  l->columns[i].name, bytes, end - at);
        for (uint32_t row = ROW_IMAGE; row < l->roles; row++)
            if (l->role[row] == (int32_t)i)
                spans[row] = (struct span){at, bytes};
        at += bytes;
    }
    return FEEDLINE_OK;
}

/* A text of at most TEXT_BYTES - 1 bytes. */
static int32_t copy_text(struct fdl_shard *s, const struct span *from,
                         char out[TEXT_BYTES])
{
    const uint8_t *bytes;
    if (from->bytes >= TEXT_BYTES)
        return fdl_shard_fail(
            s, from->at, "a name or label of %" PRIu64 " bytes", from->bytes);
    int32_t status = fdl_shard_bytes(s, from->at, from->bytes, &bytes);
    if (status)
        return status;
    memcpy(out, bytes, from->bytes);
    out[from->bytes] = '\0';
    return FEEDLINE_OK;
}

static int32_t take_decimal(struct fdl_shard *s, const struct span *from,
                            int64_t *out)
{
    char text[TEXT_BYTES], *end;
    int32_t status = copy_text(s, from, text);
    if (status)
        return status;
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (end == text || *end || errno)
        return fdl_shard_fail(s, from->at, "label '%s' is not an integer",
                              text);
    return FEEDLINE_OK;
}

static int32_t take_number(struct fdl_shard *s, const struct encoding *e,
                           const struct span *from, int64_t *out)
{
    const uint8_t *p;
    uint64_t value = 0;
    uint32_t bits = 8u * e->bytes;
    if (bits == 0)
        return take_decimal(s, from, out);
    int32_t status = fdl_shard_bytes(s, from->at, e->bytes, &p);
    if (status)
        return status;
    for (uint32_t i = 0; i < e->bytes; i++)
        value |= (uint64_t)p[i] << 8 * i;
    if (e->is_unsigned && value > INT64_MAX)
        return fdl_shard_fail(s, from->at,
                              "label %" PRIu64 " does not fit an int64", value);
    if (!e->is_unsigned && bits < 64 && value >> (bits - 1))
        value |= UINT64_MAX << bits;
    *out = (int64_t)value;
    return FEEDLINE_OK;
}

/* ---- Fields -------------------------------------------------------------- */

static int32_t take_float(struct fdl_shard *s, uint32_t size,
                          const struct span *from, uint64_t *word)
{
    const uint8_t *p;
    float single;
    int32_t status = fdl_shard_bytes(s, from->at, size, &p);
    if (status)
        return status;
    if (size == sizeof(*word)) {
        *word = fdl_le64(p);
        return FEEDLINE_OK;
    }
    uint32_t bits = fdl_le32(p);
    memcpy(&single, &bits, sizeof(single));
    *word = fdl_field_word(single);
    return FEEDLINE_OK;
}

static int32_t add_field(struct fdl_shard *s, const struct column *c,
                         uint32_t field, const struct span *from)
{
    int64_t integer = 0;
    uint64_t word = 0;
    int32_t status;
    switch (c->known ? c->known->kind : KIND_OTHER) {
    case KIND_INT:
        status = take_number(s, c->known, from, &integer);
        return status ? status
                      : fdl_listing_cell(s->list, field, FEEDLINE_FIELD_INT,
                                         (uint64_t)integer);
    case KIND_FLOAT:
        status = take_float(s, c->known->bytes, from, &word);
        return status ? status
                      : fdl_listing_cell(s->list, field, FEEDLINE_FIELD_FLOAT,
                                         word);
    case KIND_TEXT:
        return fdl_listing_part(s->list, field, FEEDLINE_FIELD_TEXT, from->at,
                                from->bytes);
    case KIND_JSON:
        return fdl_listing_part(s->list, field, FEEDLINE_FIELD_JSON, from->at,
                                from->bytes);
    default:
        return fdl_listing_part(s->list, field, FEEDLINE_FIELD_BYTES, from->at,
                                from->bytes);
    }
}

static int32_t add_fields(struct fdl_shard *s, const struct layout *l,
                          const struct span spans[ROLES])
{
    int32_t status = FEEDLINE_OK;
    for (uint32_t role = ROWS; status == FEEDLINE_OK && role < l->roles; role++)
        if (l->role[role] >= 0)
            status = add_field(s, &l->columns[l->role[role]], role - ROWS,
                               &spans[role]);
    return status;
}

/* Shards may differ in their columns. */
static void choose_fields(const struct fdl_shard *s, struct layout *l)
{
    const struct fdl_field_set *fields = s->list->fields;
    l->roles = ROWS + (fields ? fields->n : 0);
    for (uint32_t role = ROW_FIELDS; role < l->roles; role++)
        l->role[role] =
            role < ROWS
                ? -1
                : column_named(l, fdl_field_set_name(fields, role - ROWS));
}

/* ---- All of it ----------------------------------------------------------- */

static int32_t add_sample(struct fdl_shard *s, const struct layout *l,
                          const struct span spans[ROLES])
{
    char name[TEXT_BYTES] = "", class[TEXT_BYTES];
    int64_t number = 0;
    int32_t status = FEEDLINE_OK, label = l->role[ROW_LABEL];
    bool numbered = label >= 0 && kind_of(l, (uint32_t)label) == KIND_INT;
    if (numbered)
        status =
            take_number(s, l->columns[label].known, &spans[ROW_LABEL], &number);
    else if (label >= 0)
        status = copy_text(s, &spans[ROW_LABEL], class);
    if (status == FEEDLINE_OK && l->role[ROW_NAME] >= 0)
        status = copy_text(s, &spans[ROW_NAME], name);
    if (status == FEEDLINE_OK)
        status = fdl_listing_add(s->list, name, spans[ROW_IMAGE].at,
                                 spans[ROW_IMAGE].bytes);
    if (status == FEEDLINE_OK)
        status = add_fields(s, l, spans);
    if (status || label < 0)
        return status;
    return numbered ? fdl_listing_number(s->list, number)
                    : fdl_listing_class(s->list, class);
}

static int32_t list_samples(struct fdl_shard *s, const struct layout *l,
                            const uint8_t *offsets, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        struct span spans[ROLES];
        uint64_t at = fdl_le32(offsets + 4 * i);
        uint64_t end = fdl_le32(offsets + 4 * i + 4);
        if (end > s->size)
            return fdl_shard_fail(s, at,
                                  "sample %" PRIu64 " ends at %" PRIu64
                                  ", and the file after %" PRIu64,
                                  i, end, s->size);
        int32_t status = find_columns(s, l, at, end, spans);
        if (status == FEEDLINE_OK)
            status = add_sample(s, l, spans);
        if (status)
            return status;
    }
    return FEEDLINE_OK;
}

static int32_t list_shard(struct fdl_shard *s)
{
    struct layout l = {0};
    const uint8_t *p;
    char *offsets;
    int32_t status = fdl_shard_bytes(s, 0, 8, &p);
    if (status)
        return status;
    uint64_t n = fdl_le32(p), first = fdl_le32(p + 4), table = 4 * (n + 2);
    status = fdl_shard_text(s, 4, table - 4, &offsets);
    if (status)
        return status;
    status = read_columns(s, table, first, &l);
    for (uint32_t row = ROW_IMAGE; status == FEEDLINE_OK && row <= ROW_NAME;
         row++)
        status = choose(s, &l, row);
    if (status == FEEDLINE_OK)
        choose_fields(s, &l);
    if (status == FEEDLINE_OK)
        status = list_samples(s, &l, (const uint8_t *)offsets, n);
    free(offsets);
    return status;
}

const struct fdl_index_format fdl_index_mds = {
    .name = "mds",
    .help = "MosaicML Streaming's folders of MDS shards, not compressed, one "
            "split at a time (mds:/data/train)",
    .endings = {".mds", ".mds.zstd", ".mds.gz", ".mds.br"},
    .matches = matches,
    .find = fdl_mds_find,
    .options = options,
    .n_options = ROWS,
    .index = list_shard,
};
