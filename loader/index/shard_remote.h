/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shard in a store, while it is indexed: parts of it, larger ones as long as
 * they follow each other, so that a walk from header to header is one pass over
 * the shard and not a request for each.
 */
#ifndef FDL_LOADER_SHARD_REMOTE_H
#define FDL_LOADER_SHARD_REMOTE_H

#include "loader/index/shard.h"

/* Asks for its first part, and so for its size and tag. `state` is made of
 * these. ENOENT, EIO, ENOSYS, ENOMEM. */
int32_t fdl_shard_remote_open(struct fdl_shard *s, const char *path);
void fdl_shard_remote_close(struct fdl_shard *s);

/* The buffer becomes the n bytes from offset on, which are in the shard, and
 * what follows. */
int32_t fdl_shard_remote_load(struct fdl_shard *s, uint64_t offset, uint64_t n);

#endif
