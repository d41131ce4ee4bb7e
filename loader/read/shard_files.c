/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock around a few places. It is taken twice a sample for some tens of
 * nanoseconds. What looks for a place goes through all of them, but that is
 * done only beside an open and a close, which cost far more.
 */
#include "loader/read/shard_files.h"

#include "base/compiler.h"
#include "base/lock.h"
#include "base/status.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* The rest is for the program, other loaders, and samples in flight. */
#define SHARE_OF_LIMIT 4
#define MOST_OPEN      1024

struct fdl_shard_files {
    struct fdl_lock lock; /* guards all below */
    uint64_t clock;
    uint64_t n_files;
    uint32_t *place_of; /* [n_files], from 1; 0: not open */
    uint32_t n_places;
    struct fdl_open_shard places[];
};

static uint32_t count_places(uint64_t n_files)
{
    struct rlimit limit;
    uint64_t most = MOST_OPEN;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        most = FDL_MIN(most, (uint64_t)limit.rlim_cur / SHARE_OF_LIMIT);
    return (uint32_t)FDL_MIN(most, n_files);
}

int32_t fdl_shard_files_create(uint64_t n_files, struct fdl_shard_files **out)
{
    uint32_t n = count_places(n_files);
    struct fdl_shard_files *s = calloc(1, sizeof(*s) + n * sizeof(*s->places));
    uint32_t *place_of = calloc(FDL_MAX(n_files, 1), sizeof(*place_of));
    if (!s || !place_of) {
        free(s);
        free(place_of);
        return fdl_fail_memory(n_files * sizeof(*place_of), "open shards");
    }
    fdl_lock_init(&s->lock, FDL_RANK_SHARDS);
    s->n_files = n_files;
    s->place_of = place_of;
    s->n_places = n;
    for (uint32_t i = 0; i < n; i++)
        s->places[i].fd = -1;
    *out = s;
    return FEEDLINE_OK;
}

void fdl_shard_files_destroy(struct fdl_shard_files *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->n_places; i++) {
        fdl_assert(s->places[i].users == 0);
        if (s->places[i].fd >= 0)
            close(s->places[i].fd);
    }
    fdl_lock_destroy(&s->lock);
    free(s->place_of);
    free(s);
}

/* What nobody has taken: a free place, else the one used longest ago. */
static struct fdl_open_shard *find_idle_locked(struct fdl_shard_files *s,
                                               bool open)
{
    struct fdl_open_shard *found = NULL;
    for (uint32_t i = 0; i < s->n_places; i++) {
        struct fdl_open_shard *shard = &s->places[i];
        if (shard->users == 0 && (!open || shard->fd >= 0) &&
            (!found || shard->used < found->used))
            found = shard;
    }
    return found;
}

/* From now on nobody can take it. */
static void forget_locked(struct fdl_shard_files *s,
                          struct fdl_open_shard *shard)
{
    s->place_of[shard->file] = 0;
}

/* Its descriptor, or -1. */
static int empty_locked(struct fdl_open_shard *shard)
{
    int fd = shard->fd;
    *shard = (struct fdl_open_shard){.fd = -1};
    return fd;
}

struct fdl_open_shard *fdl_shard_take(struct fdl_shard_files *s, uint32_t file)
{
    struct fdl_open_shard *shard = NULL;
    if (!s || file >= s->n_files)
        return NULL;
    fdl_lock(&s->lock);
    uint32_t place = s->place_of[file];
    if (place) {
        shard = &s->places[place - 1];
        shard->users++;
        shard->used = ++s->clock;
    }
    fdl_unlock(&s->lock);
    return shard;
}

int fdl_shard_give(struct fdl_shard_files *s, struct fdl_open_shard *shard,
                   bool good)
{
    int unused = -1;
    fdl_lock(&s->lock);
    if (!good && !shard->bad) {
        shard->bad = true;
        forget_locked(s, shard);
    }
    shard->users--;
    if (shard->bad && shard->users == 0)
        unused = empty_locked(shard);
    fdl_unlock(&s->lock);
    return unused;
}

int fdl_shard_keep(struct fdl_shard_files *s,
                   const struct fdl_open_shard *shard)
{
    int unused = shard->fd;
    if (!s || shard->file >= s->n_files)
        return unused;
    fdl_lock(&s->lock);
    struct fdl_open_shard *place = NULL;
    if (!s->place_of[shard->file]) /* else another sample was first */
        place = find_idle_locked(s, false);
    if (place) {
        if (place->fd >= 0)
            forget_locked(s, place);
        unused = empty_locked(place);
        *place = *shard;
        place->used = ++s->clock;
        s->place_of[shard->file] = (uint32_t)(place - s->places) + 1;
    }
    fdl_unlock(&s->lock);
    return unused;
}

int fdl_shard_drop(struct fdl_shard_files *s)
{
    int unused = -1;
    if (!s)
        return -1;
    fdl_lock(&s->lock);
    struct fdl_open_shard *shard = find_idle_locked(s, true);
    if (shard) {
        forget_locked(s, shard);
        unused = empty_locked(shard);
    }
    fdl_unlock(&s->lock);
    return unused;
}
