/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic of the stream. A run may begin inside an epoch, so it has a
 * short epoch first, its head, and then whole ones, all alike:
 *
 *     epoch    |   first        |   first + 1   |   first + 2   |
 *              |....|<- head -->|<--- whole --->|<--- whole --->|
 *     samples       0        head      head + whole      head + 2 whole
 *                   ^ first_position
 *
 * With drop_last, head and whole are what is left in full batches. Everything
 * is division by `whole`; nothing is ever counted up to.
 */
#include "loader/order/sampler.h"

#include "base/compiler.h"
#include "base/philox.h"
#include "base/status.h"
#include "loader/order/given.h"

#include <inttypes.h>

/* Beyond any data set; keeps every product below 2^64, copies included. */
#define MAX_COUNT FDL_SAMPLES_MAX

/* Batches in n samples of one epoch. */
static uint64_t batches_in(const struct fdl_sampler *s, uint64_t n)
{
    return n / s->batch_size + (!s->drop_last && n % s->batch_size != 0);
}

/* Samples delivered of n. */
static uint64_t samples_in(const struct fdl_sampler *s, uint64_t n)
{
    return s->drop_last ? n - n % s->batch_size : n;
}

/* What each rank delivers of so many places. */
static uint64_t share_of(const struct fdl_sampler *s, uint64_t places)
{
    bool more = s->tail != FDL_TAIL_DROP && places % s->world != 0;
    return places / s->world + more;
}

/* Places of an epoch from count, repeats and epoch_samples. */
static int32_t count_places(const struct fdl_sampler *s, uint64_t *places)
{
    if (s->count == 0)
        return fdl_fail(FEEDLINE_EINVAL, "the data set has no samples");
    if (s->count > MAX_COUNT)
        return fdl_fail(FEEDLINE_EINVAL,
                        "the data set has %" PRIu64 " samples; %" PRIu64
                        " is the most",
                        s->count, MAX_COUNT);
    if (s->repeats < 1 || s->repeats > FDL_COPIES_MAX)
        return fdl_fail(FEEDLINE_EINVAL, "repeats=%" PRIu32 ": 1 to %d",
                        s->repeats, FDL_COPIES_MAX);
    if (s->epoch_samples > s->count * s->repeats)
        return fdl_fail(
            FEEDLINE_EINVAL,
            "epoch_samples=%" PRIu64 " is more than the %" PRIu64
            " that %" PRIu64 " samples with repeats=%" PRIu32 " make",
            s->epoch_samples, s->count * s->repeats, s->count, s->repeats);
    *places = s->epoch_samples ? s->epoch_samples : s->count;
    return FEEDLINE_OK;
}

int32_t fdl_sampler_init(struct fdl_sampler *s)
{
    uint64_t places = 0;
    if (s->rank >= s->world)
        return fdl_fail(FEEDLINE_EINVAL,
                        "rank %" PRIu32 " of %" PRIu32
                        " ranks; ranks count from 0",
                        s->rank, s->world);
    if (s->batch_size == 0)
        return fdl_fail(FEEDLINE_EINVAL, "batch_size is 0");
    int32_t status = count_places(s, &places);
    if (status < 0)
        return status;
    fdl_assert(s->shuffle != FDL_SHUFFLE_BLOCK ||
               (s->blocks.samples > 0 && s->blocks.lanes > 0));

    uint64_t samples = share_of(s, places);
    if (samples == 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%" PRIu64 " samples are not enough for %" PRIu32
                        " ranks; use fewer ranks, or shard_tail=pad or wrap",
                        places, s->world);
    uint64_t batches = batches_in(s, samples);
    if (batches == 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%" PRIu64 " samples per rank do not fill a batch of "
                        "%" PRIu32 "; use a smaller batch_size, or "
                        "drop_last=false",
                        samples, s->batch_size);
    s->places = places;
    s->samples = samples;
    s->batches = batches;
    return FEEDLINE_OK;
}

static uint64_t place_of(const struct fdl_sampler *s, uint64_t position,
                         uint64_t shift)
{
    uint64_t place = s->rank + shift + position * s->world;
    if (place < s->places)
        return place;
    fdl_assert(s->tail != FDL_TAIL_DROP);
    return s->tail == FDL_TAIL_WRAP ? place % s->places : s->places - 1;
}

uint64_t fdl_sampler_place(const struct fdl_sampler *s, uint64_t position)
{
    fdl_assert(position < s->samples);
    return place_of(s, position, 0);
}

uint64_t fdl_sampler_index(const struct fdl_sampler *s, uint64_t epoch,
                           uint64_t place)
{
    uint64_t element = place / s->repeats;
    switch (s->shuffle) {
    case FDL_SHUFFLE_FULL:
        return fdl_permute(s->count, s->seed, epoch, element);
    case FDL_SHUFFLE_BLOCK: {
        struct fdl_blocks b;
        fdl_blocks_init(&b, s->count, &s->blocks, s->seed, epoch);
        return fdl_blocks_sample(&b, element);
    }
    case FDL_SHUFFLE_NONE:
        break;
    }
    return element;
}

uint32_t fdl_sampler_copy(const struct fdl_sampler *s, uint64_t place)
{
    return (uint32_t)(place % s->repeats);
}

uint64_t fdl_sampler_replacement(const struct fdl_sampler *s, uint64_t epoch,
                                 uint64_t index, uint32_t attempt)
{
    if (s->count == 1)
        return index;
    struct fdl_rng rng;
    fdl_rng_init(&rng, s->seed, epoch, index, FDL_PLACE_REPLACE);
    double draw = fdl_rng_uniform(&rng);
    for (uint32_t i = 0; i < attempt; i++)
        draw = fdl_rng_uniform(&rng);

    /* Any one but the damaged. The product stays below count - 1: a double
     * resolves numbers below 2^53, and MAX_COUNT is less. */
    uint64_t other = (uint64_t)(draw * (double)(s->count - 1));
    return other + (other >= index);
}

static uint64_t head_of(const struct fdl_stream *st)
{
    return samples_in(&st->sampler, st->first_samples - st->first_position);
}

static uint64_t whole_of(const struct fdl_stream *st)
{
    return samples_in(&st->sampler, st->sampler.samples);
}

static uint64_t head_batches_of(const struct fdl_stream *st)
{
    return batches_in(&st->sampler, st->first_samples - st->first_position);
}

uint64_t fdl_stream_shift(const struct fdl_stream *st, uint64_t epoch)
{
    return epoch == st->first_epoch ? st->first_shift : 0;
}

int32_t fdl_epoch_check(uint64_t epoch)
{
    if (epoch < FDL_EPOCHS_MAX)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "epoch %" PRIu64 " is beyond the last, %" PRIu64, epoch,
                    FDL_EPOCHS_MAX - 1);
}

int32_t fdl_stream_init(struct fdl_stream *st, const struct fdl_sampler *s,
                        uint64_t epoch, uint64_t position, uint64_t end_epoch)
{
    int32_t status = fdl_epoch_check(epoch);
    if (status < 0)
        return status;

    uint64_t own = position / s->world, shift = position % s->world;
    uint64_t samples = 0;
    if (position < s->places) /* so shift is, too */
        samples = own + share_of(s, s->places - position);
    if (batches_in(s, samples - FDL_MIN(own, samples)) == 0) {
        epoch++;
        own = shift = 0;
        samples = s->samples;
    }
    *st = (struct fdl_stream){
        .sampler = *s,
        .first_epoch = epoch,
        .first_position = own,
        .first_shift = shift,
        .first_samples = samples,
        .end_epoch = end_epoch,
    };
    return FEEDLINE_OK;
}

uint64_t fdl_stream_delivered(const struct fdl_stream *st, uint64_t epoch,
                              uint64_t position)
{
    return position * st->sampler.world + fdl_stream_shift(st, epoch);
}

void fdl_stream_init_given(struct fdl_stream *st, const struct fdl_sampler *s,
                           const struct fdl_given *given)
{
    *st = (struct fdl_stream){
        .sampler = *s, .given = given, .end_epoch = UINT64_MAX};
}

void fdl_stream_locate(const struct fdl_stream *st, uint64_t sample,
                       struct fdl_place *out)
{
    if (st->given) {
        fdl_given_locate(st->given, sample, out);
        return;
    }
    uint64_t head = head_of(st);
    uint64_t epoch = st->first_epoch;
    uint64_t start = st->first_position;
    uint64_t within = sample; /* from the start of its epoch, or of the run */
    uint64_t tickets = 0;     /* before its epoch */
    if (sample >= head) {
        uint64_t epochs = (sample - head) / whole_of(st);
        within = (sample - head) % whole_of(st);
        tickets = head_batches_of(st) + epochs * st->sampler.batches;
        epoch += 1 + epochs;
        start = 0;
    }
    uint64_t place =
        place_of(&st->sampler, start + within, fdl_stream_shift(st, epoch));
    *out = (struct fdl_place){
        .epoch = epoch,
        .position = start + within,
        .ticket = tickets + within / st->sampler.batch_size,
        .index = fdl_sampler_index(&st->sampler, epoch, place),
        .slot_place = (uint32_t)(within % st->sampler.batch_size),
        .copy = fdl_sampler_copy(&st->sampler, place),
    };
}

FDL_HOT bool fdl_stream_ticket(const struct fdl_stream *st, uint64_t ticket,
                               struct fdl_ticket_range *out)
{
    const struct fdl_sampler *s = &st->sampler;
    if (st->given) {
        if (!fdl_given_ticket(st->given, ticket, out))
            return false;
        out->place = out->position * s->world + s->rank;
        return true;
    }
    uint64_t head_batches = head_batches_of(st);
    uint64_t epoch = st->first_epoch;
    uint64_t start = st->first_position;
    uint64_t before = 0;      /* samples of the run before its epoch */
    uint64_t within = ticket; /* batches from the start of its epoch or run */
    uint64_t length = head_of(st), batches = head_batches;
    if (ticket >= head_batches) {
        uint64_t epochs = (ticket - head_batches) / s->batches;
        within = (ticket - head_batches) % s->batches;
        before = length + epochs * whole_of(st);
        epoch += 1 + epochs;
        start = 0;
        length = whole_of(st);
        batches = s->batches;
    }
    if (epoch >= st->end_epoch)
        return false;

    uint64_t first = within * s->batch_size;
    uint64_t left = length - first;
    *out = (struct fdl_ticket_range){
        .epoch = epoch,
        .sequence = start / s->batch_size + within,
        .first_sample = before + first,
        .position = start + first,
        .place = fdl_stream_delivered(st, epoch, start + first) + s->rank,
        .count = left < s->batch_size ? (uint32_t)left : s->batch_size,
        .last = within + 1 == batches,
    };
    return true;
}
