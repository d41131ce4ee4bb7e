/* SPDX-License-Identifier: Apache-2.0 */
/* The cache that the options of a loader name (store/chunk_cache.h). */
#ifndef FDL_LOADER_REMOTE_CACHE_H
#define FDL_LOADER_REMOTE_CACHE_H

#include "base/compiler.h"
#include "loader/dataset/dataset.h"
#include "loader/options.h"
#include "store/chunk_cache.h"

/* NULL: none is named, nothing of the data set is in a store, or no memory. Of
 * memory_budget it takes as much as `waiting` says. */
struct fdl_chunk_cache *fdl_remote_cache_open(const struct fdl_options *o,
                                              const feedline_dataset *ds,
                                              uint64_t memory_budget);

/* Bytes that wait to be stored, at most: a disk that stalls for a moment, as
 * disks do, is not to cost what came meanwhile. */
static inline uint64_t fdl_remote_cache_waiting(uint64_t memory_budget)
{
    return FDL_MIN((uint64_t)32 << 20, memory_budget / 16);
}

#endif
