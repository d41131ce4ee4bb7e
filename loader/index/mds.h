/* SPDX-License-Identifier: Apache-2.0 */
/* What MDS shards (index_mds.c) and their folder (mds_folder.c) share. */
#ifndef FDL_LOADER_MDS_H
#define FDL_LOADER_MDS_H

#include "loader/index/index_format.h"

#define FDL_MDS_JSON_DEPTH 16

/* The shards that index.json names, without it those in the folder. */
int32_t fdl_mds_find(const char *path, struct fdl_shard_list *out);

/* A copy of bytes of the file, and a NUL; *out for free(). */
int32_t fdl_mds_text(struct fdl_shard *s, uint64_t offset, uint64_t n,
                     char **out);

#endif
