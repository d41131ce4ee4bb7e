/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table in sets of four, which grows until a limit; then what comes
 * takes the place of something else of its set.
 */
#include "store/chunk_checked.h"

#include "base/compiler.h"
#include "base/lock.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define PER_NAME   64u /* chunks */
#define WAYS       4u
#define FIRST_SETS 64u
#define MOST_SETS  ((uint64_t)1 << 18) /* 16 MiB: 256 GiB, a million objects */

struct entry {
    uint64_t name; /* 0: none */
    uint64_t bits;
};

struct fdl_chunk_checked {
    struct fdl_lock lock; /* of all below */
    uint64_t n;           /* names */
    uint64_t n_sets;      /* a power of two, or 0 */
    struct entry *entries;
};

static uint64_t name_of(uint64_t file, uint64_t chunk)
{
    const uint64_t words[2] = {file, chunk / PER_NAME};
    uint64_t name = XXH3_64bits(words, sizeof(words));
    return name ? name : 1;
}

/* Of the chunks that `first` begins, those with its name. */
static uint64_t bits_of(uint64_t first, uint64_t n)
{
    uint64_t from = first % PER_NAME, count = FDL_MIN(n, PER_NAME - from);
    uint64_t ones = count == PER_NAME ? UINT64_MAX : (UINT64_C(1) << count) - 1;
    return ones << from;
}

static struct entry *set_of(struct entry *entries, uint64_t n_sets,
                            uint64_t name)
{
    return &entries[(name & (n_sets - 1)) * WAYS];
}

/* That of the name, or a free one, or NULL. */
static struct entry *find(struct entry *set, uint64_t name)
{
    struct entry *room = NULL;
    for (uint32_t i = 0; i < WAYS; i++) {
        if (set[i].name == name)
            return &set[i];
        if (!room && !set[i].name)
            room = &set[i];
    }
    return room;
}

/* What the upper bits of a name say, which its set does not depend on. */
static struct entry *victim(struct entry *set, uint64_t name)
{
    return &set[(name >> 62) % WAYS];
}

/* Twice as many sets, if there may be and there is memory. */
static void grow_locked(struct fdl_chunk_checked *k)
{
    uint64_t n_sets = k->n_sets ? 2 * k->n_sets : FIRST_SETS;
    struct entry *entries = NULL;
    if (n_sets <= MOST_SETS)
        entries = calloc(n_sets * WAYS, sizeof(*entries));
    if (!entries)
        return;
    for (uint64_t i = 0; i < k->n_sets * WAYS; i++) {
        struct entry *e = &k->entries[i];
        if (e->name) /* a set becomes two, so there is room */
            *find(set_of(entries, n_sets, e->name), e->name) = *e;
    }
    free(k->entries);
    k->entries = entries;
    k->n_sets = n_sets;
}

/* Where half of it is in use, one name in thirty finds its set full. */
static void add_locked(struct fdl_chunk_checked *k, uint64_t name,
                       uint64_t bits)
{
    if (k->n >= k->n_sets * WAYS / 2)
        grow_locked(k);
    if (k->n_sets == 0)
        return;
    struct entry *set = set_of(k->entries, k->n_sets, name);
    struct entry *e = find(set, name);
    if (!e)
        e = victim(set, name);
    k->n += !e->name;
    *e = (struct entry){name, bits | (e->name == name ? e->bits : 0)};
}

static bool has_locked(const struct fdl_chunk_checked *k, uint64_t name,
                       uint64_t bits)
{
    if (k->n_sets == 0)
        return false;
    const struct entry *e = find(set_of(k->entries, k->n_sets, name), name);
    return e && e->name == name && (e->bits & bits) == bits;
}

bool fdl_chunk_checked_has(struct fdl_chunk_checked *k, uint64_t file,
                           uint64_t first, uint64_t n)
{
    bool has = true;
    if (!k)
        return false;
    fdl_lock(&k->lock);
    for (uint64_t at = first, end = first + n; has && at < end;
         at += PER_NAME - at % PER_NAME)
        has = has_locked(k, name_of(file, at), bits_of(at, end - at));
    fdl_unlock(&k->lock);
    return has;
}

void fdl_chunk_checked_add(struct fdl_chunk_checked *k, uint64_t file,
                           uint64_t first, uint64_t n)
{
    if (!k)
        return;
    fdl_lock(&k->lock);
    for (uint64_t at = first, end = first + n; at < end;
         at += PER_NAME - at % PER_NAME)
        add_locked(k, name_of(file, at), bits_of(at, end - at));
    fdl_unlock(&k->lock);
}

struct fdl_chunk_checked *fdl_chunk_checked_create(void)
{
    struct fdl_chunk_checked *k = calloc(1, sizeof(*k));
    if (k)
        fdl_lock_init(&k->lock, FDL_RANK_CHUNK_CHECKED);
    return k;
}

void fdl_chunk_checked_destroy(struct fdl_chunk_checked *k)
{
    if (!k)
        return;
    free(k->entries);
    fdl_lock_destroy(&k->lock);
    free(k);
}
