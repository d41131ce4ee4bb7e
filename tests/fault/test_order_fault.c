/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One failure in a given order, with kept batches, and in data sets of pixels:
 * there is a clean code with words, and the program can go on. Whole lives are
 * in lives_run.c.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "inject.h"
#include "tests/loader/order/order_rig.h"

#include <feedline/order.h>

#define BATCHES 9u

static struct order_rig rig;

static void setup(void)
{
    order_rig_open(&rig, true, "");
}

static void teardown(void)
{
    order_rig_close(&rig);
}

static struct order_batch batch_of(uint32_t i)
{
    return order_row(i, 3, 1 + i % ORDER_BATCH);
}

/* ---- One call, and what comes after ------------------------------------- */

TEST_WITH(append_leaves_nothing_behind, setup, teardown)
{
    struct order_batch a = batch_of(4), b = batch_of(5);
    SCOPED_LOADER l = order_loader(&rig, "reader=pread workers=1 tuner=off");
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    inject_arm(INJECT_MEMORY, 1, true);
    int32_t status = order_append(l, &a);
    inject_disarm();
    assert_int_equal(status, FEEDLINE_ENOMEM);
    assert_ok(order_append(l, &b));
    order_take(&rig, l, &b, 0, 0);
    assert_ok(feedline_loader_end(l));
    feedline_batch *none;
    assert_int_equal(feedline_loader_next(l, -1, &none), FEEDLINE_END);
}

/* Without memory for more a program that keeps every batch is told so, at once;
 * when it gives one back, or memory is there again, it gets the next. */
TEST_WITH(no_memory_to_grow_is_no_hang, setup, teardown)
{
    feedline_batch *kept[BATCHES], *none;
    SCOPED_LOADER l =
        order_loader(&rig, "reader=memory workers=1 depth=1 tuner=off "
                           "held=grow live=false");
    struct order_batch one = order_row(0, 1, 1);
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    for (uint32_t i = 0; i < BATCHES; i++)
        assert_ok(order_append(l, &one));
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(feedline_loader_next(l, -1, &kept[i]), FEEDLINE_OK);
    inject_arm(INJECT_MEMORY, 1, true);
    int32_t third = feedline_loader_next(l, -1, &kept[2]); /* it is ready */
    int32_t refused = feedline_loader_next(l, -1, &none);
    char words[256];
    snprintf(words, sizeof(words), "%s", feedline_last_error());
    inject_disarm();
    assert_int_equal(third, FEEDLINE_OK);
    assert_int_equal(refused, FEEDLINE_ENOMEM);
    assert_non_null(strstr(words, "every batch is held, and there is no room "
                                  "for one more: out of memory"));
    feedline_batch_release(kept[1]);
    inject_arm(INJECT_MEMORY, 1, true);
    int32_t fourth = feedline_loader_next(l, -1, &kept[1]);
    inject_disarm();
    assert_int_equal(fourth, FEEDLINE_OK);
    for (uint32_t i = 3; i < BATCHES - 1; i++)
        assert_int_equal(feedline_loader_next(l, -1, &kept[i]), FEEDLINE_OK);
    for (uint32_t i = 0; i < BATCHES - 1; i++) {
        order_check(&rig, kept[i], &one, 0, 0);
        feedline_batch_release(kept[i]);
    }
}

TEST(pixels_without_memory)
{
    static const uint8_t pixels[300][4];
    feedline_dataset *ds;
    uint32_t n = 1, failed = 0, calls;
    do {
        inject_arm(INJECT_MEMORY, n, false);
        int32_t status =
            feedline_dataset_open_pixels(pixels[0], NULL, 300, 2, 2, 1, &ds);
        calls = inject_disarm();
        assert_true(status == FEEDLINE_OK || status == FEEDLINE_ENOMEM);
        assert_true((status == FEEDLINE_OK) == (ds != NULL));
        failed += status < 0;
        feedline_dataset_close(ds);
    } while (n++ <= calls);
    assert_true(failed > 5);
}

TEST_MAIN("order_fault")
