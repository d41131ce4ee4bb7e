/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most fields were read with the image. A part that is far from it, or in
 * another file, is read here and now, on the worker's thread.
 */
#include "loader/stream/worker_fields.h"

#include "decode/formats/format.h"
#include "loader/read/reader_file.h"
#include "loader/stream/engine_own.h"

#include <inttypes.h>
#include <string.h>

static uint64_t image_bytes(const struct fdl_read *r)
{
    const struct fdl_source *s = &r->source;
    return s->image_length < 0 ? r->size : (uint64_t)s->image_length;
}

/* Bytes behind the image, whose field was taken, that may be zeroed. */
static uint64_t padding(const struct fdl_read *r)
{
    uint64_t end = r->source.image_at + image_bytes(r);
    if (!r->buffer || r->data != r->buffer + r->head)
        return 0;
    return FDL_MIN(r->readable - end, (uint64_t)FDL_ENCODED_PADDING);
}

void fdl_worker_encoded(const struct fdl_read *r, struct fdl_encoded *out)
{
    const struct fdl_source *s = &r->source;
    uint64_t size = image_bytes(r);
    *out = (struct fdl_encoded){
        .data = r->data + s->image_at,
        .size = size,
        .readable = r->readable - s->image_at,
        .format = s->raw_width ? &fdl_format_raw : NULL,
        .raw_width = s->raw_width,
        .raw_height = s->raw_height,
        .raw_channels = s->raw_channels,
    };
    if (s->image_at + size < r->size) /* a field is behind it */
        out->readable = size + padding(r);
}

/* Whether a part is among the bytes that were read; *at: where. */
static bool was_read(const struct fdl_read *r, const struct fdl_cell *c,
                     uint64_t *at)
{
    const struct fdl_source *s = &r->source;
    *at = c->word - s->offset;
    return c->file == s->file && c->word >= s->offset && *at <= r->size &&
           c->length <= r->size - *at;
}

static int32_t read_part(struct fdl_worker *w, const struct fdl_cell *c,
                         uint8_t *to)
{
    const feedline_dataset *ds = w->engine->dataset;
    struct fdl_window *window = w->engine->window;
    struct fdl_read *r = &w->part;
    r->status = FEEDLINE_OK;
    r->source = (struct fdl_source){
        .path = ds->files.text + ds->file_at[c->file],
        .file = c->file,
        .offset = c->word,
        .length = c->length,
        .image_length = -1,
    };
    fdl_read_file(window, r);
    if (r->status == FEEDLINE_OK)
        memcpy(to, r->data, r->size);
    fdl_read_release(window, r);
    return r->status;
}

static int32_t take_part(struct fdl_worker *w, const struct fdl_read *r,
                         uint32_t field, uint8_t *to)
{
    const feedline_dataset *ds = w->engine->dataset;
    const struct fdl_cell *c = &fdl_dataset_cells(ds, r->index)[field];
    uint64_t at;
    if (was_read(r, c, &at)) {
        memcpy(to, r->data + at, c->length);
        return FEEDLINE_OK;
    }
    if (read_part(w, c, to) == FEEDLINE_OK)
        return FEEDLINE_OK;
    return fdl_fail(w->part.status, "field '%s' in %s: %s",
                    fdl_field_set_name(&ds->fields, field), w->part.source.path,
                    w->part.reason);
}

static uint64_t bytes_of(const feedline_dataset *ds, uint64_t index,
                         uint32_t field)
{
    const struct fdl_cell *c = &fdl_dataset_cells(ds, index)[field];
    bool none =
        c->file == FDL_NO_FILE || fdl_field_is_number(ds->fields.kind[field]);
    return none ? 0 : c->length;
}

/* Fields of the data set; what follows them in the ring is the image. */
static int32_t take_fields(struct fdl_worker *w, const struct fdl_read *r,
                           feedline_batch *b, uint32_t place)
{
    const feedline_dataset *ds = w->engine->dataset;
    bool whole = b->ring->fields.n > ds->fields.n;
    uint64_t at, all = whole ? image_bytes(r) : 0;
    uint8_t *to;
    for (uint32_t i = 0; i < ds->fields.n; i++)
        all += bytes_of(ds, r->index, i);
    int32_t status = fdl_slot_fields_claim(b, all, &at, &to);
    for (uint32_t i = 0; status == FEEDLINE_OK && i < ds->fields.n; i++) {
        uint64_t bytes = bytes_of(ds, r->index, i);
        if (fdl_field_is_number(ds->fields.kind[i])) {
            fdl_slot_field_set(b, i, place,
                               fdl_dataset_cells(ds, r->index)[i].word, 0);
            continue;
        }
        if (bytes > 0)
            status = take_part(w, r, i, to);
        fdl_slot_field_set(b, i, place, at, bytes);
        at += bytes;
        to += bytes;
    }
    if (status == FEEDLINE_OK && whole) {
        memcpy(to, r->data + r->source.image_at, image_bytes(r));
        fdl_slot_field_set(b, ds->fields.n, place, at, image_bytes(r));
    }
    return status;
}

int32_t fdl_worker_take_fields(struct fdl_worker *w, const struct fdl_read *r,
                               feedline_batch *b, uint32_t place)
{
    uint64_t end = r->source.image_at + image_bytes(r);
    int32_t status = take_fields(w, r, b, place);
    if (status == FEEDLINE_OK && end < r->size && padding(r) > 0)
        memset(r->buffer + r->head + end, 0, padding(r));
    return status;
}
