/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appended batches, in a circular table of KEPT entries, and their samples in
 * lots of memory that are reused too: as many as there were batches waiting at
 * once, so in the steady state nothing is allocated.
 *
 * Why no lock is needed: a reader looks for a sample of ticket T that is not
 * done, so T is not delivered before the reader has found it. Entries are
 * reused KEPT tickets later and at most FEEDLINE_GIVEN_MAX wait, so while T is
 * not delivered only entries up to
 *
 *     T + FEEDLINE_GIVEN_MAX - KEPT  =  T - FEEDLINE_GIVEN_MAX
 *
 * may be overwritten. The reader begins at `from`, which was no less than T + 1
 * - FEEDLINE_GIVEN_MAX when T was appended, and never falls. Lots are reused as
 * soon as their batch is delivered; only T's is read.
 */
#include "loader/order/given.h"

#include "base/compiler.h"
#include "base/philox.h"
#include "base/status.h"

#include <feedline/order.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define KEPT (2 * FEEDLINE_GIVEN_MAX)

/* The samples of one batch. */
struct lot {
    struct lot *next; /* free ones */
    uint32_t *copies; /* [batch_size], behind the indices */
    uint64_t indices[];
};

struct entry {
    struct fdl_ticket_range range;
    struct lot *lot; /* NULL: it is made elsewhere */
};

struct fdl_given {
    uint32_t batch_size; /* constant */
    uint64_t count;      /* constant; of the data set */
    struct entry *table; /* [KEPT]; ticket t at t % KEPT */
    _Atomic uint64_t from, appended;

    /* The consumer's. */
    struct lot *free_lots;
    uint64_t freed;   /* lots of tickets below it are free */
    uint64_t samples; /* appended */
    bool open;
    uint64_t epoch, position, sequence; /* of what is appended next */
};

static struct entry *entry_of(const struct fdl_given *g, uint64_t ticket)
{
    return &g->table[ticket % KEPT];
}

/* What the consumer's thread has written itself. */
static uint64_t appended_here(const struct fdl_given *g)
{
    return atomic_load_explicit(&g->appended, memory_order_relaxed);
}

/* ---- Life --------------------------------------------------------------- */

int32_t fdl_given_create(uint32_t batch_size, uint64_t count,
                         struct fdl_given **out)
{
    struct fdl_given *g = calloc(1, sizeof(*g));
    if (!g)
        return fdl_fail_memory(sizeof(*g), "the order that is given");
    g->batch_size = batch_size;
    g->count = count;
    g->table = calloc(KEPT, sizeof(*g->table));
    if (!g->table) {
        free(g);
        return fdl_fail_memory(KEPT * sizeof(*g->table),
                               "the order that is given");
    }
    *out = g;
    return FEEDLINE_OK;
}

static void free_lots_below(struct fdl_given *g, uint64_t ticket)
{
    for (; g->freed < ticket; g->freed++) {
        struct lot *lot = entry_of(g, g->freed)->lot;
        if (!lot)
            continue;
        lot->next = g->free_lots;
        g->free_lots = lot;
    }
}

void fdl_given_destroy(struct fdl_given *g)
{
    if (!g)
        return;
    free_lots_below(g, appended_here(g));
    while (g->free_lots) {
        struct lot *lot = g->free_lots;
        g->free_lots = lot->next;
        free(lot);
    }
    free(g->table);
    free(g);
}

/* Relaxed: starting the threads orders it. */
void fdl_given_reset(struct fdl_given *g)
{
    free_lots_below(g, appended_here(g));
    atomic_store_explicit(&g->from, 0, memory_order_relaxed);
    atomic_store_explicit(&g->appended, 0, memory_order_relaxed);
    g->freed = g->samples = 0;
    g->open = false;
}

/* ---- The consumer's side ------------------------------------------------ */

void fdl_given_begin(struct fdl_given *g, uint64_t epoch, uint64_t position)
{
    g->epoch = epoch;
    g->position = position;
    g->sequence = 0;
    g->open = true;
}

static int32_t check_room(const struct fdl_given *g, uint64_t awaited,
                          uint32_t count)
{
    if (count < 1 || count > g->batch_size)
        return fdl_fail(FEEDLINE_ERANGE,
                        "a batch of %" PRIu32 " samples: 1 to %" PRIu32
                        " make one with this batch_size",
                        count, g->batch_size);
    if (fdl_given_waiting(g, awaited) >= FEEDLINE_GIVEN_MAX)
        return fdl_fail(FEEDLINE_ERANGE,
                        "%d batches are queued already: call next before "
                        "appending another",
                        FEEDLINE_GIVEN_MAX);
    return FEEDLINE_OK;
}

static int32_t check(const struct fdl_given *g, uint64_t awaited,
                     const uint64_t *indices, const uint32_t *copies,
                     uint32_t count)
{
    int32_t status = check_room(g, awaited, count);
    if (status < 0)
        return status;
    for (uint32_t i = 0; i < count; i++) {
        if (indices[i] >= g->count)
            return fdl_fail(FEEDLINE_ERANGE,
                            "index %" PRIu64 " at place %" PRIu32
                            " of the batch: the data set has %" PRIu64
                            " samples",
                            indices[i], i, g->count);
        if (copies && copies[i] >= FDL_COPY_NUMBERS)
            return fdl_fail(FEEDLINE_ERANGE,
                            "copy %" PRIu32 " at place %" PRIu32
                            " of the batch: copies count from 0 to %" PRIu32,
                            copies[i], i, FDL_COPY_NUMBERS - 1);
    }
    return FEEDLINE_OK;
}

/* NULL: no memory, and the error says so. */
static struct lot *take_lot(struct fdl_given *g)
{
    struct lot *lot = g->free_lots;
    if (lot) {
        g->free_lots = lot->next;
        return lot;
    }
    size_t each = sizeof(*lot->indices) + sizeof(*lot->copies);
    size_t bytes = sizeof(*lot) + g->batch_size * each;
    lot = malloc(bytes);
    if (lot)
        lot->copies = (uint32_t *)(void *)(lot->indices + g->batch_size);
    else
        fdl_fail_memory(bytes, "a batch that is given");
    return lot;
}

/* lot: its samples, or NULL. */
static void put(struct fdl_given *g, uint64_t awaited, uint32_t count,
                struct lot *lot)
{
    uint64_t ticket = appended_here(g);
    *entry_of(g, ticket) = (struct entry){
        .range =
            {
                .epoch = g->epoch,
                .sequence = g->sequence++,
                .first_sample = g->samples,
                .position = g->position,
                .count = count,
                .brought = !lot,
            },
        .lot = lot,
    };
    g->samples += lot ? count : 0;
    g->position += count;
    atomic_store_explicit(&g->from, awaited, memory_order_relaxed);
    /* release: pairs with the acquire in locate and ticket; the entry is there,
     * and `from`. */
    atomic_store_explicit(&g->appended, ticket + 1, memory_order_release);
}

int32_t fdl_given_append(struct fdl_given *g, uint64_t awaited,
                         const uint64_t *indices, const uint32_t *copies,
                         uint32_t count)
{
    fdl_assert(g->open);
    int32_t status = check(g, awaited, indices, copies, count);
    if (status < 0)
        return status;
    free_lots_below(g, awaited);
    struct lot *lot = take_lot(g);
    if (!lot)
        return FEEDLINE_ENOMEM;
    memcpy(lot->indices, indices, count * sizeof(*indices));
    if (copies)
        memcpy(lot->copies, copies, count * sizeof(*copies));
    else
        memset(lot->copies, 0, count * sizeof(*copies));
    put(g, awaited, count, lot);
    return FEEDLINE_OK;
}

int32_t fdl_given_expect(struct fdl_given *g, uint64_t awaited, uint32_t count,
                         uint64_t *ticket)
{
    fdl_assert(g->open);
    int32_t status = check_room(g, awaited, count);
    if (status < 0)
        return status;
    free_lots_below(g, awaited);
    *ticket = appended_here(g);
    put(g, awaited, count, NULL);
    return FEEDLINE_OK;
}

void fdl_given_end(struct fdl_given *g)
{
    g->open = false;
}

bool fdl_given_is_open(const struct fdl_given *g)
{
    return g->open;
}

uint64_t fdl_given_waiting(const struct fdl_given *g, uint64_t awaited)
{
    return appended_here(g) - awaited;
}

/* ---- The readers' side -------------------------------------------------- */

FDL_HOT bool fdl_given_ticket(const struct fdl_given *g, uint64_t ticket,
                              struct fdl_ticket_range *out)
{
    /* acquire: pairs with the release in append. */
    if (ticket >= atomic_load_explicit(&g->appended, memory_order_acquire))
        return false;
    *out = entry_of(g, ticket)->range;
    return true;
}

/* The last entry that begins no later: before it are those made elsewhere that
 * begin there, too, as they have no samples. */
void fdl_given_locate(const struct fdl_given *g, uint64_t sample,
                      struct fdl_place *out)
{
    /* acquire: pairs with the release in append; `from` is as it was then, or
     * later. */
    uint64_t end = atomic_load_explicit(&g->appended, memory_order_acquire);
    uint64_t ticket = atomic_load_explicit(&g->from, memory_order_relaxed);
    fdl_assert(ticket < end);
    while (end - ticket > 1) {
        uint64_t middle = ticket + (end - ticket) / 2;
        if (entry_of(g, middle)->range.first_sample <= sample)
            ticket = middle;
        else
            end = middle;
    }
    const struct entry *e = entry_of(g, ticket);
    uint32_t place = (uint32_t)(sample - e->range.first_sample);
    fdl_assert(sample >= e->range.first_sample && place < e->range.count);
    *out = (struct fdl_place){
        .epoch = e->range.epoch,
        .position = e->range.position + place,
        .ticket = ticket,
        .slot_place = place,
        .copy = e->lot->copies[place],
        .index = e->lot->indices[place],
    };
}
