/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RecordIO files of MXNet's im2rec and pack_img (dmlc-core, recordio.h):
 *
 *     u32 magic | u32 part << 29 | bytes | that many bytes | zeros up to 4
 *
 * A record begins with its labels and its number in the list that it was made
 * from, which becomes its name: u32 n | f32 label | u64 id | u64 id2 | n times
 * f32 label, in which case the one before is not used. The image is the rest.
 *
 * Where the magic number occurs in the data the writer takes it out and goes on
 * in another part, so such an image lies nowhere in one piece. It happens to
 * one of 160,000 photos; those are left out and counted, or refused. So are
 * records without an image, of which InsightFace's files have one for all of
 * the file and one for each person.
 */
#include "loader/index/index_format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAGIC        UINT32_C(0xced7230a)
#define PART_BYTES   8u
#define LENGTH_BITS  29u
#define LABELS_BYTES 24u
#define MAX_LABEL    16777216.0f /* floats beyond it skip integers */

enum {
    ROW_DAMAGED,
    ROW_LABEL_INDEX,
    ROW_SPLIT,
    ROW_FIELDS,
    ROW_MISSING_FIELD,
    ROWS
};

#define SPLIT_CHOICES(C)                                                       \
  C(SPLIT_SKIP, "skip")                                                        \
  C(SPLIT_RAISE, "raise")
enum split { FDL_CHOICE_VALUES(SPLIT_CHOICES) };

static const struct fdl_option options[ROWS] = {
    [ROW_DAMAGED] = FDL_INDEX_DAMAGED,
    [ROW_LABEL_INDEX] = {.name = "label_index",
                         .type = FEEDLINE_T_INT,
                         .min = -1,
                         .max = INT32_MAX,
                         .default_text = "0",
                         .unit = "",
                         .help = "which of a record's labels is used, where it "
                                 "has several; -1: none"},
    [ROW_SPLIT] = {.name = "split",
                   .type = FEEDLINE_T_ENUM,
                   .default_text = "skip",
                   .unit = "",
                   .choices = FDL_CHOICE_TEXT(SPLIT_CHOICES),
                   .help = "a record in several parts, as its data contained "
                           "the format's magic number: leave it out and say so "
                           "in the log, or refuse the data set"},
    [ROW_FIELDS] = FDL_INDEX_FIELDS("labels: all of them, as float32; id: the "
                                    "record's number"),
    [ROW_MISSING_FIELD] = FDL_INDEX_MISSING_FIELD,
};

static bool matches(const uint8_t *head, uint64_t bytes)
{
    return bytes >= PART_BYTES && fdl_le32(head) == MAGIC;
}

enum part_kind { PART_WHOLE, PART_FIRST, PART_MIDDLE, PART_LAST };

struct part {
    enum part_kind kind;
    uint64_t at, bytes; /* of its data */
};

/* The part at *at, which moves to the next one. */
static int32_t take_part(struct fdl_shard *s, uint64_t *at, struct part *out)
{
    const uint8_t *p;
    int32_t status = fdl_shard_bytes(s, *at, PART_BYTES, &p);
    if (status)
        return status;
    if (fdl_le32(p) != MAGIC)
        return fdl_shard_fail(s, *at,
                              "no RecordIO record: its magic number is "
                              "missing");
    uint32_t word = fdl_le32(p + 4);
    *out =
        (struct part){(enum part_kind)(word >> LENGTH_BITS), *at + PART_BYTES,
                      word & ((UINT32_C(1) << LENGTH_BITS) - 1)};
    uint64_t padded = (out->bytes + 3) / 4 * 4;
    if (!fdl_shard_has(s, out->at, padded))
        return fdl_shard_fail(s, *at,
                              "a record of %" PRIu64
                              " bytes, and the file ends after %" PRIu64,
                              out->bytes, s->size);
    *at = out->at + padded;
    return FEEDLINE_OK;
}

/* *bits: the label that was asked for, an f32. */
static int32_t find_label(struct fdl_shard *s, const struct part *record,
                          uint32_t n, uint32_t *bits)
{
    const uint8_t *p;
    int64_t index = fdl_option_int(s->options, ROW_LABEL_INDEX);
    if (index < 0 || (n == 0 && index == 0))
        return FEEDLINE_OK;
    if (index >= (int64_t)n)
        return fdl_shard_fail(s, record->at,
                              "a record with %" PRIu32
                              " labels has no label_index %" PRId64,
                              n ? n : 1, index);
    int32_t status = fdl_shard_bytes(
        s, record->at + LABELS_BYTES + 4 * (uint64_t)index, 4, &p);
    if (status == FEEDLINE_OK)
        *bits = fdl_le32(p);
    return status;
}

/* Of the record whose image was listed last. */
static int32_t add_fields(struct fdl_shard *s, const struct part *record,
                          uint64_t id, uint32_t n)
{
    const struct fdl_field_set *fields = s->list->fields;
    int32_t labels = fields ? fdl_field_set_find(fields, "labels") : -1;
    int32_t number = fields ? fdl_field_set_find(fields, "id") : -1;
    int32_t status = FEEDLINE_OK;
    if (labels >= 0)
        status = fdl_listing_part(
            s->list, (uint32_t)labels, FEEDLINE_FIELD_BYTES,
            record->at + (n ? LABELS_BYTES : 4), n ? 4 * (uint64_t)n : 4);
    if (status == FEEDLINE_OK && number >= 0)
        status =
            fdl_listing_cell(s->list, (uint32_t)number, FEEDLINE_FIELD_INT, id);
    return status;
}

static int32_t add_image(struct fdl_shard *s, const struct part *record,
                         uint64_t id, uint32_t n, uint32_t bits)
{
    char name[24];
    float value;
    uint64_t skipped = LABELS_BYTES + 4 * (uint64_t)n;
    snprintf(name, sizeof(name), "%" PRIu64, id);
    if (record->bytes == skipped) {
        fdl_listing_odd(s->list, "records without an image are left out", name);
        return FEEDLINE_OK;
    }
    int32_t status = find_label(s, record, n, &bits);
    if (status == FEEDLINE_OK)
        status = fdl_listing_add(s->list, name, record->at + skipped,
                                 record->bytes - skipped);
    if (status == FEEDLINE_OK)
        status = add_fields(s, record, id, n);
    if (status || fdl_option_int(s->options, ROW_LABEL_INDEX) < 0)
        return status;
    memcpy(&value, &bits, sizeof(value));
    if (!(fabsf(value) <= MAX_LABEL) || value != truncf(value)) {
        fdl_listing_drop(s->list);
        return fdl_shard_fail(s, record->at,
                              "label %g is no whole number: choose another one "
                              "(?label_index=...) or none (-1)",
                              (double)value);
    }
    return fdl_listing_number(s->list, (int64_t)value);
}

static int32_t list_record(struct fdl_shard *s, const struct part *record)
{
    const uint8_t *p;
    if (record->bytes < LABELS_BYTES)
        return fdl_shard_fail(s, record->at,
                              "a record of %" PRIu64 " bytes, too short for "
                              "the header of an image (pack_img)",
                              record->bytes);
    int32_t status = fdl_shard_bytes(s, record->at, LABELS_BYTES, &p);
    if (status)
        return status;
    uint32_t n = fdl_le32(p);
    if (n > (record->bytes - LABELS_BYTES) / 4)
        return fdl_shard_fail(s, record->at,
                              "%" PRIu32 " labels in a record of %" PRIu64
                              " bytes",
                              n, record->bytes);
    return add_image(s, record, fdl_le64(p + 8), n, fdl_le32(p + 4));
}

/* The parts behind the first one, up to the last. */
static int32_t skip_split(struct fdl_shard *s, uint64_t *at,
                          const struct part *first)
{
    char place[24];
    struct part part;
    do {
        uint64_t from = *at;
        int32_t status = take_part(s, at, &part);
        if (status)
            return status;
        if (part.kind != PART_MIDDLE && part.kind != PART_LAST)
            return fdl_shard_fail(s, from, "the record before has no end");
    } while (part.kind != PART_LAST);
    if (fdl_option_int(s->options, ROW_SPLIT) == SPLIT_RAISE)
        return fdl_shard_fail(s, first->at,
                              "a record in several parts, as its data contains "
                              "the format's magic number; with ?split=skip it "
                              "is left out");
    snprintf(place, sizeof(place), "at %" PRIu64, first->at);
    fdl_listing_odd(s->list, "records in several parts are left out", place);
    return FEEDLINE_OK;
}

static int32_t list_records(struct fdl_shard *s)
{
    int32_t status = FEEDLINE_OK;
    uint64_t at = 0;
    while (status == FEEDLINE_OK && at < s->size) {
        struct part part;
        uint64_t from = at;
        status = take_part(s, &at, &part);
        if (status)
            return status;
        if (part.kind == PART_WHOLE)
            status = list_record(s, &part);
        else if (part.kind == PART_FIRST)
            status = skip_split(s, &at, &part);
        else
            status = fdl_shard_fail(s, from,
                                    "a later part of a record whose "
                                    "first is missing");
    }
    return status;
}

const struct fdl_index_format fdl_index_recordio = {
    .name = "recordio",
    .help = "MXNet's RecordIO files of im2rec, pack_img and InsightFace",
    .endings = {".rec", ".recordio"},
    .matches = matches,
    .options = options,
    .n_options = ROWS,
    .index = list_records,
};
