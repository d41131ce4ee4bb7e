/* SPDX-License-Identifier: Apache-2.0 */
/* A table of numbers, and a list of what it has in the order of use. */
#include "loader/stream/pixel_store.h"

#include "base/lock.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024u /* of some hundred images */

/* Memory that was let go and is used again: photos are so large that malloc
 * gives it back to the kernel, which clears each page of the next one. Sizes
 * are rounded up, so that it fits images of nearly the same size. */
#define SPARES 8u
#define ROUND  65536u /* bytes */

struct fdl_stored_pixels {
    struct fdl_stored_pixels *next;          /* in its bucket */
    struct fdl_stored_pixels *newer, *older; /* by use */
    uint64_t number, bytes;
    uint64_t room; /* bytes of memory */
    uint32_t users;
    bool gone; /* from the table: the last user frees it */
    uint8_t *pixels;
};

struct fdl_pixel_store {
    struct fdl_lock lock;
    uint64_t most, bytes;
    struct fdl_stored_pixels *newest, *oldest;
    struct fdl_stored_pixels *spares[SPARES];
    uint32_t n_spares;
    struct fdl_stored_pixels *buckets[BUCKETS];
};

int32_t fdl_pixel_store_create(uint64_t most, struct fdl_pixel_store **out)
{
    struct fdl_pixel_store *s = calloc(1, sizeof(*s));
    if (!s)
        return fdl_fail_memory(sizeof(*s), "a store of pixels");
    fdl_lock_init(&s->lock, FDL_RANK_PIXELS);
    s->most = most;
    *out = s;
    return FEEDLINE_OK;
}

static void free_pixels(struct fdl_stored_pixels *p)
{
    free(p->pixels);
    free(p);
}

void fdl_pixel_store_destroy(struct fdl_pixel_store *s)
{
    if (!s)
        return;
    while (s->newest) {
        struct fdl_stored_pixels *p = s->newest;
        s->newest = p->older;
        free_pixels(p);
    }
    for (uint32_t i = 0; i < s->n_spares; i++)
        free_pixels(s->spares[i]);
    fdl_lock_destroy(&s->lock);
    free(s);
}

/* ---- Under the lock ------------------------------------------------------ */

/* What nobody has. */
static void let_go(struct fdl_pixel_store *s, struct fdl_stored_pixels *p)
{
    if (p->room < ROUND) {
        free_pixels(p);
        return;
    }
    if (s->n_spares == SPARES) { /* the oldest may fit no image any more */
        free_pixels(s->spares[0]);
        memmove(s->spares, s->spares + 1,
                (SPARES - 1) * sizeof(struct fdl_stored_pixels *));
        s->n_spares--;
    }
    s->spares[s->n_spares++] = p;
}

/* NULL: there is none with so much room, and little more. */
static struct fdl_stored_pixels *take_spare(struct fdl_pixel_store *s,
                                            uint64_t room)
{
    for (uint32_t i = s->n_spares; i-- > 0;) {
        struct fdl_stored_pixels *p = s->spares[i];
        if (p->room < room || p->room > room + room / 4)
            continue;
        s->spares[i] = s->spares[--s->n_spares];
        return p;
    }
    return NULL;
}

static struct fdl_stored_pixels **bucket_of(struct fdl_pixel_store *s,
                                            uint64_t number)
{
    return &s->buckets[number % BUCKETS];
}

static struct fdl_stored_pixels *find(struct fdl_pixel_store *s,
                                      uint64_t number)
{
    struct fdl_stored_pixels *p = *bucket_of(s, number);
    while (p && p->number != number)
        p = p->next;
    return p;
}

static void unlink_use(struct fdl_pixel_store *s, struct fdl_stored_pixels *p)
{
    *(p->newer ? &p->newer->older : &s->newest) = p->older;
    *(p->older ? &p->older->newer : &s->oldest) = p->newer;
}

static void link_newest(struct fdl_pixel_store *s, struct fdl_stored_pixels *p)
{
    p->newer = NULL;
    p->older = s->newest;
    *(s->newest ? &s->newest->newer : &s->oldest) = p;
    s->newest = p;
}

static void drop(struct fdl_pixel_store *s, struct fdl_stored_pixels *p)
{
    struct fdl_stored_pixels **at = bucket_of(s, p->number);
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    unlink_use(s, p);
    s->bytes -= p->room;
    p->gone = true;
    if (p->users == 0)
        let_go(s, p);
}

static void insert(struct fdl_pixel_store *s, struct fdl_stored_pixels *p)
{
    struct fdl_stored_pixels **bucket = bucket_of(s, p->number);
    while (s->oldest && s->bytes + p->room > s->most)
        drop(s, s->oldest);
    p->next = *bucket;
    *bucket = p;
    link_newest(s, p);
    s->bytes += p->room;
}

/* ---- Any thread ---------------------------------------------------------- */

struct fdl_stored_pixels *fdl_pixel_store_take(struct fdl_pixel_store *s,
                                               uint64_t number, uint64_t bytes)
{
    fdl_lock(&s->lock);
    struct fdl_stored_pixels *p = find(s, number);
    if (p && p->bytes != bytes)
        p = NULL;
    if (p) {
        p->users++;
        unlink_use(s, p);
        link_newest(s, p);
    }
    fdl_unlock(&s->lock);
    return p;
}

uint8_t *fdl_stored_pixels(const struct fdl_stored_pixels *pixels)
{
    return pixels->pixels;
}

void fdl_pixel_store_give_back(struct fdl_pixel_store *s,
                               struct fdl_stored_pixels *p)
{
    fdl_lock(&s->lock);
    if (--p->users == 0 && p->gone)
        let_go(s, p);
    fdl_unlock(&s->lock);
}

static struct fdl_stored_pixels *new_pixels(uint64_t room)
{
    struct fdl_stored_pixels *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->pixels = malloc(room);
    p->room = room;
    if (p->pixels)
        return p;
    free(p);
    return NULL;
}

struct fdl_stored_pixels *fdl_pixel_store_begin(struct fdl_pixel_store *s,
                                                uint64_t number, uint64_t bytes)
{
    uint64_t room = bytes;
    if (bytes == 0 || bytes > s->most / 4)
        return NULL;
    if (bytes > ROUND)
        room = (bytes + ROUND - 1) / ROUND * ROUND;
    fdl_lock(&s->lock);
    struct fdl_stored_pixels *p = take_spare(s, room);
    fdl_unlock(&s->lock);
    if (!p)
        p = new_pixels(room);
    if (!p)
        return NULL;
    p->number = number;
    p->bytes = bytes;
    p->users = 1;
    p->gone = true;
    return p;
}

void fdl_pixel_store_add(struct fdl_pixel_store *s, struct fdl_stored_pixels *p)
{
    fdl_lock(&s->lock);
    if (!find(s, p->number)) {
        p->gone = false;
        insert(s, p);
    }
    fdl_unlock(&s->lock);
}

uint64_t fdl_pixel_store_bytes(struct fdl_pixel_store *s)
{
    if (!s)
        return 0;
    fdl_lock(&s->lock);
    uint64_t bytes = s->bytes;
    fdl_unlock(&s->lock);
    return bytes;
}
