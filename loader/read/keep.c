/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is not kept is read past the page cache where that can be (direct.h).
 * Elsewhere pages are dropped with POSIX_FADV_DONTNEED, which works on every
 * kernel and leaves pages alone that are dirty or mapped by somebody.
 * RWF_DONTCACHE costs more CPU time and exists since Linux 6.14.
 */
#include "loader/read/keep.h"

#include "base/compiler.h"

#define XXH_INLINE_ALL
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* 2^64 divided by the golden ratio. */
#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)

void fdl_keep_init(struct fdl_keep *k, uint64_t budget, uint64_t total,
                   const char *root)
{
    *k = (struct fdl_keep){.root = root};
    if (budget == 0 || total == 0 || budget >= total)
        return;
    k->drops = true;
    k->threshold = (uint64_t)ldexp((double)budget / (double)total, 64);
}

uint64_t fdl_keep_hash(const struct fdl_keep *k, const char *name)
{
    size_t n = k->root ? strlen(k->root) : 0;
    if (n > 0 && strncmp(name, k->root, n) == 0)
        name += n;
    return XXH3_64bits(name, strlen(name));
}

bool fdl_keep_has(const struct fdl_keep *k, uint64_t hash, uint64_t block)
{
    return !k->drops || hash + block * GOLDEN < k->threshold;
}

bool fdl_keep_begins(const struct fdl_keep *k, const char *name,
                     uint64_t offset)
{
    return !k->drops ||
           fdl_keep_has(k, fdl_keep_hash(k, name), offset / FDL_KEEP_BLOCK);
}

/* A page at the edge of a sample goes with it: its block has one fate. The
 * kernel takes parts of pages for pages to be left alone. */
static void drop(int fd, uint64_t from, uint64_t to)
{
    posix_fadvise(fd, (off_t)from, (off_t)(to - from), POSIX_FADV_DONTNEED);
}

void fdl_keep_drop(const struct fdl_keep *k, int fd, const char *name,
                   uint64_t offset, uint64_t size)
{
    if (!k->drops || size == 0)
        return;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t hash = fdl_keep_hash(k, name);
    uint64_t end = offset + size;
    for (uint64_t at = offset; at < end;) {
        uint64_t block = at / FDL_KEEP_BLOCK;
        uint64_t next = (block + 1) * FDL_KEEP_BLOCK;
        uint64_t to = FDL_MIN(next, (end + page - 1) / page * page);
        if (!fdl_keep_has(k, hash, block))
            drop(fd, at / page * page, to);
        at = next;
    }
}
