/* SPDX-License-Identifier: Apache-2.0 */
/* A batch: its images, what describes them, and both as tensors; see slot.h. */
#include "loader/stream/slot.h"

#include "base/compiler.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

void *fdl_slot_column(const feedline_batch *b, enum fdl_column c)
{
    return (uint8_t *)b->slab.host + b->layout->at[c];
}

/* Of a column that moved, on the device. */
static void *delivered(const feedline_batch *b, enum fdl_column c)
{
    return (uint8_t *)b->slab.device + b->layout->at[c];
}

/* Of images of different sizes: height and width. */
static int32_t (*sizes_of(const feedline_batch *b))[2]
{
    return fdl_slot_column(b, FDL_COLUMN_SIZES);
}

uint8_t *fdl_slot_images_at(const feedline_batch *b)
{
    return b->lent ? b->lent : fdl_slot_column(b, FDL_COLUMN_IMAGES);
}

void *fdl_slot_delivered_images(const feedline_batch *b)
{
    if (b->lent)
        return b->lent;
    if (b->layout->late || b->slab.finished)
        return b->slab.finished;
    if (b->slab.made)
        return b->slab.made;
    return delivered(b, FDL_COLUMN_IMAGES);
}

void *fdl_slot_delivered_labels(const feedline_batch *b)
{
    return delivered(b, FDL_COLUMN_LABELS);
}

uint32_t fdl_slot_images(const feedline_batch *b)
{
    return b->range.count * b->layout->views;
}

void fdl_slot_describe(const feedline_batch *b, uint32_t place, int64_t label,
                       uint64_t index, int32_t status)
{
    for (uint32_t v = 0; v < b->layout->views; v++) {
        fdl_slot_labels(b)[place + v] = label;
        fdl_slot_index(b)[place + v] = (int64_t)index;
        fdl_slot_status(b)[place + v] = status;
    }
}

/* ---- As tensors --------------------------------------------------------- */

static void make_dense(struct feedline_tensor *t)
{
    int64_t stride = 1;
    for (int32_t i = t->ndim - 1; i >= 0; i--) {
        t->stride[i] = stride;
        stride *= t->shape[i];
    }
}

static void images_of(const feedline_batch *b, struct feedline_tensor *t)
{
    const struct fdl_layout *layout = b->layout;
    t->data = fdl_slot_delivered_images(b);
    t->dtype = layout->delivered.dtype;
    t->ndim = 4;
    fdl_batch_shape(layout, fdl_slot_images(b), t->shape);
    /* Else no stride leads from one to the next, and none within. */
    if (!fdl_layout_is_various(layout))
        make_dense(t);
}

static void labels_of(const feedline_batch *b, struct feedline_tensor *t)
{
    t->data = fdl_slot_delivered_labels(b);
    t->dtype = FEEDLINE_I64;
    t->ndim = 1;
    t->shape[0] = fdl_slot_images(b);
    make_dense(t);
}

/* Strides of dense images; those from sample to sample, if several views of it
 * lie in a row. */
static void view_of(const feedline_batch *b, uint32_t view,
                    struct feedline_tensor *t)
{
    const struct fdl_layout *l = b->layout;
    uint8_t *images = fdl_slot_delivered_images(b);
    const struct fdl_output_format *f =
        l->chains ? &l->view[view].format : &l->delivered;
    t->data = images;
    if (images)
        t->data = images + (l->chains ? b->range.count * l->view[view].before
                                      : view * fdl_output_bytes(f));
    t->dtype = f->dtype;
    t->ndim = 4;
    fdl_format_shape(f, b->range.count, t->shape);
    make_dense(t);
    if (!l->chains)
        t->stride[0] *= l->views;
}

static void targets_of(const feedline_batch *b, struct feedline_tensor *t)
{
    t->data = delivered(b, FDL_COLUMN_TARGETS);
    t->dtype = FEEDLINE_F32;
    t->ndim = 2;
    t->shape[0] = fdl_slot_images(b);
    t->shape[1] = b->layout->classes;
    make_dense(t);
}

void fdl_slot_tensor(const feedline_batch *b, uint32_t part,
                     struct feedline_tensor *out)
{
    *out = (struct feedline_tensor){
        .device = b->kind->device,
        .device_id = b->kind->device_id,
    };
    if (part == FEEDLINE_TARGETS)
        targets_of(b, out);
    else if (part == FEEDLINE_LABELS)
        labels_of(b, out);
    else if (part >= FEEDLINE_VIEW)
        view_of(b, part - FEEDLINE_VIEW, out);
    else
        images_of(b, out);
}

/* ---- Images of different sizes ------------------------------------------ */

static uint64_t image_bytes(const feedline_batch *b, uint32_t place)
{
    const int32_t *size = sizes_of(b)[place];
    struct fdl_output_format f = b->layout->format;
    f.height = size[0];
    f.width = size[1];
    return fdl_output_bytes(&f);
}

/* Room for `bytes`, no less than was taken for this place before. */
static void take_room(feedline_batch *b, struct fdl_room *room, uint64_t bytes)
{
    if (bytes <= room->bytes)
        return;
    if (room->bytes > 0) /* see fdl_layout_init_various */
        bytes = b->layout->sample_bytes;
    bytes = (bytes + FDL_SLAB_ALIGN - 1) & ~(uint64_t)(FDL_SLAB_ALIGN - 1);
    /* relaxed: who owns which bytes; their content goes by `remaining`. */
    room->at = atomic_fetch_add_explicit(&b->used, bytes, memory_order_relaxed);
    room->bytes = bytes;
    fdl_assert(b->layout->at[FDL_COLUMN_IMAGES] + room->at + bytes <=
               b->slab.bytes);
}

static int32_t claim_various(feedline_batch *b, uint32_t place,
                             const struct fdl_output_format *f, void **out)
{
    uint64_t bytes = fdl_output_bytes(f), most = b->layout->sample_bytes;
    if (bytes > most)
        return fdl_fail(FEEDLINE_ERANGE,
                        "a sample of %" PRId32 "x%" PRId32 " takes %" PRIu64
                        " bytes, more than max_sample_bytes=%" PRIu64
                        "; raise that, or resize",
                        f->width, f->height, bytes, most);
    take_room(b, &b->rooms[place], bytes);
    int64_t *offsets = fdl_slot_column(b, FDL_COLUMN_OFFSETS);
    offsets[place] = (int64_t)b->rooms[place].at;
    sizes_of(b)[place][0] = f->height;
    sizes_of(b)[place][1] = f->width;
    *out = fdl_slot_images_at(b) + b->rooms[place].at;
    return FEEDLINE_OK;
}

/* ---- Images ------------------------------------------------------------- */

/* Behind the first image; place: of one of the sample's views. */
static uint64_t image_at(const feedline_batch *b, uint32_t place)
{
    const struct fdl_layout *l = b->layout;
    uint64_t sample = place / l->views;
    if (!l->chains)
        return place * l->sample_bytes;
    const struct fdl_view_place *v = &l->view[place % l->views];
    return b->range.count * v->before + sample * v->bytes;
}

int32_t fdl_slot_claim(feedline_batch *b, uint32_t place,
                       const struct fdl_output_format *f, void **out)
{
    const struct fdl_layout *layout = b->layout;
    if (fdl_layout_is_various(layout))
        return claim_various(b, place, f, out);
    *out = fdl_slot_images_at(b) + image_at(b, place);
    return FEEDLINE_OK;
}

void fdl_slot_blank(feedline_batch *b, uint32_t place)
{
    const struct fdl_layout *layout = b->layout;
    if (fdl_layout_is_various(layout))
        memset(sizes_of(b)[place], 0, sizeof(sizes_of(b)[place]));
    for (uint32_t v = 0; !fdl_layout_is_various(layout) && v < layout->views;
         v++)
        memset(fdl_slot_images_at(b) + image_at(b, place + v), 0,
               layout->chains ? layout->view[v].bytes : layout->sample_bytes);
}

FDL_HOT uint64_t fdl_slot_image_bytes(const feedline_batch *b)
{
    const struct fdl_layout *layout = b->layout;
    if (fdl_layout_is_various(layout))
        return atomic_load_explicit(&b->used, memory_order_relaxed);
    return b->range.count * layout->all_views_bytes;
}

uint64_t fdl_slot_delivered_bytes(const feedline_batch *b)
{
    if (fdl_layout_is_various(b->layout))
        return fdl_slot_image_bytes(b);
    if (b->layout->chains)
        return fdl_slot_image_bytes(b);
    return fdl_slot_images(b) * fdl_output_bytes(&b->layout->delivered);
}

uint64_t fdl_slot_sample_bytes(const feedline_batch *b, uint32_t place)
{
    const struct fdl_layout *layout = b->layout;
    if (fdl_layout_is_various(layout))
        return image_bytes(b, place);
    return layout->all_views_bytes;
}

/* ---- The next ticket ---------------------------------------------------- */

static void forget_rooms(feedline_batch *b)
{
    size_t count = b->range.count;
    memset(b->rooms, 0, count * sizeof(*b->rooms));
    memset(fdl_slot_column(b, FDL_COLUMN_OFFSETS), 0, count * sizeof(int64_t));
    memset(sizes_of(b), 0, count * sizeof(*sizes_of(b)));
    atomic_store_explicit(&b->used, 0, memory_order_relaxed);
}

void fdl_slot_forget(feedline_batch *b)
{
    if (fdl_layout_is_various(b->layout))
        forget_rooms(b);
}
