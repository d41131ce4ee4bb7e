/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sample comes when: pure functions of (seed, epoch, position).
 *
 * An epoch over all ranks has `places`. Each sample takes `repeats` of them in
 * a row, one for each of its copies, which differ in what is drawn for them
 * (repeated augmentation, Hoffer et al., "Augment your batch", CVPR 2020):
 *
 *     place           0 1 2 3 4 5 6 7 8 ...            repeats = 3
 *     element         0 0 0 1 1 1 2 2 2 ...            of the order below
 *     copy            0 1 2 0 1 2 0 1 2 ...
 *     rank, world 2   0 1 0 1 0 1 0 1 0 ...            copies are spread
 *
 * Without other wishes an epoch has as many places as the data set has samples,
 * so with repeats it shows a part of the data set, each time another one.
 *
 * The order of elements is the data set in order, or a true permutation of all
 * of it that needs no memory: a keyed Feistel network on the smallest domain of
 * 2^k >= count (and >= 2^8), walked along its cycle until it falls below count;
 * permute.c has the details. With shuffle=block it is one that reads blocks of
 * neighbours (blocks.h). Any element is computed at once, so resuming costs
 * nothing.
 *
 * Rank r of `world` takes the places r, r + world, r + 2 world, ..., as torch's
 * DistributedSampler does. Where their number is not a multiple of world the
 * tail decides: drop it, pad with the last place, or wrap to the first ones;
 * every rank gets equally many.
 *
 * A run is a stream of epochs that starts anywhere, also where `world` does not
 * divide the place, as another number of ranks came so far. Then the remainder,
 * the epoch's shift, is added to all places of that epoch:
 *
 *     place           ... 16 17 18 19 20 21 22 ...     16 delivered by 8 ranks
 *     rank, world 3       0  1  2  0  1  2  0          shift 1
 *     position            5  5  5  6  6  6  7          3 * 5 + 1 = 16
 *
 * A run's samples are numbered from 0 without holes, and so are its batches
 * (tickets): both directions of the mapping are arithmetic. With order=given
 * they are a table that the program fills (given.h), and of the sampler only
 * the seed and the size of the data set count.
 */
#ifndef FDL_LOADER_SAMPLER_H
#define FDL_LOADER_SAMPLER_H

#include "base/choice.h"
#include "loader/order/blocks.h"
#include "loader/order/permute.h"

#include <stdbool.h>
#include <stdint.h>

#define FDL_SHUFFLE_CHOICES(C)                                                 \
  C(FDL_SHUFFLE_NONE, "false")                                                 \
  C(FDL_SHUFFLE_FULL, "true")                                                  \
  C(FDL_SHUFFLE_BLOCK, "block")
enum fdl_shuffle { FDL_CHOICE_VALUES(FDL_SHUFFLE_CHOICES) };

#define FDL_TAIL_CHOICES(C)                                                    \
  C(FDL_TAIL_PAD, "pad")                                                       \
  C(FDL_TAIL_DROP, "drop")                                                     \
  C(FDL_TAIL_WRAP, "wrap")
enum fdl_shard_tail { FDL_CHOICE_VALUES(FDL_TAIL_CHOICES) };

struct fdl_sampler {
    uint64_t count;         /* of the data set */
    uint64_t epoch_samples; /* places of an epoch; 0: count */
    uint64_t seed;
    uint32_t repeats; /* of each sample, in a row */
    uint32_t rank, world;
    enum fdl_shard_tail tail;
    enum fdl_shuffle shuffle;
    struct fdl_block_shape blocks; /* with FDL_SHUFFLE_BLOCK */
    bool drop_last;
    uint32_t batch_size;

    /* Derived by init. */
    uint64_t places;  /* of an epoch, over all ranks */
    uint64_t samples; /* of this rank in an epoch */
    uint64_t batches; /* of this rank in a whole epoch */
};

/* Fill the first block of fields, then init. EINVAL: rank >= world; an epoch
 * longer than count * repeats; no sample or no batch is left for a rank, saying
 * what to change. */
int32_t fdl_sampler_init(struct fdl_sampler *s);

/* The place, over all ranks, of `position` on this rank (below samples) in an
 * epoch that is delivered from its start. */
uint64_t fdl_sampler_place(const struct fdl_sampler *s, uint64_t position);

/* Data set index at a place of an epoch. */
uint64_t fdl_sampler_index(const struct fdl_sampler *s, uint64_t epoch,
                           uint64_t place);

/* Which copy of it that is, from 0. */
uint32_t fdl_sampler_copy(const struct fdl_sampler *s, uint64_t place);

struct fdl_given;

struct fdl_stream {
    struct fdl_sampler sampler;
    const struct fdl_given *given; /* NULL: an order of ours */
    uint64_t first_epoch;
    uint64_t first_position; /* of this rank, below first_samples */
    uint64_t first_shift;    /* of the first epoch's places, below world */
    uint64_t first_samples;  /* where it ends for this rank */
    uint64_t end_epoch;      /* first one not delivered; UINT64_MAX: none */
};

/* One sample of the run. */
struct fdl_place {
    uint64_t epoch;
    uint64_t position; /* of this rank in the epoch */
    uint64_t ticket;
    uint64_t index;      /* in the data set */
    uint32_t slot_place; /* in the batch */
    uint32_t copy;
};

/* One batch of the run. */
struct fdl_ticket_range {
    uint64_t epoch;
    uint64_t sequence;     /* of the batch in its epoch */
    uint64_t first_sample; /* of the run */
    uint64_t position;     /* of the first sample in the epoch, this rank */
    uint64_t place;        /* the same over all ranks */
    uint32_t count;
    bool last;    /* of its epoch; false where that is not known yet */
    bool brought; /* made elsewhere: none of its samples is read here */
};

/* Beyond any run; keeps epoch numbers from overflowing. */
#define FDL_EPOCHS_MAX ((uint64_t)1 << 62)

/* EINVAL: beyond the last there can be. */
int32_t fdl_epoch_check(uint64_t epoch);

/* position: over all ranks, as in a saved state. One at or past the end of the
 * epoch means the start of the next. */
int32_t fdl_stream_init(struct fdl_stream *st, const struct fdl_sampler *s,
                        uint64_t epoch, uint64_t position, uint64_t end_epoch);

/* Batches come from `given`; draws and replacements from the sampler's seed. */
void fdl_stream_init_given(struct fdl_stream *st, const struct fdl_sampler *s,
                           const struct fdl_given *given);

/* Added to the places of an epoch, see above. */
uint64_t fdl_stream_shift(const struct fdl_stream *st, uint64_t epoch);

/* How many samples were delivered over all ranks when this one is at `position`
 * of `epoch`: a saved state's position. */
uint64_t fdl_stream_delivered(const struct fdl_stream *st, uint64_t epoch,
                              uint64_t position);

void fdl_stream_locate(const struct fdl_stream *st, uint64_t sample,
                       struct fdl_place *out);

/* false: past the end of the run, or of what was given. */
bool fdl_stream_ticket(const struct fdl_stream *st, uint64_t ticket,
                       struct fdl_ticket_range *out);

/* The sample that takes the place of a damaged one: attempt 0, 1, ... It is the
 * same for all copies, so they stay copies of one sample. */
uint64_t fdl_sampler_replacement(const struct fdl_sampler *s, uint64_t epoch,
                                 uint64_t index, uint32_t attempt);

#endif
