/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zip archives of class folders (PKWARE's APPNOTE.TXT). The central directory
 * at the end names every member; where its bytes begin stands in front of them,
 * as the name there and its extra field may have other lengths. Members that
 * are images by their names are samples, the folder that they are in is their
 * class. They have to be stored: a compressed one has no extent.
 *
 * Fields are members named as the image up to their extension, wherever they
 * are; it means what it does in a WebDataset.
 */
#include "decode/formats/format.h"
#include "loader/index/index_format.h"
#include "loader/index/tar_fields.h"
#include "loader/index/tar_groups.h"

#include <inttypes.h>
#include <string.h>

#define END_BYTES      22u /* of the end record, without its comment */
#define LOCATOR_BYTES  20u
#define END64_BYTES    56u
#define MEMBER_BYTES   46u
#define LOCAL_BYTES    30u
#define MAX_COMMENT    65535u
#define FLAG_ENCRYPTED 1u
#define EXTRA_ZIP64    1u
#define NAME_BYTES     4096u

static const struct fdl_option options[] = {
    FDL_INDEX_DAMAGED,
    FDL_INDEX_FIELDS("members named as the image, by their extensions (with "
                     "damaged=skip a sample whose field is damaged is left "
                     "out)"),
    FDL_INDEX_MISSING_FIELD,
};

static uint16_t le16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static bool matches(const uint8_t *head, uint64_t bytes)
{
    return bytes >= 4 && memcmp(head, "PK\3\4", 4) == 0;
}

/* The central directory. */
struct directory {
    uint64_t at, bytes, members;
};

/* Large archives: the record that a locator before the end record points to. */
static int32_t read_end64(struct fdl_shard *s, uint64_t end,
                          struct directory *out)
{
    const uint8_t *p;
    if (end < LOCATOR_BYTES)
        return FEEDLINE_OK;
    int32_t status = fdl_shard_bytes(s, end - LOCATOR_BYTES, LOCATOR_BYTES, &p);
    if (status || memcmp(p, "PK\6\7", 4) != 0)
        return status;
    uint64_t at = fdl_le64(p + 8);
    status = fdl_shard_bytes(s, at, END64_BYTES, &p);
    if (status)
        return status;
    if (memcmp(p, "PK\6\6", 4) != 0)
        return fdl_shard_fail(s, at, "no end of a zip64 directory");
    *out = (struct directory){fdl_le64(p + 48), fdl_le64(p + 40),
                              fdl_le64(p + 32)};
    return FEEDLINE_OK;
}

static int32_t find_directory(struct fdl_shard *s, struct directory *out)
{
    const uint8_t *p;
    if (s->size < END_BYTES)
        return fdl_shard_fail(s, s->size, "too short for a zip archive");
    uint64_t tail = FDL_MIN(s->size, (uint64_t)END_BYTES + MAX_COMMENT);
    int32_t status = fdl_shard_bytes(s, s->size - tail, tail, &p);
    if (status)
        return status;
    uint64_t at = tail - END_BYTES + 1;
    while (at > 0 && memcmp(p + at - 1, "PK\5\6", 4) != 0)
        at--;
    if (at == 0)
        return fdl_shard_fail(s, s->size,
                              "no directory at the end: the zip "
                              "archive is cut");
    p += at - 1;
    *out = (struct directory){fdl_le32(p + 16), fdl_le32(p + 12), le16(p + 10)};
    return read_end64(s, s->size - tail + at - 1, out);
}

struct member {
    char name[NAME_BYTES];
    uint32_t method, flags, crc;
    uint64_t stored, size; /* compressed, and not */
    uint64_t header;       /* offset of its local header */
};

/* Numbers that need more than 32 bits stand in an extra field, in this order,
 * each only if it is needed. */
static void take_zip64(struct member *m, const uint8_t *extra, uint32_t bytes)
{
    while (bytes >= 4) {
        uint32_t n = FDL_MIN((uint32_t)le16(extra + 2), bytes - 4);
        const uint8_t *at = extra + 4, *end = at + n;
        uint64_t *const numbers[] = {&m->size, &m->stored, &m->header};
        for (uint32_t i = 0; le16(extra) == EXTRA_ZIP64 && i < 3; i++)
            if (*numbers[i] == UINT32_MAX && end - at >= 8) {
                *numbers[i] = fdl_le64(at);
                at += 8;
            }
        extra += 4 + n;
        bytes -= 4 + n;
    }
}

/* The member whose directory entry is at *at, which moves behind it. */
static int32_t read_member(struct fdl_shard *s, uint64_t *at, struct member *m)
{
    const uint8_t *p;
    int32_t status = fdl_shard_bytes(s, *at, MEMBER_BYTES, &p);
    if (status)
        return status;
    if (memcmp(p, "PK\1\2", 4) != 0)
        return fdl_shard_fail(s, *at, "no entry of a zip directory");
    uint32_t name = le16(p + 28), extra = le16(p + 30), comment = le16(p + 32);
    m->flags = le16(p + 8);
    m->method = le16(p + 10);
    m->crc = fdl_le32(p + 16);
    m->stored = fdl_le32(p + 20);
    m->size = fdl_le32(p + 24);
    m->header = fdl_le32(p + 42);
    status = fdl_shard_bytes(s, *at + MEMBER_BYTES, name + extra, &p);
    if (status)
        return status;
    uint32_t kept = FDL_MIN(name, NAME_BYTES - 1);
    memcpy(m->name, p, kept);
    m->name[kept] = '\0';
    take_zip64(m, p + name, extra);
    *at += MEMBER_BYTES + name + extra + comment;
    return FEEDLINE_OK;
}

/* Where its bytes are. */
static int32_t locate(struct fdl_shard *s, const struct member *m,
                      struct fdl_tar_member *out)
{
    const uint8_t *p;
    if (m->flags & FLAG_ENCRYPTED)
        return fdl_shard_fail(s, m->header, "%s is encrypted", m->name);
    if (m->method != 0)
        return fdl_shard_fail(s, m->header,
                              "%s is compressed: images gain nothing by it and "
                              "could not be read at random; repack with "
                              "zip -0, or unpack into a folder",
                              m->name);
    int32_t status = fdl_shard_bytes(s, m->header, LOCAL_BYTES, &p);
    if (status)
        return status;
    if (memcmp(p, "PK\3\4", 4) != 0)
        return fdl_shard_fail(s, m->header, "no header of %s", m->name);
    uint64_t begin = m->header + LOCAL_BYTES + le16(p + 26) + le16(p + 28);
    if (m->stored != m->size || !fdl_shard_has(s, begin, m->size))
        return fdl_shard_fail(s, begin,
                              "%s has %" PRIu64
                              " bytes, and the file ends after %" PRIu64,
                              m->name, m->size, s->size);
    *out = (struct fdl_tar_member){.name = m->name,
                                   .begin = begin,
                                   .size = m->size,
                                   .sum = {FDL_SUM_CRC32, m->crc}};
    return FEEDLINE_OK;
}

/* ---- Fields -------------------------------------------------------------- */

struct lister {
    struct fdl_shard *shard;
    struct fdl_tar_groups groups; /* by what stands before the extension */
    struct fdl_tar_fields fields;
    struct fdl_text text;
    struct member member; /* that is taken */
};

/* Of the member's name: the extension in lower case, in place, cut from the
 * rest; NULL: it has none. */
static char *cut_extension(char *name)
{
    size_t key = fdl_tar_key_bytes(name);
    if (key == 0)
        return NULL;
    name[key] = '\0';
    for (char *c = name + key + 1; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    return name + key + 1;
}

static bool is_asked_for(const struct lister *l, const char *extension)
{
    const struct fdl_field_set *fields = l->shard->list->fields;
    return fields && extension && fdl_field_set_find(fields, extension) >= 0;
}

static int32_t find_group(struct lister *l, const char *key, uint64_t *out)
{
    struct fdl_tar_group *g;
    int32_t status = fdl_tar_groups_join(&l->groups, key, true, &g);
    if (status == FEEDLINE_OK)
        *out = (uint64_t)(g - l->groups.groups);
    return status;
}

/* The directory says where all others are, so damage to one member need not
 * end the list. */
static bool is_skipped(const struct lister *l, int32_t status, const char *what)
{
    if (status != FEEDLINE_EINVAL ||
        fdl_option_int(l->shard->options, FDL_INDEX_ROW_DAMAGED) !=
            FDL_DAMAGED_SKIP)
        return false;
    fdl_listing_odd(l->shard->list, what, fdl_last_error());
    fdl_clear_error();
    return true;
}

static int32_t take_field(struct lister *l)
{
    char key[NAME_BYTES];
    bool taken;
    uint64_t group = 0;
    struct fdl_tar_member at;
    memcpy(key, l->member.name, sizeof(key));
    const char *extension = cut_extension(key);
    if (!is_asked_for(l, extension))
        return FEEDLINE_OK;
    int32_t status = find_group(l, key, &group);
    if (status)
        return status;
    status = locate(l->shard, &l->member, &at);
    if (status == FEEDLINE_OK)
        status = fdl_tar_fields_take(&l->fields, l->shard, group, extension,
                                     at.name, &at, &l->text, &taken);
    if (is_skipped(l, status, "samples with a damaged field are left out")) {
        l->groups.groups[group].is_damaged = true;
        status = FEEDLINE_OK;
    }
    return status;
}

/* Whether a field of the sample of that key is damaged, with damaged=skip. */
static int32_t is_left_out(struct lister *l, const char *key, bool *out)
{
    uint64_t group = 0;
    *out = false;
    if (!l->shard->list->fields)
        return FEEDLINE_OK;
    int32_t status = find_group(l, key, &group);
    if (status == FEEDLINE_OK)
        *out = l->groups.groups[group].is_damaged;
    return status;
}

static int32_t add_fields(struct lister *l)
{
    char *key = l->member.name;
    uint64_t group = 0;
    if (!l->shard->list->fields || !cut_extension(key))
        return FEEDLINE_OK;
    int32_t status = find_group(l, key, &group);
    return status ? status : fdl_tar_fields_add(&l->fields, l->shard, group);
}

/* ---- Members ------------------------------------------------------------- */

static int32_t take_image(struct lister *l)
{
    char name[NAME_BYTES];
    struct fdl_tar_member at;
    const struct member *m = &l->member;
    memcpy(name, m->name, sizeof(name));
    const char *extension = cut_extension(name);
    bool field = is_asked_for(l, extension);
    if (!fdl_format_lists(m->name) || (field && strchr(extension, '.'))) {
        if (m->size > 0 && !field)
            fdl_listing_odd(l->shard->list, "not an image by its name",
                            m->name);
        return FEEDLINE_OK; /* also "7.seg.png", where that is a field */
    }
    bool left_out = false;
    int32_t status = extension ? is_left_out(l, name, &left_out) : FEEDLINE_OK;
    if (status || left_out)
        return status;
    status = locate(l->shard, m, &at);
    if (is_skipped(l, status, "damaged images are left out"))
        return FEEDLINE_OK;
    if (status == FEEDLINE_OK)
        status = fdl_listing_add(l->shard->list, m->name, at.begin, at.size);
    if (status == FEEDLINE_OK)
        status = fdl_listing_class_of_folder(l->shard->list, m->name);
    if (status == FEEDLINE_OK)
        fdl_listing_sum(l->shard->list, at.sum, at.begin, at.begin + at.size);
    return status ? status : add_fields(l);
}

static int32_t each_member(struct lister *l, const struct directory *d,
                           int32_t (*take)(struct lister *l))
{
    uint64_t at = d->at;
    int32_t status = FEEDLINE_OK;
    for (uint64_t i = 0; status == FEEDLINE_OK && i < d->members; i++) {
        status = read_member(l->shard, &at, &l->member);
        if (status == FEEDLINE_OK)
            status = take(l);
    }
    return status;
}

static int32_t list_members(struct fdl_shard *s)
{
    struct directory d = {0};
    struct lister l = {.shard = s};
    int32_t status = find_directory(s, &d);
    if (status == FEEDLINE_OK && !fdl_shard_has(s, d.at, d.bytes))
        return fdl_shard_fail(s, d.at,
                              "the directory has %" PRIu64
                              " bytes, and the file ends after %" PRIu64,
                              d.bytes, s->size);
    if (status == FEEDLINE_OK && s->list->fields)
        status = each_member(&l, &d, take_field);
    if (status == FEEDLINE_OK)
        status = each_member(&l, &d, take_image);
    fdl_tar_groups_free(&l.groups);
    fdl_tar_fields_free(&l.fields);
    fdl_text_free(&l.text);
    return status;
}

const struct fdl_index_format fdl_index_zip = {
    .name = "zip",
    .help = "zip archives of class folders, whose images are stored and not "
            "compressed (zip -0)",
    .endings = {".zip"},
    .matches = matches,
    .options = options,
    .n_options = FDL_COUNT_OF(options),
    .index = list_members,
};
