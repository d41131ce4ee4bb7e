/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a chunk cache as a whole: counting them, and removing those of
 * earlier jobs. */
#ifndef FDL_STORE_CHUNK_GROUPS_H
#define FDL_STORE_CHUNK_GROUPS_H

#include <stdint.h>

/* Bytes on the disk. What was left half made goes; nobody else uses the folder.
 */
uint64_t fdl_chunk_groups_count(int folder);

/* Removes some files of the group that was used least recently, if that was
 * before since_ns. Returns their bytes; 0: there is none. */
uint64_t fdl_chunk_groups_remove(int folder, int64_t since_ns);

#endif
