/* SPDX-License-Identifier: Apache-2.0 */
/* The slot ring; ring.h has the picture. */
#include "loader/ring.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SLAB_ALIGN   64u
#define WAIT_FOREVER (-1)

/* ---- Layout ------------------------------------------------------------- */

static bool align_up(size_t bytes, size_t *out)
{
    size_t sum;
    if (!fdl_add_size(bytes, SLAB_ALIGN - 1, &sum))
        return false;
    *out = sum & ~(size_t)(SLAB_ALIGN - 1);
    return true;
}

/* Places n elements behind *end; false on overflow. */
static bool place_array(size_t n, size_t element, uint64_t *at, size_t *end)
{
    size_t start, bytes;
    if (!align_up(*end, &start) || !fdl_mul_size(n, element, &bytes) ||
        !fdl_add_size(start, bytes, end))
        return false;
    *at = start;
    return true;
}

static bool place_tables(struct fdl_layout *l, size_t *end)
{
    return place_array(l->batch_size, sizeof(int64_t), &l->labels_at, end) &&
           place_array(l->batch_size, sizeof(int64_t), &l->index_at, end) &&
           place_array(l->batch_size, sizeof(int32_t), &l->status_at, end);
}

static int32_t fail_layout(const struct fdl_layout *l)
{
    return fdl_fail(FEEDLINE_ERANGE,
                    "a batch of %u samples of %" PRIu64
                    " bytes does not fit memory; lower batch_size",
                    l->batch_size, l->sample_bytes);
}

int32_t fdl_layout_init(struct fdl_layout *layout, uint32_t batch_size,
                        const struct fdl_output_format *format)
{
    struct fdl_layout made = {.format = *format,
                              .batch_size = batch_size,
                              .views = 1,
                              .sample_bytes = fdl_output_bytes(format)};
    size_t end = 0;
    if (!place_array(batch_size, made.sample_bytes, &made.images_at, &end) ||
        !place_tables(&made, &end) || !align_up(end, &end))
        return fail_layout(&made);
    made.bytes = made.reserved = end;
    *layout = made;
    return FEEDLINE_OK;
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
    made.sample_bytes = max_bytes;
    if (max_bytes > SIZE_MAX || !align_up((size_t)max_bytes, &room) ||
        !place_tables(&made, &end) ||
        !place_array(batch_size, sizeof(int64_t), &made.offsets_at, &end) ||
        !place_array(batch_size, 2 * sizeof(int32_t), &made.sizes_at, &end) ||
        !place_array(batch_size, room, &made.images_at, &end))
        return fail_layout(&made);
    spare = end;
    if (again && !place_array(batch_size, room, &spare_at, &spare))
        return fail_layout(&made);
    made.bytes = end;
    made.reserved = spare;
    *layout = made;
    return FEEDLINE_OK;
}

bool fdl_layout_is_various(const struct fdl_layout *layout)
{
    return layout->format.width == 0;
}

void fdl_batch_shape(const struct fdl_layout *layout, uint32_t count,
                     int64_t shape[4])
{
    const struct fdl_output_format *f = &layout->format;
    int64_t nchw[4] = {count, f->channels, f->height, f->width};
    int64_t nhwc[4] = {count, f->height, f->width, f->channels};
    memcpy(shape, f->nhwc ? nhwc : nchw, sizeof(nchw));
}

uint8_t *fdl_slot_images_at(const feedline_batch *b)
{
    return (uint8_t *)b->slab.host + b->ring->layout.images_at;
}

int64_t *fdl_slot_offsets(const feedline_batch *b)
{
    return (int64_t *)(void *)((uint8_t *)b->slab.host +
                               b->ring->layout.offsets_at);
}

int32_t (*fdl_slot_sizes(const feedline_batch *b))[2]
{
    return (int32_t(*)[2])(void *)((uint8_t *)b->slab.host +
                                   b->ring->layout.sizes_at);
}

int64_t *fdl_slot_labels(const feedline_batch *b)
{
    return (int64_t *)(void *)((uint8_t *)b->slab.host +
                               b->ring->layout.labels_at);
}

int64_t *fdl_slot_index(const feedline_batch *b)
{
    return (int64_t *)(void *)((uint8_t *)b->slab.host +
                               b->ring->layout.index_at);
}

int32_t *fdl_slot_status(const feedline_batch *b)
{
    return (int32_t *)(void *)((uint8_t *)b->slab.host +
                               b->ring->layout.status_at);
}

uint32_t fdl_slot_images(const feedline_batch *b)
{
    return b->range.count * b->ring->layout.views;
}

void fdl_slot_describe(const feedline_batch *b, uint32_t place, int64_t label,
                       uint64_t index, int32_t status)
{
    for (uint32_t v = 0; v < b->ring->layout.views; v++) {
        fdl_slot_labels(b)[place + v] = label;
        fdl_slot_index(b)[place + v] = (int64_t)index;
        fdl_slot_status(b)[place + v] = status;
    }
}

/* ---- Images of different sizes ------------------------------------------ */

static uint64_t image_bytes(const feedline_batch *b, uint32_t place)
{
    const int32_t *size = fdl_slot_sizes(b)[place];
    struct fdl_output_format f = b->ring->layout.format;
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
        bytes = b->ring->layout.sample_bytes;
    bytes = (bytes + SLAB_ALIGN - 1) & ~(uint64_t)(SLAB_ALIGN - 1);
    /* relaxed: who owns which bytes; their content goes by `remaining`. */
    room->at = atomic_fetch_add_explicit(&b->used, bytes, memory_order_relaxed);
    room->bytes = bytes;
    fdl_assert(b->ring->layout.images_at + room->at + bytes <= b->slab.bytes);
}

static int32_t claim_various(feedline_batch *b, uint32_t place,
                             const struct fdl_output_format *f, void **out)
{
    uint64_t bytes = fdl_output_bytes(f), most = b->ring->layout.sample_bytes;
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

/* ---- Images ------------------------------------------------------------- */

int32_t fdl_slot_claim(feedline_batch *b, uint32_t place,
                       const struct fdl_output_format *f, void **out)
{
    const struct fdl_layout *layout = &b->ring->layout;
    if (fdl_layout_is_various(layout))
        return claim_various(b, place, f, out);
    *out = fdl_slot_images_at(b) + place * layout->sample_bytes;
    return FEEDLINE_OK;
}

void fdl_slot_blank(feedline_batch *b, uint32_t place)
{
    const struct fdl_layout *layout = &b->ring->layout;
    if (fdl_layout_is_various(layout))
        memset(fdl_slot_sizes(b)[place], 0, sizeof(fdl_slot_sizes(b)[place]));
    else
        memset(fdl_slot_images_at(b) + place * layout->sample_bytes, 0,
               layout->views * layout->sample_bytes);
}

uint64_t fdl_slot_image_bytes(const feedline_batch *b)
{
    const struct fdl_layout *layout = &b->ring->layout;
    if (fdl_layout_is_various(layout))
        return atomic_load_explicit(&b->used, memory_order_relaxed);
    return fdl_slot_images(b) * layout->sample_bytes;
}

uint64_t fdl_slot_sample_bytes(const feedline_batch *b, uint32_t place)
{
    const struct fdl_layout *layout = &b->ring->layout;
    if (fdl_layout_is_various(layout))
        return image_bytes(b, place);
    return layout->views * layout->sample_bytes;
}

/* ---- Slots -------------------------------------------------------------- */

static void slot_destroy(feedline_batch *b)
{
    if (!b)
        return;
    if (b->slab.host)
        b->ring->backend_ops->slab_free(b->ring->backend, &b->slab);
    pthread_mutex_destroy(&b->error_lock);
    free(b->times);
    free(b->rooms);
    free(b);
}

static int32_t slot_create(struct fdl_ring *r, feedline_batch **out)
{
    feedline_batch *b = calloc(1, sizeof(*b));
    if (!b)
        return fdl_fail_memory(sizeof(*b), "a batch slot");
    b->ring = r;
    pthread_mutex_init(&b->error_lock, NULL);
    int32_t status;
    size_t bytes = r->layout.batch_size * sizeof(*b->times);
    b->times = calloc(1, bytes);
    if (!b->times) {
        status = fdl_fail_memory(bytes, "time stamps of a batch");
        goto out;
    }
    if (fdl_layout_is_various(&r->layout)) {
        bytes = r->layout.batch_size * sizeof(*b->rooms);
        b->rooms = calloc(1, bytes);
        if (!b->rooms) {
            status = fdl_fail_memory(bytes, "the places of images");
            goto out;
        }
    }
    status =
        r->backend_ops->slab_alloc(r->backend, r->layout.reserved, &b->slab);
    if (status < 0)
        goto out;
    *out = b;
    return FEEDLINE_OK;
out:
    slot_destroy(b);
    return status;
}

static int32_t reserve_slots_locked(struct fdl_ring *r, uint32_t n)
{
    if (n <= r->slots_capacity)
        return FEEDLINE_OK;
    size_t bytes = n * sizeof(feedline_batch *);
    feedline_batch **slots = realloc(r->slots, bytes);
    if (!slots)
        return fdl_fail_memory(bytes, "the slot table");
    r->slots = slots;
    feedline_batch **free_slots = realloc(r->free_slots, bytes);
    if (!free_slots)
        return fdl_fail_memory(bytes, "the free slots");
    r->free_slots = free_slots;
    r->slots_capacity = n;
    return FEEDLINE_OK;
}

int32_t fdl_ring_create(const struct fdl_layout *layout,
                        const struct fdl_backend_ops *ops, void *backend,
                        struct fdl_ring **out)
{
    struct fdl_ring *r = calloc(1, sizeof(*r));
    if (!r) {
        ops->destroy(backend);
        return fdl_fail_memory(sizeof(*r), "the slot ring");
    }
    pthread_mutex_init(&r->lock, NULL);
    atomic_init(&r->refs, 1);
    r->fork_generation = fdl_fork_generation();
    r->layout = *layout;
    r->backend_ops = ops;
    r->backend = backend;
    fdl_event_init(&r->ready);
    r->by_ticket = calloc(FDL_RING_TICKETS, sizeof(feedline_batch *));
    if (!r->by_ticket) {
        fdl_ring_unref(r);
        return fdl_fail_memory(FDL_RING_TICKETS * sizeof(feedline_batch *),
                               "the ticket table");
    }
    *out = r;
    return FEEDLINE_OK;
}

void fdl_ring_unref(struct fdl_ring *r)
{
    /* acq_rel: the last one sees what all the others did to the slots. */
    if (!r || atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) > 1)
        return;
    for (uint32_t i = 0; i < r->n_slots; i++)
        slot_destroy(r->slots[i]);
    r->backend_ops->destroy(r->backend);
    pthread_mutex_destroy(&r->lock);
    free(r->by_ticket);
    free(r->free_slots);
    free(r->slots);
    free(r);
}

static void issue_locked(struct fdl_ring *r);

int32_t fdl_ring_set_depth(struct fdl_ring *r, uint32_t *depth)
{
    pthread_mutex_lock(&r->lock);
    int32_t status = reserve_slots_locked(r, *depth + FDL_SPARE_SLOTS);
    while (status >= 0 && r->n_slots < *depth + FDL_SPARE_SLOTS) {
        feedline_batch *b = NULL;
        status = slot_create(r, &b);
        if (status < 0)
            break;
        r->slots[r->n_slots++] = b;
        r->free_slots[r->n_free++] = b;
    }
    if (status < 0 && r->n_slots > FDL_SPARE_SLOTS) {
        *depth = r->n_slots - FDL_SPARE_SLOTS;
        status = FEEDLINE_OK;
    }
    if (status >= 0) {
        r->depth = *depth;
        issue_locked(r);
    }
    pthread_mutex_unlock(&r->lock);
    return status;
}

uint64_t fdl_ring_memory(struct fdl_ring *r)
{
    pthread_mutex_lock(&r->lock);
    uint64_t bytes = r->n_slots * r->layout.bytes;
    pthread_mutex_unlock(&r->lock);
    return bytes;
}

/* ---- Issue -------------------------------------------------------------- */

static void transfer_done(struct fdl_transfer *t, int32_t status,
                          const char *reason);

static void forget_rooms(feedline_batch *b, uint32_t count)
{
    if (!fdl_layout_is_various(&b->ring->layout))
        return;
    memset(b->rooms, 0, count * sizeof(*b->rooms));
    memset(fdl_slot_offsets(b), 0, count * sizeof(*fdl_slot_offsets(b)));
    memset(fdl_slot_sizes(b), 0, count * sizeof(*fdl_slot_sizes(b)));
    atomic_store_explicit(&b->used, 0, memory_order_relaxed);
}

static void slot_begin(feedline_batch *b, uint64_t ticket,
                       const struct fdl_ticket_range *range, bool slots_held)
{
    b->ticket = ticket;
    b->range = *range;
    b->issued_ns = fdl_now_ns();
    b->slots_held = slots_held;
    b->wait_ns = 0;
    b->error = FEEDLINE_OK;
    memset(b->times, 0, range->count * sizeof(*b->times));
    forget_rooms(b, range->count);
    b->transfer = (struct fdl_transfer){
        .slab = &b->slab,
        .bytes = b->ring->layout.bytes,
        .done = transfer_done,
        .user = b,
    };
    atomic_store_explicit(&b->remaining, range->count, memory_order_relaxed);
    atomic_store_explicit(&b->state, FDL_SLOT_FILLING, memory_order_relaxed);
}

/* Gives slots to the next tickets, as far as depth and free slots go. */
static void issue_locked(struct fdl_ring *r)
{
    struct fdl_ticket_range range;
    bool issued = false;
    if (!r->stream)
        return;
    while (r->next_issue - r->next_deliver < r->depth &&
           fdl_stream_ticket(r->stream, r->next_issue, &range)) {
        if (r->n_free == 0) {
            r->starved_of_slots = true;
            break;
        }
        feedline_batch *b = r->free_slots[--r->n_free];
        slot_begin(b, r->next_issue, &range, r->starved_of_slots);
        r->starved_of_slots = false;
        r->by_ticket[r->next_issue % FDL_RING_TICKETS] = b;
        r->next_issue++;
        r->issued_samples += range.count;
        issued = true;
    }
    /* The window's release store of the end publishes the slots above. */
    if (issued)
        fdl_window_issue(r->window, r->issued_samples);
}

void fdl_ring_start(struct fdl_ring *r, const struct fdl_stream *stream,
                    struct fdl_window *window)
{
    pthread_mutex_lock(&r->lock);
    r->next_issue = r->next_deliver = r->issued_samples = 0;
    r->starved_of_slots = false;
    r->stream = stream;
    r->window = window;
    issue_locked(r);
    pthread_mutex_unlock(&r->lock);
}

/* Waits until no transfer is under way. */
static void wait_for_transfers(struct fdl_ring *r)
{
    for (;;) {
        uint32_t key = fdl_event_prepare(&r->ready);
        /* acquire: pairs with the release of the last transfer_done. */
        if (atomic_load_explicit(&r->in_transfer, memory_order_acquire) == 0) {
            fdl_event_cancel(&r->ready);
            return;
        }
        fdl_event_wait(&r->ready, key, WAIT_FOREVER);
    }
}

void fdl_ring_stop(struct fdl_ring *r)
{
    wait_for_transfers(r);
    pthread_mutex_lock(&r->lock);
    r->stream = NULL;
    r->window = NULL;
    for (uint32_t i = 0; i < r->n_slots; i++) {
        feedline_batch *b = r->slots[i];
        uint32_t state = atomic_load_explicit(&b->state, memory_order_relaxed);
        if (state == FDL_SLOT_FREE || state == FDL_SLOT_HELD)
            continue;
        atomic_store_explicit(&b->state, FDL_SLOT_FREE, memory_order_relaxed);
        r->free_slots[r->n_free++] = b;
    }
    r->next_issue = r->next_deliver;
    pthread_mutex_unlock(&r->lock);
}

/* ---- Filling ------------------------------------------------------------ */

feedline_batch *fdl_ring_slot(const struct fdl_ring *r, uint64_t ticket)
{
    return r->by_ticket[ticket % FDL_RING_TICKETS];
}

static void set_error(feedline_batch *b, uint32_t place, int32_t status,
                      const char *reason)
{
    pthread_mutex_lock(&b->error_lock);
    if (b->error == FEEDLINE_OK || place < b->error_place) {
        b->error = status;
        b->error_place = place;
        strncpy(b->reason, reason, sizeof(b->reason) - 1);
        b->reason[sizeof(b->reason) - 1] = '\0';
    }
    pthread_mutex_unlock(&b->error_lock);
}

void fdl_ring_sample_error(feedline_batch *b, uint32_t place, int32_t status,
                           const char *reason)
{
    set_error(b, place, status, reason);
}

static void make_ready(feedline_batch *b)
{
    /* release: pairs with the consumer's acquire in fdl_ring_awaited users. */
    atomic_store_explicit(&b->state, FDL_SLOT_READY, memory_order_release);
    fdl_event_notify(&b->ring->ready, UINT32_MAX);
}

static void transfer_done(struct fdl_transfer *t, int32_t status,
                          const char *reason)
{
    feedline_batch *b = t->user;
    struct fdl_ring *r = b->ring;
    if (status < 0)
        set_error(b, 0, status, reason ? reason : "transfer");
    make_ready(b);
    /* After this fdl_ring_stop may take the slot. release: pairs with
     * wait_for_transfers. The ring is still there for the notify: before it is
     * freed, workers are joined and the backend, which joins its own threads,
     * is destroyed. */
    atomic_fetch_sub_explicit(&r->in_transfer, 1, memory_order_release);
    fdl_event_notify(&r->ready, UINT32_MAX);
}

void fdl_ring_sample_done(feedline_batch *b)
{
    /* acq_rel: the last one sees the pixels and errors of all the others. */
    if (atomic_fetch_sub_explicit(&b->remaining, 1, memory_order_acq_rel) != 1)
        return;
    struct fdl_ring *r = b->ring;
    if (b->error != FEEDLINE_OK) {
        make_ready(b);
        return;
    }
    if (fdl_layout_is_various(&r->layout))
        b->transfer.bytes = r->layout.images_at + fdl_slot_image_bytes(b);
    atomic_store_explicit(&b->state, FDL_SLOT_MOVING, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->in_transfer, 1, memory_order_relaxed);
    int32_t status = r->backend_ops->submit(r->backend, &b->transfer);
    if (status < 0)
        transfer_done(&b->transfer, status, fdl_last_error());
}

/* ---- The consumer's side ------------------------------------------------ */

bool fdl_ring_awaited(struct fdl_ring *r, struct fdl_ticket_range *range,
                      feedline_batch **slot, bool *all_held)
{
    pthread_mutex_lock(&r->lock);
    bool more =
        r->stream && fdl_stream_ticket(r->stream, r->next_deliver, range);
    if (more) {
        bool issued = r->next_deliver < r->next_issue;
        *slot = issued ? fdl_ring_slot(r, r->next_deliver) : NULL;
        *all_held = !issued && r->n_held == r->n_slots;
    }
    pthread_mutex_unlock(&r->lock);
    return more;
}

void fdl_ring_deliver(struct fdl_ring *r, feedline_batch *b)
{
    pthread_mutex_lock(&r->lock);
    fdl_assert(b->ticket == r->next_deliver);
    atomic_store_explicit(&b->state, FDL_SLOT_HELD, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    r->n_held++;
    r->next_deliver++;
    issue_locked(r);
    pthread_mutex_unlock(&r->lock);
}

void fdl_ring_release(feedline_batch *b)
{
    struct fdl_ring *r = b->ring;
    pthread_mutex_lock(&r->lock);
    fdl_assert(atomic_load_explicit(&b->state, memory_order_relaxed) ==
               FDL_SLOT_HELD);
    atomic_store_explicit(&b->state, FDL_SLOT_FREE, memory_order_relaxed);
    r->free_slots[r->n_free++] = b;
    r->n_held--;
    issue_locked(r);
    pthread_mutex_unlock(&r->lock);
    fdl_ring_unref(r);
}
