/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecord files of tf.Example messages:
 *
 *     u64 length | u32 masked CRC-32C of it | length bytes | u32 CRC of those
 *
 * (tensorflow.org, "TFRecord and tf.train.Example"). Within a message the image
 * lies in one piece, so its extent is listed, not the record's. Of each message
 * only the headers of its features are read; where an image comes before the
 * label it is hopped over. The CRC of the length is checked here, as a file
 * that is no TFRecord or that was cut shows there; that of the data when the
 * sample is read.
 *
 *     Example  { 1: Features { 1: entry { 1: key, 2: Feature } ... } }
 *     Feature  { 1: BytesList | 2: FloatList | 3: Int64List }, each { 1: ... }
 */
#include "loader/index/index_format.h"

#include <inttypes.h>
#include <string.h>

#define HEADER_BYTES 12u
#define FOOTER_BYTES 4u
#define KEY_BYTES    128u

enum {
    ROW_DAMAGED,
    ROW_IMAGE,
    ROW_LABEL,
    ROW_NAME,
    ROW_LABEL_BASE,
    ROW_FIELDS,
    ROW_MISSING_FIELD,
    ROWS
};

static const struct fdl_option options[ROWS] = {
    [ROW_DAMAGED] = FDL_INDEX_DAMAGED,
    [ROW_IMAGE] = FDL_INDEX_STRING("image", "",
                                   "feature with the encoded image; by "
                                   "default image/encoded, image or jpg"),
    [ROW_LABEL] = FDL_INDEX_STRING("label", "",
                                   "feature with the label, an integer; by "
                                   "default image/class/label or label"),
    [ROW_NAME] = FDL_INDEX_STRING("name", "",
                                  "feature with the sample's name; by "
                                  "default image/filename, file_name or key"),
    [ROW_LABEL_BASE] = {.name = "label_base",
                        .type = FEEDLINE_T_INT,
                        .max = INT64_C(1) << 31,
                        .default_text = "0",
                        .unit = "",
                        .help = "number of the first class in the file: 1 for "
                                "those of build_imagenet_data.py"},
    [ROW_FIELDS] = FDL_INDEX_FIELDS("further features of one value each"),
    [ROW_MISSING_FIELD] = FDL_INDEX_MISSING_FIELD,
};

/* What the features go by where nobody says: build_imagenet_data.py and DALI's
 * examples, TFDS, img2dataset. */
static const char *const usual[ROWS][4] = {
    [ROW_IMAGE] = {"image/encoded", "image", "jpg"},
    [ROW_LABEL] = {"image/class/label", "label"},
    [ROW_NAME] = {"image/filename", "file_name", "key"},
};

/* ---- Records ------------------------------------------------------------- */

static bool matches(const uint8_t *head, uint64_t bytes)
{
    return bytes >= HEADER_BYTES &&
           fdl_le32(head + 8) == fdl_sum_of(FDL_SUM_MASKED, head, 8);
}

/* ---- Protocol buffers ---------------------------------------------------- */

/* What is left of a message, as offsets in the file. */
struct span {
    struct fdl_shard *shard;
    uint64_t at, end;
};

static int32_t take_varint(struct span *m, uint64_t *out)
{
    *out = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        const uint8_t *byte;
        if (m->at >= m->end)
            return fdl_shard_fail(m->shard, m->at, "a number ends too early");
        int32_t status = fdl_shard_bytes(m->shard, m->at, 1, &byte);
        if (status)
            return status;
        m->at++;
        *out |= (uint64_t)(*byte & 0x7f) << shift;
        if (*byte < 0x80)
            return FEEDLINE_OK;
    }
    return fdl_shard_fail(m->shard, m->at, "a number of more than 64 bits");
}

enum wire {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5
};

struct field {
    uint64_t number;
    enum wire wire;
    uint64_t value;   /* WIRE_VARINT */
    struct span body; /* the others */
};

/* The next field, and steps over it. */
static int32_t take_field(struct span *m, struct field *f)
{
    uint64_t tag, bytes = 0;
    int32_t status = take_varint(m, &tag);
    if (status)
        return status;
    f->number = tag >> 3;
    f->wire = (enum wire)(tag & 7);
    switch (f->wire) {
    case WIRE_VARINT:
        return take_varint(m, &f->value);
    case WIRE_FIXED64:
        bytes = 8;
        break;
    case WIRE_FIXED32:
        bytes = 4;
        break;
    case WIRE_BYTES:
        status = take_varint(m, &bytes);
        break;
    default:
        return fdl_shard_fail(m->shard, m->at, "not a tf.Example message");
    }
    if (status)
        return status;
    if (bytes > m->end - m->at)
        return fdl_shard_fail(m->shard, m->at,
                              "a field of %" PRIu64 " bytes in a message with "
                              "%" PRIu64 " left",
                              bytes, m->end - m->at);
    f->body = (struct span){m->shard, m->at, m->at + bytes};
    m->at += bytes;
    return FEEDLINE_OK;
}

/* Goes on to the next field `number` with a body. *found: there is one. */
static int32_t find_field(struct span *m, uint64_t number, struct field *f,
                          bool *found)
{
    *found = false;
    while (m->at < m->end && !*found) {
        int32_t status = take_field(m, f);
        if (status)
            return status;
        *found = f->number == number && f->wire == WIRE_BYTES;
    }
    return FEEDLINE_OK;
}

/* ---- Examples ------------------------------------------------------------ */

/* What is known of the message that is being read. rank: which of the usual
 * names it was, so that the first of them wins. */
struct example {
    struct span image, name;
    struct span fields[FEEDLINE_FIELDS_MAX]; /* features; empty: not found */
    int64_t label;
    uint32_t rank[ROWS]; /* + 1; 0: not found */
};

/* How well a key serves for a row: 1 is best, 0 not at all. */
static uint32_t rank_of(const struct fdl_options *o, uint32_t row,
                        const char *key)
{
    const char *wanted = fdl_option_text(o, row);
    if (wanted && *wanted)
        return strcmp(key, wanted) == 0;
    for (uint32_t i = 0; usual[row][i]; i++)
        if (strcmp(key, usual[row][i]) == 0)
            return i + 1;
    return 0;
}

/* The one value of a BytesList. */
static int32_t take_bytes(const struct span *feature, struct span *out,
                          bool *found)
{
    struct span at = *feature;
    struct field list, value;
    int32_t status = find_field(&at, 1, &list, found);
    if (status || !*found)
        return status;
    status = find_field(&list.body, 1, &value, found);
    if (status == FEEDLINE_OK && *found)
        *out = value.body;
    return status;
}

/* The first value of an Int64List, packed or not. */
static int32_t take_number(const struct span *feature, int64_t *out,
                           bool *found)
{
    struct span at = *feature;
    struct field list, value;
    uint64_t number = 0;
    int32_t status = find_field(&at, 3, &list, found);
    if (status || !*found)
        return status;
    *found = list.body.at < list.body.end;
    if (!*found)
        return FEEDLINE_OK;
    status = take_field(&list.body, &value);
    if (status)
        return status;
    if (value.wire == WIRE_VARINT)
        number = value.value;
    else
        status = take_varint(&value.body, &number);
    *out = (int64_t)number;
    return status;
}

static int32_t take_feature(const struct fdl_options *o, const char *key,
                            const struct span *feature, struct example *e)
{
    const struct fdl_field_set *fields = feature->shard->list->fields;
    int32_t field = fields ? fdl_field_set_find(fields, key) : -1;
    if (field >= 0)
        e->fields[field] = *feature;
    for (uint32_t row = ROW_IMAGE; row <= ROW_NAME; row++) {
        bool found = false;
        int32_t status;
        uint32_t rank = rank_of(o, row, key);
        if (rank == 0 || (e->rank[row] && e->rank[row] <= rank))
            continue;
        if (row == ROW_LABEL)
            status = take_number(feature, &e->label, &found);
        else
            status = take_bytes(
                feature, row == ROW_IMAGE ? &e->image : &e->name, &found);
        if (status)
            return status;
        if (found)
            e->rank[row] = rank;
    }
    return FEEDLINE_OK;
}

/* A text of the message, cut to what fits. */
static int32_t copy_text(const struct span *from, char *out, uint64_t capacity)
{
    const uint8_t *bytes = (const uint8_t *)"";
    uint64_t n = FDL_MIN(from->end - from->at, capacity - 1);
    int32_t status =
        n ? fdl_shard_bytes(from->shard, from->at, n, &bytes) : FEEDLINE_OK;
    if (status)
        return status;
    memcpy(out, bytes, n);
    out[n] = '\0';
    return FEEDLINE_OK;
}

static int32_t take_entry(const struct fdl_options *o, struct span *entry,
                          struct example *e)
{
    char key[KEY_BYTES] = "";
    struct field f;
    while (entry->at < entry->end) {
        int32_t status = take_field(entry, &f);
        if (status == FEEDLINE_OK && f.wire == WIRE_BYTES) {
            if (f.number == 1)
                status = copy_text(&f.body, key, sizeof(key));
            else if (f.number == 2)
                status = take_feature(o, key, &f.body, e);
        }
        if (status)
            return status;
    }
    return FEEDLINE_OK;
}

static int32_t read_example(const struct fdl_options *o, struct span message,
                            struct example *e)
{
    struct field features, entry;
    bool found = false;
    int32_t status = find_field(&message, 1, &features, &found);
    while (status == FEEDLINE_OK && found) {
        status = find_field(&features.body, 1, &entry, &found);
        if (status == FEEDLINE_OK && found)
            status = take_entry(o, &entry.body, e);
    }
    return status;
}

/* ---- Fields -------------------------------------------------------------- */

/* The first value of a FloatList, packed or not; *found: there is one. */
static int32_t take_float(struct span list, uint64_t *word, bool *found)
{
    const uint8_t *p;
    struct field value;
    float number;
    int32_t status = take_field(&list, &value);
    *found = status == FEEDLINE_OK && value.wire != WIRE_VARINT &&
             value.body.end - value.body.at >= sizeof(number);
    if (!*found)
        return status;
    status = fdl_shard_bytes(list.shard, value.body.at, sizeof(number), &p);
    if (status)
        return status;
    uint32_t bits = fdl_le32(p);
    memcpy(&number, &bits, sizeof(number));
    *word = fdl_field_word(number);
    return FEEDLINE_OK;
}

/* EINVAL: a list of several numbers. */
static int32_t check_single(struct span list, uint64_t number, const char *name)
{
    struct field value;
    uint64_t unused;
    int32_t status = take_field(&list, &value);
    bool single = list.at == list.end;
    if (status == FEEDLINE_OK && single && value.wire == WIRE_BYTES) {
        if (number == 2)
            value.body.at +=
                FDL_MIN(sizeof(float), value.body.end - value.body.at);
        else
            status = take_varint(&value.body, &unused);
        single = value.body.at == value.body.end;
    }
    if (status || single)
        return status;
    return fdl_shard_fail(list.shard, list.at,
                          "feature '%s' has several values, and fields have "
                          "one: write such a list as bytes",
                          name);
}

static int32_t add_field(struct fdl_listing *l, uint32_t i,
                         const struct span *feature)
{
    struct span at = *feature, bytes;
    struct field list;
    int64_t integer;
    uint64_t word = 0;
    bool found = false;
    int32_t status = FEEDLINE_OK;
    if (at.at == at.end)
        return FEEDLINE_OK;
    status = take_field(&at, &list);
    if (status || list.wire != WIRE_BYTES || list.body.at == list.body.end)
        return status;
    if (list.number == 1) {
        status = take_bytes(feature, &bytes, &found);
        return status || !found
                   ? status
                   : fdl_listing_part(l, i, FEEDLINE_FIELD_BYTES, bytes.at,
                                      bytes.end - bytes.at);
    }
    status =
        check_single(list.body, list.number, fdl_field_set_name(l->fields, i));
    if (status)
        return status;
    if (list.number == 2) {
        status = take_float(list.body, &word, &found);
        return status || !found
                   ? status
                   : fdl_listing_cell(l, i, FEEDLINE_FIELD_FLOAT, word);
    }
    status = take_number(feature, &integer, &found);
    return status || !found
               ? status
               : fdl_listing_cell(l, i, FEEDLINE_FIELD_INT, (uint64_t)integer);
}

static int32_t add_fields(struct fdl_listing *l, const struct example *e)
{
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; l->fields && status == FEEDLINE_OK && i < l->fields->n;
         i++)
        status = add_field(l, i, &e->fields[i]);
    return status;
}

static int32_t list_example(struct fdl_shard *s, uint64_t at, uint64_t length)
{
    char name[1024] = "";
    struct example e = {0};
    struct span message = {s, at, at + length};
    int32_t status = read_example(s->options, message, &e);
    if (status == FEEDLINE_OK && e.rank[ROW_NAME])
        status = copy_text(&e.name, name, sizeof(name));
    if (status)
        return status;
    if (!e.rank[ROW_IMAGE])
        return fdl_shard_fail(s, at,
                              "no image in this record: name the "
                              "feature that has it (?image=...)");
    status =
        fdl_listing_add(s->list, name, e.image.at, e.image.end - e.image.at);
    if (status == FEEDLINE_OK)
        status = add_fields(s->list, &e);
    if (status == FEEDLINE_OK && e.rank[ROW_LABEL])
        status = fdl_listing_number(
            s->list, e.label - fdl_option_int(s->options, ROW_LABEL_BASE));
    return status;
}

/* With what stands behind it: its checksum. */
static int32_t list_record(struct fdl_shard *s, uint64_t at, uint64_t length)
{
    const uint8_t *footer;
    int32_t status = list_example(s, at, length);
    if (status == FEEDLINE_OK)
        status = fdl_shard_bytes(s, at + length, FOOTER_BYTES, &footer);
    if (status == FEEDLINE_OK)
        fdl_listing_sum(s->list,
                        (struct fdl_sum){FDL_SUM_MASKED, fdl_le32(footer)}, at,
                        at + length);
    return status;
}

static int32_t list_records(struct fdl_shard *s)
{
    const uint8_t *header;
    int32_t status = FEEDLINE_OK;
    uint64_t at = 0;
    while (status == FEEDLINE_OK && at < s->size) {
        status = fdl_shard_bytes(s, at, HEADER_BYTES, &header);
        if (status)
            return status;
        uint64_t length = fdl_le64(header);
        if (!matches(header, HEADER_BYTES))
            return fdl_shard_fail(
                s, at,
                "not a TFRecord: the checksum of a record's length is wrong, "
                "and nothing else tells where records begin; write the file "
                "again (checksums=false is about contents alone)");
        at += HEADER_BYTES;
        if (length > s->size - at || FOOTER_BYTES > s->size - at - length)
            return fdl_shard_fail(s, at,
                                  "a record of %" PRIu64
                                  " bytes, and the file ends after "
                                  "%" PRIu64,
                                  length, s->size);
        status = list_record(s, at, length);
        at += length + FOOTER_BYTES;
    }
    return status;
}

const struct fdl_index_format fdl_index_tfrecord = {
    .name = "tfrecord",
    .help = "TFRecord files of tf.Example messages with an encoded image each",
    .endings = {".tfrecord", ".tfrecords", ".tfrec"},
    .matches = matches,
    .options = options,
    .n_options = ROWS,
    .index = list_records,
};
