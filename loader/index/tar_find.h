/* SPDX-License-Identifier: Apache-2.0 */
/* Which shards the name of a tar data set means. */
#ifndef FDL_LOADER_TAR_FIND_H
#define FDL_LOADER_TAR_FIND_H

#include "loader/index/shard_list.h"

/* Patterns, folders and files, or the JSON index of wids, whose shards must
 * have the sizes that it says. ENOSYS: a stream. */
int32_t fdl_tar_find(const char *path, struct fdl_shard_list *out);

#endif
