/* SPDX-License-Identifier: Apache-2.0 */
/* The way of batches through the slot ring; ring.h has the picture. The memory
 * of its slots is in ring_slots.c. */
#include "loader/stream/ring.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "loader/stream/ring_own.h"
#include "loader/stream/slot_fields.h"
#include "loader/stream/slot_jobs.h"
#include "loader/stream/slot_mix.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_FOREVER (-1)

/* At most 1 / LATER_FRACTION of depth is not issued at once. */
#define LATER_FRACTION 4u

/* ---- Create and destroy ------------------------------------------------- */

/* Images of different sizes and jobs are where they were claimed, and mixed
 * ones change together, so no part of them is complete before all are; nor is
 * one where views lie one after the other. */
static uint32_t count_parts(const struct fdl_ring *r)
{
    const struct fdl_layout *l = &r->kind.layout;
    uint64_t images = l->batch_size * l->sample_bytes;
    bool whole =
        fdl_layout_is_various(l) || l->chains || l->classes > 0 || l->jobs;
    if (!r->backend_ops->part || whole || images < 2 * FDL_PART_BYTES)
        return 1;
    return (uint32_t)FDL_MIN(images / FDL_PART_BYTES, (uint64_t)FDL_PARTS_MAX);
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
    fdl_lock_init(&r->growing, FDL_RANK_GROWING);
    fdl_lock_init(&r->lock, FDL_RANK_RING);
    atomic_init(&r->refs, 1);
    r->fork_generation = fdl_fork_generation();
    r->kind.layout = *layout;
    r->kind.device = ops->device;
    r->backend_ops = ops;
    r->backend = backend;
    r->kind.layout.n_parts = count_parts(r);
    fdl_event_init(&r->ready);
    r->notes = fdl_trace_ring_create();
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
    fdl_ring_free_slots(r);
    r->backend_ops->destroy(r->backend);
    if (r->copies.let_go)
        r->copies.let_go(r->copies.user);
    fdl_trace_ring_destroy(r->notes);
    fdl_lock_destroy(&r->lock);
    fdl_lock_destroy(&r->growing);
    fdl_field_set_free(&r->kind.fields);
    free(r->kind.affine);
    free(r->by_ticket);
    free(r->lent);
    free(r);
}

/* Of batches that were delivered. Before that a worker writes `landed`, without
 * the lock. */
static bool all_landed_locked(const struct fdl_ring *r)
{
    for (uint32_t i = 0; i < r->n_slots; i++) {
        const feedline_batch *b = r->slots[i];
        uint32_t state = atomic_load_explicit(&b->state, memory_order_relaxed);
        if ((state == FDL_SLOT_HELD || state == FDL_SLOT_LEAVING) && !b->landed)
            return false;
    }
    return true;
}

bool fdl_ring_is_damaged(struct fdl_ring *r, bool settle, uint64_t *index)
{
    for (;;) {
        uint32_t key = fdl_event_prepare(&r->ready);
        fdl_lock(&r->lock);
        bool damaged = r->has_damage, done = !settle || all_landed_locked(r);
        *index = r->damaged;
        fdl_unlock(&r->lock);
        if (done || damaged) {
            fdl_event_cancel(&r->ready);
            return damaged;
        }
        fdl_event_wait(&r->ready, key, WAIT_FOREVER);
    }
}

bool fdl_ring_passed(struct fdl_ring *r, uint64_t ticket, int64_t done_ns)
{
    bool passed = false;
    fdl_lock(&r->lock);
    for (uint64_t t = ticket + 1; t < r->next_issue && !passed; t++) {
        const feedline_batch *b = fdl_ring_slot(r, t);
        /* acquire: pairs with make_ready; the time is there. */
        passed = b &&
                 atomic_load_explicit(&b->state, memory_order_acquire) ==
                     FDL_SLOT_READY &&
                 b->transfer.done_ns < done_ns;
    }
    fdl_unlock(&r->lock);
    return passed;
}

FDL_HOT void fdl_ring_count(struct fdl_ring *r, uint32_t *ready,
                            uint32_t *outstanding)
{
    fdl_lock(&r->lock);
    *ready = atomic_load_explicit(&r->n_ready, memory_order_relaxed);
    *outstanding = (uint32_t)(r->next_issue - r->next_deliver);
    fdl_unlock(&r->lock);
}

/* ---- Issue -------------------------------------------------------------- */

static void transfer_done(struct fdl_transfer *t, int32_t status,
                          const char *reason);
static void transfer_landed(struct fdl_transfer *t);
static void submit(feedline_batch *b);

/* Part p of a batch is its samples from here to where p + 1 begins. */
static uint32_t part_begin(const feedline_batch *b, uint32_t p)
{
    return (uint32_t)((uint64_t)b->range.count * p / b->layout->n_parts);
}

/* The wait for a batch that is made elsewhere is one for reads, from its issue
 * on. */
static void stamp_asked(feedline_batch *b)
{
    for (uint32_t i = 0; i < b->range.count; i++)
        atomic_store_explicit(&b->times[i].read_start, b->issued_ns,
                              memory_order_relaxed);
}

static void slot_begin(feedline_batch *b, uint64_t ticket,
                       const struct fdl_ticket_range *range, bool slots_held)
{
    b->ticket = ticket;
    b->range = *range;
    b->lent = fdl_ring_take_lent_locked(b->ring);
    b->issued_ns = fdl_now_ns();
    b->slots_held = slots_held;
    b->wait_ns = 0;
    b->error = FEEDLINE_OK;
    memset(b->times, 0, range->count * sizeof(*b->times));
    b->transfer = (struct fdl_transfer){
        .slab = &b->slab,
        .images = range->count * b->layout->views,
        .ticket = ticket,
        .done = transfer_done,
        .landed = transfer_landed,
        .user = b,
    };
    fdl_slot_fields_forget(b);
    b->landed = true;
    atomic_store_explicit(&b->parts_sent, false, memory_order_relaxed);
    for (uint32_t p = 0; p < b->layout->n_parts; p++)
        atomic_store_explicit(&b->part_left[p],
                              part_begin(b, p + 1) - part_begin(b, p),
                              memory_order_relaxed);
    atomic_store_explicit(&b->remaining, range->count, memory_order_relaxed);
    if (range->brought)
        stamp_asked(b);
    atomic_store_explicit(&b->state, FDL_SLOT_ISSUED, memory_order_relaxed);
}

/* ---- Slots for tickets -------------------------------------------------- */

/* On a device the one that has been free for longest: a copy waits for what
 * its former consumers have queued, and all later copies wait with it. Those
 * that depth does not need lie in front of it, and stay out of caches. On the
 * host the one released last, whose memory may still be in a cache. */
static feedline_batch *take_free_locked(struct fdl_ring *r)
{
    uint32_t usual = r->depth + FDL_SPARE_SLOTS;
    uint32_t idle = r->n_slots > usual ? r->n_slots - usual : 0;
    uint32_t at =
        fdl_ring_is_on_device(r) ? FDL_MIN(idle, r->n_free - 1) : r->n_free - 1;
    feedline_batch *b = r->free_slots[at];
    r->n_free--;
    memmove(&r->free_slots[at], &r->free_slots[at + 1],
            (r->n_free - at) * sizeof(feedline_batch *));
    return b;
}

/* While all that was issued is complete, threads sleep, and to wake one costs
 * this thread 20 us: so up to a quarter of depth is left to be issued together.
 * A delivery leaves one more, to the release that usually follows a next(). */
static bool is_for_later_locked(const struct fdl_ring *r, bool delivers)
{
    uint64_t missing = r->depth - (r->next_issue - r->next_deliver);
    if (r->next_issue == r->next_deliver ||
        (missing + !delivers) * LATER_FRACTION > r->depth)
        return false;
    const feedline_batch *newest = fdl_ring_slot(r, r->next_issue - 1);
    return atomic_load_explicit(&newest->state, memory_order_relaxed) ==
           FDL_SLOT_READY;
}

/* Gives slots to the next tickets, as far as depth and free slots go. */
FDL_HOT static void issue_locked(struct fdl_ring *r, bool delivers)
{
    struct fdl_ticket_range range;
    bool issued = false;
    if (!r->stream || is_for_later_locked(r, delivers))
        return;
    while (r->next_issue - r->next_deliver < r->depth &&
           fdl_stream_ticket(r->stream, r->next_issue, &range)) {
        if (r->n_free == 0) {
            r->starved_of_slots = true;
            break;
        }
        feedline_batch *b = take_free_locked(r);
        slot_begin(b, r->next_issue, &range, r->starved_of_slots);
        r->starved_of_slots = false;
        fdl_trace_note(r->notes, FDL_TRACE_ISSUE, b->issued_ns, 0, b->ticket,
                       FDL_TRACE_NO_SAMPLE, 0);
        r->by_ticket[r->next_issue % FDL_RING_TICKETS] = b;
        r->next_issue++;
        r->issued_samples += range.brought ? 0 : range.count;
        issued = true;
    }
    /* The window's release store of the end publishes the slots above. */
    if (issued)
        fdl_window_issue(r->window, r->issued_samples);
}

void fdl_ring_issue_locked(struct fdl_ring *r)
{
    issue_locked(r, false);
}

void fdl_ring_start(struct fdl_ring *r, const struct fdl_stream *stream,
                    struct fdl_window *window)
{
    if (r->backend_ops->begin)
        r->backend_ops->begin(r->backend);
    fdl_lock(&r->lock);
    r->next_issue = r->next_deliver = r->issued_samples = 0;
    atomic_store_explicit(&r->awaited, 0, memory_order_relaxed);
    r->starved_of_slots = false;
    r->full_at = 0;
    r->outgrown = false;
    r->has_damage = false;
    r->stream = stream;
    r->kind.sampler = &stream->sampler;
    r->window = window;
    fdl_ring_issue_locked(r);
    fdl_unlock(&r->lock);
}

void fdl_ring_more(struct fdl_ring *r)
{
    fdl_lock(&r->lock);
    fdl_ring_issue_locked(r);
    fdl_unlock(&r->lock);
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

/* Parts of incomplete batches that were moved: they have to land too. */
static void end_parts(struct fdl_ring *r)
{
    for (uint32_t i = 0; i < r->n_slots; i++) {
        feedline_batch *b = r->slots[i];
        if (atomic_load_explicit(&b->state, memory_order_relaxed) ==
                FDL_SLOT_FILLING &&
            atomic_load_explicit(&b->parts_sent, memory_order_relaxed))
            submit(b);
    }
}

static void hold_slot_locked(feedline_batch *b)
{
    struct fdl_ring *r = b->ring;
    atomic_store_explicit(&b->state, FDL_SLOT_HELD, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    r->n_held++;
    r->most_held = FDL_MAX(r->most_held, r->n_held);
}

/* A batch that was peeked at belongs to its exports, if there are some. */
static bool is_kept_locked(feedline_batch *b)
{
    /* acq_rel: as in fdl_ring_release. */
    if (atomic_load_explicit(&b->refs, memory_order_relaxed) == 0 ||
        atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1)
        return false;
    hold_slot_locked(b);
    return true;
}

static void make_free_locked(feedline_batch *b)
{
    struct fdl_ring *r = b->ring;
    atomic_store_explicit(&b->state, FDL_SLOT_FREE, memory_order_relaxed);
    r->free_slots[r->n_free++] = b;
    fdl_ring_give_memory_locked(b);
}

void fdl_ring_stop(struct fdl_ring *r)
{
    end_parts(r);
    wait_for_transfers(r);
    fdl_lock(&r->lock);
    r->stream = NULL;
    r->kind.sampler = NULL;
    r->window = NULL;
    r->n_lent = 0;
    for (uint32_t i = 0; i < r->n_slots; i++) {
        feedline_batch *b = r->slots[i];
        uint32_t state = atomic_load_explicit(&b->state, memory_order_relaxed);
        if (state == FDL_SLOT_FREE || state == FDL_SLOT_HELD ||
            is_kept_locked(b))
            continue;
        make_free_locked(b);
    }
    r->next_issue = r->next_deliver;
    atomic_store_explicit(&r->n_ready, 0, memory_order_relaxed);
    fdl_unlock(&r->lock);
}

/* ---- Filling ------------------------------------------------------------ */

feedline_batch *fdl_ring_slot(const struct fdl_ring *r, uint64_t ticket)
{
    return r->by_ticket[ticket % FDL_RING_TICKETS];
}

static void open_locked(feedline_batch *b)
{
    if (atomic_load_explicit(&b->state, memory_order_relaxed) !=
        FDL_SLOT_ISSUED)
        return;
    fdl_ring_take_memory_locked(b);
    b->transfer.status = fdl_slot_status(b);
    fdl_slot_forget(b);
    fdl_slot_mixes_forget(b);
    fdl_slot_jobs_forget(b);
    /* release: pairs with the acquire in fdl_ring_open. */
    atomic_store_explicit(&b->state, FDL_SLOT_FILLING, memory_order_release);
}

feedline_batch *fdl_ring_open(struct fdl_ring *r, uint64_t ticket)
{
    feedline_batch *b = fdl_ring_slot(r, ticket);
    /* acquire: pairs with the release of whoever opened it. */
    if (atomic_load_explicit(&b->state, memory_order_acquire) !=
        FDL_SLOT_ISSUED)
        return b;
    fdl_lock(&r->lock);
    open_locked(b);
    fdl_unlock(&r->lock);
    return b;
}

static void set_error(feedline_batch *b, uint32_t place, int32_t status,
                      const char *reason)
{
    fdl_lock(&b->error_lock);
    if (b->error == FEEDLINE_OK || place < b->error_place) {
        b->error = status;
        b->error_place = place;
        strncpy(b->reason, reason, sizeof(b->reason) - 1);
        b->reason[sizeof(b->reason) - 1] = '\0';
    }
    fdl_unlock(&b->error_lock);
}

void fdl_ring_sample_error(feedline_batch *b, uint32_t place, int32_t status,
                           const char *reason)
{
    set_error(b, place, status, reason);
}

static void make_ready(feedline_batch *b)
{
    atomic_fetch_add_explicit(&b->ring->n_ready, 1, memory_order_relaxed);
    /* release: pairs with the consumer's acquire in fdl_ring_awaited users. */
    atomic_store_explicit(&b->state, FDL_SLOT_READY, memory_order_release);
    fdl_event_notify(&b->ring->ready, UINT32_MAX);
}

static void transfer_done(struct fdl_transfer *t, int32_t status,
                          const char *reason)
{
    feedline_batch *b = t->user;
    if (status < 0)
        set_error(b, 0, status, reason ? reason : "transfer");
    make_ready(b);
}

static void free_slot_locked(feedline_batch *b)
{
    make_free_locked(b);
    fdl_ring_issue_locked(b->ring);
}

/* What the device says of its jobs is here. */
static void look_for_damage_locked(feedline_batch *b)
{
    struct fdl_ring *r = b->ring;
    uint32_t place =
        b->layout->jobs ? fdl_slot_damaged_job(b) : fdl_slot_images(b);
    if (place == fdl_slot_images(b) || r->has_damage)
        return;
    r->has_damage = true;
    r->damaged = (uint64_t)fdl_slot_index(b)[place];
}

static void transfer_landed(struct fdl_transfer *t)
{
    feedline_batch *b = t->user;
    struct fdl_ring *r = b->ring;
    fdl_lock(&r->lock);
    b->landed = true;
    look_for_damage_locked(b);
    if (atomic_load_explicit(&b->state, memory_order_relaxed) ==
        FDL_SLOT_LEAVING)
        free_slot_locked(b);
    fdl_unlock(&r->lock);
    /* After this fdl_ring_stop may take the slot. release: pairs with
     * wait_for_transfers. The ring is still there for the notify: before it is
     * freed, workers are joined and the backend, which joins its own threads,
     * is destroyed. */
    atomic_fetch_sub_explicit(&r->in_transfer, 1, memory_order_release);
    fdl_event_notify(&r->ready, UINT32_MAX);
}

static void submit(feedline_batch *b)
{
    struct fdl_ring *r = b->ring;
    b->transfer.bytes =
        b->layout->at[FDL_COLUMN_IMAGES] +
        (b->layout->jobs ? fdl_slot_jobs_bytes(b) : fdl_slot_image_bytes(b));
    b->landed = false;
    atomic_store_explicit(&b->state, FDL_SLOT_MOVING, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->in_transfer, 1, memory_order_relaxed);
    int32_t status = r->backend_ops->submit(r->backend, &b->transfer);
    if (status < 0) {
        transfer_done(&b->transfer, status, fdl_last_error());
        transfer_landed(&b->transfer);
    }
}

/* A full part may go ahead if its batch is the awaited one; for others, no copy
 * would end sooner. */
static void part_done(feedline_batch *b, uint32_t p)
{
    struct fdl_ring *r = b->ring;
    const struct fdl_layout *l = b->layout;
    uint64_t begin = part_begin(b, p), end = part_begin(b, p + 1);
    if (atomic_load_explicit(&r->awaited, memory_order_relaxed) != b->ticket ||
        atomic_load_explicit(&b->remaining, memory_order_relaxed) == 1)
        return;
    atomic_store_explicit(&b->parts_sent, true, memory_order_relaxed);
    r->backend_ops->part(r->backend, &b->transfer,
                         l->at[FDL_COLUMN_IMAGES] + begin * l->all_views_bytes,
                         (end - begin) * l->all_views_bytes);
}

static void count_part(feedline_batch *b, uint32_t place)
{
    uint32_t p = 0;
    while (place >= part_begin(b, p + 1))
        p++;
    /* acq_rel: the last one sees the pixels of all the others. */
    if (atomic_fetch_sub_explicit(&b->part_left[p], 1, memory_order_acq_rel) ==
        1)
        part_done(b, p);
}

/* All samples are there, and what is summed here the consumer need not look for
 * in a cache line of each. */
static void count_reads(feedline_batch *b)
{
    b->reads = 0;
    b->read_ns = 0;
    for (uint32_t i = 0; i < b->range.count; i++) {
        const struct fdl_sample_times *t = &b->times[i];
        int64_t from =
            atomic_load_explicit(&t->read_start, memory_order_relaxed);
        int64_t to = atomic_load_explicit(&t->read_done, memory_order_relaxed);
        if (from <= 0 || to <= from)
            continue;
        b->reads++;
        b->read_ns += to - from;
    }
}

static void finish_fields(feedline_batch *b)
{
    int32_t status = fdl_slot_fields_gather(b);
    if (status < 0)
        set_error(b, 0, status, fdl_last_error());
}

void fdl_ring_sample_done(feedline_batch *b, uint32_t place)
{
    if (b->layout->n_parts > 1)
        count_part(b, place);
    /* acq_rel: the last one sees the pixels and errors of all the others. */
    if (atomic_fetch_sub_explicit(&b->remaining, 1, memory_order_acq_rel) != 1)
        return;
    count_reads(b);
    if (fdl_slot_kind_has_fields(b->kind))
        finish_fields(b);
    if (b->error != FEEDLINE_OK &&
        !atomic_load_explicit(&b->parts_sent, memory_order_relaxed))
        make_ready(b);
    else
        submit(b);
}

/* ---- Batches made elsewhere --------------------------------------------- */

static void stamp_came(feedline_batch *b, int64_t now)
{
    for (uint32_t i = 0; i < b->range.count; i++) {
        struct fdl_sample_times *t = &b->times[i];
        atomic_store_explicit(&t->work_start, now, memory_order_relaxed);
        atomic_store_explicit(&t->work_done, now, memory_order_relaxed);
        /* release: as in publish_one. */
        atomic_store_explicit(&t->read_done, now, memory_order_release);
    }
    b->reads = 0;
    b->read_ns = 0;
}

/* Its slot, which is from now on the caller's to fill. TIMEOUT: none yet. */
static int32_t open_brought_locked(struct fdl_ring *r, uint64_t ticket,
                                   feedline_batch **out)
{
    struct fdl_ticket_range range;
    if (!r->stream || !fdl_stream_ticket(r->stream, ticket, &range) ||
        !range.brought || ticket < r->next_deliver)
        return fdl_fail(FEEDLINE_ESTATE,
                        "no batch with ticket %" PRIu64 " is expected", ticket);
    if (ticket >= r->next_issue)
        return FEEDLINE_TIMEOUT;
    feedline_batch *b = fdl_ring_slot(r, ticket);
    if (atomic_load_explicit(&b->state, memory_order_relaxed) !=
        FDL_SLOT_ISSUED)
        return fdl_fail(FEEDLINE_ESTATE,
                        "the batch with ticket %" PRIu64 " was brought already",
                        ticket);
    open_locked(b);
    *out = b;
    return FEEDLINE_OK;
}

static int32_t check_brought(const struct fdl_ring *r, uint64_t ticket,
                             const struct feedline_brought *what)
{
    struct fdl_ticket_range range;
    if (what->status < 0)
        return FEEDLINE_OK;
    if (!what->images || !what->labels || !what->sample_index)
        return fdl_fail(FEEDLINE_EINVAL,
                        "a batch has images, labels and sample_index; one of "
                        "them is NULL");
    if (!r->stream || !fdl_stream_ticket(r->stream, ticket, &range) ||
        !range.brought)
        return FEEDLINE_OK; /* which is told later */
    uint64_t bytes = range.count * r->kind.layout.all_views_bytes;
    if (what->image_bytes == bytes)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "%" PRIu64 " bytes of images for %" PRIu32
                    " samples, which take %" PRIu64,
                    what->image_bytes, range.count, bytes);
}

static void fill(feedline_batch *b, const struct feedline_brought *what)
{
    size_t n = fdl_slot_images(b);
    memcpy(fdl_slot_images_at(b), what->images, what->image_bytes);
    memcpy(fdl_slot_labels(b), what->labels, n * sizeof(*what->labels));
    memcpy(fdl_slot_index(b), what->sample_index,
           n * sizeof(*what->sample_index));
    if (what->sample_status)
        memcpy(fdl_slot_status(b), what->sample_status,
               n * sizeof(*what->sample_status));
    else
        memset(fdl_slot_status(b), 0, n * sizeof(*what->sample_status));
}

int32_t fdl_ring_bring(struct fdl_ring *r, uint64_t ticket,
                       const struct feedline_brought *what)
{
    feedline_batch *b = NULL;
    int32_t status = check_brought(r, ticket, what);
    if (status < 0)
        return status;
    fdl_lock(&r->lock);
    status = open_brought_locked(r, ticket, &b);
    fdl_unlock(&r->lock);
    if (!b)
        return status;
    if (what->status < 0) {
        set_error(b, 0, what->status,
                  what->reason ? what->reason : fdl_status_text(what->status));
        stamp_came(b, fdl_now_ns());
        make_ready(b);
        return FEEDLINE_OK;
    }
    fill(b, what);
    stamp_came(b, fdl_now_ns());
    submit(b);
    return FEEDLINE_OK;
}

/* ---- The consumer's side ------------------------------------------------ */

FDL_HOT bool fdl_ring_awaited(struct fdl_ring *r,
                              struct fdl_ticket_range *range,
                              feedline_batch **slot, bool *all_held)
{
    fdl_lock(&r->lock);
    bool more =
        r->stream && fdl_stream_ticket(r->stream, r->next_deliver, range);
    if (more) {
        bool issued = r->next_deliver < r->next_issue;
        *all_held = !issued && r->n_held == r->n_slots;
        *slot = issued ? fdl_ring_slot(r, r->next_deliver) : NULL;
    }
    fdl_unlock(&r->lock);
    return more;
}

/* The consumer's reference, once. */
static void take_reference(feedline_batch *b)
{
    if (atomic_load_explicit(&b->refs, memory_order_relaxed) == 0)
        atomic_store_explicit(&b->refs, 1, memory_order_relaxed);
}

feedline_batch *fdl_ring_peek(struct fdl_ring *r, uint32_t ahead)
{
    feedline_batch *b = NULL;
    fdl_lock(&r->lock);
    if (r->next_issue - r->next_deliver > ahead)
        b = fdl_ring_slot(r, r->next_deliver + ahead);
    fdl_unlock(&r->lock);
    /* acquire: pairs with make_ready; pixels and error are there. */
    if (!b ||
        atomic_load_explicit(&b->state, memory_order_acquire) !=
            FDL_SLOT_READY ||
        b->error != FEEDLINE_OK)
        return NULL;
    take_reference(b);
    return b;
}

FDL_HOT void fdl_ring_deliver(struct fdl_ring *r, feedline_batch *b)
{
    fdl_lock(&r->lock);
    fdl_assert(b->ticket == r->next_deliver);
    take_reference(b);
    hold_slot_locked(b);
    atomic_fetch_sub_explicit(&r->n_ready, 1, memory_order_relaxed);
    r->next_deliver++;
    if (b->transfer.done_ns > 0)
        fdl_trace_note(r->notes, FDL_TRACE_READY, b->transfer.done_ns, 0,
                       b->ticket, FDL_TRACE_NO_SAMPLE, 0);
    atomic_store_explicit(&r->awaited, r->next_deliver, memory_order_relaxed);
    issue_locked(r, true);
    fdl_unlock(&r->lock);
}

void fdl_ring_hold(feedline_batch *b)
{
    /* Relaxed: a holder of the batch already sees it. */
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
}

static void give_back(feedline_batch *b)
{
    struct fdl_ring *r = b->ring;
    if (r->backend_ops->release)
        r->backend_ops->release(r->backend, &b->transfer);
    fdl_lock(&r->lock);
    fdl_assert(atomic_load_explicit(&b->state, memory_order_relaxed) ==
               FDL_SLOT_HELD);
    fdl_trace_note(r->notes, FDL_TRACE_RELEASE, fdl_now_ns(), 0, b->ticket,
                   FDL_TRACE_NO_SAMPLE, 0);
    r->n_held--;
    if (b->landed)
        free_slot_locked(b);
    else
        atomic_store_explicit(&b->state, FDL_SLOT_LEAVING,
                              memory_order_relaxed);
    fdl_unlock(&r->lock);
    fdl_ring_unref(r);
}

FDL_HOT void fdl_ring_release(feedline_batch *b)
{
    /* acq_rel: the last one comes after everything that the others read. */
    uint32_t before =
        atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel);
    fdl_assert(before > 0);
    if (before == 1)
        give_back(b);
}
