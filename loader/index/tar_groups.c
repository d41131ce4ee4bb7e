/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/index/tar_groups.h"

#include "base/text_hash.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 256 /* a power of two */

void fdl_tar_groups_free(struct fdl_tar_groups *g)
{
    free(g->names.text);
    free(g->groups);
    free(g->keys.buckets);
    free(g->images.buckets);
    *g = (struct fdl_tar_groups){0};
}

/* The expression is ^((?:.*\/|)[^.]+)[.]([^/]*)$: all up to the first dot
 * behind the last slash. A name that begins with that dot is of its folder,
 * "dir/", if that has no dot; and a line break ends what may be in front of a
 * slash. */
size_t fdl_tar_key_bytes(const char *name)
{
    size_t line = strcspn(name, "\n");
    const char *begin = name + line;
    while (begin > name && begin[-1] != '/')
        begin--;
    const char *dot = strchr(begin, '.');
    if (!dot || strchr(dot, '/'))
        return 0;
    if (dot > begin)
        return (size_t)(dot - name);
    while (begin > name && (begin == dot || begin[-1] != '/'))
        begin--;
    return memchr(begin, '.', (size_t)(dot - begin)) ? 0 : (size_t)(dot - name);
}

/* ---- Lookups ------------------------------------------------------------- */

static const char *text_of(const struct fdl_tar_groups *g,
                           const struct fdl_tar_lookup *l, uint64_t i)
{
    const struct fdl_tar_group *group = &g->groups[i];
    return g->names.text + (l == &g->keys ? group->key_at : group->image_at);
}

/* Where the text is, or where it would go. */
static uint32_t *bucket_of(const struct fdl_tar_groups *g,
                           const struct fdl_tar_lookup *l, const char *text)
{
    for (uint64_t at = fdl_hash_text(text);; at++) {
        uint32_t *bucket = &l->buckets[at & (l->n_buckets - 1)];
        if (*bucket == 0 || strcmp(text_of(g, l, *bucket - 1), text) == 0)
            return bucket;
    }
}

/* Room for one more. */
static int32_t grow(const struct fdl_tar_groups *g, struct fdl_tar_lookup *l)
{
    if (l->n_buckets > 2 * l->used)
        return FEEDLINE_OK;
    struct fdl_tar_lookup larger = {
        .n_buckets = l->n_buckets ? 2 * l->n_buckets : FIRST_BUCKETS,
    };
    uint32_t *old = l->buckets;
    uint64_t n = l->n_buckets;
    larger.buckets = calloc(larger.n_buckets, sizeof(*larger.buckets));
    if (!larger.buckets)
        return fdl_fail_memory(larger.n_buckets * sizeof(*larger.buckets),
                               "names of members");
    larger.used = l->used;
    *l = larger;
    for (uint64_t i = 0; i < n; i++)
        if (old[i])
            *bucket_of(g, l, text_of(g, l, old[i] - 1)) = old[i];
    free(old);
    return FEEDLINE_OK;
}

/* The latest of a name wins, as it does where an archive is unpacked. */
static int32_t enter(const struct fdl_tar_groups *g, struct fdl_tar_lookup *l,
                     uint64_t i)
{
    int32_t status = grow(g, l);
    if (status)
        return status;
    uint32_t *bucket = bucket_of(g, l, text_of(g, l, i));
    l->used += *bucket == 0;
    *bucket = (uint32_t)i + 1;
    return FEEDLINE_OK;
}

/* ---- Groups -------------------------------------------------------------- */

static struct fdl_tar_group *find(const struct fdl_tar_groups *g,
                                  const char *key, bool anywhere)
{
    if (g->n == 0)
        return NULL;
    if (anywhere) {
        uint32_t i = *bucket_of(g, &g->keys, key);
        return i ? &g->groups[i - 1] : NULL;
    }
    struct fdl_tar_group *last = &g->groups[g->n - 1];
    return strcmp(g->names.text + last->key_at, key) == 0 ? last : NULL;
}

int32_t fdl_tar_groups_join(struct fdl_tar_groups *g, const char *key,
                            bool anywhere, struct fdl_tar_group **out)
{
    struct fdl_tar_group made = {0};
    *out = find(g, key, anywhere);
    if (*out)
        return FEEDLINE_OK;
    if (g->n >= UINT32_MAX - 1)
        return fdl_fail(FEEDLINE_EINVAL, "too many samples in one archive");
    int32_t status = fdl_array_reserve(&g->groups, &g->capacity, g->n,
                                       sizeof(*g->groups), "samples");
    if (status == FEEDLINE_OK)
        status = fdl_strings_add(&g->names, "", key, &made.key_at);
    if (status)
        return status;
    g->groups[g->n] = made;
    if (anywhere)
        status = enter(g, &g->keys, g->n);
    if (status == FEEDLINE_OK)
        *out = &g->groups[g->n++];
    return status;
}

int32_t fdl_tar_groups_name(struct fdl_tar_groups *g,
                            struct fdl_tar_group *group, const char *name)
{
    int32_t status = fdl_strings_add(&g->names, "", name, &group->image_at);
    return status ? status
                  : enter(g, &g->images, (uint64_t)(group - g->groups));
}

const struct fdl_tar_group *fdl_tar_groups_with_image(
    const struct fdl_tar_groups *g, const char *name)
{
    uint32_t i = g->images.n_buckets ? *bucket_of(g, &g->images, name) : 0;
    return i ? &g->groups[i - 1] : NULL;
}
