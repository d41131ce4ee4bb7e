/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shuffle=block: an exact permutation that reads runs of neighbours, for disks
 * and file systems on which a read here and a read there is too slow.
 *
 *     data set      | 0 1 2 | 3 4 5 | 6 7 8 | 9 10 11 |     blocks of 3 samples
 *     blocks         6 7 8   0 1 2     3 4 5   9 10 11      in random order
 *     groups        [6 7 8   0 1 2 ]  [3 4 5   9 10 11]     of 2 lanes
 *     order          1 7 0 8 6 2       10 3 9 4 11 5        mixed within groups
 *
 * A group is `lanes` blocks that are open at once, and its samples come in a
 * random order, so the blocks of one group are all that has to be in memory
 * while it is delivered. Every sample comes once per epoch.
 *
 * Blocks are counted from a random sample of the data set on, round its end, so
 * each epoch cuts it elsewhere. Hence one block in an epoch is short, where the
 * count does not divide, and comes last: any sample may be in it. That all
 * others are alike is what makes a place a matter of arithmetic, without a
 * table. So a block may go on in the next shard, which costs one more seek per
 * shard and epoch. The groups of an epoch differ by one block at most, because
 * a last group of the few blocks that are left would hardly be mixed.
 */
#ifndef FDL_LOADER_BLOCKS_H
#define FDL_LOADER_BLOCKS_H

#include <stdint.h>

#define FDL_BLOCK_MAX (1 << 24) /* samples */
#define FDL_LANES_MAX (1 << 16)

struct fdl_block_shape {
    uint64_t samples; /* of a block */
    uint64_t lanes;
};

/* Those of one epoch. */
struct fdl_blocks {
    uint64_t count; /* of the data set */
    uint64_t samples;
    uint64_t seed, epoch;
    uint64_t first;              /* sample of block 0 */
    uint64_t n_blocks, n_groups; /* the short block counts */
};

struct fdl_block_group {
    uint64_t number;
    uint64_t first;  /* element of the order, and place in the row of blocks */
    uint64_t length; /* in samples */
};

/* Of option block=auto, for samples that take `bytes` together; 0: unknown. */
uint64_t fdl_block_samples(uint64_t count, uint64_t bytes);

void fdl_blocks_init(struct fdl_blocks *b, uint64_t count,
                     const struct fdl_block_shape *shape, uint64_t seed,
                     uint64_t epoch);

/* Group number of the epoch, and the one that an element of its order is in. */
void fdl_blocks_group(const struct fdl_blocks *b, uint64_t number,
                      struct fdl_block_group *out);
void fdl_blocks_group_of(const struct fdl_blocks *b, uint64_t element,
                         struct fdl_block_group *out);

/* Data set index of an element of the order. */
uint64_t fdl_blocks_sample(const struct fdl_blocks *b, uint64_t element);

/* Data set index of a place in the row of blocks, and the element of the order
 * that has it; the place is in group g. */
uint64_t fdl_blocks_row(const struct fdl_blocks *b, uint64_t place);
uint64_t fdl_blocks_element(const struct fdl_blocks *b,
                            const struct fdl_block_group *g, uint64_t place);

#endif
