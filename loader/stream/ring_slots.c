/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of the ring: its slots, as many as depth asks for, and, where the
 * program may keep batches (held=grow), one more for each that it keeps beyond
 * the usual. Giving a batch back frees no slot; a trim does.
 *
 * A GPU's driver may wait for the whole device before it makes or frees memory,
 * pinned memory as well, or let every launch wait meanwhile. So there the slots
 * of a run are made before it and live until it is over, and a loader that is
 * stopped keeps nothing but batches that the program holds.
 */
#include "base/compiler.h"
#include "base/memory.h"
#include "base/status.h"
#include "loader/stream/ring.h"
#include "loader/stream/ring_own.h"
#include "loader/stream/slot_fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- One slot ----------------------------------------------------------- */

static void slab_free(struct fdl_ring *r, struct fdl_slab *slab)
{
    if (slab->host)
        r->backend_ops->slab_free(r->backend, slab);
}

static void slot_destroy(feedline_batch *b)
{
    if (!b)
        return;
    slab_free(b->ring, &b->slab);
    fdl_lock_destroy(&b->error_lock);
    free(b->times);
    free(b->rooms);
    if (fdl_slot_kind_has_fields(b->kind))
        fdl_slot_fields_fini(b);
    free(b);
}

static int32_t slot_create(struct fdl_ring *r, feedline_batch **out)
{
    feedline_batch *b = calloc(1, sizeof(*b));
    if (!b)
        return fdl_fail_memory(sizeof(*b), "a batch slot");
    b->ring = r;
    b->kind = &r->kind;
    fdl_lock_init(&b->error_lock, FDL_RANK_BATCH_ERROR);
    int32_t status;
    size_t bytes = r->kind.layout.batch_size * sizeof(*b->times);
    b->times = calloc(1, bytes);
    if (!b->times) {
        status = fdl_fail_memory(bytes, "time stamps of a batch");
        goto out;
    }
    if (fdl_layout_is_various(&r->kind.layout)) {
        bytes = r->kind.layout.batch_size * sizeof(*b->rooms);
        b->rooms = calloc(1, bytes);
        if (!b->rooms) {
            status = fdl_fail_memory(bytes, "the places of images");
            goto out;
        }
    }
    b->layout = &r->kind.layout;
    status = fdl_slot_kind_has_fields(b->kind) ? fdl_slot_fields_init(b)
                                               : FEEDLINE_OK;
    if (status < 0)
        goto out;
    status = r->backend_ops->slab_alloc(r->backend, r->kind.layout.reserved,
                                        &b->slab);
    if (status < 0)
        goto out;
    *out = b;
    return FEEDLINE_OK;
out:
    slot_destroy(b);
    return status;
}

/* ---- Memory and slots ---------------------------------------------------- */

static void set_memory(feedline_batch *b, struct fdl_slot_memory m)
{
    b->slab = m.slab;
    b->fields.slab = m.fields;
}

static struct fdl_slot_memory take_away(feedline_batch *b)
{
    struct fdl_slot_memory m = {.slab = b->slab, .fields = b->fields.slab};
    set_memory(b, (struct fdl_slot_memory){.slab = {.host = NULL}});
    return m;
}

/* There is as much as there are slots, so some is left for whoever has none. */
void fdl_ring_take_memory_locked(feedline_batch *b)
{
    struct fdl_ring *r = b->ring;
    if (!b->slab.host) {
        fdl_assert(r->n_idle > 0);
        set_memory(b, r->idle[--r->n_idle]);
    }
    if (fdl_slot_kind_has_fields(b->kind))
        fdl_slot_fields_reserve(b);
}

/* On a device they stay together: slots take turns there, see take_free. */
void fdl_ring_give_memory_locked(feedline_batch *b)
{
    struct fdl_ring *r = b->ring;
    if (!fdl_ring_is_on_device(r) && b->slab.host)
        r->idle[r->n_idle++] = take_away(b);
}

/* Below all that was used before, so it is taken last. */
static void add_memory_locked(feedline_batch *b)
{
    struct fdl_ring *r = b->ring;
    if (fdl_ring_is_on_device(r))
        return;
    memmove(&r->idle[1], &r->idle[0], r->n_idle * sizeof(*r->idle));
    r->idle[0] = take_away(b);
    r->n_idle++;
}

/* That of a slot which goes, or what would be used last. */
static struct fdl_slot_memory take_last_locked(feedline_batch *b)
{
    struct fdl_ring *r = b->ring;
    struct fdl_slot_memory m = take_away(b);
    if (m.slab.host || r->n_idle == 0)
        return m;
    m = r->idle[0];
    r->n_idle--;
    memmove(&r->idle[0], &r->idle[1], r->n_idle * sizeof(m));
    return m;
}

/* ---- All slots ---------------------------------------------------------- */

static int32_t reserve_slots_locked(struct fdl_ring *r, uint32_t n)
{
    if (n <= r->slots_capacity)
        return FEEDLINE_OK;
    size_t bytes = n * sizeof(feedline_batch *);
    feedline_batch **slots = realloc(r->slots, bytes);
    if (!slots)
        return fdl_fail_memory(bytes, "the slot table");
    r->slots = slots;
    feedline_batch **free_slots = realloc(r->free_slots, bytes);
    if (!free_slots)
        return fdl_fail_memory(bytes, "the free slots");
    r->free_slots = free_slots;
    struct fdl_slot_memory *idle = realloc(r->idle, n * sizeof(*idle));
    if (!idle)
        return fdl_fail_memory(n * sizeof(*idle), "the memory of slots");
    r->idle = idle;
    r->slots_capacity = n;
    return FEEDLINE_OK;
}

void fdl_ring_free_slots(struct fdl_ring *r)
{
    for (uint32_t i = 0; i < r->n_slots; i++)
        slot_destroy(r->slots[i]);
    for (uint32_t i = 0; i < r->n_idle; i++) {
        slab_free(r, &r->idle[i].slab);
        fdl_field_slab_free(&r->kind, &r->idle[i].fields);
    }
    free(r->idle);
    free(r->free_slots);
    free(r->slots);
}

/* One slot more. Its memory is made outside the lock: to pin it takes long
 * enough for batches to pass meanwhile. */
static int32_t add_slot(struct fdl_ring *r)
{
    feedline_batch *b = NULL;
    int32_t status = slot_create(r, &b);
    if (status < 0)
        return status;
    fdl_lock(&r->lock);
    r->slots[r->n_slots++] = b;
    r->free_slots[r->n_free++] = b;
    add_memory_locked(b);
    fdl_unlock(&r->lock);
    return FEEDLINE_OK;
}

/* ---- More than depth needs ---------------------------------------------- */

/* Slots beyond depth; at rest, all. */
static uint32_t extra_locked(const struct fdl_ring *r)
{
    uint32_t usual = r->depth > 0 ? r->depth + FDL_SPARE_SLOTS : 0;
    usual = FDL_MAX(usual, r->reserve);
    return r->n_slots > usual ? r->n_slots - usual : 0;
}

/* Of these, for what the program keeps, or kept since the last trim: one that
 * keeps six batches again and again need not wait for memory each time. */
static uint32_t for_kept_locked(const struct fdl_ring *r)
{
    uint32_t most = FDL_MAX(r->most_held, r->n_held);
    if (!r->may_grow || r->depth == 0 || most <= FDL_SPARE_SLOTS)
        return 0;
    return FDL_MIN(extra_locked(r), most - FDL_SPARE_SLOTS);
}

static bool has_fixed_slots_locked(const struct fdl_ring *r)
{
    return r->stream && fdl_ring_is_on_device(r);
}

bool fdl_ring_has_surplus(struct fdl_ring *r)
{
    fdl_lock(&r->lock);
    bool has = extra_locked(r) > 0 && !has_fixed_slots_locked(r);
    fdl_unlock(&r->lock);
    return has;
}

/* A free slot that is not needed; its tickets were delivered. */
static feedline_batch *take_surplus(struct fdl_ring *r)
{
    feedline_batch *b = NULL;
    fdl_lock(&r->lock);
    if (!has_fixed_slots_locked(r) && extra_locked(r) > for_kept_locked(r) &&
        r->n_free > 0) {
        b = r->free_slots[--r->n_free];
        uint32_t i = 0;
        while (r->slots[i] != b)
            i++;
        r->slots[i] = r->slots[--r->n_slots];
        set_memory(b, take_last_locked(b));
        r->full_at = 0;
    }
    fdl_unlock(&r->lock);
    return b;
}

static void trim_growing(struct fdl_ring *r)
{
    feedline_batch *b;
    while ((b = take_surplus(r)))
        slot_destroy(b); /* outside the lock, as pinned memory takes long */
    fdl_lock(&r->lock);
    if (!has_fixed_slots_locked(r))
        r->most_held = r->n_held;
    fdl_unlock(&r->lock);
}

void fdl_ring_trim(struct fdl_ring *r)
{
    fdl_lock(&r->growing);
    trim_growing(r);
    fdl_unlock(&r->growing);
}

void fdl_ring_rest(struct fdl_ring *r)
{
    if (!fdl_ring_is_on_device(r))
        return;
    fdl_lock(&r->growing);
    fdl_lock(&r->lock);
    r->depth = r->reserve = 0;
    fdl_unlock(&r->lock);
    trim_growing(r);
    fdl_unlock(&r->growing);
}

static bool is_short_locked(const struct fdl_ring *r)
{
    return r->may_grow && r->stream && r->n_slots < r->depth + r->n_held;
}

/* On a device only where it cannot be helped any more. Memory is asked for
 * once: to pin it, find the device full and free it again at every batch would
 * stall the launches of the program. */
FDL_HOT bool fdl_ring_is_short(struct fdl_ring *r, uint32_t *n_held)
{
    fdl_lock(&r->lock);
    bool is_short = is_short_locked(r) && r->n_slots != r->full_at &&
                    (r->outgrown || !fdl_ring_is_on_device(r));
    *n_held = r->n_held;
    fdl_unlock(&r->lock);
    return is_short;
}

static void set_full(struct fdl_ring *r)
{
    fdl_lock(&r->lock);
    r->full_at = r->n_slots;
    fdl_unlock(&r->lock);
}

int32_t fdl_ring_grow(struct fdl_ring *r, bool *grew)
{
    int32_t status = FEEDLINE_OK;
    fdl_lock(&r->growing);
    fdl_lock(&r->lock);
    *grew = is_short_locked(r);
    r->outgrown |= *grew;
    /* The tables grow by half: a program may keep thousands. */
    if (*grew && r->n_slots == r->slots_capacity)
        status = reserve_slots_locked(r, r->n_slots + 1 + r->n_slots / 2);
    fdl_unlock(&r->lock);
    if (*grew && status >= 0)
        status = add_slot(r);
    if (status < 0)
        set_full(r);
    fdl_unlock(&r->growing);
    *grew = *grew && status >= 0;
    if (*grew)
        fdl_ring_more(r);
    return status;
}

/* ---- Depth -------------------------------------------------------------- */

/* Up to `most` slots; n: how many there are now. */
static int32_t make_slots_growing(struct fdl_ring *r, uint32_t most,
                                  uint32_t *n)
{
    fdl_lock(&r->lock);
    int32_t status = reserve_slots_locked(r, most);
    bool may_add = !has_fixed_slots_locked(r);
    *n = r->n_slots; /* nobody else changes it */
    fdl_unlock(&r->lock);
    while (may_add && status >= 0 && *n < most) {
        status = add_slot(r);
        *n += status >= 0;
    }
    return status;
}

static int32_t set_depth_growing(struct fdl_ring *r, uint32_t *depth)
{
    uint32_t n;
    int32_t status = make_slots_growing(r, *depth + FDL_SPARE_SLOTS, &n);
    if (n > FDL_SPARE_SLOTS) {
        *depth = FDL_MIN(*depth, n - FDL_SPARE_SLOTS);
        status = FEEDLINE_OK;
    }
    if (status < 0)
        return status;
    fdl_lock(&r->lock);
    r->depth = *depth;
    fdl_ring_issue_locked(r);
    fdl_unlock(&r->lock);
    trim_growing(r);
    return FEEDLINE_OK;
}

int32_t fdl_ring_set_depth(struct fdl_ring *r, uint32_t *depth)
{
    fdl_lock(&r->growing);
    int32_t status = set_depth_growing(r, depth);
    fdl_unlock(&r->growing);
    return status;
}

/* Without the memory the run does with less. */
void fdl_ring_reserve(struct fdl_ring *r, uint32_t depth)
{
    uint32_t n;
    fdl_lock(&r->growing);
    if (make_slots_growing(r, depth + FDL_SPARE_SLOTS, &n) < 0)
        fdl_clear_error();
    fdl_lock(&r->lock);
    r->reserve = FDL_MIN(n, depth + FDL_SPARE_SLOTS);
    fdl_unlock(&r->lock);
    trim_growing(r);
    fdl_unlock(&r->growing);
}

uint32_t fdl_ring_reach(struct fdl_ring *r)
{
    fdl_lock(&r->lock);
    uint32_t reach =
        has_fixed_slots_locked(r) ? r->n_slots - FDL_SPARE_SLOTS : UINT32_MAX;
    fdl_unlock(&r->lock);
    return reach;
}

/* ---- The program's memory ------------------------------------------------ */

/* Lent for the images of batches that are not issued yet: each ticket takes one
 * piece when it is issued, or else the images of its slot. */
static int32_t check_lent(const struct fdl_ring *r, const void *images,
                          uint64_t bytes)
{
    uint64_t needed = r->kind.layout.batch_size * r->kind.layout.sample_bytes;
    if (r->backend_ops->device != FEEDLINE_CPU)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "memory can be lent to batches in host memory alone, "
                        "and these are on a device");
    if (fdl_layout_is_various(&r->kind.layout))
        return fdl_fail(FEEDLINE_ENOSYS,
                        "memory cannot be lent to ragged batches "
                        "(max_sample_bytes)");
    if (r->kind.layout.chains)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "memory cannot be lent to batches of several chains "
                        "(feedline_pipeline_add_views)");
    if ((uintptr_t)images % FDL_SLAB_ALIGN != 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "lent memory begins at a multiple of %u, and %p is "
                        "none",
                        FDL_SLAB_ALIGN, images);
    if (bytes < needed)
        return fdl_fail(FEEDLINE_ERANGE,
                        "%" PRIu64 " bytes were lent, and the images of a full "
                        "batch take %" PRIu64,
                        bytes, needed);
    return FEEDLINE_OK;
}

static int32_t keep_lent_locked(struct fdl_ring *r, void *images)
{
    if (r->n_lent == FEEDLINE_LENT_MAX)
        return fdl_fail(FEEDLINE_ERANGE,
                        "memory for %d batches is lent already: call next "
                        "before lending more",
                        FEEDLINE_LENT_MAX);
    if (!r->lent) {
        size_t bytes = FEEDLINE_LENT_MAX * sizeof(*r->lent);
        r->lent = malloc(bytes);
        if (!r->lent)
            return fdl_fail_memory(bytes, "the memory that is lent");
    }
    r->lent[r->n_lent++] = images;
    return FEEDLINE_OK;
}

int32_t fdl_ring_lend(struct fdl_ring *r, void *images, uint64_t bytes)
{
    int32_t status = check_lent(r, images, bytes);
    if (status < 0)
        return status;
    fdl_lock(&r->lock);
    status = keep_lent_locked(r, images);
    fdl_unlock(&r->lock);
    return status;
}

void *fdl_ring_take_lent_locked(struct fdl_ring *r)
{
    return r->n_lent > 0 ? r->lent[--r->n_lent] : NULL;
}

/* ---- Counts ------------------------------------------------------------- */

uint32_t fdl_ring_slots(struct fdl_ring *r)
{
    fdl_lock(&r->lock);
    uint32_t n = r->n_slots - for_kept_locked(r);
    fdl_unlock(&r->lock);
    return n;
}

uint32_t fdl_ring_host_memory(struct fdl_ring *r, const void **out,
                              uint32_t most)
{
    fdl_lock(&r->lock);
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_slots && n < most; i++)
        if (r->slots[i]->slab.host)
            out[n++] = r->slots[i]->slab.host;
    for (uint32_t i = 0; i < r->n_idle && n < most; i++)
        out[n++] = r->idle[i].slab.host;
    fdl_unlock(&r->lock);
    return n;
}

uint64_t fdl_ring_slot_bytes(const struct fdl_ring *r)
{
    return r->kind.layout.bytes;
}

uint64_t fdl_ring_slot_device_bytes(const struct fdl_ring *r)
{
    if (!r->backend_ops->device_bytes)
        return 0;
    return r->backend_ops->device_bytes(r->backend, r->kind.layout.reserved);
}

uint64_t fdl_ring_memory(struct fdl_ring *r)
{
    fdl_lock(&r->lock);
    uint64_t bytes = r->n_slots * r->kind.layout.bytes;
    fdl_unlock(&r->lock);
    return bytes;
}

uint64_t fdl_ring_field_memory(const struct fdl_ring *r)
{
    return atomic_load_explicit(&r->kind.field_memory, memory_order_relaxed);
}

uint64_t fdl_ring_own_memory(struct fdl_ring *r)
{
    return fdl_ring_slots(r) * r->kind.layout.bytes;
}
