/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is taken of the room is one number, so that it changes in one step: the
 * images that have a place in the upper 16 bits, the bytes below.
 */
#include "loader/stream/slot_jobs.h"

#include "base/compiler.h"
#include "base/status.h"

#include <string.h>

#define PLACED      (UINT64_C(1) << 48)
#define BYTES(word) ((word) & (PLACED - 1))

static struct fdl_device_job *job_of(const feedline_batch *b, uint32_t place)
{
    struct fdl_device_job *jobs = fdl_slot_column(b, FDL_COLUMN_JOBS);
    return &jobs[place];
}

/* relaxed, here and below: who owns which bytes; their content goes by
 * `remaining`. */
static bool take_room(feedline_batch *b, uint64_t bytes, uint64_t *at)
{
    const struct fdl_layout *l = b->layout;
    uint64_t share = fdl_layout_share(l), room = fdl_layout_room(l), next;
    uint64_t word = atomic_load_explicit(&b->jobs_taken, memory_order_relaxed);
    bytes = (bytes + FDL_SLAB_ALIGN - 1) & ~(uint64_t)(FDL_SLAB_ALIGN - 1);
    do {
        uint64_t without = b->range.count - word / PLACED - 1;
        if (bytes + without * share > room - BYTES(word))
            return false;
        next = word + PLACED + bytes;
    } while (!atomic_compare_exchange_weak_explicit(&b->jobs_taken, &word, next,
                                                    memory_order_relaxed,
                                                    memory_order_relaxed));
    *at = l->at[FDL_COLUMN_IMAGES] + BYTES(word);
    return true;
}

static bool take_scratch(feedline_batch *b, uint64_t bytes, uint64_t *at)
{
    uint64_t most = b->layout->scratch_bytes;
    uint64_t taken =
        atomic_load_explicit(&b->scratch_taken, memory_order_relaxed);
    bytes = (bytes + FDL_SLAB_ALIGN - 1) & ~(uint64_t)(FDL_SLAB_ALIGN - 1);
    do {
        if (bytes > most - taken)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(
        &b->scratch_taken, &taken, taken + bytes, memory_order_relaxed,
        memory_order_relaxed));
    *at = taken;
    return true;
}

/* A job of no kind: zeros, or the pixels of its payload. */
static void set_none(const feedline_batch *b, uint32_t place)
{
    const struct fdl_output_format *f = &b->layout->format;
    struct fdl_device_job *job = job_of(b, place);
    job->kind = FDL_DEVICE_NONE;
    job->status = FDL_DEVICE_SOUND;
    job->payload_bytes = 0;
    job->out = place * b->layout->sample_bytes;
    job->pass[1].width = (uint32_t)f->width;
    job->pass[1].height = (uint32_t)f->height;
    job->out_channels = (uint32_t)f->channels;
}

void fdl_slot_jobs_forget(feedline_batch *b)
{
    if (!b->layout->jobs)
        return;
    atomic_store_explicit(&b->jobs_taken, 0, memory_order_relaxed);
    atomic_store_explicit(&b->scratch_taken, 0, memory_order_relaxed);
    for (uint32_t i = 0; i < fdl_slot_images(b); i++) {
        set_none(b, i);
        job_of(b, i)->payload = 0;
    }
}

bool fdl_slot_put_job(feedline_batch *b, uint32_t place,
                      const struct fdl_device_job *job, const uint8_t *payload)
{
    struct fdl_device_job *to = job_of(b, place);
    uint64_t scratch, at, bytes = job->payload_bytes;
    /* The sample may fail yet, and another one then take its place. */
    if (b->kind->masks.on || b->kind->has_objects)
        bytes = FDL_MAX(bytes, fdl_layout_share(b->layout));
    if (to->payload > 0 || !take_scratch(b, job->scratch_bytes, &scratch) ||
        !take_room(b, bytes, &at))
        return false;
    *to = *job;
    to->payload = at;
    to->scratch = scratch;
    to->out = place * b->layout->sample_bytes;
    memcpy((uint8_t *)b->slab.host + at, payload, job->payload_bytes);
    return true;
}

uint8_t *fdl_slot_claim_pixels(feedline_batch *b, uint32_t place)
{
    struct fdl_device_job *job = job_of(b, place);
    uint64_t at = job->payload;
    if (at == 0) {
        bool taken = take_room(b, b->layout->sample_bytes, &at);
        fdl_assert(taken);
        (void)taken;
    }
    set_none(b, place);
    job->payload = at;
    job->payload_bytes = (uint32_t)b->layout->sample_bytes;
    return (uint8_t *)b->slab.host + at;
}

void fdl_slot_blank_job(const feedline_batch *b, uint32_t place)
{
    set_none(b, place);
}

uint64_t fdl_slot_jobs_bytes(const feedline_batch *b)
{
    return BYTES(atomic_load_explicit(&b->jobs_taken, memory_order_relaxed));
}

uint32_t fdl_slot_damaged_job(const feedline_batch *b)
{
    uint32_t i = 0, n = fdl_slot_images(b);
    while (i < n && job_of(b, i)->status == FDL_DEVICE_SOUND)
        i++;
    return i;
}
