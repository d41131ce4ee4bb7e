/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/stream/slot_mix.h"

#include "base/atomic.h"
#include "base/clock.h"
#include "loader/stream/ring_own.h"

/* In the slab's host memory. */
static void *at(const feedline_batch *b, uint64_t offset)
{
    return (uint8_t *)b->slab.host + offset;
}

static struct feedline_image_mix *mixes_of(const feedline_batch *b)
{
    return at(b, b->layout->mixes_at);
}

static struct fdl_mix_batch parts_of(const feedline_batch *b)
{
    const struct fdl_layout *l = b->layout;
    return (struct fdl_mix_batch){
        .like = b->ring->mix.like,
        .mixes = mixes_of(b),
        .format = &l->format,
        .images = fdl_slot_images_at(b),
        .spare = at(b, l->spare_at),
        .count = fdl_slot_images(b),
    };
}

/* Named by the place of its first image in the epoch, over all ranks. */
static void draw(feedline_batch *b)
{
    const struct fdl_sampler *s = &b->ring->stream->sampler;
    const struct fdl_output_format *f = &b->layout->format;
    struct fdl_mix_key key = {
        .seed = s->seed,
        .epoch = b->range.epoch,
        .place = b->range.position * s->world + s->rank,
        .step = s->world,
    };
    fdl_mix_draw(&b->ring->mix, &key, fdl_slot_images(b), f->width, f->height,
                 mixes_of(b));
}

/* In front of those that are due later. */
static void insert_locked(feedline_batch *b)
{
    feedline_batch **to = &b->ring->open;
    while (*to && (*to)->ticket < b->ticket)
        to = &(*to)->open_next;
    b->open_next = *to;
    *to = b;
    atomic_fetch_add_explicit(&b->ring->n_open, 1, memory_order_relaxed);
}

void fdl_slot_mix_open(feedline_batch *b)
{
    struct fdl_ring *r = b->ring;
    draw(b);
    struct fdl_mix_batch parts = parts_of(b);
    b->strips = fdl_mix_strips(&parts) + 1; /* and the targets */
    b->strips_taken = 0;
    atomic_store_explicit(&b->strips_left, b->strips, memory_order_relaxed);
    fdl_lock(&r->lock);
    insert_locked(b);
    fdl_unlock(&r->lock);
    if (b->strips > 2) /* else the caller does it as soon as any other */
        fdl_event_notify(fdl_window_ready(r->window), UINT32_MAX);
}

bool fdl_ring_has_strips(const struct fdl_ring *r)
{
    /* relaxed: the lock orders what it leads to. Whoever opens a batch takes
     * its strips, so one that is not seen here is not lost. */
    return atomic_load_explicit(&r->n_open, memory_order_relaxed) > 0;
}

static feedline_batch *take_strip(struct fdl_ring *r, uint32_t *strip)
{
    fdl_lock(&r->lock);
    feedline_batch *b = r->open;
    if (b) {
        *strip = b->strips_taken++;
        if (b->strips_taken == b->strips) {
            r->open = b->open_next;
            atomic_fetch_sub_explicit(&r->n_open, 1, memory_order_relaxed);
        }
    }
    fdl_unlock(&r->lock);
    return b;
}

/* The wait for a batch counts as work on the sample that was last. */
static void finish(feedline_batch *b)
{
    atomic_store_explicit(&b->times[b->last_place].work_done, fdl_now_ns(),
                          memory_order_relaxed);
    fdl_ring_submit(b);
}

bool fdl_ring_mix(struct fdl_ring *r)
{
    uint32_t strip;
    if (!fdl_ring_has_strips(r))
        return false;
    feedline_batch *b = take_strip(r, &strip);
    if (!b)
        return false;
    struct fdl_mix_batch parts = parts_of(b);
    if (strip + 1 < b->strips)
        fdl_mix_strip(&parts, strip);
    else
        fdl_mix_targets(&r->mix, parts.mixes, fdl_slot_labels(b), parts.count,
                        at(b, b->layout->targets_at));
    /* acq_rel: the last one sees what all the others wrote. */
    if (atomic_fetch_sub_explicit(&b->strips_left, 1, memory_order_acq_rel) ==
        1)
        finish(b);
    return true;
}

void fdl_slot_targets(const feedline_batch *b,
                      struct feedline_batch_targets *out)
{
    *out = (struct feedline_batch_targets){.classes = b->layout->classes,
                                           .mixes = mixes_of(b)};
    fdl_slot_tensor(b, FEEDLINE_TARGETS, &out->soft);
}
