/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account covers the time that has passed since the start or the last
 * reset, no more and no less, whatever the program did: it is held against two
 * clocks read around it.
 */
#include "tests/loader/fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define N     24
#define BATCH 4
#define MS    INT64_C(1000000)

FIXTURE_IMAGES(N)

static int64_t clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 * MS + t.tv_nsec;
}

static void pass_time(void)
{
    struct timespec t = {.tv_nsec = 30 * MS};
    nanosleep(&t, NULL);
}

static feedline_loader *open_loader(const char *options)
{
    feedline_loader *l = fixture_open(images.ds, options);
    return l;
}

/* What the account covers lies between the two spans. */
static void assert_covers(feedline_loader *l, int64_t least, int64_t most)
{
    struct feedline_stats s = fixture_stats(l);
    struct feedline_wait_stats w = fixture_waits(l);
    assert_int_equal(s.wall_ns, s.user_ns + s.wait_ns + s.api_ns);
    assert_int_equal(w.residual_ns, 0);
    if ((int64_t)s.wall_ns < least || (int64_t)s.wall_ns > most)
        fail_msg("covers %.3f ms, not %.3f to %.3f", (double)s.wall_ns / 1e6,
                 (double)least / 1e6, (double)most / 1e6);
}

TEST_WITH(a_reset_forgets_the_time_before, setup, teardown)
{
    SCOPED_LOADER l = open_loader("batch_size=4 workers=2 depth=2");
    fixture_pass(l, 3);
    pass_time();
    int64_t before = clock_now();
    assert_ok(feedline_loader_reset_stats(l));
    int64_t after = clock_now();
    fixture_pass(l, 2);
    int64_t asked = clock_now();
    fixture_pass(l, 1);
    assert_covers(l, asked - after, clock_now() - before);
    struct feedline_stage_stats consume =
        fixture_stage(l, FEEDLINE_STAGE_CONSUME);
    struct feedline_stats s = fixture_stats(l);
    assert_int_equal(consume.busy_ns, s.user_ns);
}

TEST_WITH(a_restart_loses_no_time, setup, teardown)
{
    SCOPED_LOADER l = open_loader("batch_size=4 workers=2 depth=2");
    int64_t before = clock_now();
    assert_ok(feedline_loader_start(l, 0));
    int64_t after = clock_now();
    for (uint32_t epoch = 1; epoch < 5; epoch++) {
        fixture_pass(l, 2); /* and leaves the epoch early */
        pass_time();
        assert_ok(feedline_loader_start(l, epoch));
    }
    assert_ok(feedline_loader_set_position(l, 7, BATCH));
    assert_ok(feedline_loader_stop(l));
    pass_time();
    assert_ok(feedline_loader_start(l, 8));
    fixture_pass(l, 1);
    int64_t asked = clock_now();
    fixture_pass(l, 1);
    assert_covers(l, asked - after, clock_now() - before);
}

static void *hand_over_elsewhere(void *loader)
{
    assert_error(feedline_loader_handed_over(loader, NULL), FEEDLINE_ESTATE,
                 "only the thread that calls next");
    return NULL;
}

/* What a binding does with a batch is no work of the program's. */
TEST_WITH(hands_on_a_batch_are_part_of_the_call, setup, teardown)
{
    SCOPED_LOADER l = open_loader("batch_size=4 workers=2 depth=2");
    int64_t before = clock_now();
    assert_ok(feedline_loader_start(l, 0));
    int64_t after = clock_now();
    assert_error(feedline_loader_handed_over(l, NULL), FEEDLINE_ESTATE,
                 "no batch was delivered");
    fixture_pass(l, 1);
    struct feedline_stats had = fixture_stats(l);
    pass_time();
    assert_ok(feedline_loader_handed_over(l, "train.py:12 in collate"));
    struct feedline_stats has = fixture_stats(l);
    assert_true(has.api_ns >= had.api_ns + 30 * MS);
    assert_int_equal(has.user_ns, had.user_ns);
    assert_error(feedline_loader_handed_over(l, NULL), FEEDLINE_ESTATE,
                 "no batch was delivered");
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, hand_over_elsewhere, l), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    pass_time();
    int64_t asked = clock_now();
    fixture_pass(l, 1);
    assert_true(fixture_stats(l).user_ns >= had.user_ns + 30 * MS);
    assert_covers(l, asked - after, clock_now() - before);
    struct feedline_stage_stats consume =
        fixture_stage(l, FEEDLINE_STAGE_CONSUME);
    assert_int_equal(consume.busy_ns, fixture_stats(l).user_ns);
    assert_ok(feedline_loader_reset_stats(l));
    pass_time();
    assert_error(feedline_loader_handed_over(NULL, NULL), FEEDLINE_EINVAL,
                 "loader");
}

TEST_WITH(a_reset_before_the_start_is_none, setup, teardown)
{
    SCOPED_LOADER l = open_loader("batch_size=4 workers=2 depth=2");
    pass_time();
    assert_ok(feedline_loader_reset_stats(l));
    pass_time();
    int64_t before = clock_now();
    assert_ok(feedline_loader_start(l, 0));
    int64_t after = clock_now();
    fixture_pass(l, 1);
    int64_t asked = clock_now();
    fixture_pass(l, 1);
    assert_covers(l, asked - after, clock_now() - before);
}

/* Resets until it is told to stop. */
struct resetter {
    feedline_loader *loader;
    _Atomic bool stop;
    _Atomic uint32_t n;
};

static void *reset_often(void *arg)
{
    struct resetter *r = arg;
    while (!atomic_load(&r->stop)) {
        (void)feedline_loader_reset_stats(r->loader);
        atomic_fetch_add(&r->n, 1);
    }
    return NULL;
}

/* In the middle of a step, a wait or a call. */
TEST_WITH(a_reset_may_come_at_any_moment, setup, teardown)
{
    SCOPED_LOADER l = open_loader("batch_size=4 workers=2 depth=2");
    struct resetter r = {.loader = l};
    pthread_t thread;
    fixture_pass(l, 1);
    assert_int_equal(pthread_create(&thread, NULL, reset_often, &r), 0);
    while (atomic_load(&r.n) < 50)
        fixture_pass(l, 1);
    atomic_store(&r.stop, true);
    pthread_join(thread, NULL);
    int64_t before = clock_now();
    assert_ok(feedline_loader_reset_stats(l));
    int64_t after = clock_now();
    fixture_pass(l, 1);
    int64_t asked = clock_now();
    fixture_pass(l, 1);
    assert_covers(l, asked - after, clock_now() - before);
}

TEST_MAIN("account")
