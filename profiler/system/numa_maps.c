/* SPDX-License-Identifier: Apache-2.0 */
/* Where memory lies; see numa_maps.h. A line is one mapping:
 *
 *     7f2a40000000 prefer:1 anon=512 dirty=512 N0=12 N1=500 kernelpagesize_kB=4
 */
#include "profiler/system/numa_maps.h"

#include "profiler/system/sysfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_one(uintptr_t begin, uintptr_t end, const void *const *at,
                    uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if ((uintptr_t)at[i] >= begin && (uintptr_t)at[i] < end)
            return true;
    return false;
}

static void add_line(const char *line, struct fdl_numa_bytes *out)
{
    static const char size[] = " kernelpagesize_kB=";
    const char *end = line + strcspn(line, "\n");
    const char *kb = strstr(line, size);
    uint64_t bytes = 4096;
    if (kb && kb < end)
        bytes = strtoull(kb + sizeof(size) - 1, NULL, 10) * 1024;
    for (const char *p = line; (p = strstr(p, " N")) && p < end; p++) {
        uint32_t node;
        uint64_t pages;
        if (sscanf(p, " N%" SCNu32 "=%" SCNu64, &node, &pages) == 2 &&
            node < FDL_NUMA_NODES)
            out->node[node] += pages * bytes;
    }
}

/* A mapping ends, for us, where the next one begins. */
bool fdl_numa_maps_read(const char *root, const void *const *at, uint32_t n,
                        struct fdl_numa_bytes *out)
{
    char *text = fdl_sysfile_read(root, "/proc/self/numa_maps");
    uint64_t sum = 0;
    memset(out, 0, sizeof(*out));
    for (const char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        next = next ? next + 1 : line + strlen(line);
        uintptr_t begin = (uintptr_t)strtoull(line, NULL, 16);
        uintptr_t end =
            *next ? (uintptr_t)strtoull(next, NULL, 16) : UINTPTR_MAX;
        if (has_one(begin, end, at, n))
            add_line(line, out);
    }
    free(text);
    for (uint32_t i = 0; i < FDL_NUMA_NODES; i++)
        sum += out->node[i];
    return sum > 0;
}

static uint32_t largest(const struct fdl_numa_bytes *b)
{
    uint32_t most = 0;
    for (uint32_t i = 1; i < FDL_NUMA_NODES; i++)
        if (b->node[i] > b->node[most])
            most = i;
    return most;
}

void fdl_numa_bytes_print(const struct fdl_numa_bytes *b, char *text,
                          uint64_t capacity)
{
    struct fdl_numa_bytes left = *b;
    uint64_t sum = 0, at = 0;
    for (uint32_t i = 0; i < FDL_NUMA_NODES; i++)
        sum += b->node[i];
    text[0] = '\0';
    for (uint32_t i = largest(&left); left.node[i] > 0 && at < capacity;
         i = largest(&left)) {
        at += (uint64_t)snprintf(
            text + at, capacity - at, "%s%.0f %% on NUMA node %" PRIu32,
            at ? ", " : "", 100.0 * (double)left.node[i] / (double)sum, i);
        left.node[i] = 0;
    }
}
