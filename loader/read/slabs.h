/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of read buffers: pieces of huge pages, where the kernel has those. A
 * direct read pins what it writes to, page by page, and that is most of what it
 * costs: of 112 KB 16 to 20 microseconds in small pages, 9 in a huge one. As
 * much as registered buffers save, without their locked memory, and with pread.
 *
 * A slab is one huge page in pieces of one size, and goes when all of them are
 * free. Until then those that are free have no memory, so the sum over pieces
 * in use is what is in use. Large pieces are mapped one by one.
 */
#ifndef FDL_LOADER_SLABS_H
#define FDL_LOADER_SLABS_H

#include "base/lock.h"

#include <stdint.h>

struct fdl_slab;

struct fdl_slabs {
    struct fdl_lock lock; /* guards the list */
    struct fdl_slab *first;
};

void fdl_slabs_init(struct fdl_slabs *s);

/* All pieces are free. */
void fdl_slabs_fini(struct fdl_slabs *s);

/* The size of the piece for `bytes`, which are far from UINT64_MAX. */
uint64_t fdl_slabs_round(uint64_t bytes);

/* bytes: rounded. Whole pages; NULL: out of memory. Any thread. */
void *fdl_slabs_alloc(struct fdl_slabs *s, uint64_t bytes);
void fdl_slabs_free(struct fdl_slabs *s, void *piece, uint64_t bytes);

#endif
