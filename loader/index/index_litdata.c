/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data sets of LitData's optimize() (litdata/streaming/writer.py): a folder of
 * chunks, and an index.json that says what is in each sample of them:
 *
 *     u32 n | u32 offsets[n + 1] | samples
 *     sample: u32 size of each leaf | the leaves' bytes
 *
 * Leaves are the values of a tuple or dict, in order. A chunk does not say
 * itself what they are, so index.json is read for each, and nothing is kept for
 * the next start.
 */
#include "base/json_scan.h"
#include "loader/index/index_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INDEX       "index.json"
#define MAX_LEAVES  64u
#define TEXT_BYTES  64u
#define MAX_DEPTH   16u
#define PATH_BYTES  4096u
#define ARROW_BYTES 8u
#define ARROW_MAGIC "LDARW01"
#define LOADER      "PyTreeLoader"

enum { ROW_DAMAGED, ROW_IMAGE, ROW_LABEL, ROW_FIELDS, ROW_MISSING_FIELD, ROWS };

static const struct fdl_option options[ROWS] = {
    [ROW_DAMAGED] = FDL_INDEX_DAMAGED,
    [ROW_IMAGE] = {.name = "image",
                   .type = FEEDLINE_T_INT,
                   .min = -1,
                   .max = MAX_LEAVES - 1,
                   .default_text = "-1",
                   .unit = "",
                   .help = "which value of a sample is the image, from 0; -1: "
                           "the first that is jpeg, bytes or file"},
    [ROW_LABEL] = FDL_INDEX_STRING("label", "",
                                   "which value of a sample is the label, from "
                                   "0; by default the first int; none: none"),
    [ROW_FIELDS] = FDL_INDEX_FIELDS("values of a sample by their numbers, "
                                    "from 0"),
    [ROW_MISSING_FIELD] = FDL_INDEX_MISSING_FIELD,
};

struct config {
    struct fdl_string_list *chunks; /* NULL: they are not wanted */
    char folder[PATH_BYTES];        /* ends with a slash, or is empty */
    char compression[TEXT_BYTES], encryption[TEXT_BYTES], loader[TEXT_BYTES];
    char leaves[MAX_LEAVES][TEXT_BYTES];
    uint32_t n;
};

/* ---- index.json ---------------------------------------------------------- */

/* A string; "" for null, "?" for anything else. */
static int32_t take_text(struct fdl_json_scan *s, char out[TEXT_BYTES])
{
    char next = fdl_json_scan_peek(s);
    if (next == '"')
        return fdl_json_scan_string(s, out, TEXT_BYTES);
    snprintf(out, TEXT_BYTES, "%s", next == 'n' ? "" : "?");
    return fdl_json_scan_skip(s);
}

static int32_t take_leaf(struct fdl_json_scan *s, const char *key, void *user)
{
    struct config *c = user;
    (void)key;
    if (c->n == MAX_LEAVES)
        return fdl_json_scan_fail(s, "too many values in a sample");
    return take_text(s, c->leaves[c->n++]);
}

static int32_t take_config(struct fdl_json_scan *s, const char *key, void *user)
{
    struct config *c = user;
    if (strcmp(key, "compression") == 0)
        return take_text(s, c->compression);
    if (strcmp(key, "encryption") == 0)
        return take_text(s, c->encryption);
    if (strcmp(key, "item_loader") == 0)
        return take_text(s, c->loader);
    if (strcmp(key, "data_format") == 0 && fdl_json_scan_peek(s) == '[')
        return fdl_json_scan_each(s, take_leaf, c);
    return fdl_json_scan_skip(s);
}

static int32_t take_chunk_member(struct fdl_json_scan *s, const char *key,
                                 void *user)
{
    struct config *c = user;
    char name[PATH_BYTES];
    if (strcmp(key, "filename") != 0 || fdl_json_scan_peek(s) != '"')
        return fdl_json_scan_skip(s);
    int32_t status = fdl_json_scan_string(s, name, sizeof(name));
    if (status == FEEDLINE_OK && (!*name || strchr(name, '/')))
        status = fdl_json_scan_fail(s, "a chunk that is in another folder");
    return status ? status : fdl_shard_list_add(c->chunks, c->folder, name);
}

static int32_t take_chunk(struct fdl_json_scan *s, const char *key, void *user)
{
    (void)key;
    return fdl_json_scan_peek(s) == '{'
               ? fdl_json_scan_each(s, take_chunk_member, user)
               : fdl_json_scan_fail(s, "a chunk expected");
}

static int32_t take_member(struct fdl_json_scan *s, const char *key, void *user)
{
    const struct config *c = user;
    char next = fdl_json_scan_peek(s);
    if (strcmp(key, "config") == 0 && next == '{')
        return fdl_json_scan_each(s, take_config, user);
    if (c->chunks && strcmp(key, "chunks") == 0 && next == '[')
        return fdl_json_scan_each(s, take_chunk, user);
    return fdl_json_scan_skip(s);
}

/* What only litdata itself reads. */
static int32_t check_config(const struct config *c, const char *path)
{
    if (*c->compression)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "%s: its chunks are compressed (%s), so no sample can "
                        "be read separately; run optimize() without "
                        "compression",
                        path, c->compression);
    if (*c->encryption)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "%s: its chunks are encrypted; run optimize() without "
                        "encryption",
                        path);
    if (*c->loader && strcmp(c->loader, LOADER) != 0)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "%s: its chunks are for litdata's %s, and those of "
                        "the " LOADER " are read; run optimize() without an "
                        "item_loader",
                        path, c->loader);
    if (c->n == 0)
        return fdl_fail(FEEDLINE_EINVAL, "%s: it has no data_format", path);
    return FEEDLINE_OK;
}

/* The index.json in `folder`. */
static int32_t read_folder(struct config *c, const char *folder, size_t bytes)
{
    char path[PATH_BYTES];
    bool slash = bytes > 0 && folder[bytes - 1] != '/';
    int n = snprintf(c->folder, sizeof(c->folder), "%.*s%s", (int)bytes, folder,
                     slash ? "/" : "");
    int whole = snprintf(path, sizeof(path), "%s" INDEX, c->folder);
    if (bytes >= PATH_BYTES || n < 0 || whole >= (int)sizeof(path))
        return fdl_fail(FEEDLINE_EINVAL, "%s: too long a name", folder);
    int32_t status = fdl_json_scan_file(path, MAX_DEPTH, take_member, c);
    return status ? status : check_config(c, path);
}

static int32_t find(const char *path, struct fdl_string_list *out)
{
    static const char *const endings[] = {".bin", NULL};
    struct config c = {.chunks = out};
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return fdl_shard_list_find(out, path, endings);
    int32_t status = read_folder(&c, path, strlen(path));
    if (status == FEEDLINE_OK && out->n == 0)
        status =
            fdl_fail(FEEDLINE_EINVAL, "%s/" INDEX ": it names no chunks", path);
    return status;
}

/* ---- Chunks -------------------------------------------------------------- */

struct chunk {
    struct fdl_shard *shard;
    struct config config;
    uint32_t image;
    int32_t label;                        /* -1: none */
    uint32_t fields[FEEDLINE_FIELDS_MAX]; /* which leaf */
};

static bool is_image(const char *leaf)
{
    return strcmp(leaf, "jpeg") == 0 || strcmp(leaf, "bytes") == 0 ||
           strncmp(leaf, "file", 4) == 0;
}

static bool is_label(const char *leaf)
{
    return strcmp(leaf, "int") == 0;
}

/* The first leaf that serves, or that one; n: none. */
static uint32_t choose(const struct config *c, int64_t wanted,
                       bool (*serves)(const char *leaf))
{
    for (uint32_t i = 0; i < c->n; i++)
        if ((wanted < 0 || wanted == i) && serves(c->leaves[i]))
            return i;
    return c->n;
}

static int32_t choose_leaves(struct chunk *c)
{
    const struct fdl_shard *s = c->shard;
    const char *label = fdl_option_text(s->options, ROW_LABEL);
    int64_t image = fdl_option_int(s->options, ROW_IMAGE), wanted = -1;
    c->image = choose(&c->config, image, is_image);
    if (c->image == c->config.n)
        return fdl_shard_fail(s, 0,
                              "no value of a sample is the image (the first is "
                              "%s): give optimize() the bytes of its file, or "
                              "choose (?image=0)",
                              c->config.leaves[0]);
    c->label = -1;
    if (label && strcmp(label, "none") == 0)
        return FEEDLINE_OK;
    if (label && *label) {
        char *end;
        wanted = strtoll(label, &end, 10);
        if (*end || wanted < 0)
            return fdl_shard_fail(s, 0, "label=%s is no number of a value",
                                  label);
    }
    uint32_t found = choose(&c->config, wanted, is_label);
    if (found == c->config.n && wanted >= 0)
        return fdl_shard_fail(s, 0, "value %" PRId64 " of a sample is no int",
                              wanted);
    if (found < c->config.n)
        c->label = (int32_t)found;
    return FEEDLINE_OK;
}

static int32_t choose_fields(struct chunk *c)
{
    const struct fdl_field_set *set = c->shard->list->fields;
    for (uint32_t i = 0; set && i < set->n; i++) {
        const char *name = fdl_field_set_name(set, i);
        char *end;
        unsigned long leaf = strtoul(name, &end, 10);
        if (*end || name[0] < '0' || name[0] > '9' || leaf >= c->config.n)
            return fdl_shard_fail(c->shard, 0,
                                  "a sample has %" PRIu32
                                  " values, which fields=0,1 counts from 0: "
                                  "none is '%s'",
                                  c->config.n, name);
        c->fields[i] = (uint32_t)leaf;
    }
    return FEEDLINE_OK;
}

struct leaf {
    uint64_t at, bytes;
};

static int32_t find_leaves(const struct chunk *c, uint64_t at, uint64_t end,
                           struct leaf leaves[MAX_LEAVES])
{
    const uint8_t *p;
    uint64_t from = at, head = 4 * (uint64_t)c->config.n;
    if (end > c->shard->size || end < at || end - at < head)
        return fdl_shard_fail(c->shard, at,
                              "a sample of no possible size: the chunk is cut, "
                              "or of another data set than " INDEX);
    int32_t status = fdl_shard_bytes(c->shard, at, head, &p);
    if (status)
        return status;
    at += head;
    for (uint32_t i = 0; i < c->config.n; i++) {
        leaves[i] = (struct leaf){at, fdl_le32(p + 4 * (size_t)i)};
        if (leaves[i].bytes > end - at)
            return fdl_shard_fail(c->shard, from,
                                  "a value of %" PRIu64
                                  " bytes in a sample with %" PRIu64 " left",
                                  leaves[i].bytes, end - at);
        at += leaves[i].bytes;
    }
    return FEEDLINE_OK;
}

static int32_t take_number(const struct chunk *c, const struct leaf *leaf,
                           const char *what, uint64_t *out)
{
    const uint8_t *p;
    if (leaf->bytes != 8)
        return fdl_shard_fail(c->shard, leaf->at, "%s of %" PRIu64 " bytes",
                              what, leaf->bytes);
    int32_t status = fdl_shard_bytes(c->shard, leaf->at, 8, &p);
    if (status == FEEDLINE_OK)
        *out = fdl_le64(p);
    return status;
}

/* Of the sample that was listed last. */
static int32_t add_field(const struct chunk *c, uint32_t field,
                         const char *kind, const struct leaf *leaf)
{
    struct fdl_listing *list = c->shard->list;
    bool is_int = strcmp(kind, "int") == 0;
    uint64_t word = 0;
    if (!is_int && strcmp(kind, "float") != 0)
        return fdl_listing_part(list, field,
                                strcmp(kind, "str") == 0 ? FEEDLINE_FIELD_TEXT
                                                         : FEEDLINE_FIELD_BYTES,
                                leaf->at, leaf->bytes);
    int32_t status = take_number(c, leaf, is_int ? "an int" : "a float", &word);
    return status
               ? status
               : fdl_listing_cell(
                     list, field,
                     is_int ? FEEDLINE_FIELD_INT : FEEDLINE_FIELD_FLOAT, word);
}

static int32_t add_fields(const struct chunk *c,
                          const struct leaf leaves[MAX_LEAVES])
{
    const struct fdl_field_set *set = c->shard->list->fields;
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; set && status == FEEDLINE_OK && i < set->n; i++)
        status = add_field(c, i, c->config.leaves[c->fields[i]],
                           &leaves[c->fields[i]]);
    if (status)
        fdl_listing_drop(c->shard->list);
    return status;
}

static int32_t add_sample(const struct chunk *c, uint64_t i, uint64_t at,
                          uint64_t end)
{
    struct leaf leaves[MAX_LEAVES];
    char name[24];
    uint64_t label = 0;
    int32_t status = find_leaves(c, at, end, leaves);
    if (status == FEEDLINE_OK && c->label >= 0)
        status = take_number(c, &leaves[c->label], "an int", &label);
    snprintf(name, sizeof(name), "%" PRIu64, i);
    if (status == FEEDLINE_OK)
        status = fdl_listing_add(c->shard->list, name, leaves[c->image].at,
                                 leaves[c->image].bytes);
    if (status == FEEDLINE_OK)
        status = add_fields(c, leaves);
    return status || c->label < 0
               ? status
               : fdl_listing_number(c->shard->list, (int64_t)label);
}

static int32_t refuse_arrow(struct fdl_shard *s)
{
    const uint8_t *p;
    if (s->size < ARROW_BYTES)
        return FEEDLINE_OK;
    int32_t status = fdl_shard_bytes(s, s->size - ARROW_BYTES, ARROW_BYTES, &p);
    if (status || memcmp(p, ARROW_MAGIC, sizeof(ARROW_MAGIC)) != 0)
        return status;
    return fdl_fail(FEEDLINE_ENOSYS,
                    "%s: its samples are a table of Arrow, as litdata writes "
                    "dicts with text; give optimize() tuples of image and "
                    "label",
                    s->path);
}

static int32_t list_samples(const struct chunk *c)
{
    const uint8_t *p;
    char *offsets;
    int32_t status = fdl_shard_bytes(c->shard, 0, 8, &p);
    if (status)
        return status;
    uint64_t n = fdl_le32(p);
    if (fdl_le32(p + 4) != 4 * (n + 2))
        return fdl_shard_fail(c->shard, 0, "not a chunk of litdata");
    status = fdl_shard_text(c->shard, 4, 4 * (n + 1), &offsets);
    if (status)
        return status;
    for (uint64_t i = 0; status == FEEDLINE_OK && i < n; i++) {
        const uint8_t *ends = (const uint8_t *)offsets + 4 * i;
        status = add_sample(c, i, fdl_le32(ends), fdl_le32(ends + 4));
    }
    free(offsets);
    return status;
}

static int32_t list_chunk(struct fdl_shard *s)
{
    struct chunk c = {.shard = s};
    const char *slash = strrchr(s->path, '/');
    size_t folder = slash ? (size_t)(slash + 1 - s->path) : 0;
    s->others = true;
    int32_t status = read_folder(&c.config, s->path, folder);
    if (status == FEEDLINE_OK)
        status = refuse_arrow(s);
    if (status == FEEDLINE_OK)
        status = choose_leaves(&c);
    if (status == FEEDLINE_OK)
        status = choose_fields(&c);
    return status ? status : list_samples(&c);
}

const struct fdl_index_format fdl_index_litdata = {
    .name = "litdata",
    .help = "LitData's folders of chunks, neither compressed nor encrypted, of "
            "tuples or dicts of an image and integers",
    .find = find,
    .options = options,
    .n_options = ROWS,
    .index = list_chunk,
};
