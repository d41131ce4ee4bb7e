/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders that a program gives, held against the library's own: what a sample is
 * made of, by seed, epoch, index and copy, as loaders with order=own make it.
 */
#ifndef FDL_TESTS_ORDER_RIG_H
#define FDL_TESTS_ORDER_RIG_H

#include "tests/loader/fixture.h"

#define ORDER_N      37u /* samples of the data set */
#define ORDER_BATCH  8u
#define ORDER_SEEDS  2u
#define ORDER_EPOCHS 3u
#define ORDER_COPIES 3u

struct order_rig {
    struct fixture images;
    feedline_dataset *dataset;
    uint64_t expected[ORDER_SEEDS][ORDER_EPOCHS][ORDER_N][ORDER_COPIES];
};

/* One batch as it is given. */
struct order_batch {
    uint64_t indices[ORDER_BATCH];
    uint32_t copies[ORDER_BATCH];
    uint32_t count;
};

/* folder: the images are files, not memory. options: those that the pixels
 * depend on, for fixture_loader. Ends with order_rig_close. */
void order_rig_open(struct order_rig *rig, bool folder, const char *options);
void order_rig_close(struct order_rig *rig);

/* A loader with order=given. */
feedline_loader *order_loader(const struct order_rig *rig, const char *options);

int32_t order_append(feedline_loader *l, const struct order_batch *b);

/* Samples first, first + step, ... round the data set, of copy 0. */
struct order_batch order_row(uint64_t first, uint64_t step, uint32_t count);

/* Every sample of the batch is what it has to be. */
void order_check(const struct order_rig *rig, const feedline_batch *b,
                 const struct order_batch *given, uint64_t seed,
                 uint64_t epoch);

/* Waits for the next batch, checks it and gives it back. */
void order_take(const struct order_rig *rig, feedline_loader *l,
                const struct order_batch *given, uint64_t seed, uint64_t epoch);

#endif
