/* SPDX-License-Identifier: Apache-2.0 */
#include "base/name_table.h"

#include "base/status.h"
#include "base/text_hash.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 64 /* a power of two; at least twice the names */

void fdl_name_table_free(struct fdl_name_table *t)
{
    fdl_string_list_free(&t->names);
    free(t->buckets);
    *t = (struct fdl_name_table){0};
}

/* Where the name is, or where it would go. */
static uint32_t *bucket_of(const struct fdl_name_table *t, const char *name)
{
    uint64_t at = fdl_hash_text(name);
    for (;; at++) {
        uint32_t *bucket = &t->buckets[at & (t->n_buckets - 1)];
        if (*bucket == 0 ||
            strcmp(fdl_string_list_at(&t->names, *bucket - 1), name) == 0)
            return bucket;
    }
}

static int32_t grow_buckets(struct fdl_name_table *t)
{
    if (t->n_buckets > 2 * t->names.n)
        return FEEDLINE_OK;
    uint64_t n = t->n_buckets ? 2 * t->n_buckets : FIRST_BUCKETS;
    uint32_t *buckets = calloc(n, sizeof(*buckets));
    if (!buckets)
        return fdl_fail_memory(n * sizeof(*buckets), "names");
    free(t->buckets);
    t->buckets = buckets;
    t->n_buckets = n;
    for (uint64_t i = 0; i < t->names.n; i++)
        *bucket_of(t, fdl_string_list_at(&t->names, i)) = (uint32_t)i + 1;
    return FEEDLINE_OK;
}

int32_t fdl_name_table_add(struct fdl_name_table *t, const char *name,
                           uint64_t *number)
{
    int32_t status = grow_buckets(t);
    if (status)
        return status;
    uint32_t *bucket = bucket_of(t, name);
    if (*bucket == 0) {
        status = fdl_string_list_add(&t->names, "", name);
        if (status)
            return status;
        *bucket = (uint32_t)t->names.n;
    }
    *number = *bucket - 1;
    return FEEDLINE_OK;
}
