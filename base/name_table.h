/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that are numbered from 0 on in the order in which they come, each once.
 * One thread at a time.
 */
#ifndef FDL_BASE_NAME_TABLE_H
#define FDL_BASE_NAME_TABLE_H

#include "base/grow.h"

#include <stdint.h>

/* Zeroed memory is an empty table. */
struct fdl_name_table {
    struct fdl_string_list names; /* by number */
    uint32_t *buckets;            /* number + 1, or 0 */
    uint64_t n_buckets;
};

/* The number of name, which it gets if it is new. ENOMEM. */
int32_t fdl_name_table_add(struct fdl_name_table *t, const char *name,
                           uint64_t *number);
void fdl_name_table_free(struct fdl_name_table *t);

#endif
