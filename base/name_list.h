/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Very many names, one behind the other:
 *
 *     text    a/1.jpg\0a/2.jpg\0 ...   b/1.jpg\0 ...
 *     blocks  0                        512 ...     8 bytes for FDL_NAME_BLOCK
 *     at      0        8 ...           0 ...       4 bytes each, in the block
 *
 * So a name takes its own bytes and little more than four. Starts zeroed. One
 * thread at a time; any, as long as nothing changes.
 */
#ifndef FDL_BASE_NAME_LIST_H
#define FDL_BASE_NAME_LIST_H

#include "base/grow.h"

#include <stdint.h>
#include <string.h>

#define FDL_NAME_BLOCK 64u

struct fdl_name_list {
    struct fdl_strings text;
    uint64_t *blocks; /* offsets in text */
    uint32_t *at;     /* [n] offsets behind those */
    uint64_t n, capacity, blocks_capacity;
};

/* Adds prefix and name as one. ENOMEM; ERANGE: 4 GiB within a block. */
int32_t fdl_name_list_add(struct fdl_name_list *l, const char *prefix,
                          const char *name);

/* Gives spare memory back: no more will be added. */
void fdl_name_list_trim(struct fdl_name_list *l);
void fdl_name_list_free(struct fdl_name_list *l);

/* Valid until the next one is added. */
static inline const char *fdl_name_list_at(const struct fdl_name_list *l,
                                           uint64_t i)
{
    return l->text.text + l->blocks[i / FDL_NAME_BLOCK] + l->at[i];
}

#endif
