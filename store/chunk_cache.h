/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of this machine that keeps bytes of objects, within a budget. All
 * processes that name it share it.
 *
 *     FOLDER/ledger              bytes in use, under a lock (chunk_ledger.h)
 *     FOLDER/GROUP/OBJECT        chunks of an object (chunk_file.h)
 *
 * What is in stays: once the budget is used up nothing is added. An epoch reads
 * everything once, in a new order, so whatever would be put in for something
 * else is no more likely to be of use than that; and so each epoch finds the
 * same share.
 *
 * What goes: an object that was replaced, when the new one is stored; and where
 * room is wanted, groups that nobody has used since the folder was last idle,
 * the least recently used first. They are of earlier jobs.
 *
 * Any thread. Nothing here fails: what cannot be read is asked for at the
 * server, and once something cannot be written, nothing more is, and `state`
 * says why.
 */
#ifndef FDL_STORE_CHUNK_CACHE_H
#define FDL_STORE_CHUNK_CACHE_H

#include "store/chunk_file.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_chunk_cache;

/* budget: bytes; 0: half of what is free there and of what it has. The folder
 * is made if it is missing. NULL: no memory. */
struct fdl_chunk_cache *fdl_chunk_cache_open(const char *folder,
                                             uint64_t budget);
void fdl_chunk_cache_close(struct fdl_chunk_cache *c); /* NULL is fine */

/* Objects of this location's group are about to be used. */
void fdl_chunk_cache_use(struct fdl_chunk_cache *c, const char *location);

/* What is there of an object; false: nothing. To be closed. */
bool fdl_chunk_cache_find(const struct fdl_chunk_cache *c,
                          const struct fdl_chunk_key *key,
                          struct fdl_chunk_file *out);

/* Whether more may be stored, as far as is known. */
bool fdl_chunk_cache_takes(const struct fdl_chunk_cache *c);

/* Part of an object of `size` bytes: `bytes` from `offset` on, a multiple of
 * FDL_CHUNK_BYTES; they end with a chunk or with the object. anew: what is
 * there of them is damaged. false: they could not be written. */
bool fdl_chunk_cache_store(struct fdl_chunk_cache *c,
                           const struct fdl_chunk_key *key, uint64_t size,
                           uint64_t offset, const uint8_t *data, uint64_t bytes,
                           bool anew);

struct fdl_chunk_cache_state {
    bool full;
    const char *step; /* what failed; NULL: nothing */
    int error;        /* errno of it */
    uint64_t budget;
};

void fdl_chunk_cache_get(const struct fdl_chunk_cache *c,
                         struct fdl_chunk_cache_state *out);

#endif
