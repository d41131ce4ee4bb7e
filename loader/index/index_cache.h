/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What listing a large data set found, kept in a file, so that the next start
 * reads that one file and asks for the state of each shard (or folder) alone.
 * One file per data set, in $FEEDLINE_CACHE_DIR, else $XDG_CACHE_HOME/feedline,
 * else ~/.cache/feedline; FEEDLINE_CACHE_DIR=off: none.
 *
 * An entry is what was found in one path, as its owner writes it. It is valid
 * while the path's stamp is: size, inode, and when contents and inode were last
 * changed, to the nanosecond. The kernel alone sets the last of them, so a tool
 * that restores times does not go unseen. Two changes within one tick of a file
 * system's clock (2 s at most) look the same: a path that was changed less than
 * 2 s before it was looked at is not kept. A file's stamp may have a hash of
 * some of its contents as well, for storage whose stamps are not to be trusted:
 * network file systems, images that are mounted in place of others.
 *
 * Nothing here fails: a cache that is missing, damaged, another data set's or
 * version's, or cannot be written, is no cache, and the log says so.
 */
#ifndef FDL_LOADER_INDEX_CACHE_H
#define FDL_LOADER_INDEX_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Smaller data sets are listed as quickly as they are read: nothing is kept. */
#define FDL_CACHE_LEAST_SAMPLES 10000u

struct fdl_stamp {
    uint64_t size, inode;
    int64_t changed_ns, inode_changed_ns;
    uint64_t contents; /* fdl_shard_sample; 0: nobody has looked */
};

/* Of the file of a data set, for free(); NULL: none is kept. make_folders: as
 * mkdir -p of the folder that it is in; what fails is told by its open. */
char *fdl_cache_path(uint64_t identity, const char *ending);
void fdl_cache_make_folders(char *path);

/* Without contents. All 0, which nothing has, where the last change is too
 * recent. */
struct fdl_stamp fdl_stamp_of(const struct stat *st);
bool fdl_stamp_is_set(const struct fdl_stamp *stamp);

struct fdl_cache {
    char *path;                      /* of the file; NULL: none is kept */
    char *identity;                  /* of the data set */
    char *bytes;                     /* of all of it */
    struct fdl_cache_entry *entries; /* by path */
    uint64_t n;
};

/* Reads the cache of a data set. kind, spec: what it is, with its options;
 * relative names in spec are meant from the current folder. */
void fdl_cache_open(struct fdl_cache *c, const char *kind, const char *spec);
void fdl_cache_close(struct fdl_cache *c);

/* Nothing that was read is valid. */
void fdl_cache_forget(struct fdl_cache *c);

/* What is kept of the path, valid until the close; NULL: nothing, or its stamp
 * is another. If that has no contents, it gets those that were kept. Any
 * thread. */
const uint8_t *fdl_cache_find(const struct fdl_cache *c, const char *path,
                              struct fdl_stamp *stamp, uint64_t *bytes);

/* Replaces the file: begin (NULL: none is kept), each entry, end. Entries
 * without a stamp are left out. */
struct fdl_cache_writer;
struct fdl_cache_writer *fdl_cache_begin(const struct fdl_cache *c);
void fdl_cache_add(struct fdl_cache_writer *w, const char *path,
                   const struct fdl_stamp *stamp, const void *data,
                   uint64_t bytes);
void fdl_cache_end(struct fdl_cache_writer *w);

#endif
