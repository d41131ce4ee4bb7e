/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shuffle=block: how well it mixes, and its order for programs that have a
 * sampler of their own. docs/shuffle.md explains the order and the measures.
 *
 * Statuses and strings as in feedline.h; any thread.
 */
#ifndef FEEDLINE_SHUFFLE_H
#define FEEDLINE_SHUFFLE_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How near the batches of shuffle=block come to those of a full shuffle. A
 * block is a run of consecutive samples; as many blocks as there are lanes are
 * open at once, and together they are a group. */
struct feedline_mixing {
    uint32_t struct_size;
    uint32_t lanes;
    uint64_t block;  /* samples in a block, also where option block is auto */
    uint64_t batch;  /* samples in a batch, over all ranks */
    uint64_t bytes;  /* of the samples of a group; 0: not known */
    double variance; /* of a batch's labels, divided by that of a full shuffle:
                        1 is as good; NAN: all labels are the same */
    double variance_most; /* the variance if each block had a single label, of
                             very many */
    double blocks;        /* how many blocks a batch has samples of, on average,
                             and */
    double blocks_full;   /* with a full shuffle */
    double same_block;    /* probability that two samples of a batch are of one
                             block, and */
    double same_block_full; /* with a full shuffle */
    uint64_t buffer; /* samples in a group, or in all if there are fewer */
    double buffer_variance; /* the variance if a shuffle buffer of that many
                               samples, as in WebDataset, were used, simulated;
                               NAN: all labels are the same, or the buffer holds
                               every sample */
};

/* Of cfg, the options block, lanes, batch_size and world count, whatever
 * shuffle is; NULL: the defaults. Views are not counted. One or two passes over
 * the labels, tens of ms for a million. ENOMEM. */
FEEDLINE_API int32_t feedline_dataset_get_mixing(const feedline_dataset *ds,
                                                 const feedline_config *cfg,
                                                 struct feedline_mixing *out);

/* The order of shuffle=block: out[0] to out[n - 1] are elements first to first
 * + n - 1 of the order of `epoch`, as indices of a data set of `count` samples.
 * EINVAL: block, lanes, count or the range is out of bounds. */
FEEDLINE_API int32_t feedline_block_order(uint64_t count, uint64_t block,
                                          uint64_t lanes, uint64_t seed,
                                          uint64_t epoch, uint64_t first,
                                          uint64_t n, uint64_t *out);

#ifdef __cplusplus
}
#endif

#endif
