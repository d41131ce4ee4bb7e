/* SPDX-License-Identifier: Apache-2.0 */
/* What reading from stores has cost, of all threads that do; see remote_read.h.
 */
#ifndef FDL_LOADER_REMOTE_BOOKS_H
#define FDL_LOADER_REMOTE_BOOKS_H

#include "base/atomic.h"
#include "store/chunk_cache.h"
#include "store/downloads.h"

/* Zeroed memory is fine. */
struct fdl_remote_books {
    struct fdl_download_counts requests;
    struct fdl_chunk_cache *chunks; /* set before a run; NULL: none */
    _Atomic uint64_t cached_bytes;  /* of samples, from there */
    _Atomic uint64_t cache_errors;  /* damaged there */
};

/* Of them, since the loader was made. */
struct fdl_remote_sums {
    uint64_t requests, failures, retries, hedges, hedges_won;
    uint64_t network_bytes, cached_bytes, cache_errors;
};

static inline struct fdl_remote_sums fdl_remote_sums_of(
    const struct fdl_remote_books *b)
{
    const struct fdl_download_counts *c = &b->requests;
    struct fdl_chunk_cache_state chunks = {0};
    if (b->chunks)
        fdl_chunk_cache_get(b->chunks, &chunks);
    return (struct fdl_remote_sums){
        .requests = fdl_load(&c->requests),
        .failures = fdl_load(&c->failures),
        .retries = fdl_load(&c->retries),
        .hedges = fdl_load(&c->hedges),
        .hedges_won = fdl_load(&c->hedges_won),
        .network_bytes = fdl_load(&c->bytes),
        .cached_bytes = fdl_load(&b->cached_bytes),
        .cache_errors = fdl_load(&b->cache_errors) + chunks.errors,
    };
}

#endif
