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

/* What batches of shuffle=block have in common with those of a full shuffle. */
struct feedline_mixing {
    uint32_t struct_size;
    uint32_t lanes;
    uint64_t block;  /* samples in one; of block=auto too */
    uint64_t batch;  /* samples in a batch over all ranks */
    uint64_t bytes;  /* of a group's samples, which are open at once; 0: lengths
                       are not known */
    double variance; /* of a batch's labels, in those of a full shuffle: 1 is as
                        good as one; NAN: all labels are the same */
    double variance_most;       /* if each block had one label, of very many */
    double blocks, blocks_full; /* that a batch has samples of, on average */
    double same_block, same_block_full; /* probability that two samples of a
                                           batch are of one block */
    uint64_t buffer;        /* samples in a group: a buffer of the same size */
    double buffer_variance; /* shuffled with that, as in WebDataset, by
                               simulation; NAN also where it holds everything */
};

/* By the options block, lanes, batch_size and world of cfg (NULL: the
 * defaults), whatever shuffle is; views are not counted. One or two passes over
 * the labels, tens of ms for a million. ENOMEM. */
FEEDLINE_API int32_t feedline_dataset_get_mixing(const feedline_dataset *ds,
                                                 const feedline_config *cfg,
                                                 struct feedline_mixing *out);

/* Elements first to first + n - 1 of the order of `epoch`, as indices of a data
 * set of `count` samples. EINVAL: block, lanes, count or the range is out of
 * bounds. */
FEEDLINE_API int32_t feedline_block_order(uint64_t count, uint64_t block,
                                          uint64_t lanes, uint64_t seed,
                                          uint64_t epoch, uint64_t first,
                                          uint64_t n, uint64_t *out);

#ifdef __cplusplus
}
#endif

#endif
