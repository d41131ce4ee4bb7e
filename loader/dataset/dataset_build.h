/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the builders of data sets (dataset_*.c) share. A builder creates the
 * table, adds sample after sample, finishes it and hands it out:
 *
 *     fdl_dataset_create -> fdl_dataset_add_joined ... -> fdl_dataset_finish
 *
 * and on any error drops what it has with fdl_dataset_unref.
 */
#ifndef FDL_LOADER_DATASET_BUILD_H
#define FDL_LOADER_DATASET_BUILD_H

#include "loader/dataset/dataset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NUL-terminated strings, one after the other, named by their offsets, as the
 * text may move while it grows. Starts zeroed; text is freed with free(). */
struct fdl_strings {
    char *text;
    uint64_t bytes, capacity;
};

/* Adds prefix and name as one string. ENOMEM. */
int32_t fdl_strings_add(struct fdl_strings *a, const char *prefix,
                        const char *name, uint64_t *at);

/* Room for n + 1 elements of `each` bytes in *array, whose capacity is
 * *capacity; what: for the message. ENOMEM, with everything unchanged. */
int32_t fdl_array_reserve(void **array, uint64_t *capacity, uint64_t n,
                          size_t each, const char *what);

/* A sample whose name is prefix and name, one behind the other. */
int32_t fdl_dataset_add_joined(feedline_dataset *ds, const char *prefix,
                               const char *name, int64_t label);

/* For samples in memory: reserves room for `count` of them; then adds them one
 * after the other, named "PLACE:0", "PLACE:1", ...; data stays where it is.
 * ENOMEM. */
int32_t fdl_dataset_reserve_memory(feedline_dataset *ds, uint64_t count);
int32_t fdl_dataset_add_memory(feedline_dataset *ds, const char *place,
                               const void *data, uint64_t size, int64_t label);

/* Completes the table: returns spare memory and computes the fingerprint. A
 * leading `root` ("" if none) of names does not count, so a data set that was
 * moved keeps its fingerprint. */
void fdl_dataset_finish(feedline_dataset *ds, const char *root);

/* Afterwards: adds bytes to the fingerprint. */
void fdl_dataset_finish_bytes(feedline_dataset *ds, const void *bytes,
                              uint64_t size);

/* The whole file, followed by a NUL. ENOENT, EIO, ENOMEM; *out for free(). */
int32_t fdl_file_load(const char *path, char **out, uint64_t *bytes);

/* The status for errno on a path: ENOENT if it is missing, else EIO. */
int32_t fdl_fail_path(const char *path, int error);

/* Whether a file with this start is an IDX file, or a compressed one. */
bool fdl_idx_is_file(const char *start, uint64_t bytes);

/* The training images in a folder, NULL if there are none; for free(). */
int32_t fdl_idx_find_images(const char *folder, char **out);

/* Order of names as Python's sorted(): by code point, where a byte that is not
 * UTF-8 counts as U+DC00 plus itself. */
int fdl_name_compare(const char *a, const char *b);

#endif
