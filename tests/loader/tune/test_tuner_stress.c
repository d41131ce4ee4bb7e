/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tuner among others who turn its knobs: threads of the program that ask
 * for nonsense, interrupts, ends at any moment, and hundreds of loaders one
 * after another. What is delivered stays right, and nothing is left over.
 */
#include "control_rig.h"
#include "dice.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#define N       24
#define HANDS   4
#define MS      INT64_C(1000000)
#define OPTIONS "batch_size=4 shuffle=true tuner=auto workers_start=1 "

FIXTURE_IMAGES(N)

/* ---- Nonsense ----------------------------------------------------------- */

struct hand {
    feedline_loader *l;
    pthread_t thread;
    struct dice dice;
    _Atomic bool *ends;
    uint32_t taken, refused;
};

static int64_t any_value(struct hand *h)
{
    static const int64_t odd[] = {0,         -1,      1,         2,
                                  INT64_MIN, 1 << 20, INT64_MAX, 1024};
    uint32_t r = dice_below(&h->dice, 1u << 24);
    return r % 2 ? odd[r / 2 % 8] : 1 + r / 2 % 7;
}

static void *turn(void *arg)
{
    static const char *const names[] = {
        "workers", "depth",       "io_depth",     "batch_size",
        "no_such", "workers_max", "memory_budget"};
    struct hand *h = arg;
    /* Some of both, however soon the run is over. */
    while (!atomic_load(h->ends) || !h->taken || !h->refused) {
        int64_t value = any_value(h);
        /* 1024 workers of a program that means it are no nonsense, but many. */
        const char *name = names[dice_below(&h->dice, 7)];
        if (value > 8 && value <= 1024)
            value = 8;
        int32_t status = feedline_loader_set_int(h->l, name, value);
        h->taken += status >= 0;
        h->refused += status < 0;
        if (status < 0 && feedline_last_error()[0] == '\0')
            abort();
        usleep(200);
    }
    return NULL;
}

TEST_WITH(hands_that_ask_for_nonsense, setup, teardown)
{
    feedline_loader *l = rig_sleepy(images.ds, MS / 4,
                                    "batch_size=4 shuffle=true "
                                    "tuner=off workers=1");
    uint64_t plain = fixture_run(l, 10);
    feedline_loader_destroy(l);
    struct hand hands[HANDS];
    _Atomic bool ends = false;
    uint64_t seed = test_seed();
    l = rig_sleepy(images.ds, MS / 4, OPTIONS "memory_budget=64m");
    assert_ok(feedline_loader_start(l, 0));
    for (uint32_t i = 0; i < HANDS; i++) {
        hands[i] = (struct hand){.l = l, .dice = {seed + i}, .ends = &ends};
        assert_int_equal(
            pthread_create(&hands[i].thread, NULL, turn, &hands[i]), 0);
    }
    uint64_t hash = fixture_run(l, 10);
    atomic_store(&ends, true);
    uint32_t taken = 0, refused = 0;
    for (uint32_t i = 0; i < HANDS; i++) {
        pthread_join(hands[i].thread, NULL);
        taken += hands[i].taken;
        refused += hands[i].refused;
    }
    printf("%u taken, %u refused\n", taken, refused);
    assert_true(hash == plain);
    assert_true(taken > 0 && refused > 0);
    feedline_loader_destroy(l);
}

/* ---- Interrupts and ends ------------------------------------------------ */

static void *interrupt_often(void *arg)
{
    struct hand *h = arg;
    while (!atomic_load(h->ends)) {
        if (feedline_loader_interrupt(h->l) < 0)
            abort();
        usleep(500);
    }
    return NULL;
}

TEST_WITH(interrupts_end_waits_only, setup, teardown)
{
    SCOPED_LOADER l = rig_sleepy(images.ds, MS / 4, OPTIONS);
    _Atomic bool ends = false;
    struct hand h = {.l = l, .ends = &ends};
    uint32_t batches = 0, interrupted = 0;
    assert_ok(feedline_loader_start(l, 0));
    assert_int_equal(pthread_create(&h.thread, NULL, interrupt_often, &h), 0);
    while (batches < 200) {
        feedline_batch *b;
        int32_t status = feedline_loader_next(l, -1, &b);
        assert_ok(status);
        if (status == FEEDLINE_OK)
            feedline_batch_release(b);
        batches += status == FEEDLINE_OK;
        interrupted += status == FEEDLINE_INTERRUPTED;
    }
    atomic_store(&ends, true);
    pthread_join(h.thread, NULL);
    printf("%u interrupts\n", interrupted);
    assert_true(interrupted > 0);
}

/* From at once to in the middle of changes; every third is stopped before. */
TEST_WITH(ends_at_any_moment, setup, teardown)
{
    for (uint32_t i = 0; i < 24; i++) {
        SCOPED_LOADER l = rig_sleepy(images.ds, MS / 4, OPTIONS);
        if (i > 0)
            fixture_pass(l, i);
        if (i % 3 == 1)
            assert_ok(feedline_loader_stop(l));
        if (i % 6 == 1) {
            assert_ok(feedline_loader_start(l, 1));
            fixture_pass(l, 2);
        }
    }
}

/* ---- Nothing is left over ----------------------------------------------- */

static uint32_t entries(const char *folder)
{
    uint32_t n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

TEST_WITH(many_loaders_leave_nothing, setup, teardown)
{
    uint32_t fds = 0;
    for (uint32_t i = 0; i < TEST_ROUNDS(200); i++) {
        feedline_loader *l = fixture_open(images.ds, OPTIONS "epochs=1");
        assert_ok(feedline_loader_set_int(l, "workers", 1 + i % 3));
        fixture_run(l, 1);
        feedline_loader_destroy(l);
        if (i == 4) /* what is opened once stays */
            fds = entries("/proc/self/fd");
    }
    assert_int_equal(entries("/proc/self/fd"), fds);
    rig_await_threads("feedline-tune", 0);
    rig_await_threads("feedline-watch", 0);
    rig_await_threads("feedline-dec-0", 0);
}

TEST_MAIN("tuner_stress")
