/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a program lends for the images of batches: which batches come in
 * it, that they are what they are in the loader's memory, that nobody writes
 * there once they are delivered or the run has ended, and what is refused.
 */
#include "loader/api/dlpack.h"
#include "tests/loader/order/order_rig.h"
#include "tests/wrap_memory.h"

#include <feedline/exchange.h>
#include <feedline/order.h>

#include <stdlib.h>
#include <string.h>

#define LENT 5u /* buffers */

static struct order_rig rig;
static uint8_t *lent[LENT];
static uint64_t full; /* bytes of a full batch's images */

static void setup(void)
{
    order_rig_open(&rig, true, "");
    full = (uint64_t)ORDER_BATCH * 3 * 32 * 32;
    for (uint32_t i = 0; i < LENT; i++)
        lent[i] = aligned_alloc(64, (size_t)full);
}

static void teardown(void)
{
    for (uint32_t i = 0; i < LENT; i++)
        free(lent[i]);
    order_rig_close(&rig);
}

static feedline_loader *begun(const char *options)
{
    feedline_loader *l = order_loader(&rig, options);
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    return l;
}

static void lend_all(feedline_loader *l)
{
    for (uint32_t i = 0; i < LENT; i++)
        assert_ok(feedline_loader_lend(l, lent[i], full));
}

/* Its images are in lent[i]; LENT: in the loader's memory. */
static uint32_t where(const feedline_batch *b)
{
    struct feedline_batch_info info = fixture_info(b);
    uint32_t i = 0;
    while (i < LENT && info.images.data != lent[i])
        i++;
    return i;
}

static uint32_t sum(const uint8_t *bytes)
{
    uint32_t found = 0;
    for (uint64_t i = 0; i < full; i++)
        found = found * 31 + bytes[i];
    return found;
}

/* Batches of every size; LENT of them come in lent memory, each in one of its
 * own, which stays as it was while the loader goes on. */
TEST_WITH(batches_are_made_in_it, setup, teardown)
{
    static const char *const how[] = {"workers=3 depth=2", "reader=memory",
                                      "workers=1 depth=11 reader=pread"};
    for (size_t k = 0; k < FDL_COUNT_OF(how); k++) {
        SCOPED_LOADER l = begun(how[k]);
        struct order_batch given[4 * LENT];
        uint32_t sums[LENT] = {0}, taken = 0;
        lend_all(l);
        for (uint32_t i = 0; i < 4 * LENT; i++) {
            given[i] = order_row(i, 3, 1 + i % ORDER_BATCH);
            assert_ok(order_append(l, &given[i]));
        }
        for (uint32_t i = 0; i < 4 * LENT; i++) {
            feedline_batch *b = fixture_next(l);
            order_check(&rig, b, &given[i], 0, 0);
            uint32_t at = where(b);
            assert_int_equal(at < LENT, i < LENT);
            if (at < LENT) {
                assert_int_equal(sums[at], 0);
                sums[at] = sum(lent[at]);
                taken++;
            }
            feedline_batch_release(b);
        }
        assert_int_equal(taken, LENT);
        for (uint32_t i = 0; i < LENT; i++)
            assert_int_equal(sum(lent[i]), sums[i]);
    }
}

/* One for each batch that was taken, as a program in a loop lends them. */
TEST_WITH(it_is_lent_again, setup, teardown)
{
    SCOPED_LOADER l = begun("workers=2 depth=3");
    struct order_batch given = order_row(3, 1, ORDER_BATCH);
    lend_all(l);
    for (uint32_t i = 0; i < 3; i++)
        assert_ok(order_append(l, &given));
    for (uint32_t i = 0; i < 200; i++) {
        feedline_batch *b = fixture_next(l);
        uint32_t at = where(b);
        assert_true(at < LENT);
        order_check(&rig, b, &given, 0, 0);
        feedline_batch_release(b);
        assert_ok(feedline_loader_lend(l, lent[at], full));
        assert_ok(order_append(l, &given));
    }
}

/* The program may free it then: batches of the next run are elsewhere. */
TEST_WITH(the_end_of_a_run_forgets_it, setup, teardown)
{
    SCOPED_LOADER l = begun("workers=2 depth=2");
    struct order_batch given = order_row(0, 1, 3);
    for (uint32_t ended = 0; ended < 2; ended++) {
        lend_all(l);
        for (uint32_t i = 0; i < 3; i++)
            assert_ok(order_append(l, &given));
        feedline_batch *b = fixture_next(l);
        assert_true(where(b) < LENT);
        feedline_batch_release(b);
        if (ended == 0)
            assert_ok(feedline_loader_stop(l));
        assert_ok(feedline_loader_begin(l, 1, 0, 0));
        for (uint32_t i = 0; i < LENT; i++)
            memset(lent[i], 0xA5, (size_t)full);
        assert_ok(order_append(l, &given));
        b = fixture_next(l);
        assert_int_equal(where(b), LENT);
        order_check(&rig, b, &given, 0, 1);
        feedline_batch_release(b);
        for (uint32_t i = 0; i < LENT; i++)
            for (uint64_t k = 0; k < full; k++)
                assert_int_equal(lent[i][k], 0xA5);
    }
}

/* A batch that is kept, and its tensor, show the lent memory. */
TEST_WITH(a_tensor_over_it, setup, teardown)
{
    void *tensor;
    feedline_loader *l = begun("workers=2 depth=2");
    struct order_batch given = order_row(5, 2, ORDER_BATCH);
    lend_all(l);
    assert_ok(order_append(l, &given));
    feedline_batch *b = fixture_next(l);
    uint32_t at = where(b);
    assert_ok(feedline_batch_export(b, FEEDLINE_IMAGES, 0, &tensor));
    feedline_batch_release(b);
    feedline_loader_destroy(l);
    struct fdl_dl_managed *managed = tensor;
    assert_ptr_equal(managed->tensor.data, lent[at]);
    managed->deleter(managed);
}

TEST_WITH(wrong_memory, setup, teardown)
{
    SCOPED_LOADER l = order_loader(&rig, "");
    assert_error(feedline_loader_lend(l, lent[0], full), FEEDLINE_ESTATE,
                 "begin");
    assert_ok(feedline_loader_begin(l, 0, 0, 0));
    assert_error(feedline_loader_lend(NULL, lent[0], full), FEEDLINE_EINVAL,
                 "loader is NULL");
    assert_error(feedline_loader_lend(l, NULL, full), FEEDLINE_EINVAL,
                 "images is NULL");
    assert_error(feedline_loader_lend(l, lent[0] + 8, full), FEEDLINE_EINVAL,
                 "a multiple of 64");
    assert_error(feedline_loader_lend(l, lent[0], full - 1), FEEDLINE_ERANGE,
                 "a full batch take");
    memory_refuses = 1;
    int32_t status = feedline_loader_lend(l, lent[0], full);
    memory_refuses = 0;
    assert_int_equal(status, FEEDLINE_ENOMEM);
    for (uint32_t i = 0; i < FEEDLINE_LENT_MAX; i++)
        assert_ok(feedline_loader_lend(l, lent[0], full));
    assert_error(feedline_loader_lend(l, lent[0], full), FEEDLINE_ERANGE,
                 "2048 batches");
}

TEST_WITH(batches_that_take_none, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(rig.dataset, "max_sample_bytes=100k");
    assert_ok(feedline_loader_start(l, 0));
    assert_error(feedline_loader_lend(l, lent[0], full), FEEDLINE_ENOSYS,
                 "max_sample_bytes");
}

TEST_MAIN("lend")
