/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of feedline/order.h: batches as they are given, with the pixels
 * that the library's own order gives the same samples; what every call answers
 * in every state; and that options and calls which contradict a given order are
 * refused by name.
 */
#include "loader/loader.h"
#include "loader/stream/engine_own.h"
#include "order_rig.h"

#include <feedline/draws.h>
#include <feedline/order.h>

static struct order_rig rig;

static void setup(void)
{
    order_rig_open(&rig, true, "");
}

static void teardown(void)
{
    order_rig_close(&rig);
}

static void assert_next(feedline_loader *l, int32_t want)
{
    feedline_batch *b;
    assert_int_equal(feedline_loader_next(l, -1, &b), want);
    assert_null(b);
}

/* ---- What is delivered -------------------------------------------------- */

/* A whole epoch of batches of every size, appended before the first is taken.
 */
static void deliver(feedline_loader *l, uint64_t seed, uint64_t epoch)
{
    struct order_batch given[2 * ORDER_BATCH];
    assert_ok(feedline_loader_begin(l, epoch, seed, 0));
    for (uint32_t i = 0; i < 2 * ORDER_BATCH; i++) {
        given[i] = order_row(7 * i + epoch, 5 + seed, 1 + i % ORDER_BATCH);
        given[i].copies[0] = i % ORDER_COPIES;
        assert_ok(order_append(l, &given[i]));
    }
    assert_ok(feedline_loader_end(l));
    for (uint32_t i = 0; i < 2 * ORDER_BATCH; i++)
        order_take(&rig, l, &given[i], seed, epoch);
    assert_next(l, FEEDLINE_END);
    assert_next(l, FEEDLINE_END);
}

TEST_WITH(equals_own_order, setup, teardown)
{
    static const char *const how[] = {"reader=pread workers=3", "reader=memory",
                                      "reader=auto depth=1 workers=1",
                                      "depth=11 tuner=off io_depth=2"};
    for (size_t i = 0; i < FDL_COUNT_OF(how); i++) {
        SCOPED_LOADER l = order_loader(&rig, how[i]);
        for (uint64_t seed = 0; seed < ORDER_SEEDS; seed++)
            for (uint64_t epoch = ORDER_EPOCHS; epoch-- > 0;)
                deliver(l, seed, epoch);
    }
}

/* One given, one taken: nothing is ever ahead. */
TEST_WITH(one_by_one, setup, teardown)
{
    SCOPED_LOADER l = order_loader(&rig, "workers=2");
    assert_ok(feedline_loader_begin(l, 1, 0, 0));
    for (uint32_t i = 0; i < 800; i++) {
        struct order_batch given = order_row(i, 3, 1 + i % 3);
        assert_ok(order_append(l, &given));
        order_take(&rig, l, &given, 0, 1);
    }
    assert_ok(feedline_loader_end(l));
    assert_next(l, FEEDLINE_END);
}

/* As many as may wait, again and again: the tables go round. */
TEST_WITH(many_wait, setup, teardown)
{
    SCOPED_LOADER l = order_loader(&rig, "workers=2 depth=5");
    struct order_batch one = order_row(0, 1, 1);
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    uint64_t appended = 0, taken = 0;
    for (uint32_t round = 0; round < 3; round++) {
        while (appended < taken + FEEDLINE_GIVEN_MAX) {
            one.indices[0] = appended++ % ORDER_N;
            assert_ok(order_append(l, &one));
        }
        assert_error(order_append(l, &one), FEEDLINE_ERANGE, "1024 batches");
        while (taken < appended - round * 100) {
            one.indices[0] = taken++ % ORDER_N;
            order_take(&rig, l, &one, 0, 0);
        }
    }
}

TEST_WITH(views_and_sizes, setup, teardown)
{
    feedline_batch *b;
    struct feedline_batch_info info = {.struct_size = sizeof(info)};
    static const uint64_t indices[] = {30, 2, 17};
    SCOPED_LOADER l = fixture_with(
        rig.dataset, NULL, "resize size=36;five_crop width=24 height=24",
        "order=given batch_size=10");
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    assert_error(feedline_loader_append(l, indices, NULL, 3), FEEDLINE_ERANGE,
                 "a batch of 3 samples: 1 to 2");
    assert_ok(feedline_loader_append(l, indices, NULL, 2));
    assert_ok(feedline_loader_next(l, -1, &b));
    assert_ok(feedline_batch_get_info(b, &info));
    assert_int_equal(info.count, 10);
    assert_int_equal(info.views, 5);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(info.sample_index[i], indices[i / 5]);
    feedline_batch_release(b);
}

/* ---- States ------------------------------------------------------------- */

TEST_WITH(nothing_begins_by_itself, setup, teardown)
{
    SCOPED_LOADER l = order_loader(&rig, "");
    struct order_batch one = order_row(0, 1, 1);
    feedline_batch *b;
    assert_error(order_append(l, &one), FEEDLINE_ESTATE, "no epoch was begun");
    assert_error(feedline_loader_end(l), FEEDLINE_ESTATE, "no epoch was begun");
    assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_ESTATE,
                 "call feedline_loader_begin first");
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_ESTATE,
                 "no batch was given: append one, or end the epoch");
    assert_error(feedline_loader_next(l, INT64_C(1) << 40, &b), FEEDLINE_ESTATE,
                 "no batch was given");
    assert_ok(order_append(l, &one)); /* and it goes on */
    order_take(&rig, l, &one, 0, 0);
    assert_ok(feedline_loader_end(l));
    assert_error(order_append(l, &one), FEEDLINE_ESTATE, "the epoch was ended");
    assert_next(l, FEEDLINE_END);
    assert_error(order_append(l, &one), FEEDLINE_ESTATE, "the epoch was ended");
    assert_ok(feedline_loader_end(l)); /* it has */
    assert_ok(feedline_loader_stop(l));
    assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_ESTATE,
                 "the loader was stopped; begin");
    assert_error(order_append(l, &one), FEEDLINE_ESTATE, "stopped");
    assert_ok(feedline_loader_begin(l, 1, 1, 0));
    assert_ok(order_append(l, &one));
    order_take(&rig, l, &one, 1, 1);
}

TEST_WITH(an_empty_epoch_ends, setup, teardown)
{
    SCOPED_LOADER l = order_loader(&rig, "");
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        assert_ok(feedline_loader_begin(l, epoch, 0, 0));
        assert_ok(feedline_loader_end(l));
        assert_next(l, FEEDLINE_END);
    }
}

/* Left in the middle, with batches prepared, some of them held. */
TEST_WITH(an_epoch_may_be_left, setup, teardown)
{
    SCOPED_LOADER l = order_loader(&rig, "workers=3 depth=4");
    for (uint64_t i = 0; i < 30; i++) {
        struct order_batch given = order_row(i, 1, ORDER_BATCH);
        feedline_batch *held;
        assert_ok(feedline_loader_begin(l, i % 3, i % 2, 0));
        for (uint32_t k = 0; k < 6; k++)
            assert_ok(order_append(l, &given));
        for (uint32_t k = 0; k < i % 4; k++)
            order_take(&rig, l, &given, i % 2, i % 3);
        assert_ok(feedline_loader_next(l, -1, &held));
        assert_ok(feedline_loader_begin(l, 0, 0, 0));
        order_check(&rig, held, &given, i % 2, i % 3);
        feedline_batch_release(held);
    }
}

/* After the END, and after any batch that is the last one given so far. */
TEST_WITH(an_epoch_joins_without_a_stop, setup, teardown)
{
    SCOPED_LOADER l = order_loader(&rig, "reader=memory workers=2");
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    pthread_t first = l->engine->pool.workers[0]->thread.handle;
    for (uint64_t i = 0; i < 40; i++) {
        struct order_batch given = order_row(i, 1, ORDER_BATCH);
        assert_ok(feedline_loader_begin(l, i % 3, i % 2, 0));
        for (uint32_t k = 0; k < 3; k++)
            assert_ok(order_append(l, &given));
        if (i % 3)
            assert_ok(feedline_loader_end(l));
        for (uint32_t k = 0; k < 3; k++)
            order_take(&rig, l, &given, i % 2, i % 3);
        if (i % 3 == 2)
            assert_next(l, FEEDLINE_END);
    }
    assert_true(
        pthread_equal(first, l->engine->pool.workers[0]->thread.handle));
}

TEST_WITH(bad_batches_are_refused, setup, teardown)
{
    SCOPED_LOADER l = order_loader(&rig, "");
    uint64_t indices[ORDER_BATCH + 1] = {0, 36, 37};
    uint32_t copies[2] = {65535, 65536};
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    assert_error(feedline_loader_append(l, indices, NULL, 0), FEEDLINE_ERANGE,
                 "1 to 8");
    assert_error(feedline_loader_append(l, indices, NULL, 9), FEEDLINE_ERANGE,
                 "a batch of 9 samples: 1 to 8");
    assert_error(feedline_loader_append(l, indices, NULL, 3), FEEDLINE_ERANGE,
                 "index 37 at place 2 of the batch: the data set has 37");
    assert_error(feedline_loader_append(l, indices, copies, 2), FEEDLINE_ERANGE,
                 "copy 65536 at place 1");
    assert_error(feedline_loader_append(l, NULL, NULL, 2), FEEDLINE_EINVAL,
                 "indices is NULL");
    assert_error(feedline_loader_append(NULL, indices, NULL, 2),
                 FEEDLINE_EINVAL, "loader is NULL");
    assert_error(feedline_loader_begin(l, UINT64_C(1) << 62, 0, 0),
                 FEEDLINE_EINVAL, "is beyond the last");
    /* None of them left anything behind. */
    struct order_batch two = order_row(0, 36, 2);
    assert_ok(order_append(l, &two));
    order_take(&rig, l, &two, 0, 0);
    assert_ok(feedline_loader_end(l));
    assert_next(l, FEEDLINE_END);
}

/* ---- Options and calls of the other order ------------------------------- */

TEST_WITH(options_of_an_order_are_refused, setup, teardown)
{
    static const char *const options[][2] = {
        {"shuffle=true", "shuffle does not apply to order=given"},
        {"world=2", "world does not apply"},
        {"world=2 rank=1", "world does not apply"},
        {"drop_last=true", "drop_last does not apply"},
        {"repeats=2", "repeats does not apply"},
        {"epoch_samples=5", "epoch_samples does not apply"},
        {"epochs=1", "epochs does not apply"},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(options); i++) {
        char text[128];
        snprintf(text, sizeof(text), "order=given %s", options[i][0]);
        assert_null(fixture_loader(rig.dataset, text));
        if (!strstr(feedline_last_error(), options[i][1]))
            fail_msg("%s: %s", options[i][0], feedline_last_error());
    }
}

TEST_WITH(calls_of_the_other_order_are_refused, setup, teardown)
{
    char text[256];
    uint64_t needed, index = 0;
    SCOPED_LOADER given = order_loader(&rig, "");
    SCOPED_LOADER own = fixture_open(rig.dataset, "");
    assert_ok(feedline_loader_save(own, text, sizeof(text), &needed));
    assert_error(feedline_loader_start(given, 0), FEEDLINE_ESTATE,
                 "start is not for order=given");
    assert_error(feedline_loader_set_position(given, 0, 0), FEEDLINE_ESTATE,
                 "set_position is not for order=given");
    assert_error(feedline_loader_restore(given, text), FEEDLINE_ESTATE,
                 "restore is not for order=given");
    assert_error(feedline_loader_save(given, text, sizeof(text), &needed),
                 FEEDLINE_ESTATE, "get_position");
    assert_error(feedline_loader_begin(own, 0, 0, 0), FEEDLINE_ESTATE,
                 "order=given");
    assert_error(feedline_loader_append(own, &index, NULL, 1), FEEDLINE_ESTATE,
                 "order=given");
    assert_error(feedline_loader_end(own), FEEDLINE_ESTATE, "order=given");
}

TEST_WITH(the_position_is_told, setup, teardown)
{
    uint64_t epoch, position;
    feedline_batch *b;
    struct feedline_batch_info info = {.struct_size = sizeof(info)};
    struct order_batch three = order_row(4, 1, 3);
    SCOPED_LOADER l = order_loader(&rig, "");
    assert_ok(feedline_loader_begin(l, 2, 1, 100));
    assert_ok(order_append(l, &three));
    assert_ok(order_append(l, &three));
    assert_ok(feedline_loader_get_position(l, &epoch, &position));
    assert_int_equal(epoch, 2);
    assert_int_equal(position, 100);
    order_take(&rig, l, &three, 1, 2);
    assert_ok(feedline_loader_next(l, -1, &b));
    assert_ok(feedline_batch_get_info(b, &info));
    assert_int_equal(info.position, 103);
    assert_int_equal(info.sequence, 1);
    feedline_batch_release(b);
    assert_ok(feedline_loader_end(l));
    assert_next(l, FEEDLINE_END);
    assert_ok(feedline_loader_get_position(l, &epoch, &position));
    assert_int_equal(epoch, 2); /* the next one is the program's to say */
    assert_int_equal(position, 106);
}

/* ---- Draws, and samples that fail --------------------------------------- */

TEST_WITH(draws_are_those_of_the_epochs_seed, setup, teardown)
{
    SCOPED_LOADER own = fixture_open(rig.dataset, "seed=77 repeats=2");
    SCOPED_LOADER given = order_loader(&rig, "seed=3");
    struct feedline_draw want = {.struct_size = sizeof(want)};
    struct feedline_draw got = {.struct_size = sizeof(got)};
    char text[1024];
    uint64_t needed;
    assert_ok(feedline_loader_begin(given, 0, 77, 0));
    for (uint32_t copy = 0; copy < 2; copy++) {
        assert_ok(
            feedline_loader_get_draw(own, 5, 9, copy, 0, 300, 200, &want));
        assert_ok(
            feedline_loader_get_draw(given, 5, 9, copy, 0, 300, 200, &got));
        assert_memory_equal(&want, &got, sizeof(want));
    }
    assert_ok(feedline_loader_get_draw(given, 5, 9, 65535, 0, 30, 20, &got));
    assert_error(feedline_loader_get_draw(given, 5, 9, 65536, 0, 30, 20, &got),
                 FEEDLINE_EINVAL, "copies count from 0 to 65535");
    assert_ok(feedline_loader_draw_json(given, 5, 9, 1000, 0, 30, 20, text,
                                        sizeof(text), &needed));
}

/* A data set of which sample 5 is damaged. */
static feedline_dataset *damaged(void)
{
    static const char junk[] = "no image at all";
    feedline_dataset *ds;
    const void *data[ORDER_N];
    uint64_t sizes[ORDER_N];
    for (uint32_t i = 0; i < ORDER_N; i++) {
        data[i] = i == 5 ? junk : (const char *)rig.images.data[i];
        sizes[i] = i == 5 ? sizeof(junk) : rig.images.sizes[i];
    }
    assert_ok(feedline_dataset_open_memory(data, sizes, rig.images.labels,
                                           ORDER_N, &ds));
    return ds;
}

TEST_WITH(a_bad_sample_ends_the_epoch, setup, teardown)
{
    SCOPED_DATASET ds = damaged();
    SCOPED_LOADER l = fixture_open(ds, "order=given on_error=raise");
    feedline_batch *b;
    static const uint64_t good[] = {1, 2}, bad[] = {4, 5};
    for (uint32_t i = 0; i < 3; i++) {
        assert_ok(feedline_loader_begin(l, i, 0, 0));
        assert_ok(feedline_loader_append(l, good, NULL, 2));
        assert_ok(feedline_loader_append(l, bad, NULL, 2));
        assert_ok(feedline_loader_append(l, good, NULL, 2));
        assert_ok(feedline_loader_next(l, -1, &b));
        feedline_batch_release(b);
        assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_EDECODE,
                     "memory:5");
        assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_ESTATE,
                     "the run ended with an error; begin");
        assert_error(feedline_loader_append(l, good, NULL, 2), FEEDLINE_ESTATE,
                     "ended with an error");
        assert_error(feedline_loader_end(l), FEEDLINE_ESTATE,
                     "ended with an error");
    }
}

/* The replacement is that of order=own, whatever else is in the batch. */
TEST_WITH(a_replacement_is_drawn, setup, teardown)
{
    SCOPED_DATASET ds = damaged();
    SCOPED_LOADER own = fixture_open(ds, "on_error=skip seed=9 batch_size=37");
    SCOPED_LOADER given = fixture_open(ds, "order=given on_error=skip");
    struct feedline_batch_info want = {.struct_size = sizeof(want)};
    struct feedline_batch_info got = {.struct_size = sizeof(got)};
    feedline_batch *a, *b;
    static const uint64_t bad[] = {4, 5};
    assert_ok(feedline_loader_start(own, 3));
    assert_ok(feedline_loader_next(own, -1, &a));
    assert_ok(feedline_batch_get_info(a, &want));
    assert_ok(feedline_loader_begin(given, 3, 9, 0));
    assert_ok(feedline_loader_append(given, bad, NULL, 2));
    assert_ok(feedline_loader_next(given, -1, &b));
    assert_ok(feedline_batch_get_info(b, &got));
    assert_int_equal(want.sample_status[5], FEEDLINE_REPLACED);
    assert_int_equal(got.sample_status[1], FEEDLINE_REPLACED);
    assert_int_equal(got.sample_index[1], want.sample_index[5]);
    size_t bytes;
    const uint8_t *pixels = fixture_image(&want, 5, &bytes);
    assert_memory_equal(fixture_image(&got, 1, &bytes), pixels, bytes);
    feedline_batch_release(a);
    feedline_batch_release(b);
    assert_int_equal(feedline_loader_failure_count(given), 1);
}

TEST_MAIN("order")
