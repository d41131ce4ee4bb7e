/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which chunks were read and found right, or written: as long as they are in
 * the page cache those are not checked again. A checksum costs a fifth of what
 * reading them there does, and what it finds, traces of a process that died, of
 * a power cut, of a disk that fails, is nothing that memory does.
 *
 * Chunks are those of a file, not of an object: whatever comes in place of a
 * file has another number.
 *
 *     name of 64 chunks in a row  -->  a bit for each
 *
 * Names are hashes of 64 bits. The table is bounded: what it forgets is checked
 * once more. Any thread.
 */
#ifndef FDL_STORE_CHUNK_CHECKED_H
#define FDL_STORE_CHUNK_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

struct fdl_chunk_checked;

/* NULL: no memory; both functions below take that. */
struct fdl_chunk_checked *fdl_chunk_checked_create(void);
void fdl_chunk_checked_destroy(struct fdl_chunk_checked *k);

/* Chunks first to first + n - 1 of the file with this number. */
bool fdl_chunk_checked_has(struct fdl_chunk_checked *k, uint64_t file,
                           uint64_t first, uint64_t n);
void fdl_chunk_checked_add(struct fdl_chunk_checked *k, uint64_t file,
                           uint64_t first, uint64_t n);

#endif
