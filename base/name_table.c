/* SPDX-License-Identifier: Apache-2.0 */
#include "base/name_table.h"

#include "base/status.h"
#include "base/text_hash.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 64 /* a power of two; at least twice the names */

const char *fdl_name_table_text(const struct fdl_name_table *t, uint64_t i)
{
    return t->text.text + t->at[i];
}

void fdl_name_table_free(struct fdl_name_table *t)
{
    free(t->text.text);
    free(t->at);
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
            strcmp(fdl_name_table_text(t, *bucket - 1), name) == 0)
            return bucket;
    }
}

static int32_t grow_buckets(struct fdl_name_table *t)
{
    if (t->n_buckets > 2 * t->n)
        return FEEDLINE_OK;
    uint64_t n = t->n_buckets ? 2 * t->n_buckets : FIRST_BUCKETS;
    uint32_t *buckets = calloc(n, sizeof(*buckets));
    if (!buckets)
        return fdl_fail_memory(n * sizeof(*buckets), "names");
    free(t->buckets);
    t->buckets = buckets;
    t->n_buckets = n;
    for (uint64_t i = 0; i < t->n; i++)
        *bucket_of(t, fdl_name_table_text(t, i)) = (uint32_t)i + 1;
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
        status = fdl_array_reserve(&t->at, &t->capacity, t->n, sizeof(*t->at),
                                   "names");
        if (status == FEEDLINE_OK)
            status = fdl_strings_add(&t->text, "", name, &t->at[t->n]);
        if (status)
            return status;
        *bucket = (uint32_t)++t->n;
    }
    *number = *bucket - 1;
    return FEEDLINE_OK;
}
