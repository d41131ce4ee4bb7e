/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads take one of a few idle sets of connections, or make a new one. After
 * a fork those of the parent are left alone.
 */
#include "store/get.h"

#include "base/lock.h"
#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_MOST 32u
#define TURN_NS   ((int64_t)1000000000)

static struct fdl_lock lock = FDL_LOCK_INIT(FDL_RANK_IDLE_DOWNLOADS);
static struct fdl_downloads *idle[IDLE_MOST];
static uint32_t n_idle, generation;

static struct fdl_downloads *take_idle(void)
{
    struct fdl_downloads *all = NULL;
    uint32_t now = fdl_fork_generation();
    fdl_lock(&lock);
    if (generation != now)
        n_idle = 0; /* they are the parent's */
    generation = now;
    if (n_idle > 0)
        all = idle[--n_idle];
    fdl_unlock(&lock);
    return all;
}

static void give_back(struct fdl_downloads *all)
{
    fdl_lock(&lock);
    bool keep = n_idle < IDLE_MOST && generation == fdl_fork_generation();
    if (keep)
        idle[n_idle++] = all;
    fdl_unlock(&lock);
    if (!keep)
        fdl_downloads_destroy(all);
}

/* The caller's `done`, and that it was called. */
struct waiting {
    struct fdl_download *d;
    void (*done)(struct fdl_download *d);
    bool is_over;
    struct waiting *next;
};

static _Thread_local struct waiting *waits;

static void on_done(struct fdl_download *d)
{
    waits->is_over = true;
    d->done = waits->done;
    if (d->done)
        d->done(d);
}

void fdl_get(struct fdl_download *d)
{
    struct waiting w = {.d = d, .done = d->done, .next = waits};
    struct fdl_downloads *all = take_idle();
    const struct fdl_downloads_config config = {0};
    int32_t status = all ? FEEDLINE_OK : fdl_downloads_create(&config, &all);
    waits = &w;
    d->done = on_done;
    if (status) {
        d->status = status;
        snprintf(d->why, sizeof(d->why), "%s", fdl_last_error());
        on_done(d);
    } else {
        fdl_downloads_begin(all, d);
        while (!w.is_over)
            fdl_downloads_turn(all, TURN_NS);
        give_back(all);
    }
    waits = w.next;
}

/* ---- Into memory --------------------------------------------------------- */

struct bytes {
    struct fdl_download d;
    char *data;
};

static int32_t make_room(struct fdl_download *d, uint64_t bytes, uint8_t **to)
{
    struct bytes *b = (struct bytes *)d;
    b->data = malloc(bytes + 1);
    if (!b->data)
        return fdl_fail_memory(bytes, "an object");
    *to = (uint8_t *)b->data;
    return FEEDLINE_OK;
}

int32_t fdl_get_bytes(struct fdl_store *store, const char *path, fdl_tag *tag,
                      uint64_t offset, uint64_t most, uint64_t *size,
                      char **out, uint64_t *bytes)
{
    struct bytes b = {.d = {.store = store,
                            .path = path,
                            .offset = offset,
                            .length = (int64_t)FDL_MIN(most, INT64_MAX),
                            .up_to = true,
                            .tag = tag,
                            .room = make_room}};
    fdl_get(&b.d);
    if (b.d.status) {
        free(b.data);
        return fdl_fail(b.d.status, "%s: %s", path, b.d.why);
    }
    b.data[b.d.bytes] = '\0';
    *out = b.data;
    *bytes = b.d.bytes;
    *size = (uint64_t)b.d.object_bytes;
    return FEEDLINE_OK;
}
