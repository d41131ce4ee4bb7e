/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checked sizes and aligned memory.
 *
 * Large page blocks start on a 2 MiB boundary, because a huge page can only
 * back an aligned 2 MiB of address space: mmap alone promises 4 KiB, so more
 * is reserved and what lies outside is given back.
 */
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE_BYTES ((size_t)2 << 20) /* x86-64; elsewhere only a hint */

bool fdl_mul_size(size_t a, size_t b, size_t *out)
{
    if (a != 0 && b > SIZE_MAX / a)
        return false;
    *out = a * b;
    return true;
}

bool fdl_add_size(size_t a, size_t b, size_t *out)
{
    if (b > SIZE_MAX - a)
        return false;
    *out = a + b;
    return true;
}

/* unit: a power of two. */
static bool round_up(size_t bytes, size_t unit, size_t *out)
{
    size_t padded;
    if (!fdl_add_size(bytes, unit - 1, &padded))
        return false;
    *out = padded & ~(unit - 1);
    return true;
}

void *fdl_alloc_aligned(size_t bytes)
{
    size_t rounded;
    if (!round_up(FDL_MAX(bytes, 1), FDL_CACHE_LINE, &rounded))
        return NULL;
    return aligned_alloc(FDL_CACHE_LINE, rounded);
}

static bool page_bytes(size_t bytes, size_t *out)
{
    return round_up(FDL_MAX(bytes, 1), (size_t)sysconf(_SC_PAGESIZE), out);
}

static void *map_pages(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void *map_huge(size_t bytes)
{
    size_t reserved;
    if (!fdl_add_size(bytes, HUGE_PAGE_BYTES, &reserved))
        return NULL;
    char *base = map_pages(reserved);
    if (!base)
        return NULL;

    size_t head = -(uintptr_t)base & (HUGE_PAGE_BYTES - 1);
    size_t tail = HUGE_PAGE_BYTES - head;
    if (head > 0)
        munmap(base, head);
    munmap(base + head + bytes, tail); /* head < HUGE_PAGE_BYTES: never empty */
    madvise(base + head, bytes, MADV_HUGEPAGE); /* a hint: may be refused */
    return base + head;
}

void *fdl_pages_alloc(size_t bytes)
{
    size_t rounded;
    if (!page_bytes(bytes, &rounded))
        return NULL;
    return rounded < HUGE_PAGE_BYTES ? map_pages(rounded) : map_huge(rounded);
}

void fdl_pages_free(void *p, size_t bytes)
{
    size_t rounded;
    if (p && page_bytes(bytes, &rounded))
        munmap(p, rounded);
}

char *fdl_strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}
