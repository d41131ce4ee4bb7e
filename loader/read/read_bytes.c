/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checksums are compared by whoever needs the bytes next, just before that: a
 * worker then finds them in its own cache, and readers, of which there may be
 * one, spend no time on it. Bytes that the memory reader keeps are compared
 * before it does, once.
 */
#include "loader/read/read_bytes.h"

#include "base/compiler.h"
#include "decode/formats/format.h"

#include <string.h>

uint64_t fdl_read_image_bytes(const struct fdl_read *r)
{
    const struct fdl_source *s = &r->source;
    return s->image_length < 0 ? r->size : (uint64_t)s->image_length;
}

/* Bytes behind the image that are or may be zeroed. */
static uint64_t padding(const struct fdl_read *r)
{
    uint64_t end = r->source.image_at + fdl_read_image_bytes(r);
    if (!r->buffer || r->data != r->buffer + r->head)
        return 0;
    return FDL_MIN(r->readable - end, (uint64_t)FDL_ENCODED_PADDING);
}

void fdl_read_encoded(const struct fdl_read *r, struct fdl_encoded *out)
{
    const struct fdl_source *s = &r->source;
    uint64_t size = fdl_read_image_bytes(r);
    *out = (struct fdl_encoded){
        .data = r->data + s->image_at,
        .size = size,
        .readable = r->readable - s->image_at,
        .format = s->raw_width ? &fdl_format_raw : NULL,
        .raw_width = s->raw_width,
        .raw_height = s->raw_height,
        .raw_channels = s->raw_channels,
        .verified = r->verified,
    };
    if (s->image_at + size < r->size) /* something is behind it */
        out->readable = size + padding(r);
}

void fdl_read_pad(const struct fdl_read *r)
{
    uint64_t end = r->source.image_at + fdl_read_image_bytes(r);
    if (end < r->size && padding(r) > 0)
        memset(r->buffer + r->head + end, 0, padding(r));
}

bool fdl_read_has(const struct fdl_read *r, const struct fdl_cell *part,
                  uint64_t *at)
{
    const struct fdl_source *s = &r->source;
    *at = part->word - s->offset;
    return part->file == s->file && part->word >= s->offset && *at <= r->size &&
           part->length <= r->size - *at;
}

static int32_t verify_fields(const feedline_dataset *ds,
                             const struct fdl_read *r)
{
    const struct fdl_cell *cells = fdl_dataset_cells(ds, r->index);
    int32_t status = FEEDLINE_OK;
    uint64_t at;
    for (uint32_t i = 0; i < ds->fields.n && status == FEEDLINE_OK; i++)
        if (cells[i].sum.kind != FDL_SUM_NONE &&
            !fdl_field_is_number(ds->fields.kind[i]) &&
            fdl_read_has(r, &cells[i], &at))
            status =
                fdl_sum_check(&cells[i].sum, r->data + at, cells[i].length,
                              cells[i].word, "the file", FDL_SUM_QUARANTINE);
    return status;
}

int32_t fdl_read_verify(const feedline_dataset *ds, const struct fdl_read *r,
                        bool inside)
{
    const struct fdl_source *s = &r->source;
    int32_t status = FEEDLINE_OK;
    if (s->checksums == FDL_CHECKSUMS_FALSE)
        return status;
    if (s->sum.kind != FDL_SUM_NONE) {
        uint64_t at = s->image_at - s->sum_before;
        status = fdl_sum_check(&s->sum, r->data + at,
                               s->sum_before + fdl_read_image_bytes(r) +
                                   s->sum_after,
                               s->offset + at, "the file", FDL_SUM_QUARANTINE);
    }
    if (status == FEEDLINE_OK && ds->cells)
        status = verify_fields(ds, r);
    if (status == FEEDLINE_OK && inside && !s->raw_width)
        status =
            fdl_format_verify(r->data + s->image_at, fdl_read_image_bytes(r));
    return status;
}
