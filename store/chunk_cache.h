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
 * says why. Nobody waits for the disk to write: a thread of the cache does that
 * (chunk_queue.h), and what comes faster is not stored.
 */
#ifndef FDL_STORE_CHUNK_CACHE_H
#define FDL_STORE_CHUNK_CACHE_H

#include "store/chunk_file.h"
#include "store/chunk_queue.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_chunk_cache;

/* budget: bytes; 0: half of what is free there and of what it has.
 * most_waiting: bytes in memory that are to be written. The folder is made if
 * it is missing. NULL: no memory. */
struct fdl_chunk_cache *fdl_chunk_cache_open(const char *folder,
                                             uint64_t budget,
                                             uint64_t most_waiting);

/* What waits is written. NULL is fine. */
void fdl_chunk_cache_close(struct fdl_chunk_cache *c);

/* Objects of this location's group are about to be used. */
void fdl_chunk_cache_use(struct fdl_chunk_cache *c, const char *location);

/* What is there of an object; false: nothing. To be closed. */
bool fdl_chunk_cache_find(const struct fdl_chunk_cache *c,
                          const struct fdl_chunk_key *key,
                          struct fdl_chunk_file *out);

/* Whether all of these chunks of the file were found right before; they have
 * been. */
bool fdl_chunk_cache_knows(const struct fdl_chunk_cache *c,
                           const struct fdl_chunk_file *f, uint64_t first,
                           uint64_t n);
void fdl_chunk_cache_learn(const struct fdl_chunk_cache *c,
                           const struct fdl_chunk_file *f, uint64_t first,
                           uint64_t n);

/* Whether more may be stored, as far as is known. */
bool fdl_chunk_cache_takes(const struct fdl_chunk_cache *c);

/* Part of an object of `size` bytes: `bytes` from `offset` on, a multiple of
 * FDL_CHUNK_BYTES; they end with a chunk or with the object. anew: what is
 * there of them is damaged. store: here and now; false: they could not be
 * written. offer: later, and a copy of them, if there is room for it. */
bool fdl_chunk_cache_store(struct fdl_chunk_cache *c,
                           const struct fdl_chunk_job *part);
void fdl_chunk_cache_offer(struct fdl_chunk_cache *c,
                           const struct fdl_chunk_job *part);

/* Bytes of copies that wait. */
uint64_t fdl_chunk_cache_memory(const struct fdl_chunk_cache *c);

struct fdl_chunk_cache_state {
    bool full;
    const char *step; /* what failed; NULL: nothing */
    int error;        /* errno of it */
    uint64_t budget;
    uint64_t errors;        /* what could not be written, times */
    uint64_t skipped_bytes; /* what came faster than it could be */
};

void fdl_chunk_cache_get(const struct fdl_chunk_cache *c,
                         struct fdl_chunk_cache_state *out);

#endif
