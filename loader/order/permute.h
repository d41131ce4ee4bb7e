/* SPDX-License-Identifier: Apache-2.0 */
/* Permutations that need no memory; permute.c has the details. */
#ifndef FDL_LOADER_PERMUTE_H
#define FDL_LOADER_PERMUTE_H

#include <stdint.h>

/* One of [0, count), named by (seed, epoch, part); part is below 2^48. */
struct fdl_permutation {
    uint64_t count, seed, epoch, part;
};

/* Place `index` of it. */
uint64_t fdl_permute_part(const struct fdl_permutation *p, uint64_t index);

/* The place that an element has. */
uint64_t fdl_permute_back(const struct fdl_permutation *p, uint64_t element);

/* fdl_permute_part with part 0. */
uint64_t fdl_permute(uint64_t count, uint64_t seed, uint64_t epoch,
                     uint64_t index);

#endif
