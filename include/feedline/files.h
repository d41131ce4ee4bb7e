/* SPDX-License-Identifier: Apache-2.0 */
/*
 * More about files: which ones a folder lists, and data sets of parts of files,
 * for formats that feedline_dataset_open does not know.
 *
 * Statuses and strings as in feedline.h; any thread.
 */
#ifndef FEEDLINE_FILES_H
#define FEEDLINE_FILES_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FEEDLINE_ENDING_LISTED  0x1u /* "folder:" takes it for an image    */
#define FEEDLINE_ENDING_DECODED 0x2u /* of a format that this build decodes */

/* How names of image files end, in lower case (".jpg"); NULL past the end.
 * *flags: FEEDLINE_ENDING_*. Listed is what torchvision's ImageFolder lists.
 * Whether a file is decoded depends on its content, not on its name. */
FEEDLINE_API const char *feedline_image_ending(uint32_t index, uint32_t *flags);

/* Schemes of the shards that feedline_dataset_open indexes ("zip:"); NULL past
 * the end. *help: what they are, in one line. Their options, which follow the
 * names of shards as "?name=value&name=value": feedline_option_get_info(scheme,
 * ...). */
FEEDLINE_API const char *feedline_shard_scheme(uint32_t index,
                                               const char **help);

/* Where a sample lies in a file. */
struct feedline_extent {
    uint64_t offset; /* of its first byte */
    uint32_t file;   /* which one of the files */
    uint32_t length; /* in bytes; FEEDLINE_TO_END: all from there on */
};
#define FEEDLINE_TO_END UINT32_MAX

/* Samples that are parts of files. Everything is copied. */
struct feedline_extents {
    uint32_t struct_size;
    uint32_t n_files;
    const char *const *files;              /* [n_files] */
    const struct feedline_extent *extents; /* [count] */
    const int64_t *labels;                 /* [count]; NULL: all 0 */
    const char *const *names; /* [count], for messages; NULL: by their offset */
    uint64_t count;
    const char *const *classes; /* [n_classes], by label; NULL: no names */
    uint64_t n_classes;
};

/* For formats whose samples lie contiguously in a few large files, when the
 * program knows where. EINVAL: nothing in it, a NULL where there may be none,
 * or an extent of a file that is not in the list. That files are long enough
 * is seen when they are read. */
FEEDLINE_API int32_t feedline_dataset_open_extents(
    const struct feedline_extents *extents, feedline_dataset **out);

#ifdef __cplusplus
}
#endif

#endif
