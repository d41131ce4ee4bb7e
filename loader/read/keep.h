/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which part of a data set that is larger than memory stays in the kernel's
 * page cache. An epoch reads everything once in a new order, so a cache that
 * replaces evicts most pages before they are read again: where half of the data
 * fits it hits 15 times in 100. One that keeps what it has hits 50 times.
 *
 *     file     |  block 0  |  block 1  |  block 2  |  block 3  |
 *     kept?         yes          no         yes          no
 *     a sample   ======     ===========                            read as ever
 *     dropped                ^^^^^^^^^^                            then
 *
 * Nothing is stored: a block is kept if its number, hashed with the name of its
 * file, lies below a threshold, so all ranks and later runs keep the same
 * blocks, in one copy for all, and a larger budget keeps them all and more.
 * Blocks of one file are spread by the golden ratio: of any run of them, nearly
 * the exact share is kept.
 */
#ifndef FDL_LOADER_KEEP_H
#define FDL_LOADER_KEEP_H

#include <stdbool.h>
#include <stdint.h>

/* Blocks, not samples, so that each page has one fate. A multiple of every
 * page size. Of samples of 110 KB one in forty lies across two. */
#define FDL_KEEP_BLOCK ((uint64_t)4 << 20)

/* Zeroed memory keeps everything. */
struct fdl_keep {
    bool drops;         /* false: everything is kept */
    uint64_t threshold; /* of hashes; those below are kept */
    const char *root;   /* leading part of names that does not count, or NULL */
};

/* Of `total` bytes `budget` stay. total or budget 0: everything does. */
void fdl_keep_init(struct fdl_keep *k, uint64_t budget, uint64_t total,
                   const char *root);

/* Of a file's name, as it has it in the data set. */
uint64_t fdl_keep_hash(const struct fdl_keep *k, const char *name);

/* block: number of FDL_KEEP_BLOCK in the file whose name has that hash. */
bool fdl_keep_has(const struct fdl_keep *k, uint64_t hash, uint64_t block);

/* Whether the block is kept that a sample at `offset` of a file begins in. */
bool fdl_keep_begins(const struct fdl_keep *k, const char *name,
                     uint64_t offset);

/* `size` bytes at `offset` of fd have been read: those that are not kept leave
 * the page cache. What the kernel does not drop costs memory, nothing else. */
void fdl_keep_drop(const struct fdl_keep *k, int fd, const char *name,
                   uint64_t offset, uint64_t size);

#endif
