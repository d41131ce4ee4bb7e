/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most fields were read with the image. A part that is far from it, or in
 * another file, is read here and now, on the worker's thread.
 */
#include "loader/stream/worker_fields.h"

#include "loader/read/read_bytes.h"
#include "loader/read/reader_file.h"
#include "loader/stream/engine_own.h"
#include "loader/stream/slot_fields.h"

#include <inttypes.h>
#include <string.h>

/* A file of the sample's own, of a size that nobody knows yet. */
static bool is_whole(const struct fdl_cell *c)
{
    return c->file != FDL_NO_FILE && c->length == FEEDLINE_TO_END;
}

static void verify_part(struct fdl_read *r)
{
    int32_t status =
        fdl_sum_check(&r->source.sum, r->data, r->size, r->source.offset,
                      "the file", FDL_SUM_QUARANTINE);
    if (status < 0)
        fdl_read_fail(r, status, "%s", fdl_last_error());
}

/* Into w->part, until fdl_read_release. */
static int32_t read_part(struct fdl_worker *w, const struct fdl_cell *c)
{
    const feedline_dataset *ds = w->engine->dataset;
    struct fdl_window *window = w->engine->window;
    struct fdl_read *r = &w->part;
    r->status = FEEDLINE_OK;
    r->source = (struct fdl_source){
        .offset = c->word,
        .length = is_whole(c) ? -1 : (int64_t)c->length,
        .image_length = -1,
    };
    fdl_dataset_locate_file(ds, c->file, &r->source);
    if (is_whole(c))
        r->source.file = FDL_OWN_FILE;
    if (w->engine->config.checksums != FDL_CHECKSUMS_FALSE && !is_whole(c))
        r->source.sum = c->sum;
    fdl_read_file(window, r);
    if (r->status == FEEDLINE_OK)
        verify_part(r);
    return r->status;
}

static int32_t fail_part(const struct fdl_worker *w, uint32_t field)
{
    return fdl_fail(w->part.status, "field '%s' in %s: %s",
                    fdl_field_set_name(&w->engine->dataset->fields, field),
                    w->part.source.path, w->part.reason);
}

static int32_t take_part(struct fdl_worker *w, const struct fdl_read *r,
                         uint32_t field, uint8_t *to)
{
    const feedline_dataset *ds = w->engine->dataset;
    const struct fdl_cell *c = &fdl_dataset_cells(ds, r->index)[field];
    uint64_t at;
    if (fdl_read_has(r, c, &at)) {
        memcpy(to, r->data + at, c->length);
        return FEEDLINE_OK;
    }
    int32_t status = read_part(w, c);
    if (status == FEEDLINE_OK)
        memcpy(to, w->part.data, w->part.size);
    fdl_read_release(w->engine->window, &w->part);
    return status == FEEDLINE_OK ? status : fail_part(w, field);
}

static uint64_t bytes_of(const feedline_dataset *ds, uint64_t index,
                         uint32_t field)
{
    const struct fdl_cell *c = &fdl_dataset_cells(ds, index)[field];
    bool none = c->file == FDL_NO_FILE || is_whole(c) ||
                fdl_field_is_number(ds->fields.kind[field]);
    return none ? 0 : c->length;
}

/* For the decoder of masks, if that is what the field is. */
static void note_mask(struct fdl_worker *w, uint32_t field,
                      const uint8_t *bytes, uint64_t n)
{
    if (!w->masks || field != w->engine->mask_field)
        return;
    w->mask = bytes;
    w->mask_bytes = n;
}

static int32_t take_whole(struct fdl_worker *w, const struct fdl_cell *c,
                          uint32_t field, feedline_batch *b, uint32_t place)
{
    const struct fdl_read *part = &w->part;
    uint64_t at;
    uint8_t *to;
    int32_t status = read_part(w, c);
    if (status < 0)
        status = fail_part(w, field);
    else
        status = fdl_slot_fields_claim(b, part->size, &at, &to);
    if (status == FEEDLINE_OK) {
        memcpy(to, part->data, part->size);
        fdl_slot_field_set(b, field, place, at, part->size);
        note_mask(w, field, to, part->size);
    }
    fdl_read_release(w->engine->window, &w->part);
    return status;
}

/* One that is not a number and at `at` in the slab, which is `to`; or elsewhere
 * there, if it is a whole file. */
static int32_t take_bytes(struct fdl_worker *w, const struct fdl_read *r,
                          uint32_t field, feedline_batch *b, uint32_t place,
                          uint64_t at, uint8_t *to)
{
    const feedline_dataset *ds = w->engine->dataset;
    const struct fdl_cell *c = &fdl_dataset_cells(ds, r->index)[field];
    uint64_t bytes = bytes_of(ds, r->index, field);
    if (is_whole(c))
        return take_whole(w, c, field, b, place);
    fdl_slot_field_set(b, field, place, at, bytes);
    note_mask(w, field, to, bytes);
    return bytes > 0 ? take_part(w, r, field, to) : FEEDLINE_OK;
}

/* Fields of the data set; what follows them in the ring is the image. */
int32_t fdl_worker_take_fields(struct fdl_worker *w, const struct fdl_read *r,
                               feedline_batch *b, uint32_t place)
{
    const feedline_dataset *ds = w->engine->dataset;
    bool whole = b->kind->fields.n > ds->fields.n;
    uint64_t at, all = whole ? fdl_read_image_bytes(r) : 0;
    uint8_t *to;
    for (uint32_t i = 0; i < ds->fields.n; i++)
        all += bytes_of(ds, r->index, i);
    int32_t status = fdl_slot_fields_claim(b, all, &at, &to);
    for (uint32_t i = 0; status == FEEDLINE_OK && i < ds->fields.n; i++) {
        uint64_t bytes = bytes_of(ds, r->index, i);
        if (fdl_field_is_number(ds->fields.kind[i])) {
            fdl_slot_field_numbers(b, i, place,
                                   fdl_dataset_numbers(ds, r->index, i));
            continue;
        }
        status = take_bytes(w, r, i, b, place, at, to);
        at += bytes;
        to += bytes;
    }
    if (status == FEEDLINE_OK && whole) {
        memcpy(to, r->data + r->source.image_at, fdl_read_image_bytes(r));
        fdl_slot_field_set(b, ds->fields.n, place, at, fdl_read_image_bytes(r));
    }
    return status;
}
