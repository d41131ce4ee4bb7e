/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A given order, kept batches and data sets of pixels while calls fail: the
 * n-th allocation or thread, for n = 1, 2, ... until nothing fails any more.
 * Each time there is a clean code with words, what was delivered is right, and
 * the program can go on.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "inject.h"
#include "tests/loader/order/order_rig.h"

#include <feedline/order.h>

#define MAX_CALLS 4000u /* far more than a life makes */
#define BATCHES   9u

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

/* ---- A life, whose calls fail in turn ----------------------------------- */

static int32_t create(feedline_loader **out)
{
    static const char *const options[][2] = {
        {"order", "given"}, {"held", "grow"}, {"tuner", "off"},
        {"workers", "2"},   {"depth", "2"},   {"batch_size", "8"},
        {"dtype", "u8"},    {"live", "false"}};
    feedline_config *cfg = NULL;
    feedline_pipeline *p = NULL;
    int32_t status = feedline_config_create(&cfg);
    for (size_t i = 0; status >= 0 && i < FDL_COUNT_OF(options); i++)
        status = feedline_config_set(cfg, options[i][0], options[i][1]);
    if (status >= 0)
        status = feedline_pipeline_create("none", &p);
    if (status >= 0)
        status = feedline_pipeline_add(p, "random_resized_crop",
                                       "width=32 height=32");
    if (status >= 0)
        status = feedline_pipeline_add(p, "horizontal_flip", NULL);
    if (status >= 0)
        status = feedline_loader_create(cfg, rig.dataset, p, out);
    feedline_pipeline_destroy(p);
    feedline_config_destroy(cfg);
    return status;
}

/* An epoch of which every batch is kept to its end, or to the first error. */
static int32_t keep_epoch(feedline_loader *l)
{
    feedline_batch *kept[BATCHES];
    uint32_t n = 0;
    int32_t status = feedline_loader_begin(l, 1, 1, 0);
    for (uint32_t i = 0; status >= 0 && i < BATCHES; i++) {
        struct order_batch b = batch_of(i);
        status = order_append(l, &b);
    }
    if (status >= 0)
        status = feedline_loader_end(l);
    while (status >= 0 && n < BATCHES) {
        status = feedline_loader_next(l, -1, &kept[n]);
        n += status == FEEDLINE_OK;
    }
    assert_true(status >= 0 || feedline_last_error()[0] != '\0');
    for (uint32_t i = 0; i < n; i++) {
        struct order_batch b = batch_of(i);
        order_check(&rig, kept[i], &b, 1, 1);
        feedline_batch_release(kept[i]);
    }
    return status;
}

static void each_call_in_turn(enum inject_kind kind, const int32_t allowed[2])
{
    uint32_t n = 1, failed = 0, calls;
    do {
        feedline_loader *l = NULL;
        inject_arm(kind, n, false);
        int32_t status = create(&l);
        if (status >= 0)
            status = keep_epoch(l);
        calls = inject_disarm();
        if (status < 0) {
            failed++;
            if (status != allowed[0] && status != allowed[1])
                fail_msg("call %u: %s: %s", n, feedline_status_name(status),
                         feedline_last_error());
        }
        if (l) /* once more, with all it wants */
            assert_int_equal(keep_epoch(l), FEEDLINE_OK);
        feedline_loader_destroy(l);
    } while (++n < MAX_CALLS && n <= calls + 1);
    printf("%u calls, %u lives ended by an error\n", n - 1, failed);
    assert_true(failed > 0);
    assert_true(n < MAX_CALLS);
}

/* EIO: a read that found no memory for its file. */
TEST_WITH(memory_fails, setup, teardown)
{
    static const int32_t allowed[] = {FEEDLINE_ENOMEM, FEEDLINE_EIO};
    each_call_in_turn(INJECT_MEMORY, allowed);
}

TEST_WITH(threads_fail, setup, teardown)
{
    static const int32_t allowed[] = {FEEDLINE_ENOMEM, FEEDLINE_ESTATE};
    each_call_in_turn(INJECT_THREAD, allowed);
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
