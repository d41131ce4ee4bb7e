/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/read/remote_cache.h"

#include <string.h>

/* Up to the last '/': of these names a data set has many with the same. */
static size_t group_bytes(const char *location)
{
    const char *end = strrchr(location, '/');
    return end ? (size_t)(end - location) : 0;
}

static const char *location_at(const feedline_dataset *ds, uint64_t i)
{
    return ds->extents ? fdl_string_list_at(&ds->files, i)
                       : fdl_name_list_at(&ds->names, i);
}

/* So that no other loader takes their room. */
static void use_all(struct fdl_chunk_cache *c, const feedline_dataset *ds)
{
    uint64_t n = ds->extents ? ds->files.n : ds->count;
    char last[1024] = "";
    for (uint64_t i = 0; i < n; i++) {
        const char *location = location_at(ds, i);
        size_t bytes = group_bytes(location);
        if (!fdl_store_has(location) ||
            (bytes < sizeof(last) && strncmp(location, last, bytes) == 0 &&
             !last[bytes]))
            continue;
        fdl_chunk_cache_use(c, location);
        bytes = FDL_MIN(bytes, sizeof(last) - 1);
        memcpy(last, location, bytes);
        last[bytes] = '\0';
    }
}

struct fdl_chunk_cache *fdl_remote_cache_open(const struct fdl_options *o,
                                              const feedline_dataset *ds,
                                              uint64_t memory_budget)
{
    const char *folder = fdl_option_text(o, FDL_OPT_REMOTE_CACHE);
    if (!*folder || !ds->remote)
        return NULL;
    struct fdl_chunk_cache *c = fdl_chunk_cache_open(
        folder, (uint64_t)fdl_option_int(o, FDL_OPT_REMOTE_CACHE_BUDGET),
        fdl_remote_cache_waiting(memory_budget));
    if (c)
        use_all(c, ds);
    return c;
}
