/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a chunk cache has of one object: a sparse file, in the machine's own
 * byte order.
 *
 *     head     who the object is, and how large
 *     sums     a CRC-32C of each chunk, 0: not there
 *     chunks   as in the object                      from a multiple of 64 KiB
 *
 * A chunk counts only if its sum is right, which has the object and the chunk's
 * number in it: whatever a process that died, a full disk or a damaged one left
 * behind is not there. So nobody waits for anybody: whoever has a chunk writes
 * it, and two that write the same one write the same bytes.
 *
 * Files are made beside their place and renamed: none is without its head. Each
 * has a number, drawn when it is made, for who remembers what he found in it.
 */
#ifndef FDL_STORE_CHUNK_FILE_H
#define FDL_STORE_CHUNK_FILE_H

#include "store/chunk_key.h"

#include <stdbool.h>
#include <stdint.h>

/* A page: of what a sample needs, little more is read than its bytes. */
#define FDL_CHUNK_BYTES ((uint64_t)4096)

struct fdl_chunk_file {
    int fd;
    uint64_t size;   /* of the object */
    uint64_t number; /* of this file: no other one has it */
    uint32_t seed;   /* of sums: the object's */
};

/* Chunks of an object, or of a part of it. */
static inline uint64_t fdl_chunks_of(uint64_t bytes)
{
    return (bytes + FDL_CHUNK_BYTES - 1) / FDL_CHUNK_BYTES;
}

/* The file at key->path in `folder`. errno; ENOENT: also that of another
 * object, or none of ours. */
int fdl_chunk_file_open(int folder, const struct fdl_chunk_key *key,
                        bool writes, struct fdl_chunk_file *out);

/* Makes one without chunks, in place of what is there. errno. */
int fdl_chunk_file_make(int folder, const struct fdl_chunk_key *key,
                        uint64_t size, struct fdl_chunk_file *out);
void fdl_chunk_file_close(struct fdl_chunk_file *f);

/* Whether the n chunks from `first` on, which are in the object, seem to be
 * there. */
bool fdl_chunk_file_has(const struct fdl_chunk_file *f, uint64_t first,
                        uint64_t n);

/* Reads them, each at its place. errno; EBADMSG: not all of them are there and
 * right; EAGAIN: without waiting it cannot be done. */
int fdl_chunk_file_read(const struct fdl_chunk_file *f, uint64_t first,
                        uint64_t n, uint8_t *to, bool wait);

/* Reads bytes of chunks that are there and right. errno; ENODATA: the file ends
 * before. */
int fdl_chunk_file_fill(const struct fdl_chunk_file *f, uint64_t offset,
                        uint64_t bytes, uint8_t *to, bool wait);

/* The kernel begins to read those bytes. */
void fdl_chunk_file_ahead(const struct fdl_chunk_file *f, uint64_t offset,
                          uint64_t bytes);

/* No name leads to it any more: no chunks will come. */
bool fdl_chunk_file_is_removed(const struct fdl_chunk_file *f);

/* Writes those of them that are not there, or all of them. *bytes: written, 0
 * for those that were there. errno. */
int fdl_chunk_file_write(const struct fdl_chunk_file *f, uint64_t first,
                         uint64_t n, const uint8_t *from, bool all,
                         uint64_t *bytes);

#endif
