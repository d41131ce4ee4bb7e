/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The row of blocks is the data set as its blocks come, one after the other;
 * block after block is read along it. An element of the order is a place in
 * its group, mixed, a place in the row, and so a block and a sample of it.
 */
#include "loader/order/blocks.h"

#include "base/compiler.h"
#include "base/philox.h"
#include "loader/order/permute.h"

#define BLOCK_BYTES     8388608.0
#define UNKNOWN_SAMPLES 64

/* Parts of an epoch's draws. Part 0 is the full shuffle's. */
#define PART_FIRST  1
#define PART_BLOCKS 2
#define PART_GROUPS 3 /* and on */

/* Below 2^48, so what a remainder favours is below 2^-16. */
static uint64_t draw_first(const struct fdl_blocks *b)
{
    struct fdl_rng rng;
    fdl_rng_init(&rng, b->seed, b->epoch, PART_FIRST, FDL_PLACE_PERMUTE);
    uint64_t high = fdl_rng_u32(&rng);
    return (high << 32 | fdl_rng_u32(&rng)) % b->count;
}

static uint64_t divide_up(uint64_t n, uint64_t by)
{
    return n / by + (n % by != 0);
}

uint64_t fdl_block_samples(uint64_t count, uint64_t bytes)
{
    if (bytes == 0)
        return UNKNOWN_SAMPLES;
    double samples = BLOCK_BYTES * (double)count / (double)bytes;
    return (uint64_t)FDL_MAX(FDL_MIN(samples, FDL_BLOCK_MAX), 1.0);
}

void fdl_blocks_init(struct fdl_blocks *b, uint64_t count,
                     const struct fdl_block_shape *shape, uint64_t seed,
                     uint64_t epoch)
{
    *b = (struct fdl_blocks){
        .count = count,
        .samples = shape->samples,
        .seed = seed,
        .epoch = epoch,
        .n_blocks = divide_up(count, shape->samples),
    };
    b->n_groups = divide_up(b->n_blocks, shape->lanes);
    b->first = draw_first(b);
}

/* The first groups have one block more than the others. */
static uint64_t first_block(const struct fdl_blocks *b, uint64_t group)
{
    uint64_t more = b->n_blocks % b->n_groups;
    return group * (b->n_blocks / b->n_groups) + FDL_MIN(group, more);
}

void fdl_blocks_group(const struct fdl_blocks *b, uint64_t number,
                      struct fdl_block_group *out)
{
    uint64_t first = first_block(b, number) * b->samples;
    uint64_t end = first_block(b, number + 1) * b->samples;
    *out = (struct fdl_block_group){.number = number,
                                    .first = first,
                                    .length = FDL_MIN(end, b->count) - first};
}

void fdl_blocks_group_of(const struct fdl_blocks *b, uint64_t element,
                         struct fdl_block_group *out)
{
    uint64_t block = element / b->samples;
    uint64_t least = b->n_blocks / b->n_groups;
    uint64_t more = b->n_blocks % b->n_groups;
    uint64_t longer = more * (least + 1); /* blocks in longer groups */
    fdl_blocks_group(b,
                     block < longer ? block / (least + 1)
                                    : more + (block - longer) / least,
                     out);
}

uint64_t fdl_blocks_row(const struct fdl_blocks *b, uint64_t place)
{
    struct fdl_permutation whole = {.count = b->count / b->samples,
                                    .seed = b->seed,
                                    .epoch = b->epoch,
                                    .part = PART_BLOCKS};
    uint64_t block = place / b->samples;
    if (block < whole.count)
        block = fdl_permute_part(&whole, block);
    uint64_t sample = b->first + block * b->samples + place % b->samples;
    return sample < b->count ? sample : sample - b->count;
}

static struct fdl_permutation mix_of(const struct fdl_blocks *b,
                                     const struct fdl_block_group *g)
{
    return (struct fdl_permutation){.count = g->length,
                                    .seed = b->seed,
                                    .epoch = b->epoch,
                                    .part = PART_GROUPS + g->number};
}

uint64_t fdl_blocks_sample(const struct fdl_blocks *b, uint64_t element)
{
    struct fdl_block_group g;
    fdl_blocks_group_of(b, element, &g);
    struct fdl_permutation mix = mix_of(b, &g);
    return fdl_blocks_row(b,
                          g.first + fdl_permute_part(&mix, element - g.first));
}

uint64_t fdl_blocks_element(const struct fdl_blocks *b,
                            const struct fdl_block_group *g, uint64_t place)
{
    struct fdl_permutation mix = mix_of(b, g);
    return g->first + fdl_permute_back(&mix, place - g->first);
}
