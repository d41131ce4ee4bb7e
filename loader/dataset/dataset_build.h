/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the builders of data sets (dataset_*.c) share. A builder creates the
 * table, adds sample after sample, finishes it and hands it out:
 *
 *     fdl_dataset_create -> fdl_dataset_add_joined ... -> fdl_dataset_finish
 *                                                      -> fdl_dataset_hand_out
 */
#ifndef FDL_LOADER_DATASET_BUILD_H
#define FDL_LOADER_DATASET_BUILD_H

#include "base/file.h"
#include "base/grow.h"
#include "loader/dataset/dataset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sample whose name is prefix and name, one behind the other. */
int32_t fdl_dataset_add_joined(feedline_dataset *ds, const char *prefix,
                               const char *name, int64_t label);

/* A sample that is a file, or an object. */
int32_t fdl_dataset_add_location(feedline_dataset *ds, const char *location,
                                 int64_t label);

/* For samples that are parts of files: adds a file, whose number is how many
 * there were before; then a sample, with its name within that file ("": none).
 * EINVAL, ENOMEM. */
int32_t fdl_dataset_add_file(feedline_dataset *ds, const char *path);
int32_t fdl_dataset_add_extent(feedline_dataset *ds, const char *name,
                               const struct feedline_extent *extent,
                               int64_t label);

/* What the sample that was added last has of each field: of `file`, or
 * FDL_NO_FILE: of those that the cells name. ENOMEM. */
int32_t fdl_dataset_add_cells(feedline_dataset *ds, const struct fdl_cell *from,
                              uint32_t file);

/* Closes a table of parts of files, as fdl_dataset_finish one of files. ENOMEM.
 */
int32_t fdl_dataset_finish_extents(feedline_dataset *ds);

/* For samples in memory: reserves room for `count` of them; then adds them one
 * after the other, named "PLACE:0", "PLACE:1", ...; data stays where it is.
 * ENOMEM. */
int32_t fdl_dataset_reserve_memory(feedline_dataset *ds, uint64_t count);
int32_t fdl_dataset_add_memory(feedline_dataset *ds, const char *place,
                               const void *data, uint64_t size, int64_t label);

/* The end of a builder: *out is the data set, which is gone if status is an
 * error. Returns that. */
int32_t fdl_dataset_hand_out(feedline_dataset *ds, int32_t status,
                             feedline_dataset **out);

/* Completes the table: returns spare memory and computes the fingerprint. A
 * leading `root` ("" if none) of names does not count, so a data set that was
 * moved keeps its fingerprint. */
void fdl_dataset_finish(feedline_dataset *ds, const char *root);

/* Names that were made for messages are made anew. */
void fdl_dataset_forget_names(feedline_dataset *ds);

/* Afterwards: adds bytes to the fingerprint. */
void fdl_dataset_finish_bytes(feedline_dataset *ds, const void *bytes,
                              uint64_t size);

/* The data set and every loader of it are gone. NULL is fine. */
void fdl_user_reader_free(struct fdl_user_reader *user);

/* Of a line that is a name, in place: a backslash before n, r and t stands for
 * what a line cannot hold, and before anything else for that itself. */
void fdl_unescape(char *text);

/* Whether a file with this start is an IDX file, or a compressed one. */
bool fdl_idx_is_file(const char *start, uint64_t bytes);

/* The training images in a folder, NULL if there are none; for free(). */
int32_t fdl_idx_find_images(const char *folder, char **out);

/* Order of names as Python's sorted(): by code point, where a byte that is not
 * UTF-8 counts as U+DC00 plus itself. */
int fdl_name_compare(const char *a, const char *b);

#endif
