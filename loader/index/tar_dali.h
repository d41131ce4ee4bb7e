/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index that DALI's wds2idx writes beside a tar file, versions 1.1 and 1.2:
 *
 *     v1.2 SAMPLES
 *     EXTENSION OFFSET BYTES NAME [EXTENSION OFFSET BYTES NAME]...
 *
 * with a line for each sample; 1.1 has no names. What it says is where the
 * members' bytes are, so no header is read but some that show whether it is of
 * this shard.
 */
#ifndef FDL_LOADER_TAR_DALI_H
#define FDL_LOADER_TAR_DALI_H

#include "loader/index/tar_member.h"

/* Each member in turn, with a name whose key is the sample's. ENOENT: there is
 * no index, "SHARD up to its first dot.ENDING"; EINVAL, with its line: it is
 * damaged, older than the shard, or of another one; EIO, ENOMEM, and what take
 * returns. */
int32_t fdl_tar_dali_each(struct fdl_shard *s, const char *ending,
                          int32_t (*take)(void *user,
                                          const struct fdl_tar_member *m),
                          void *user);

#endif
