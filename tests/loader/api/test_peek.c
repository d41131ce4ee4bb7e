/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches that are shown before their next(): which ones, that nothing else
 * changes by it, and who keeps what was exported of them.
 */
#include "loader/api/dlpack.h"
#include "loader/loader.h"
#include "loader/stream/engine_own.h"
#include "tests/loader/order/order_rig.h"

#include <feedline/exchange.h>
#include <feedline/order.h>

#include <sched.h>
#include <string.h>
#include <unistd.h>

#define DEPTH 4u

static struct order_rig rig;

static void setup(void)
{
    order_rig_open(&rig, true, "");
}

static void teardown(void)
{
    order_rig_close(&rig);
}

static feedline_batch *shown(feedline_loader *l, uint32_t ahead)
{
    feedline_batch *b;
    int32_t status;
    while ((status = feedline_loader_peek(l, ahead, &b)) == FEEDLINE_TIMEOUT)
        sched_yield();
    assert_int_equal(status, FEEDLINE_OK);
    return b;
}

static struct fdl_dl_managed *exported(feedline_batch *b)
{
    void *out;
    assert_ok(feedline_batch_export(b, FEEDLINE_LABELS, 0, &out));
    return out;
}

/* A loader with `count` batches appended, of which depth are made ahead. */
static feedline_loader *begun(uint32_t count, struct order_batch *given)
{
    feedline_loader *l = order_loader(&rig, "workers=2 depth=4");
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    for (uint32_t i = 0; i < count; i++) {
        given[i] = order_row(i, 3, 1 + i % ORDER_BATCH);
        assert_ok(order_append(l, &given[i]));
    }
    return l;
}

static uint32_t held(const feedline_loader *l)
{
    struct fdl_ring *r = l->engine->ring;
    fdl_lock(&r->lock);
    uint32_t n = r->n_held;
    fdl_unlock(&r->lock);
    return n;
}

TEST_WITH(it_is_what_next_returns, setup, teardown)
{
    struct order_batch given[20];
    SCOPED_LOADER l = begun(20, given);
    for (uint32_t i = 0; i < 20; i++) {
        uint64_t epoch, before, after;
        uint32_t last = i + DEPTH <= 20 ? DEPTH - 1 : 19 - i;
        feedline_batch *b;
        assert_ok(feedline_loader_get_position(l, &epoch, &before));
        for (uint32_t ahead = 0; ahead <= last; ahead++)
            order_check(&rig, shown(l, ahead), &given[i + ahead], 0, 0);
        assert_int_equal(feedline_loader_peek(l, last + 1, &b),
                         FEEDLINE_TIMEOUT);
        assert_null(b);
        assert_int_equal(held(l), 0);
        assert_ok(feedline_loader_get_position(l, &epoch, &after));
        assert_int_equal(before, after);
        feedline_batch *first = shown(l, 0);
        assert_ptr_equal(fixture_take(l), first);
        assert_int_equal(held(l), 1);
        feedline_batch_release(first);
        assert_int_equal(held(l), 0);
    }
}

/* Whatever goes first: the export, before next() or behind it, or the batch. */
TEST_WITH(an_export_keeps_it_as_long_as_any, setup, teardown)
{
    struct order_batch given[3];
    SCOPED_LOADER l = begun(3, given);
    for (uint32_t order = 0; order < 3; order++) {
        struct fdl_dl_managed *t = exported(shown(l, 0));
        if (order == 0)
            t->deleter(t);
        feedline_batch *b = fixture_take(l);
        order_check(&rig, b, &given[order], 0, 0);
        if (order == 1)
            t->deleter(t);
        assert_int_equal(held(l), 1);
        feedline_batch_release(b);
        assert_int_equal(held(l), order == 2);
        if (order == 2)
            t->deleter(t);
        assert_int_equal(held(l), 0);
    }
}

TEST_WITH(it_is_delivered_and_released_at_once, setup, teardown)
{
    uint64_t epoch, position;
    struct order_batch given[6];
    SCOPED_LOADER l = begun(6, given);
    for (uint32_t i = 0; i < 6; i++) {
        feedline_batch *b = shown(l, 0);
        struct fdl_dl_managed *t = exported(b);
        if (i < 5)
            assert_error(feedline_loader_deliver(l, shown(l, 1)),
                         FEEDLINE_EINVAL, "not the next");
        assert_ok(feedline_loader_deliver(l, b));
        assert_ok(feedline_loader_get_position(l, &epoch, &position));
        assert_ok(feedline_loader_deliver(l, b));
        uint64_t after;
        assert_ok(feedline_loader_get_position(l, &epoch, &after));
        assert_int_equal(position, after);
        assert_int_equal(held(l), 1);
        order_check(&rig, b, &given[i], 0, 0);
        t->deleter(t);
        assert_int_equal(held(l), 0);
    }
}

/* Exports of batches that nobody asked for any more, and those that are shown
 * and not exported. */
TEST_WITH(the_end_of_a_run_leaves_exports, setup, teardown)
{
    struct order_batch given[8];
    feedline_loader *l = begun(8, given);
    struct fdl_dl_managed *t[2] = {exported(shown(l, 0)),
                                   exported(shown(l, 2))};
    int64_t labels[2][ORDER_BATCH];
    for (uint32_t i = 0; i < 2; i++)
        memcpy(labels[i], t[i]->tensor.data, (1 + 2 * i) * sizeof(int64_t));
    shown(l, 1);
    assert_ok(feedline_loader_stop(l));
    assert_int_equal(held(l), 2);
    assert_ok(feedline_loader_begin(l, 1, 0, 0));
    for (uint32_t i = 0; i < 8; i++)
        assert_ok(order_append(l, &given[7 - i]));
    for (uint32_t i = 0; i < 8; i++) {
        order_take(&rig, l, &given[7 - i], 0, 1);
        if (i == 4) {
            t[0]->deleter(t[0]);
            assert_int_equal(held(l), 1);
        }
    }
    feedline_loader_destroy(l);
    assert_memory_equal(t[1]->tensor.data, labels[1], 3 * sizeof(int64_t));
    t[1]->deleter(t[1]);
}

static uint32_t outstanding(const feedline_loader *l, bool complete)
{
    uint32_t ready, n;
    do {
        sched_yield();
        fdl_ring_count(l->engine->ring, &ready, &n);
    } while (complete && ready < n);
    return n;
}

/* Of 8 batches up to a quarter, so that threads are not woken for each: next()
 * leaves two for later, and a release one. */
TEST_WITH(complete_batches_are_followed_by_several, setup, teardown)
{
    struct order_batch given[20];
    SCOPED_LOADER l = order_loader(&rig, "workers=2 depth=8");
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    for (uint32_t i = 0; i < 20; i++) {
        given[i] = order_row(i, 3, 1 + i % ORDER_BATCH);
        assert_ok(order_append(l, &given[i]));
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(outstanding(l, true), 8);
        feedline_batch *first = fixture_take(l);
        assert_int_equal(outstanding(l, true), 7);
        feedline_batch *second = fixture_take(l);
        assert_int_equal(outstanding(l, true), 6);
        feedline_batch_release(i % 2 ? first : second);
        assert_int_equal(outstanding(l, false), 8);
        feedline_batch_release(i % 2 ? second : first);
    }
    for (uint32_t i = 6; i < 20; i++)
        order_take(&rig, l, &given[i], 0, 0);
}

/* It is fixture_take() that reports the error. */
TEST_WITH(a_batch_with_an_error_is_not_shown, setup, teardown)
{
    char path[256];
    fixture_path(&rig.images, 0, path, sizeof(path));
    assert_int_equal(truncate(path, 0), 0);
    struct order_batch given = order_row(0, 1, 1);
    SCOPED_LOADER l = order_loader(&rig, "workers=1");
    feedline_batch *b;
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    assert_ok(order_append(l, &given));
    uint32_t ready = 0, outstanding;
    while (ready == 0) {
        sched_yield();
        fdl_ring_count(l->engine->ring, &ready, &outstanding);
    }
    assert_int_equal(feedline_loader_peek(l, 0, &b), FEEDLINE_TIMEOUT);
    assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_EDECODE, "");
    assert_error(feedline_loader_peek(l, 0, &b), FEEDLINE_ESTATE, "error");
}

TEST_WITH(wrong_calls, setup, teardown)
{
    feedline_batch *b;
    SCOPED_LOADER l = order_loader(&rig, "");
    assert_error(feedline_loader_peek(NULL, 0, &b), FEEDLINE_EINVAL,
                 "loader is NULL");
    assert_error(feedline_loader_peek(l, 0, NULL), FEEDLINE_EINVAL,
                 "out is NULL");
    assert_error(feedline_loader_peek(l, 0, &b), FEEDLINE_ESTATE, "begin");
    assert_error(feedline_loader_deliver(l, NULL), FEEDLINE_EINVAL,
                 "batch is NULL");
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    assert_int_equal(feedline_loader_peek(l, UINT32_MAX, &b), FEEDLINE_TIMEOUT);
}

TEST_WITH(a_batch_of_another_loader_is_not_delivered, setup, teardown)
{
    struct order_batch given[2][1];
    SCOPED_LOADER l = begun(1, given[0]);
    SCOPED_LOADER other = begun(1, given[1]);
    assert_error(feedline_loader_deliver(other, shown(l, 0)), FEEDLINE_EINVAL,
                 "not the next one");
}

TEST_MAIN("peek")
