/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of batches, and when it is made: the ring alone, without threads.
 * This file is the workers, who write all bytes of a batch, and the consumer.
 */
#include "loader/read/window.h"
#include "loader/stream/ring.h"
#include "loader/stream/slot_fields.h"
#include "test.h"

#include <feedline/feedline.h>

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BATCH = 8, DEPTH = 6, SLOTS = DEPTH + FDL_SPARE_SLOTS, MOST = 64 };

struct rig {
    struct fdl_ring *ring;
    struct fdl_window *window;
    struct fdl_stream stream;
    uint64_t next; /* ticket to fill */
};

static void resolve_nothing(void *user, struct fdl_read *r)
{
    (void)user;
    (void)r;
}

static void rig_start(struct rig *g)
{
    g->next = 0;
    fdl_window_reset(g->window);
    fdl_ring_start(g->ring, &g->stream, g->window);
}

static void rig_open_with(struct rig *g, const char *field)
{
    const struct fdl_output_format format = {
        .width = 64, .height = 64, .channels = 3, .dtype = FEEDLINE_F32};
    struct fdl_sampler sampler = {
        .count = 1000, .repeats = 1, .world = 1, .batch_size = BATCH};
    struct fdl_layout layout;
    uint32_t depth = DEPTH;
    *g = (struct rig){0};
    assert_int_equal(fdl_layout_init(&layout, BATCH, 1, &format, NULL, false),
                     0);
    assert_int_equal(fdl_sampler_init(&sampler), 0);
    assert_int_equal(fdl_stream_init(&g->stream, &sampler, 0, 0, UINT64_MAX),
                     0);
    assert_int_equal(
        fdl_window_create(4, 1 << 20, resolve_nothing, NULL, &g->window), 0);
    assert_int_equal(
        fdl_ring_create(&layout, &fdl_backend_host, NULL, &g->ring), 0);
    if (field)
        assert_int_equal(fdl_field_set_add(&g->ring->kind.fields, field,
                                           FEEDLINE_FIELD_BYTES),
                         0);
    assert_int_equal(fdl_ring_set_depth(g->ring, &depth), 0);
    assert_int_equal(depth, DEPTH);
    rig_start(g);
}

static void rig_open(struct rig *g)
{
    rig_open_with(g, NULL);
}

static void rig_close(struct rig *g)
{
    fdl_ring_stop(g->ring);
    fdl_ring_unref(g->ring);
    fdl_window_destroy(g->window);
}

/* The next batch: its first sample is being read. */
static feedline_batch *begin(struct rig *g)
{
    return fdl_ring_open(g->ring, g->next++);
}

static void end(feedline_batch *b)
{
    uint64_t count = b->range.count;
    for (uint32_t place = 0; place < count; place++)
        fdl_slot_describe(b, place, 7, place, FEEDLINE_OK);
    memset(fdl_slot_images_at(b), 1, count * b->layout->sample_bytes);
    for (uint32_t place = 0; place < count; place++)
        fdl_ring_sample_done(b, place);
}

static void fill(struct rig *g)
{
    end(begin(g));
}

static feedline_batch *next(struct rig *g)
{
    struct fdl_ticket_range range;
    feedline_batch *b;
    bool all_held;
    assert_true(fdl_ring_awaited(g->ring, &range, &b, &all_held));
    assert_non_null(b);
    fdl_ring_deliver(g->ring, b);
    return b;
}

/* Batches whose memory has a page; `slots`: how many have memory. */
static uint32_t touched(struct rig *g, uint32_t slots)
{
    const void *at[MOST];
    unsigned char page = 0;
    uint32_t n = fdl_ring_host_memory(g->ring, at, MOST), found = 0;
    assert_int_equal(n, slots);
    for (uint32_t i = 0; i < n; i++) {
        void *first = (void *)(uintptr_t)at[i];
        assert_int_equal(mincore(first, (size_t)sysconf(_SC_PAGESIZE), &page),
                         0);
        found += page & 1;
    }
    return found;
}

/* Where workers are waited for, one batch is filled after the other. */
TEST(memory_that_was_used_is_used_again)
{
    struct rig g;
    rig_open(&g);
    assert_int_equal(touched(&g, SLOTS), 0);
    for (uint32_t i = 0; i < 4 * SLOTS; i++) {
        fill(&g);
        fdl_ring_release(next(&g));
        assert_int_equal(touched(&g, SLOTS), 1);
    }
    rig_close(&g);
}

/* The consumer keeps one while the next is awaited, and one more is begun. */
TEST(as_much_is_made_as_is_used_at_once)
{
    struct rig g;
    rig_open(&g);
    feedline_batch *kept = NULL, *begun = begin(&g);
    for (uint32_t i = 0; i < 4 * SLOTS; i++) {
        feedline_batch *then = begin(&g);
        end(begun);
        begun = then;
        feedline_batch *b = next(&g);
        if (kept)
            fdl_ring_release(kept);
        kept = b;
    }
    assert_int_equal(touched(&g, SLOTS), 3);
    fdl_ring_release(kept);
    rig_close(&g);
}

TEST(all_of_it_serves_workers_that_are_ahead)
{
    struct rig g;
    rig_open(&g);
    for (uint32_t i = 0; i < DEPTH; i++) {
        fill(&g);
        assert_int_equal(touched(&g, SLOTS), i + 1);
    }
    for (uint32_t i = 0; i < DEPTH; i++) {
        feedline_batch *b = next(&g);
        assert_int_equal(fdl_slot_labels(b)[BATCH - 1], 7);
        assert_int_equal(*fdl_slot_images_at(b), 1);
        fdl_ring_release(b);
    }
    assert_int_equal(touched(&g, SLOTS), DEPTH);
    rig_close(&g);
}

/* One is complete, one is being filled, the others are issued: as it is when a
 * run is stopped. */
TEST(a_run_that_stops_leaves_its_memory_to_the_next)
{
    struct rig g;
    rig_open(&g);
    for (uint32_t run = 0; run < 5; run++) {
        fill(&g);
        feedline_batch *b = begin(&g);
        memset(fdl_slot_images_at(b), 2, b->layout->sample_bytes);
        fdl_ring_stop(g.ring);
        assert_int_equal(g.ring->n_free, SLOTS);
        assert_int_equal(g.ring->n_idle, SLOTS);
        assert_int_equal(touched(&g, SLOTS), 2);
        rig_start(&g);
    }
    rig_close(&g);
}

TEST(a_batch_that_outlives_the_run_keeps_its_memory)
{
    struct rig g;
    rig_open(&g);
    fill(&g);
    feedline_batch *held = next(&g);
    fdl_ring_stop(g.ring);
    rig_start(&g);
    for (uint32_t i = 0; i < 3; i++) {
        feedline_batch *b = begin(&g);
        assert_ptr_not_equal(b->slab.host, held->slab.host);
        end(b);
        fdl_ring_release(next(&g));
    }
    assert_int_equal(*fdl_slot_images_at(held), 1);
    fdl_ring_release(held);
    assert_int_equal(touched(&g, SLOTS), 2);
    rig_close(&g);
}

/* ---- Fields -------------------------------------------------------------- */

/* A sample of so many bytes; where they are. */
static const uint8_t *put_field(feedline_batch *b, uint32_t place,
                                uint64_t bytes)
{
    uint64_t at;
    uint8_t *to;
    assert_int_equal(fdl_slot_fields_claim(b, bytes, &at, &to), 0);
    memset(to, (int)place + 1, bytes);
    fdl_slot_field_set(b, 0, place, at, bytes);
    return to;
}

static void fields_are_right(const feedline_batch *b, uint64_t bytes)
{
    struct feedline_batch_field f;
    fdl_slot_field_get(b, 0, &f);
    for (uint32_t place = 0; place < BATCH; place++) {
        assert_int_equal(f.bytes[place], bytes);
        assert_int_equal(f.data[f.offset[place]], place + 1);
        assert_int_equal(f.data[f.offset[place] + bytes - 1], place + 1);
    }
}

/* Where workers are waited for, all batches take turns with the memory that the
 * first one needed, however deep the ring is. */
TEST(fields_use_again_what_was_used)
{
    const uint64_t bytes = 300000;
    struct rig g;
    rig_open_with(&g, "caption");
    uint64_t before = fdl_ring_field_memory(g.ring);
    for (uint32_t i = 0; i < 4 * SLOTS; i++) {
        feedline_batch *b = begin(&g);
        for (uint32_t place = 0; place < BATCH; place++)
            put_field(b, place, bytes);
        end(b);
        b = next(&g);
        fields_are_right(b, bytes);
        fdl_ring_release(b);
        uint64_t more = fdl_ring_field_memory(g.ring) - before;
        assert_in_range(more, BATCH * bytes, 2 * BATCH * bytes);
    }
    rig_close(&g);
}

/* Memory that had no batch yet has room for one like those before: no sample
 * gets a block of its own, to be copied later. */
TEST(fields_know_what_batches_need)
{
    const uint64_t bytes = 300000;
    struct rig g;
    rig_open_with(&g, "caption");
    for (uint32_t i = 0; i < DEPTH; i++) { /* all of them ahead */
        feedline_batch *b = begin(&g);
        for (uint32_t place = 0; place < BATCH; place++) {
            const uint8_t *at = put_field(b, place, bytes);
            bool inside = at >= b->fields.slab.data &&
                          at < b->fields.slab.data + b->fields.slab.capacity;
            assert_int_equal(inside, i > 0);
        }
        end(b);
    }
    for (uint32_t i = 0; i < DEPTH; i++) {
        feedline_batch *b = next(&g);
        fields_are_right(b, bytes);
        fdl_ring_release(b);
    }
    rig_close(&g);
}

/* ---- Depth --------------------------------------------------------------- */

/* What depth does not need any more goes, and what was used stays; what it
 * needs in addition comes after all that was used. */
TEST(depth_takes_and_gives_what_was_not_used)
{
    struct rig g;
    uint32_t depth = 2;
    rig_open(&g);
    fill(&g);
    fdl_ring_release(next(&g));
    fdl_ring_stop(g.ring);
    assert_int_equal(fdl_ring_set_depth(g.ring, &depth), 0);
    assert_int_equal(touched(&g, 2 + FDL_SPARE_SLOTS), 1);

    rig_start(&g);
    depth = 12;
    assert_int_equal(fdl_ring_set_depth(g.ring, &depth), 0);
    for (uint32_t i = 0; i < 20; i++) {
        fill(&g);
        fdl_ring_release(next(&g));
    }
    assert_int_equal(touched(&g, 12 + FDL_SPARE_SLOTS), 1);
    rig_close(&g);
}

/* A ring can become smaller while batches are filled: no memory of theirs goes,
 * and none is lost. */
TEST(depth_may_change_at_any_time)
{
    struct rig g;
    feedline_batch *held[4];
    rig_open(&g);
    for (uint32_t round = 0; round < 50; round++) {
        uint32_t depth = 1 + round * 7 % 11, n = 1 + round % 4;
        n = depth < n ? depth : n;
        for (uint32_t i = 0; i < n; i++)
            fill(&g);
        assert_int_equal(fdl_ring_set_depth(g.ring, &depth), 0);
        for (uint32_t i = 0; i < n; i++)
            held[i] = next(&g);
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(*fdl_slot_images_at(held[i]), 1);
            fdl_ring_release(held[i]);
        }
        fdl_ring_trim(g.ring);
        touched(&g, g.ring->n_slots);
        while (g.next > g.ring->next_deliver)
            fdl_ring_release(next(&g));
    }
    rig_close(&g);
}

TEST_MAIN("ring")
