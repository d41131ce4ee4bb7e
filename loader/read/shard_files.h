/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open files of samples that are parts of files: a shard is opened once and its
 * descriptor handed to sample after sample.
 *
 *     sample 1   open, fstat, read, keep
 *     others     take, read, give
 *
 * How many stay open is bounded by the process's limit. One that nobody reads
 * from makes way for another; while all are read from, the newcomer's sample
 * has a descriptor of its own, as samples that are whole files do.
 *
 * A descriptor is closed only by whoever got it from keep, give or drop, and
 * they hand out only those that nobody has taken and nobody can take any more.
 * So no read ever meets a number that the system has given to another file.
 *
 * A shard that is replaced while it is open is read as it was.
 */
#ifndef FDL_LOADER_SHARD_FILES_H
#define FDL_LOADER_SHARD_FILES_H

#include <stdbool.h>
#include <stdint.h>

/* Fixed while it is taken. */
struct fdl_open_shard {
    int fd;         /* -1: the place is free */
    uint32_t file;  /* of the data set */
    uint64_t size;  /* of the file when it was opened */
    uint32_t align; /* of direct reads; 0: through the page cache */
    uint32_t seed;  /* of what a cache has of a shard: as in chunk_file.h */
    uint64_t number;

    /* Under the table's lock. */
    uint64_t used;  /* when last; 0: the place is free */
    uint32_t users; /* who have taken it */
    bool bad;       /* a read failed: for those who have taken it only */
};

struct fdl_shard_files;

/* For files 0 to n_files - 1. ENOMEM. */
int32_t fdl_shard_files_create(uint64_t n_files, struct fdl_shard_files **out);

/* Closes all; none may be taken. NULL is fine. */
void fdl_shard_files_destroy(struct fdl_shard_files *s);

/* Any thread, with s == NULL too: nothing is kept then. All return without a
 * system call; what returns a descriptor returns one to be closed, or -1. */

/* NULL: it is not open, or not one of the files. */
struct fdl_open_shard *fdl_shard_take(struct fdl_shard_files *s, uint32_t file);

/* good: reading went well; else the file is opened anew next time. */
int fdl_shard_give(struct fdl_shard_files *s, struct fdl_open_shard *shard,
                   bool good);

/* shard->fd is an open file that nobody uses, from now on the table's, and so
 * is what is to be known of it. */
int fdl_shard_keep(struct fdl_shard_files *s,
                   const struct fdl_open_shard *shard);

/* For when descriptors have run out. */
int fdl_shard_drop(struct fdl_shard_files *s);

#endif
