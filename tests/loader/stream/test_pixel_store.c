/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels by number, up to so many bytes. */
#include "loader/stream/pixel_store.h"
#include "tests/test.h"

#include <feedline/feedline.h>

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define MOST 1000u

static struct fdl_pixel_store *store;

static void setup(void)
{
    assert_int_equal(fdl_pixel_store_create(MOST, &store), FEEDLINE_OK);
}

static void teardown(void)
{
    fdl_pixel_store_destroy(store);
}

static void put(uint64_t number, uint64_t bytes)
{
    struct fdl_stored_pixels *p = fdl_pixel_store_begin(store, number, bytes);
    if (!p)
        return;
    memset(fdl_stored_pixels(p), (int)number, bytes);
    fdl_pixel_store_add(store, p);
    fdl_pixel_store_give_back(store, p);
}

/* Whether it is there, and is used. */
static bool has(uint64_t number, uint64_t bytes)
{
    struct fdl_stored_pixels *p = fdl_pixel_store_take(store, number, bytes);
    if (!p)
        return false;
    assert_int_equal(fdl_stored_pixels(p)[0], number % 256);
    assert_int_equal(fdl_stored_pixels(p)[bytes - 1], number % 256);
    fdl_pixel_store_give_back(store, p);
    return true;
}

TEST_WITH(what_was_put_is_there, setup, teardown)
{
    assert_true(!has(1, 100));
    put(1, 100);
    put(1 + 1024, 200); /* in the same bucket */
    put(2, 50);
    assert_true(has(1, 100) && has(1025, 200) && has(2, 50));
    assert_true(!has(1, 99) && !has(3, 100) && !has(2049, 100));
    assert_int_equal(fdl_pixel_store_bytes(store), 350);
    put(1, 100); /* is there */
    assert_int_equal(fdl_pixel_store_bytes(store), 350);
}

TEST_WITH(what_was_used_last_stays, setup, teardown)
{
    for (uint64_t number = 1; number <= 4; number++)
        put(number, 250);
    assert_true(has(1, 250));
    put(5, 250);
    assert_true(!has(2, 250));
    assert_true(has(1, 250) && has(3, 250) && has(4, 250) && has(5, 250));
    put(6, 10); /* of one, all goes */
    assert_true(!has(1, 250) && has(6, 10));
    assert_int_equal(fdl_pixel_store_bytes(store), 760);
}

TEST_WITH(what_is_too_large_is_not_kept, setup, teardown)
{
    put(1, 251);
    put(2, 0);
    assert_int_equal(fdl_pixel_store_bytes(store), 0);
    assert_true(!has(1, 251) && !has(2, 0));
}

TEST_WITH(what_is_not_made_is_not_kept, setup, teardown)
{
    struct fdl_stored_pixels *p = fdl_pixel_store_begin(store, 1, 100);
    struct fdl_stored_pixels *other = fdl_pixel_store_begin(store, 1, 100);
    assert_true(p && other && !has(1, 100));
    fdl_pixel_store_give_back(store, p);
    assert_true(!has(1, 100));
    memset(fdl_stored_pixels(other), 1, 100);
    fdl_pixel_store_add(store, other);
    fdl_pixel_store_give_back(store, other);
    assert_true(has(1, 100));
}

/* Of photos; what nobody has is used again for one of nearly that size. */
TEST_WITH(memory_is_used_again, setup, teardown)
{
    struct fdl_pixel_store *photos;
    assert_int_equal(fdl_pixel_store_create(4000000, &photos), FEEDLINE_OK);
    const uint8_t *first = NULL;
    for (uint64_t number = 1; number <= 40; number++) {
        uint64_t bytes = 900000 + 1000 * (number % 3);
        struct fdl_stored_pixels *p =
            fdl_pixel_store_begin(photos, number, bytes);
        memset(fdl_stored_pixels(p), (int)number, bytes);
        if (number == 1)
            first = fdl_stored_pixels(p);
        if (number == 6) /* 1 went when 5 came */
            assert_true(fdl_stored_pixels(p) == first);
        fdl_pixel_store_add(photos, p);
        fdl_pixel_store_give_back(photos, p);
        assert_true(fdl_pixel_store_bytes(photos) <= 4000000);
    }
    struct fdl_stored_pixels *large = fdl_pixel_store_begin(photos, 41, 999999);
    struct fdl_stored_pixels *small = fdl_pixel_store_begin(photos, 42, 90000);
    memset(fdl_stored_pixels(large), 41, 999999);
    memset(fdl_stored_pixels(small), 42, 90000);
    fdl_pixel_store_give_back(photos, large);
    fdl_pixel_store_give_back(photos, small);
    struct fdl_stored_pixels *last = fdl_pixel_store_take(photos, 40, 901000);
    assert_int_equal(fdl_stored_pixels(last)[900999], 40);
    fdl_pixel_store_give_back(photos, last);
    fdl_pixel_store_destroy(photos);
}

TEST_WITH(what_is_in_use_outlives_its_place, setup, teardown)
{
    put(1, 250);
    struct fdl_stored_pixels *one = fdl_pixel_store_take(store, 1, 250);
    struct fdl_stored_pixels *again = fdl_pixel_store_take(store, 1, 250);
    for (uint64_t number = 2; number <= 5; number++)
        put(number, 250);
    assert_true(!has(1, 250));
    assert_int_equal(fdl_stored_pixels(one)[249], 1);
    fdl_pixel_store_give_back(store, one);
    put(1, 250);
    assert_int_equal(fdl_stored_pixels(again)[249], 1);
    fdl_pixel_store_give_back(store, again);
    assert_true(has(1, 250));
}

static void *use(void *arg)
{
    uint64_t at = (uint64_t)(uintptr_t)arg;
    for (uint32_t i = 0; i < 2000; i++) {
        at = at * 6364136223846793005u + 1;
        uint64_t number = 1 + (at >> 33) % 9;
        if (!has(number, 200))
            put(number, 200);
    }
    return NULL;
}

TEST_WITH(many_use_it_at_once, setup, teardown)
{
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use, (void *)i), 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(fdl_pixel_store_bytes(store) <= MOST);
}

TEST_MAIN("pixel_store")
