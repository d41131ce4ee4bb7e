/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory reader: no thread, and after the first epoch no read.
 *
 * A worker that needs a sample finds it in a table of pointers, one per sample
 * of the data set (8 bytes each), or reads the file itself and leaves an
 * exact-size copy there. Nothing is ever evicted: an order that is random over
 * the whole data set hits a cache that keeps just as often as any other, and
 * one that replaces pays for it. Past the memory budget files are read and
 * not kept.
 *
 * Checksums are compared before a copy is kept, and never again.
 *
 * Two workers may read the same sample at once (a wrapped shard, a replacement
 * sample); the first to publish its copy wins and the other drops its own,
 * which is cheaper than a lock for all.
 */
#include "base/memory.h"
#include "decode/decoder.h"
#include "loader/options.h"
#include "loader/read/read_bytes.h"
#include "loader/read/reader.h"
#include "loader/read/reader_file.h"

#include <stdlib.h>
#include <string.h>

struct cached {
    uint64_t size;
    uint8_t bytes[]; /* size, then FDL_ENCODED_PADDING zeroed ones */
};

struct fdl_reader {
    struct fdl_window *window;
    const feedline_dataset *dataset;
    uint64_t count; /* of table */
    uint64_t budget;
    _Atomic uint64_t used;
    _Atomic(struct cached *)
        *table; /* NULL: nothing is kept, as the data set is
                                        in memory, or read anew each time */
};

static void give(struct fdl_read *read, const uint8_t *data, uint64_t size,
                 uint64_t readable)
{
    read->data = data;
    read->size = size;
    read->readable = readable;
    read->status = FEEDLINE_OK;
    read->reason[0] = '\0';
}

static void give_cached(struct fdl_read *read, const struct cached *c)
{
    give(read, c->bytes, c->size, c->size + FDL_ENCODED_PADDING);
    read->verified = true;
}

/* A copy of what was just read, if the budget allows one; else NULL. */
static struct cached *copy_of(struct fdl_reader *r, const struct fdl_read *read)
{
    uint64_t bytes = sizeof(struct cached) + read->readable;
    /* Added first, so that all workers together stay below the budget. */
    uint64_t before =
        atomic_fetch_add_explicit(&r->used, bytes, memory_order_relaxed);
    struct cached *c = NULL;
    if (before <= r->budget && bytes <= r->budget - before)
        c = malloc(bytes);
    if (!c) {
        atomic_fetch_sub_explicit(&r->used, bytes, memory_order_relaxed);
        return NULL;
    }
    c->size = read->size;
    memcpy(c->bytes, read->data, read->readable);
    return c;
}

static void keep(struct fdl_reader *r, const struct fdl_read *read)
{
    struct cached *c = copy_of(r, read);
    if (!c)
        return;
    struct cached *empty = NULL;
    /* release: pairs with the acquire in read_now. */
    if (atomic_compare_exchange_strong_explicit(&r->table[read->index], &empty,
                                                c, memory_order_release,
                                                memory_order_relaxed))
        return;
    atomic_fetch_sub_explicit(&r->used, sizeof(*c) + read->readable,
                              memory_order_relaxed);
    free(c);
}

/* What is damaged is not kept: the next read may be better. */
static bool verify(const struct fdl_reader *r, struct fdl_read *read)
{
    int32_t status = fdl_read_verify(r->dataset, read, true);
    read->verified = status == FEEDLINE_OK;
    if (status < 0) {
        fdl_read_fail(read, status, "%s", fdl_last_error());
        fdl_clear_error();
    }
    return read->verified;
}

static void read_now(struct fdl_reader *r, struct fdl_read *read)
{
    if (read->source.data) {
        uint64_t size = (uint64_t)read->source.length;
        give(read, read->source.data, size, size);
        return;
    }
    if (!r->table) {
        fdl_read_file(r->window, read);
        return;
    }
    fdl_assert(read->index < r->count);
    /* acquire: pairs with the release in keep: the bytes are there. */
    const struct cached *c =
        atomic_load_explicit(&r->table[read->index], memory_order_acquire);
    if (c) {
        give_cached(read, c);
        return;
    }
    fdl_read_file(r->window, read); /* its buffer serves this one time */
    if (read->status == FEEDLINE_OK && verify(r, read))
        keep(r, read);
}

static uint64_t memory(const struct fdl_reader *r)
{
    return atomic_load_explicit(&r->used, memory_order_relaxed) +
           r->count * sizeof(*r->table);
}

static void stop(struct fdl_reader *r)
{
    for (uint64_t i = 0; i < r->count; i++)
        free(atomic_load_explicit(&r->table[i], memory_order_relaxed));
    free(r->table);
    free(r);
}

static int32_t start(const struct fdl_reader_config *cfg,
                     struct fdl_reader **out)
{
    struct fdl_reader *r = calloc(1, sizeof(*r));
    if (!r)
        return fdl_fail_memory(sizeof(*r), "the reader");
    r->window = cfg->window;
    r->dataset = cfg->dataset;
    r->budget = cfg->memory_budget;
    if (!cfg->dataset->data &&
        !fdl_user_reader_reads_anew(cfg->dataset->user)) {
        r->count = cfg->dataset->count;
        r->table = calloc(FDL_MAX(r->count, 1), sizeof(*r->table));
        if (!r->table) {
            uint64_t count = r->count;
            free(r);
            return fdl_fail_memory(count * sizeof(struct cached *),
                                   "the table of cached samples");
        }
    }
    *out = r;
    return FEEDLINE_OK;
}

const struct fdl_reader_ops fdl_reader_memory = {
    .name = "memory",
    .kind = FDL_READER_memory,
    .default_depth = 16,
    .max_depth = FDL_MAX_IO_DEPTH,
    .start = start,
    .read_now = read_now,
    .memory = memory,
    .stop = stop,
};
