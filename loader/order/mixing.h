/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How well an order mixes: what a batch of it has in common with a batch of a
 * full shuffle. What harms training is that a batch has too much of one kind,
 * so the measure is the variance of its labels:
 *
 *     X_c        samples of a batch of B that have label c
 *     V          sum over c of Var(X_c), over all batches of all epochs
 *     variance   V / V of a full shuffle; 1: nothing can be told from it
 *
 * Gradients vary as labels do: a variance of 4 is the noise of a quarter of the
 * batch size. As E(X_c^2) counts pairs, all that has to be known of an order is
 * how often two samples of a batch have one label:
 *
 *     V = B (1 - S) + B (B - 1) (P - S)     S: sum over c of p_c^2
 *                                           P: of two samples in a batch
 *     P = q P_in + (1 - q) P_out            q: they are of one block
 *     q = (b - 1) / (n - 1) g               of b samples, in a group of n
 *     g = sum over d < min(B, n) of 2 (B - d) / (B (B - 1)) (1 - d / n)
 *                                           the group is the same d places on
 *
 * P_in is counted: the pairs in every run of b neighbours of the data set, in
 * one pass. P_out follows, as all pairs together are known. For blocks of
 * one label each, of very many, V is 1 + (B - 1) q: about 1 + B / lanes.
 */
#ifndef FDL_LOADER_MIXING_H
#define FDL_LOADER_MIXING_H

#include "base/integers.h"
#include "loader/order/blocks.h"

#include <stdint.h>

/* Above it an order is not what is meant by a shuffle. */
#define FDL_MIXING_POOR 1.5

struct fdl_mixing {
    double variance; /* NAN: there is one label only */
    double most;     /* if each block had one label, of very many */
    double same_block, same_block_full; /* of two samples in a batch: q */
    double blocks, blocks_full;         /* in a batch: the mean number */
};

/* What is mixed: a data set, in runs that lie in one file each. */
struct fdl_mixing_source {
    const struct fdl_integers *labels; /* [count] */
    uint64_t count;
    const uint64_t *runs; /* [n_runs] their first samples; from 0 on */
    uint64_t n_runs;
};

/* For batches of `batch` over all ranks; any thread. ENOMEM. The runs are not
 * looked at. */
int32_t fdl_mixing_of_blocks(const struct fdl_mixing_source *from,
                             const struct fdl_block_shape *shape,
                             uint64_t batch, struct fdl_mixing *out);

/* The variance with a buffer of `buffer` samples, as in WebDataset: the runs
 * fill it in random order, and a random sample goes out for each that comes in.
 * Simulated over an epoch, or two million samples of it. NAN: the buffer holds
 * all that there is, or there is one label only. ENOMEM. */
int32_t fdl_mixing_of_buffer(const struct fdl_mixing_source *from,
                             uint64_t buffer, uint64_t batch, double *variance);

#endif
