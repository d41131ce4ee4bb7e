/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk collects folders and the images in them, folder by folder from a list
 * that grows while it is walked: one is open at a time, whatever the depth.
 * What the index cache has of a folder that did not change is taken from it.
 * One thread at a time; several walks may share a cache.
 */
#ifndef FDL_LOADER_FOLDER_WALK_H
#define FDL_LOADER_FOLDER_WALK_H

#include "base/grow.h"
#include "loader/index/index_cache.h"

#include <stdint.h>
#include <sys/types.h>

struct fdl_folder {
    uint64_t path_at; /* in the arena: below the root, with a final '/' */
    uint64_t parent;  /* the root is its own */
    dev_t device;
    ino_t inode;
    struct fdl_stamp stamp;
    uint64_t first_folder; /* found in it, up to the end of its scan */
    uint64_t first_file, n_files;
    const uint8_t *cached; /* what the cache has of it, or NULL */
    uint64_t kept_at, kept_bytes;
};

struct fdl_walk {
    const char *root; /* as given, with a '/' at its end */
    int root_fd;
    const struct fdl_cache *cache;
    struct fdl_strings text;
    struct fdl_folder *folders; /* [0] is the root */
    uint64_t n_folders, folders_capacity;
    uint64_t *files; /* names in the arena, folder by folder, in order */
    uint64_t n_files, files_capacity;
    struct fdl_strings kept; /* for the cache: what was listed anew */
    uint64_t first_kept;     /* folders before it are another walk's */
};

const char *fdl_walk_path(const struct fdl_walk *w, const struct fdl_folder *f);

/* prefix and name must not lie in the arena, which may move. ENOMEM. */
int32_t fdl_walk_add(struct fdl_walk *w, const char *prefix, const char *name,
                     uint64_t parent);

/* Adds to `files`; which folder has it is the caller's to say. ENOMEM. */
int32_t fdl_walk_add_file(struct fdl_walk *w, const char *name);

/* Lists a folder that was added. ENOENT, EIO, EINVAL: a link that leads back;
 * ENOMEM. */
int32_t fdl_walk_scan(struct fdl_walk *w, uint64_t index);

/* Adds its folders to the cache that is written. */
void fdl_walk_keep(const struct fdl_walk *w, struct fdl_cache_writer *out);
void fdl_walk_free(struct fdl_walk *w);

#endif
