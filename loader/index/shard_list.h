/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files a name means: "train-{000..146}.tar", "a.tar::b.tar", a folder
 * ("s3://bucket/train/", too), whose files with the format's endings count, or
 * one file; and "${NAME}", what WDS_NAME is in the environment.
 */
#ifndef FDL_LOADER_SHARD_LIST_H
#define FDL_LOADER_SHARD_LIST_H

#include "base/grow.h"

#include <stdint.h>

/* EINVAL: too many. */
int32_t fdl_shard_list_add(struct fdl_string_list *l, const char *folder,
                           const char *name);

/* Adds the files that `path` means. endings: up to a NULL. ENOENT: a folder
 * without such files; EINVAL: braces that do not pair, or too many files. */
int32_t fdl_shard_list_find(struct fdl_string_list *l, const char *path,
                            const char *const *endings);

#endif
