/* SPDX-License-Identifier: Apache-2.0 */
/* The cache that the options of a loader name (store/chunk_cache.h). */
#ifndef FDL_LOADER_REMOTE_CACHE_H
#define FDL_LOADER_REMOTE_CACHE_H

#include "loader/dataset/dataset.h"
#include "loader/options.h"
#include "store/chunk_cache.h"

/* NULL: none is named, nothing of the data set is in a store, or no memory. */
struct fdl_chunk_cache *fdl_remote_cache_open(const struct fdl_options *o,
                                              const feedline_dataset *ds);

#endif
