/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/stream/slot_fields.h"

#include "base/memory.h"
#include "base/status.h"
#include "loader/stream/slot_objects.h"

#include <stdlib.h>
#include <string.h>

#define SLAB_STEP ((uint64_t)64 << 10)

/* Bytes that did not fit the slab. */
struct fdl_field_spill {
    struct fdl_field_spill *next;
    uint64_t at, n;
    uint8_t bytes[];
};

static uint32_t batch_size(const feedline_batch *b)
{
    return b->layout->batch_size;
}

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

/* Memory of all slabs of the ring, in total. */
static void count(struct fdl_slot_kind *kind, uint64_t before, uint64_t now)
{
    atomic_fetch_add_explicit(&kind->field_memory, now - before,
                              memory_order_relaxed);
}

void fdl_field_slab_free(struct fdl_slot_kind *kind,
                         struct fdl_field_slab *slab)
{
    count(kind, slab->capacity, 0);
    fdl_pages_free(slab->data, slab->capacity);
    *slab = (struct fdl_field_slab){0};
}

/* An eighth more than this batch needs, so that few are larger. The first
 * `keep` bytes stay. */
static int32_t grow(feedline_batch *b, uint64_t bytes, uint64_t keep)
{
    struct fdl_field_slab *slab = &b->fields.slab, more;
    more.capacity = bytes + bytes / 8 + SLAB_STEP;
    more.capacity -= more.capacity % SLAB_STEP;
    more.data = fdl_pages_alloc(more.capacity);
    if (!more.data)
        return fdl_fail_memory(more.capacity, "the fields of a batch");
    count(b->kind, 0, more.capacity);
    if (keep > 0)
        memcpy(more.data, slab->data, keep);
    fdl_field_slab_free(b->kind, slab);
    *slab = more;
    return FEEDLINE_OK;
}

void fdl_slot_fields_reserve(feedline_batch *b)
{
    uint64_t most =
        atomic_load_explicit(&b->kind->field_most, memory_order_relaxed);
    if (most > b->fields.slab.capacity)
        (void)grow(b, most, 0);
}

/* Where a field's begin; the one behind the last is that of masks. */
static size_t first_cell(const feedline_batch *b, uint32_t field)
{
    size_t cells = 0;
    for (uint32_t i = 0; i < field; i++)
        cells += FDL_MAX(b->kind->fields.width[i], 1u);
    return cells * batch_size(b);
}

int32_t fdl_slot_fields_init(feedline_batch *b)
{
    const struct fdl_slot_masks *masks = &b->kind->masks;
    size_t cells =
        first_cell(b, b->kind->fields.n) + (size_t)masks->on * batch_size(b);
    b->fields.offset = calloc(cells, sizeof(uint64_t));
    b->fields.bytes = calloc(cells, sizeof(uint64_t));
    if (cells > 0 && (!b->fields.offset || !b->fields.bytes))
        return fdl_fail_memory(2 * cells * sizeof(uint64_t),
                               "the fields of a batch");
    if (b->kind->has_objects) {
        size_t bytes = batch_size(b) * sizeof(*b->fields.placed);
        b->fields.placed = calloc(1, bytes);
        if (!b->fields.placed)
            return fdl_fail_memory(bytes, "the objects of a batch");
    }
    return grow(b, masks->bytes * batch_size(b), 0);
}

static struct fdl_field_spill *take_spills(feedline_batch *b)
{
    struct fdl_field_spill *all =
        atomic_load_explicit(&b->fields.spills, memory_order_relaxed);
    atomic_store_explicit(&b->fields.spills, NULL, memory_order_relaxed);
    return all;
}

static void free_spills(struct fdl_field_spill *s)
{
    while (s) {
        struct fdl_field_spill *next = s->next;
        free(s);
        s = next;
    }
}

void fdl_slot_fields_fini(feedline_batch *b)
{
    free_spills(take_spills(b));
    free(b->fields.offset);
    free(b->fields.bytes);
    free(b->fields.placed);
    fdl_field_slab_free(b->kind, &b->fields.slab);
}

static void forget_place(const feedline_batch *b, uint32_t place)
{
    const struct fdl_field_set *set = &b->kind->fields;
    for (uint32_t i = 0; i < set->n; i++)
        if (fdl_field_is_number(set->kind[i]))
            fdl_slot_field_numbers(b, i, place, NULL);
        else
            fdl_slot_field_set(b, i, place, 0, 0);
    if (b->fields.placed)
        b->fields.placed[place].n = 0;
    if (b->kind->masks.on)
        fdl_slot_field_set(b, set->n, place, place * b->kind->masks.bytes, 0);
}

void fdl_slot_fields_blank(const feedline_batch *b, uint32_t place)
{
    if (!fdl_slot_kind_has_fields(b->kind))
        return;
    forget_place(b, place);
    uint64_t bytes = b->kind->masks.bytes;
    if (bytes > 0)
        memset(b->fields.slab.data + place * bytes, 0, bytes);
}

void fdl_slot_fields_forget(feedline_batch *b)
{
    if (!fdl_slot_kind_has_fields(b->kind))
        return;
    free_spills(take_spills(b)); /* of a run that was stopped */
    atomic_store_explicit(&b->fields.used, b->kind->masks.bytes * batch_size(b),
                          memory_order_relaxed);
    for (uint32_t i = 0; i < batch_size(b); i += b->layout->views)
        forget_place(b, i);
}

int32_t fdl_slot_fields_claim(feedline_batch *b, uint64_t bytes, uint64_t *at,
                              uint8_t **out)
{
    struct fdl_slot_fields *f = &b->fields;
    bytes = aligned(bytes);
    /* relaxed: who owns which bytes; their content goes by `remaining`, and so
     * do the spills. */
    *at = atomic_fetch_add_explicit(&f->used, bytes, memory_order_relaxed);
    if (*at + bytes <= f->slab.capacity) {
        *out = f->slab.data + *at;
        return FEEDLINE_OK;
    }
    struct fdl_field_spill *s = malloc(sizeof(*s) + bytes);
    if (!s)
        return fdl_fail_memory(sizeof(*s) + bytes, "the fields of a sample");
    s->at = *at;
    s->n = bytes;
    s->next = atomic_load_explicit(&f->spills, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(
        &f->spills, &s->next, s, memory_order_relaxed, memory_order_relaxed))
        ;
    *out = s->bytes;
    return FEEDLINE_OK;
}

int32_t fdl_slot_mask_claim(feedline_batch *b, uint32_t place, uint64_t bytes,
                            uint8_t **out)
{
    const struct fdl_slot_masks *masks = &b->kind->masks;
    uint64_t at = place * masks->bytes;
    int32_t status = FEEDLINE_OK;
    if (masks->bytes > 0)
        *out = b->fields.slab.data + at;
    else
        status = fdl_slot_fields_claim(b, bytes, &at, out);
    if (status == FEEDLINE_OK)
        fdl_slot_field_set(b, b->kind->fields.n, place, at, bytes);
    return status;
}

void fdl_slot_masks_get(const feedline_batch *b,
                        struct feedline_batch_masks *out)
{
    size_t first = first_cell(b, b->kind->fields.n);
    *out = (struct feedline_batch_masks){
        .width = b->kind->masks.width,
        .height = b->kind->masks.height,
        .data = b->fields.slab.data,
        .offset = &b->fields.offset[first],
        .bytes = &b->fields.bytes[first],
    };
}

void fdl_slot_field_set(const feedline_batch *b, uint32_t field, uint32_t place,
                        uint64_t offset, uint64_t bytes)
{
    size_t first = first_cell(b, field) + place;
    for (uint32_t v = 0; v < b->layout->views; v++) {
        b->fields.offset[first + v] = offset;
        b->fields.bytes[first + v] = bytes;
    }
}

void fdl_slot_field_numbers(const feedline_batch *b, uint32_t field,
                            uint32_t place, const uint64_t *words)
{
    const struct fdl_field_set *set = &b->kind->fields;
    size_t width = FDL_MAX(set->width[field], 1u);
    uint64_t nothing = fdl_field_nothing(set->kind[field]);
    uint64_t *to = &b->fields.offset[first_cell(b, field) + place * width];
    for (size_t i = 0; i < width * b->layout->views; i++)
        to[i] = words ? words[i % width] : nothing;
}

static void note_most(const feedline_batch *b, uint64_t bytes)
{
    _Atomic uint64_t *most = &b->kind->field_most;
    /* relaxed: a number on its own. */
    uint64_t before = atomic_load_explicit(most, memory_order_relaxed);
    while (before < bytes && !atomic_compare_exchange_weak_explicit(
                                 most, &before, bytes, memory_order_relaxed,
                                 memory_order_relaxed))
        ;
}

int32_t fdl_slot_fields_gather(feedline_batch *b)
{
    struct fdl_slot_fields *f = &b->fields;
    uint64_t used = atomic_load_explicit(&f->used, memory_order_relaxed);
    uint64_t joined = f->placed ? fdl_slot_objects_bytes(b) : 0;
    struct fdl_field_spill *spills = take_spills(b);
    int32_t status = FEEDLINE_OK;
    note_most(b, used + joined);
    if (used + joined > f->slab.capacity)
        status = grow(b, used + joined, f->slab.capacity);
    for (const struct fdl_field_spill *s = spills; s && status == FEEDLINE_OK;
         s = s->next)
        memcpy(f->slab.data + s->at, s->bytes, s->n);
    free_spills(spills);
    if (status == FEEDLINE_OK && f->placed)
        fdl_slot_objects_join(b, used);
    return status;
}

void fdl_slot_field_get(const feedline_batch *b, uint32_t field,
                        struct feedline_batch_field *out)
{
    const struct fdl_field_set *set = &b->kind->fields;
    const struct fdl_slot_fields *f = &b->fields;
    size_t first = first_cell(b, field);
    int32_t kind = set->kind[field];
    *out = (struct feedline_batch_field){.kind = kind,
                                         .name = fdl_field_set_name(set, field),
                                         .width = set->width[field]};
    if (kind == FEEDLINE_FIELD_INT) {
        out->integers = (const int64_t *)&f->offset[first];
    } else if (kind == FEEDLINE_FIELD_FLOAT) {
        out->numbers = (const double *)(const void *)&f->offset[first];
    } else {
        out->data = f->slab.data;
        out->offset = &f->offset[first];
        out->bytes = &f->bytes[first];
    }
}
