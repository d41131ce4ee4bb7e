/* SPDX-License-Identifier: Apache-2.0 */
/* What lies where in the memory of a batch; ring.h has the reasons. */
#include "base/memory.h"
#include "base/status.h"
#include "loader/stream/ring.h"
#include "transfer/cuda/cuda_kernels.h"

#include <inttypes.h>
#include <string.h>

#define IMAGES_ALIGN 256u /* as a GPU's own allocations are */

/* ---- Layout ------------------------------------------------------------- */

static bool align_up(size_t bytes, size_t align, size_t *out)
{
    size_t sum;
    if (!fdl_add_size(bytes, align - 1, &sum))
        return false;
    *out = sum & ~(align - 1);
    return true;
}

/* Places n elements behind *end; false on overflow. */
static bool place_array(size_t n, size_t element, uint64_t *at, size_t *end)
{
    size_t start, bytes;
    if (!align_up(*end, FDL_SLAB_ALIGN, &start) ||
        !fdl_mul_size(n, element, &bytes) || !fdl_add_size(start, bytes, end))
        return false;
    *at = start;
    return true;
}

static bool place_labels(struct fdl_layout *l, size_t *end)
{
    return place_array(l->batch_size, sizeof(int64_t), &l->labels_at, end);
}

static bool place_tables(struct fdl_layout *l, size_t *end)
{
    return place_array(l->batch_size, sizeof(int64_t), &l->index_at, end) &&
           place_array(l->batch_size, sizeof(int32_t), &l->status_at, end);
}

static bool place_targets(struct fdl_layout *l, size_t *end)
{
    size_t row = l->classes * sizeof(float);
    return l->classes == 0 ||
           place_array(l->batch_size, row, &l->targets_at, end);
}

/* The part that moves. */
static bool place_told(struct fdl_layout *l, size_t *end)
{
    return l->classes == 0 || l->left_bytes > 0 ||
           place_array(l->batch_size, sizeof(struct fdl_image_mix), &l->told_at,
                       end);
}

/* Planes of bytes are read in whole vectors. */
static bool place_mixes(struct fdl_layout *l, size_t *end)
{
    return l->classes == 0 ||
           (place_array(l->batch_size, sizeof(struct feedline_image_mix),
                        &l->mixes_at, end) &&
            place_array(l->batch_size, sizeof(struct fdl_mix_input),
                        &l->inputs_at, end) &&
            place_array((size_t)l->batch_size * l->late_steps,
                        sizeof(struct fdl_step), &l->steps_at, end) &&
            place_array(l->batch_size, l->left_bytes, &l->left_at, end));
}

static int32_t fail_layout(const struct fdl_layout *l)
{
    return fdl_fail(FEEDLINE_ERANGE,
                    "a batch of %u samples of %" PRIu64
                    " bytes does not fit memory; lower batch_size",
                    l->batch_size, l->sample_bytes);
}

/* Labels come first and tables that stay on the host last, so what moves ends
 * with the last image of the batch, which may be short. */
static int32_t init_fixed(struct fdl_layout *l)
{
    size_t end = 0;
    if (!place_labels(l, &end) || !place_targets(l, &end) ||
        !place_told(l, &end) || !align_up(end, IMAGES_ALIGN, &end) ||
        !place_array(l->batch_size / l->views, l->all_views_bytes,
                     &l->images_at, &end) ||
        !place_tables(l, &end) || !place_mixes(l, &end) ||
        !align_up(end, FDL_SLAB_ALIGN, &end))
        return fail_layout(l);
    l->bytes = l->reserved = end;
    l->delivered = l->format;
    return FEEDLINE_OK;
}

int32_t fdl_layout_init(struct fdl_layout *layout, uint32_t batch_size,
                        uint32_t views, const struct fdl_output_format *format,
                        const struct fdl_mix_room *mix)
{
    uint64_t bytes = fdl_output_bytes(format);
    struct fdl_layout made = {.format = *format,
                              .batch_size = batch_size,
                              .views = views,
                              .sample_bytes = bytes,
                              .all_views_bytes = views * bytes};
    if (mix) {
        made.classes = mix->classes;
        made.late_steps = mix->late_steps;
    }
    if (mix && !mix->on_device)
        made.left_bytes =
            bytes / fdl_dtype_bytes(format->dtype) + FDL_PLANE_ALIGN;
    int32_t status = init_fixed(&made);
    if (status == FEEDLINE_OK)
        *layout = made;
    return status;
}

int32_t fdl_layout_init_chains(struct fdl_layout *layout, uint32_t batch_size,
                               uint32_t views,
                               const struct fdl_output_format *formats)
{
    struct fdl_layout made = {.format = formats[0],
                              .batch_size = batch_size,
                              .views = views,
                              .chains = true,
                              .sample_bytes = fdl_output_bytes(&formats[0])};
    for (uint32_t v = 0; v < views; v++) {
        made.view[v] = (struct fdl_view_place){
            .format = formats[v],
            .bytes = fdl_output_bytes(&formats[v]),
            .before = made.all_views_bytes,
        };
        made.all_views_bytes += made.view[v].bytes;
    }
    int32_t status = init_fixed(&made);
    if (status == FEEDLINE_OK)
        *layout = made;
    return status;
}

/* Tables come first: what lies behind the images in use need not be moved. A
 * sample that failed may have taken its room; another in its place then takes
 * as much as any may need, and that is the last. */
int32_t fdl_layout_init_various(struct fdl_layout *layout, uint32_t batch_size,
                                const struct fdl_output_format *format,
                                uint64_t max_bytes, bool again)
{
    struct fdl_layout made = {
        .format = *format, .batch_size = batch_size, .views = 1};
    size_t room, end = 0, spare;
    uint64_t spare_at;
    fdl_assert(format->width == 0 && format->height == 0);
    made.sample_bytes = made.all_views_bytes = max_bytes;
    if (max_bytes > SIZE_MAX ||
        !align_up((size_t)max_bytes, FDL_SLAB_ALIGN, &room) ||
        !place_labels(&made, &end) || !place_tables(&made, &end) ||
        !place_array(batch_size, sizeof(int64_t), &made.offsets_at, &end) ||
        !place_array(batch_size, 2 * sizeof(int32_t), &made.sizes_at, &end) ||
        !place_array(batch_size, room, &made.images_at, &end))
        return fail_layout(&made);
    spare = end;
    if (again && !place_array(batch_size, room, &spare_at, &spare))
        return fail_layout(&made);
    made.delivered = *format;
    made.bytes = end;
    made.reserved = spare;
    *layout = made;
    return FEEDLINE_OK;
}

uint64_t fdl_layout_moved_bytes(const struct fdl_layout *layout)
{
    return layout->images_at +
           layout->batch_size / layout->views * layout->all_views_bytes;
}

bool fdl_layout_is_various(const struct fdl_layout *layout)
{
    return layout->format.width == 0;
}

static void shape_of(const struct fdl_output_format *f, uint32_t count,
                     int64_t shape[4])
{
    int64_t nchw[4] = {count, f->channels, f->height, f->width};
    int64_t nhwc[4] = {count, f->height, f->width, f->channels};
    memcpy(shape, f->nhwc ? nhwc : nchw, sizeof(nchw));
}

void fdl_batch_shape(const struct fdl_layout *layout, uint32_t count,
                     int64_t shape[4])
{
    shape_of(&layout->delivered, layout->chains ? count / layout->views : count,
             shape);
}

/* In the slab's host memory. */
static void *at(const feedline_batch *b, uint64_t offset)
{
    return (uint8_t *)b->slab.host + offset;
}

uint8_t *fdl_slot_images_at(const feedline_batch *b)
{
    return b->lent ? b->lent : at(b, b->layout->images_at);
}

int64_t *fdl_slot_offsets(const feedline_batch *b)
{
    return at(b, b->layout->offsets_at);
}

int32_t (*fdl_slot_sizes(const feedline_batch *b))[2]
{
    return at(b, b->layout->sizes_at);
}

int64_t *fdl_slot_labels(const feedline_batch *b)
{
    return at(b, b->layout->labels_at);
}

int64_t *fdl_slot_index(const feedline_batch *b)
{
    return at(b, b->layout->index_at);
}

int32_t *fdl_slot_status(const feedline_batch *b)
{
    return at(b, b->layout->status_at);
}

void *fdl_slot_delivered_images(const feedline_batch *b)
{
    if (b->lent)
        return b->lent;
    if (b->layout->late || b->slab.finished)
        return b->slab.finished;
    return (uint8_t *)b->slab.device + b->layout->images_at;
}

void *fdl_slot_delivered_labels(const feedline_batch *b)
{
    return (uint8_t *)b->slab.device + b->layout->labels_at;
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

static void images_of(const feedline_batch *b, struct feedline_tensor *t)
{
    const struct fdl_layout *layout = b->layout;
    t->data = fdl_slot_delivered_images(b);
    t->dtype = layout->delivered.dtype;
    t->ndim = 4;
    fdl_batch_shape(layout, fdl_slot_images(b), t->shape);
    if (fdl_layout_is_various(layout))
        return; /* no stride leads from one to the next, and none within */
    int64_t stride = 1;
    for (int32_t i = 3; i >= 0; i--) {
        t->stride[i] = stride;
        stride *= t->shape[i];
    }
}

static void labels_of(const feedline_batch *b, struct feedline_tensor *t)
{
    t->data = fdl_slot_delivered_labels(b);
    t->dtype = FEEDLINE_I64;
    t->ndim = 1;
    t->shape[0] = fdl_slot_images(b);
    t->stride[0] = 1;
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
    shape_of(f, b->range.count, t->shape);
    int64_t stride = 1;
    for (int32_t i = 3; i >= 0; i--) {
        t->stride[i] = stride;
        stride *= t->shape[i];
    }
    if (!l->chains)
        t->stride[0] *= l->views;
}

static void targets_of(const feedline_batch *b, struct feedline_tensor *t)
{
    t->data = (uint8_t *)b->slab.device + b->layout->targets_at;
    t->dtype = FEEDLINE_F32;
    t->ndim = 2;
    t->shape[0] = fdl_slot_images(b);
    t->shape[1] = t->stride[0] = b->layout->classes;
    t->stride[1] = 1;
}

void fdl_slot_tensor(const feedline_batch *b, uint32_t part,
                     struct feedline_tensor *out)
{
    *out = (struct feedline_tensor){
        .device = b->ring->backend_ops->device,
        .device_id = b->ring->device_id,
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
    const int32_t *size = fdl_slot_sizes(b)[place];
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
    fdl_assert(b->layout->images_at + room->at + bytes <= b->slab.bytes);
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
    fdl_slot_offsets(b)[place] = (int64_t)b->rooms[place].at;
    fdl_slot_sizes(b)[place][0] = f->height;
    fdl_slot_sizes(b)[place][1] = f->width;
    *out = fdl_slot_images_at(b) + b->rooms[place].at;
    return FEEDLINE_OK;
}

void fdl_slot_forget(feedline_batch *b, uint32_t count)
{
    if (!fdl_layout_is_various(b->layout))
        return;
    memset(b->rooms, 0, count * sizeof(*b->rooms));
    memset(fdl_slot_offsets(b), 0, count * sizeof(*fdl_slot_offsets(b)));
    memset(fdl_slot_sizes(b), 0, count * sizeof(*fdl_slot_sizes(b)));
    atomic_store_explicit(&b->used, 0, memory_order_relaxed);
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
        memset(fdl_slot_sizes(b)[place], 0, sizeof(fdl_slot_sizes(b)[place]));
    for (uint32_t v = 0; !fdl_layout_is_various(layout) && v < layout->views;
         v++)
        memset(fdl_slot_images_at(b) + image_at(b, place + v), 0,
               layout->chains ? layout->view[v].bytes : layout->sample_bytes);
    if (fdl_ring_has_fields(b->ring))
        fdl_slot_fields_blank(b, place);
    if (b->ring->masks.on)
        fdl_slot_mask_blank(b, place);
}

uint64_t fdl_slot_image_bytes(const feedline_batch *b)
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

void fdl_slot_forget_mixes(const feedline_batch *b)
{
    struct fdl_mix_input *inputs =
        (void *)((uint8_t *)b->slab.host + b->layout->inputs_at);
    for (uint32_t i = 0; i < fdl_slot_images(b); i++) {
        atomic_store_explicit(&inputs[i].lacks, 2, memory_order_relaxed);
        inputs[i].n_steps = 0;
    }
}
