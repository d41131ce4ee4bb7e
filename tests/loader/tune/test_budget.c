/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second law of tuning: memory stays within memory_budget. A second thread
 * looks all the time, between two changes of the knobs, at what slots and read
 * buffers take, while random hands or the tuner turn the knobs as far as they
 * go. Files differ in size by a factor of a hundred.
 */
#include "dice.h"
#include "loader/loader.h"
#include "loader/stream/engine_own.h"
#include "tests/loader/fixture.h"

#include <feedline/tuning.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define N           40
#define BATCH_BYTES (8u * 3u * 32u * 32u) /* and some tables */
#define FILE_BYTES  200000u

static struct fixture images;

/* What lies behind the end of an image is no part of it. */
static void setup(void)
{
    fixture_create(&images, N);
    for (uint32_t i = 0; i < N; i++) {
        char path[256];
        fixture_path(&images, i, path, sizeof(path));
        if (i % 5 == 0)
            assert_int_equal(truncate(path, FILE_BYTES - 1000 * i), 0);
    }
}

static void teardown(void)
{
    fixture_remove(&images);
}

/* ---- Who looks ---------------------------------------------------------- */

struct watcher {
    feedline_loader *l;
    pthread_t thread;
    _Atomic bool ends;
    uint64_t looks, most, most_slots, most_reads;
    bool broken;
};

/* Slots change under `run_lock` alone, so the two numbers are of one moment. */
static void look(struct watcher *w)
{
    feedline_loader *l = w->l;
    uint64_t budget = l->engine->config.memory_budget;
    fdl_lock(&l->engine->run_lock);
    uint64_t slots = fdl_ring_memory(l->engine->ring);
    uint64_t reads = fdl_window_memory(l->engine->window);
    uint64_t largest = fdl_window_largest(l->engine->window);
    fdl_unlock(&l->engine->run_lock);
    bool one_file = reads <= largest;
    w->broken |= slots > budget || (slots + reads > budget && !one_file);
    w->most = FDL_MAX(w->most, slots + reads);
    w->most_slots = FDL_MAX(w->most_slots, slots);
    w->most_reads = FDL_MAX(w->most_reads, reads);
    w->looks++;
}

static void *watch_main(void *arg)
{
    struct watcher *w = arg;
    while (!atomic_load(&w->ends)) {
        look(w);
        usleep(50);
    }
    return NULL;
}

static void watch(struct watcher *w, feedline_loader *l)
{
    *w = (struct watcher){.l = l};
    assert_int_equal(pthread_create(&w->thread, NULL, watch_main, w), 0);
}

static void end_watch(struct watcher *w)
{
    atomic_store(&w->ends, true);
    pthread_join(w->thread, NULL);
    look(w);
    printf("budget %llu: at most %llu, slots %llu, reads %llu, %llu looks\n",
           (unsigned long long)w->l->engine->config.memory_budget,
           (unsigned long long)w->most, (unsigned long long)w->most_slots,
           (unsigned long long)w->most_reads, (unsigned long long)w->looks);
    assert_false(w->broken);
}

/* ---- Random hands ------------------------------------------------------- */

/* A depth that the budget has no slots for is refused, all others are not. */
static void turn_a_knob(feedline_loader *l, struct dice *dice)
{
    static const char *const knobs[] = {"workers", "depth", "io_depth"};
    uint32_t k = dice_below(dice, 3),
             value = 1 + dice_below(dice, k == 1 ? 12 : 16);
    uint64_t slots =
        (value + FDL_SPARE_SLOTS) * fdl_ring_slot_bytes(l->engine->ring);
    int32_t status = feedline_loader_set_int(l, knobs[k], value);
    if (k == 1 && slots > l->engine->config.memory_budget)
        assert_int_equal(status, FEEDLINE_ERANGE);
    else
        assert_ok(status);
}

/* Two epochs; returns the hash. */
static uint64_t walk(feedline_loader *l, struct dice dice)
{
    struct watcher w;
    uint64_t hash = FIXTURE_HASH;
    watch(&w, l);
    for (uint32_t ended = 0; ended < 2;) {
        feedline_batch *b;
        if (dice_below(&dice, 2))
            turn_a_knob(l, &dice);
        int32_t status = feedline_loader_next(l, -1, &b);
        assert_ok(status);
        if (status == FEEDLINE_OK)
            fixture_consume(b, &hash);
        ended += status == FEEDLINE_END;
    }
    end_watch(&w);
    return hash;
}

static const char *const readers[] = {"pread", "auto", "memory"};

/* Budgets from one batch deep, with nothing left for reads, to plenty. */
static uint64_t budget_of(uint32_t i)
{
    static const uint64_t budgets[] = {
        3 * (BATCH_BYTES + 1024), 4 * BATCH_BYTES,           8 * BATCH_BYTES,
        20 * BATCH_BYTES,         3 * BATCH_BYTES + 300000u, 100 * BATCH_BYTES};
    return budgets[i % (sizeof(budgets) / sizeof(budgets[0]))];
}

TEST_WITH(random_hands_stay_within, setup, teardown)
{
    uint64_t seed = test_seed(), plain = 0;
    for (uint32_t i = 0; i < TEST_WALKS / 2; i++) {
        char options[256];
        snprintf(
            options, sizeof(options),
            "tuner=off workers=2 shuffle=true reader=%s memory_budget=%llu",
            readers[i / 6 % 3], (unsigned long long)budget_of(i));
        SCOPED_LOADER l = fixture_open(images.files, options);
        uint64_t hash = walk(l, (struct dice){seed + i});
        plain = i == 0 ? hash : plain;
        assert_true(hash == plain);
    }
}

TEST_WITH(the_tuner_stays_within, setup, teardown)
{
    for (uint32_t i = 0; i < 6; i++) {
        struct feedline_tuner_info info = {.struct_size = sizeof(info)};
        struct watcher w;
        char options[256];
        snprintf(options, sizeof(options),
                 "tuner=auto shuffle=true reader=%s memory_budget=%llu",
                 readers[i % 3], (unsigned long long)budget_of(i));
        SCOPED_LOADER l = fixture_open(images.files, options);
        watch(&w, l);
        fixture_run(l, 2 * TEST_TUNED_EPOCHS);
        end_watch(&w);
        assert_ok(feedline_loader_get_tuner(l, &info));
        assert_int_equal(info.memory_budget, budget_of(i));
    }
}

/* ---- What is given back ------------------------------------------------- */

static uint64_t slots_memory(feedline_loader *l)
{
    fdl_lock(&l->engine->run_lock);
    uint64_t bytes = fdl_ring_memory(l->engine->ring);
    fdl_unlock(&l->engine->run_lock);
    return bytes;
}

/* A shallower ring gives memory back, and what is held when it shrinks later.
 */
TEST_WITH(a_smaller_depth_gives_memory_back, setup, teardown)
{
    SCOPED_LOADER l =
        fixture_open(images.files, "tuner=off workers=2 depth=10");
    feedline_batch *held[8];
    assert_ok(feedline_loader_start(l, 0));
    uint64_t slot = fdl_ring_slot_bytes(l->engine->ring);
    assert_true(slots_memory(l) == 12 * slot);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(feedline_loader_next(l, -1, &held[i]), FEEDLINE_OK);
    assert_ok(feedline_loader_set_int(l, "depth", 1));
    assert_true(slots_memory(l) > 3 * slot);
    for (uint32_t i = 0; i < 5; i++)
        feedline_batch_release(held[i]);
    /* What was issued is delivered; then the rest goes at a beat. */
    fixture_run(l, 3);
    while (slots_memory(l) > 3 * slot)
        usleep(1000);
    assert_ok(feedline_loader_set_int(l, "depth", 4));
    assert_true(slots_memory(l) == 6 * slot);
    fixture_run(l, 1);
}

/* A budget of one batch less than the least is no budget. */
TEST_WITH(below_one_batch_is_refused, setup, teardown)
{
    assert_null(fixture_loader(images.files, "memory_budget=70000"));
    assert_non_null(strstr(feedline_last_error(), "memory_budget=70000"));
    assert_null(fixture_loader(images.files, "tuner=auto memory_budget=1"));
}

TEST_MAIN("budget")
