/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where memory of this process really lies, by /proc/self/numa_maps. Asking for
 * a node and touching pages from there are wishes; a full node, or a container
 * that may not ask, sends pages elsewhere without a word. (move_pages tells it
 * page by page, but is not allowed where mbind is not.)
 */
#ifndef FDL_PROFILER_NUMA_MAPS_H
#define FDL_PROFILER_NUMA_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#define FDL_NUMA_NODES 64u /* those beyond are not counted */

struct fdl_numa_bytes {
    uint64_t node[FDL_NUMA_NODES];
};

/* Of the mappings that n addresses are in. The kernel looks at every page of
 * the process for this: tens of ms where it has tens of GB. root: as in
 * sysfile.h. false: it does not say. */
bool fdl_numa_maps_read(const char *root, const void *const *at, uint32_t n,
                        struct fdl_numa_bytes *out);

/* "97 % on NUMA node 1, 3 % on NUMA node 0", the most first. */
void fdl_numa_bytes_print(const struct fdl_numa_bytes *b, char *text,
                          uint64_t capacity);

#endif
