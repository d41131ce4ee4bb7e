/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held=grow: a program that keeps its batches gets the next ones all the same,
 * every one it keeps stays what it was, as many are ahead as ever, and memory
 * goes back when batches do.
 */
#include "base/compiler.h"
#include "loader/loader.h"
#include "loader/stream/engine_own.h"
#include "tests/loader/fixture.h"
#include "tests/loader/order/order_rig.h"
#include "tests/wrap.h"

#include <feedline/order.h>

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define KEPT TEST_ROUNDS(200u)

static struct order_rig rig;

static void setup(void)
{
    order_rig_open(&rig, false, "");
}

static void teardown(void)
{
    order_rig_close(&rig);
}

/* Another thread makes what was asked for; the test's timeout is the limit. */
static void await_memory(const feedline_loader *l, uint64_t bytes)
{
    struct timespec pause = {.tv_nsec = 1000000};
    while (fdl_ring_memory(l->engine->ring) != bytes)
        nanosleep(&pause, NULL);
}

/* Batch i of the program's order. */
static void give(feedline_loader *l, uint32_t i, uint32_t count)
{
    struct order_batch given = order_row(i, 1, count);
    assert_ok(order_append(l, &given));
}

/* n batches of two samples, each given and taken in turn. */
static void keep(feedline_loader *l, feedline_batch **kept, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        give(l, i, 2);
        kept[i] = fixture_take(l);
    }
}

static uint64_t usual_memory(const feedline_loader *l, uint32_t depth)
{
    return (depth + FDL_SPARE_SLOTS) * l->engine->ring->kind.layout.bytes;
}

/* ---- Kept --------------------------------------------------------------- */

/* KEPT batches, of which each sample is looked at when all are there. */
static void keep_many(const char *options)
{
    static feedline_batch *kept[KEPT];
    feedline_loader *l = order_loader(&rig, options);
    assert_ok(feedline_loader_begin(l, 1, 1, 0));
    for (uint32_t i = 0; i < KEPT; i++)
        give(l, i, ORDER_BATCH);
    fixture_take_all(l, kept, KEPT);
    for (uint32_t i = 0; i < KEPT; i++) {
        struct order_batch given = order_row(i, 1, ORDER_BATCH);
        order_check(&rig, kept[i], &given, 1, 1);
    }
    /* The loader goes, they stay, and go in another order. */
    feedline_loader_destroy(l);
    for (uint32_t i = 0; i < KEPT; i++) {
        uint32_t k = i * 77 % KEPT;
        struct order_batch given = order_row(k, 1, ORDER_BATCH);
        order_check(&rig, kept[k], &given, 1, 1);
        feedline_batch_release(kept[k]);
    }
}

TEST_WITH(all_batches_may_be_kept, setup, teardown)
{
    keep_many("held=grow depth=1 workers=2");
    keep_many("held=grow depth=3 workers=2 tuner=off");
    keep_many("held=grow workers=3"); /* depth is the tuner's */
}

/* Far above the budget, which is the library's and not the program's. */
TEST_WITH(the_budget_is_not_the_programs, setup, teardown)
{
    char options[128];
    snprintf(options, sizeof(options),
             "held=grow depth=1 workers=1 tuner=off memory_budget=%u",
             4 * ORDER_BATCH * 3 * 32 * 32);
    keep_many(options);
}

TEST_WITH(own_order_grows_too, setup, teardown)
{
    feedline_batch *kept[20];
    feedline_loader *l =
        fixture_open(rig.dataset, "held=grow depth=1 workers=2");
    uint64_t all = 0, plain = 0;
    fixture_take_all(l, kept, 20);
    for (uint32_t i = 0; i < 20; i++)
        fixture_consume(kept[i], &all);
    feedline_loader_destroy(l);
    l = fixture_open(rig.dataset, "depth=1 workers=2");
    for (uint32_t i = 0; i < 20; i++)
        fixture_consume(fixture_take(l), &plain);
    feedline_loader_destroy(l);
    assert_true(all == plain);
}

TEST_WITH(refuse_refuses, setup, teardown)
{
    feedline_batch *kept[4];
    SCOPED_LOADER l = order_loader(&rig, "depth=1 workers=1");
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    for (uint32_t i = 0; i < 4; i++)
        give(l, i, 2);
    fixture_take_all(l, kept, 3);
    assert_error(feedline_loader_next(l, -1, &kept[3]), FEEDLINE_ESTATE,
                 "all 3 batches that depth allows are held");
    fixture_release_all(kept, 3);
    feedline_batch_release(fixture_take(l));
}

/* ---- Ahead -------------------------------------------------------------- */

/* Soon after each next() as many tickets are issued as without a kept batch:
 * all of depth, where a quarter of it is less than one batch. */
TEST_WITH(depth_stays_ahead, setup, teardown)
{
    feedline_batch *kept[40];
    SCOPED_LOADER l = order_loader(&rig, "held=grow depth=2 tuner=off");
    uint32_t ready, outstanding;
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    for (uint32_t i = 0; i < 50; i++)
        give(l, i, 2);
    for (uint32_t i = 0; i < 40; i++) {
        kept[i] = fixture_take(l);
        await_memory(l, usual_memory(l, FDL_MAX(i + 1, 2)));
        do
            fdl_ring_count(l->engine->ring, &ready, &outstanding);
        while (outstanding < 2);
    }
    assert_int_equal(fdl_ring_slots(l->engine->ring),
                     4); /* the others are for what is kept */
    assert_int_equal(fdl_ring_own_memory(l->engine->ring), usual_memory(l, 2));
    assert_ok(feedline_loader_set_int(l, "depth", 3));
    feedline_batch *another = fixture_take(l);
    do
        fdl_ring_count(l->engine->ring, &ready, &outstanding);
    while (outstanding < 3); /* all that were given */
    assert_int_equal(fdl_ring_own_memory(l->engine->ring), usual_memory(l, 3));
    feedline_batch_release(another);
    fixture_release_all(kept, 40);
}

/* What files may take in memory does not shrink with what the program keeps. */
TEST_WITH(reads_keep_their_share, setup, teardown)
{
    feedline_batch *kept[60];
    SCOPED_DATASET ds = fixture_folder(&rig.images);
    SCOPED_LOADER l = fixture_open(
        ds, "order=given held=grow depth=2 tuner=off memory_budget=1m "
            "reader=pread");
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    for (uint32_t i = 0; i < 60; i++) {
        give(l, i, ORDER_BATCH);
        kept[i] = fixture_take(l);
    }
    assert_true(fdl_ring_memory(l->engine->ring) > 1u << 20);
    assert_int_equal(fdl_ring_own_memory(l->engine->ring), usual_memory(l, 2));
    assert_ok(feedline_loader_set_int(l, "depth", 3)); /* fits beside them */
    fixture_release_all(kept, 60);
}

/* ---- Back --------------------------------------------------------------- */

/* The monitor gives it back; that takes some of its beats. */
TEST_WITH(memory_goes_back, setup, teardown)
{
    feedline_batch *kept[30];
    SCOPED_LOADER l = order_loader(&rig, "held=grow depth=2 tuner=off");
    struct timespec pause = {.tv_nsec = 20000000};
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    keep(l, kept, 30);
    assert_true(fdl_ring_memory(l->engine->ring) > usual_memory(l, 20));
    fixture_release_all(kept, 30);
    while (fdl_ring_memory(l->engine->ring) > usual_memory(l, 2))
        nanosleep(&pause, NULL); /* the test's timeout is the limit */
    struct order_batch given = order_row(3, 1, 2);
    assert_ok(order_append(l, &given));
    order_take(&rig, l, &given, 0, 0);
}

/* Not at once: who keeps six batches again and again is not made to wait for
 * their memory each time. */
TEST_WITH(memory_stays_for_a_while, setup, teardown)
{
    feedline_batch *kept[6];
    feedline_loader *l = order_loader(&rig, "held=grow depth=2 tuner=off");
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    keep(l, kept, 6);
    await_memory(l, usual_memory(l, 6));
    fdl_lock(&l->engine->run_lock); /* the monitor passes by */
    fixture_release_all(kept, 6);
    fdl_ring_trim(l->engine->ring);
    assert_int_equal(fdl_ring_memory(l->engine->ring), usual_memory(l, 6));
    assert_true(fdl_ring_has_surplus(l->engine->ring));
    fdl_ring_trim(l->engine->ring);
    assert_int_equal(fdl_ring_memory(l->engine->ring), usual_memory(l, 2));
    assert_false(fdl_ring_has_surplus(l->engine->ring));
    fdl_unlock(&l->engine->run_lock);
    feedline_loader_destroy(l);
}

/* ---- A run that fails --------------------------------------------------- */

/* The monitor may have its turn at any moment: here it has two of them at the
 * worst one, when a run that failed has just given its slots back. */
static bool monitor_is_next;

WRAP(void, fdl_engine_stop, struct fdl_engine *e)
{
    __real_fdl_engine_stop(e);
    if (!monitor_is_next)
        return;
    fdl_lock(&e->run_lock);
    fdl_ring_trim(e->ring);
    fdl_ring_trim(e->ring);
    fdl_unlock(&e->run_lock);
}

/* Images of which the second is none. */
static feedline_dataset *open_damaged(struct fixture *images)
{
    char path[128];
    fixture_create(images, 3);
    fixture_path(images, 1, path, sizeof(path));
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite("none", 1, 4, f), 4);
    assert_int_equal(fclose(f), 0);
    return fixture_folder(images);
}

/* Its books are kept of the slot of the batch that failed, which is memory that
 * goes back when the run is over. */
TEST(a_failed_batch_is_booked_before_its_slot_goes)
{
    static const uint64_t bad = 1;
    struct fixture images;
    feedline_dataset *ds = open_damaged(&images);
    feedline_batch *kept[5], *none;
    feedline_loader *l = fixture_open(
        ds, "order=given held=grow depth=1 workers=1 tuner=off reader=pread");
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    for (uint32_t i = 0; i < 5; i++) {
        uint64_t good = i % 2 * 2;
        assert_ok(feedline_loader_append(l, &good, NULL, 1));
        kept[i] = fixture_take(l);
    }
    fixture_release_all(kept, 5);
    uint64_t before = fdl_ring_memory(l->engine->ring);
    monitor_is_next = true;
    assert_ok(feedline_loader_append(l, &bad, NULL, 1));
    assert_error(feedline_loader_next(l, -1, &none), FEEDLINE_EDECODE,
                 "JPEG, PNG");
    monitor_is_next = false;
    assert_true(fdl_ring_memory(l->engine->ring) < before);
    feedline_loader_destroy(l);
    feedline_dataset_close(ds);
    fixture_remove(&images);
}

/* ---- What is said ------------------------------------------------------- */

/* A budget of a few batches, of which one is more than the part that may be
 * kept. */
static feedline_loader *loader_of_little_memory(void)
{
    char options[96];
    feedline_loader *l = order_loader(&rig, "held=grow depth=2 tuner=off");
    uint64_t bytes = fdl_ring_slot_bytes(l->engine->ring);
    feedline_loader_destroy(l);
    snprintf(options, sizeof(options),
             "held=grow depth=2 tuner=off memory_budget=%" PRIu64, 16 * bytes);
    return order_loader(&rig, options);
}

TEST_WITH(it_is_said_once, setup, teardown)
{
    feedline_batch *kept[30];
    SCOPED_LOADER l = loader_of_little_memory();
    (void)fixture_log_count("");
    for (uint32_t epoch = 0; epoch < 2; epoch++) {
        assert_ok(feedline_loader_begin(l, epoch, 0, 0));
        for (uint32_t i = 0; i < 30; i++) {
            give(l, i, 2);
            kept[i] = fixture_take(l);
            if (epoch == 0 && i == 3) /* the usual, all of it in use */
                assert_int_equal(fixture_log_count("the program keeps"), 0);
        }
        assert_int_equal(fixture_log_count("the program keeps 5 batches of "),
                         epoch == 0);
        fixture_release_all(kept, 30);
    }
}

/* There is memory for far more of them: it is the number that is told. */
TEST_WITH(small_batches_may_be_many, setup, teardown)
{
    enum { FEW = 67, MANY = 80 };
    feedline_batch *kept[MANY];
    SCOPED_LOADER l = order_loader(&rig, "held=grow depth=2 tuner=off");
    (void)fixture_log_count("");
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    for (uint32_t i = 0; i < MANY; i++) {
        give(l, i % 30, 2);
        kept[i] = fixture_take(l);
        if (i == FEW - 1)
            assert_int_equal(fixture_log_count("the program keeps"), 0);
    }
    assert_int_equal(fixture_log_count("the program keeps 68 batches of "), 1);
    fixture_release_all(kept, MANY);
}

TEST_MAIN("held")
