/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Class folders in a store: the same walk (folder_walk.h) from lists of
 * objects, for a store has no folders, only names with '/' in them.
 *
 *     top      a list of one level: the classes
 *     class    a list of all that is below it, several classes at once
 *
 * No store says when a list has changed, so it is asked for at each start,
 * unless one that was kept is to do; then only what is not kept is asked for.
 */
#ifndef FDL_LOADER_FOLDER_OBJECTS_H
#define FDL_LOADER_FOLDER_OBJECTS_H

#include "loader/dataset/folder_walk.h"
#include "store/store.h"

/* Lists asked for at once. */
#define FDL_LISTS_AT_ONCE 32u

/* Lists w->root: adds the folders right below it to folder 0, which was added,
 * and the images. kept: what w->cache has will do; folder 0 is `cached` then.
 * EINVAL: a folder without a name; as a list: ENOENT, EIO, ENOSYS, ENOMEM. */
int32_t fdl_walk_list_top(struct fdl_walk *w, struct fdl_store *store,
                          bool kept);

/* Lists all below folder 1, a class that was added: the folders that have
 * images, in order, each with its images in order; behind each name is the
 * object's tag. kept: as above, of folder 1. */
int32_t fdl_walk_list_class(struct fdl_walk *w, struct fdl_store *store,
                            bool kept);

/* The list of a store at an address; "?list=kept" may be asked for then. */
void fdl_walk_open_lists(struct fdl_cache *cache, struct fdl_store *store,
                         const char *location);

/* Adds what was listed to the cache that is written: of the top, of a class. */
void fdl_walk_keep_top(const struct fdl_walk *w, struct fdl_cache_writer *out);
void fdl_walk_keep_class(const struct fdl_walk *w,
                         struct fdl_cache_writer *out);

#endif
