/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/dataset/dataset_remote.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void fdl_dataset_remote_free(struct fdl_dataset_remote *r)
{
    if (!r)
        return;
    for (int kind = 0; kind < FDL_STORE_KINDS; kind++)
        fdl_store_close(r->stores[kind]);
    for (uint64_t i = 0; i < r->n_tags; i++)
        free(atomic_load_explicit(&r->tags[i], memory_order_relaxed));
    free(r->tags);
    fdl_string_list_free(&r->queries);
    free(r);
}

static int32_t add_query(struct fdl_dataset_remote *r, uint64_t number,
                         const char *query)
{
    int32_t status = FEEDLINE_OK;
    while (status == FEEDLINE_OK && r->queries.n < number)
        status = fdl_string_list_add(&r->queries, "", "");
    return status ? status : fdl_string_list_add(&r->queries, "", query);
}

int32_t fdl_dataset_remote_admit(struct fdl_dataset_remote **r, uint64_t number,
                                 const char **location, char **cut)
{
    enum fdl_store_kind kind = fdl_store_kind_of(*location);
    *cut = NULL;
    if (kind == FDL_STORE_KINDS)
        return FEEDLINE_OK;
    if (!*r)
        *r = calloc(1, sizeof(**r));
    if (!*r)
        return fdl_fail_memory(sizeof(**r), "a data set");
    struct fdl_store **store = &(*r)->stores[kind];
    int32_t status = *store ? FEEDLINE_OK : fdl_store_open(*location, store);
    size_t shown = fdl_store_shown_bytes(*location);
    if (status || !(*location)[shown])
        return status;
    *cut = strndup(*location, shown);
    if (!*cut)
        return fdl_fail_memory(shown, "a location");
    status = add_query(*r, number, *location + shown);
    *location = *cut;
    return status;
}

static int32_t grow_tags(struct fdl_dataset_remote *r, uint64_t n)
{
    if (n <= r->n_tags)
        return FEEDLINE_OK;
    n = FDL_MAX(n, 2 * r->n_tags);
    fdl_tag *tags = calloc(n, sizeof(*tags));
    if (!tags)
        return fdl_fail_memory(n * sizeof(*tags), "a data set's objects");
    for (uint64_t i = 0; i < r->n_tags; i++)
        atomic_init(&tags[i],
                    atomic_load_explicit(&r->tags[i], memory_order_relaxed));
    free(r->tags);
    r->tags = tags;
    r->n_tags = n;
    return FEEDLINE_OK;
}

int32_t fdl_dataset_remote_finish(struct fdl_dataset_remote *r, uint64_t n)
{
    return r ? grow_tags(r, n) : FEEDLINE_OK;
}

int32_t fdl_dataset_remote_set_tag(struct fdl_dataset_remote *r, uint32_t file,
                                   uint64_t n_files, const char *tag)
{
    int32_t status = grow_tags(r, n_files);
    char *copy = status ? NULL : fdl_strdup(tag);
    if (!status && !copy)
        status = fdl_fail_memory(strlen(tag), "a data set's objects");
    if (!status)
        atomic_init(&r->tags[file], copy);
    return status;
}

struct fdl_store *fdl_dataset_remote_find(const struct fdl_dataset_remote *r,
                                          const char *path, uint64_t number,
                                          const char **query, fdl_tag **tag)
{
    enum fdl_store_kind kind = fdl_store_kind_of(path);
    *query = NULL;
    *tag = number < r->n_tags ? &r->tags[number] : NULL;
    if (kind == FDL_STORE_KINDS)
        return NULL;
    if (number < r->queries.n && *fdl_string_list_at(&r->queries, number))
        *query = fdl_string_list_at(&r->queries, number);
    return r->stores[kind];
}
