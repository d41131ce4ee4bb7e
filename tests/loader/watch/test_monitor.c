/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitor: who is served and when, its end, a thread that cannot be had, a
 * fork, and statistics that are asked for and reset from all sides while it
 * looks.
 */
#include "base/clock.h"
#include "loader/loader.h"
#include "loader/watch/stats.h"
#include "tests/loader/fixture.h"
#include "tests/wrap.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 24

FIXTURE_IMAGES(N)

/* ---- A thread that cannot be had ---------------------------------------- */

static _Atomic int failing; /* thread creations that fail from now on */

WRAP(int, pthread_create, pthread_t *t, const pthread_attr_t *a,
     void *(*run)(void *), void *arg)
{
    if (atomic_load(&failing) > 0) {
        atomic_fetch_sub(&failing, 1);
        return EAGAIN;
    }
    return __real_pthread_create(t, a, run, arg);
}

/* ---- Subscribers -------------------------------------------------------- */

struct guest {
    feedline_loader *loader;
    _Atomic uint32_t served, last, closed;
    _Atomic bool early; /* closed before the last word, or served after it */
    _Atomic bool same_thread;
    pthread_t maker;
};

static void serve(void *user, bool last)
{
    struct guest *g = user;
    struct feedline_worker_stats w = {.struct_size = sizeof(w)};
    struct feedline_stats s = {.struct_size = sizeof(s)};
    if (g->last || g->closed)
        g->early = true;
    /* Any statistics may be asked for. */
    fdl_stats_workers(&g->loader->watch, &w);
    fdl_stats_get(&g->loader->watch, &s);
    if (last)
        g->last++;
    else
        g->same_thread =
            g->same_thread || pthread_equal(pthread_self(), g->maker);
    g->served += !last;
}

static void closed(void *user)
{
    struct guest *g = user;
    g->closed++;
}

static feedline_loader *loader_with(struct guest *g, int64_t interval_ns)
{
    feedline_loader *l = fixture_open(images.ds, "workers=2 batch_size=4");
    *g = (struct guest){.loader = l, .maker = pthread_self()};
    struct fdl_subscriber s = {
        .serve = serve, .close = closed, .user = g, .interval_ns = interval_ns};
    assert_ok(fdl_monitor_subscribe(l->watch.monitor, &s));
    return l;
}

TEST_WITH(is_served_on_each_beat, setup, teardown)
{
    struct guest g;
    feedline_loader *l = loader_with(&g, 0);
    uint64_t first = fixture_run(l, 1);
    while (g.served < 3)
        usleep(1000);
    assert_ok(feedline_loader_stop(l)); /* between runs too */
    uint32_t so_far = g.served;
    while (g.served < so_far + 2)
        usleep(1000);
    assert_ok(feedline_loader_start(l, 0));
    assert_true(fixture_run(l, 1) == first);
    feedline_loader_destroy(l);
    assert_int_equal(g.last, 1);
    assert_int_equal(g.closed, 1);
    assert_false(g.early);
    assert_false(g.same_thread);
}

TEST_WITH(who_wants_it_rarely_is_served_at_the_end, setup, teardown)
{
    struct guest g;
    feedline_loader *l = loader_with(&g, INT64_C(3600) * 1000000000);
    fixture_run(l, 1);
    feedline_loader_destroy(l);
    assert_int_equal(g.served, 0);
    assert_int_equal(g.last, 1);
    assert_int_equal(g.closed, 1);
}

TEST_WITH(without_a_run_nobody_is_served, setup, teardown)
{
    struct guest g;
    feedline_loader *l = loader_with(&g, 0);
    feedline_loader_destroy(l);
    assert_int_equal(g.served, 0);
    assert_int_equal(g.last, 0);
    assert_int_equal(g.closed, 1);
}

TEST_WITH(the_table_has_an_end, setup, teardown)
{
    struct guest g;
    SCOPED_LOADER l = loader_with(&g, 0);
    struct fdl_subscriber s = {.serve = serve, .user = &g};
    int32_t status;
    uint32_t taken = 0;
    while ((status = fdl_monitor_subscribe(l->watch.monitor, &s)) >= 0)
        assert_true(++taken < FDL_SUBSCRIBERS_MAX);
    assert_int_equal(status, FEEDLINE_ERANGE);
}

/* A clock that stands still: no beat is ever over, and yet the thread ends. */
static int64_t frozen(void)
{
    return INT64_C(1000000000000);
}

TEST_WITH(destroy_waits_for_no_beat, setup, teardown)
{
    struct guest g;
    fdl_clock_replace(frozen);
    feedline_loader *l = loader_with(&g, 0);
    fixture_run(l, 1);
    while (g.served < 1)
        usleep(1000);
    feedline_loader_destroy(l);
    fdl_clock_replace(NULL);
    assert_int_equal(g.served, 1);
    assert_int_equal(g.last, 1);
}

/* ---- Without its thread, and in a child --------------------------------- */

TEST_WITH(goes_on_without_its_thread, setup, teardown)
{
    struct guest g;
    feedline_loader *l = loader_with(&g, 0);
    feedline_loader *other = loader_with(&g, 0);
    uint64_t want = fixture_run(other, 1);
    feedline_loader_destroy(other);
    g = (struct guest){.loader = l, .maker = pthread_self()};
    (void)fixture_log_count("");
    atomic_store(&failing, 1); /* the first thread of a run is the monitor's */
    assert_ok(feedline_loader_start(l, 0));
    assert_int_equal(atomic_load(&failing), 0);
    assert_true(fixture_run(l, 1) == want);
    assert_true(fixture_log_count("feedline-watch") > 0);
    struct feedline_worker_stats w = fixture_workers(l); /* looks by itself */
    assert_true(w.wall_ns > 0);
    feedline_loader_destroy(l);
    assert_int_equal(g.served, 0);
    assert_int_equal(g.last, 1);
    assert_int_equal(g.closed, 1);
}

TEST_WITH(a_child_leaves_it_alone, setup, teardown)
{
    struct guest g;
    int result = -1;
    feedline_loader *l = loader_with(&g, 0);
    fixture_run(l, 1);
    while (g.served < 1)
        usleep(1000);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        feedline_loader_destroy(l); /* another process's: nothing happens */
        _exit(g.last + g.closed ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    uint32_t so_far = g.served;
    while (g.served == so_far) /* it lives on here */
        usleep(1000);
    feedline_loader_destroy(l);
    assert_int_equal(g.closed, 1);
}

/* ---- From all sides ----------------------------------------------------- */

static _Atomic bool over;

static void *ask(void *arg)
{
    feedline_loader *l = arg;
    while (!atomic_load(&over)) {
        struct feedline_worker_stats w = {.struct_size = sizeof(w)};
        struct feedline_wait_stats s = {.struct_size = sizeof(s)};
        struct feedline_verdict v = {.struct_size = sizeof(v)};
        feedline_loader_get_worker_stats(l, &w);
        feedline_loader_get_wait_stats(l, &s);
        if (s.prep_ns != s.prep_cpu_ns + s.prep_runq_ns + s.prep_throttle_ns +
                             s.prep_sleep_ns ||
            w.residual_ns > w.wall_ns)
            return arg;
        feedline_loader_get_verdict(l, &v);
    }
    return NULL;
}

static void *reset(void *arg)
{
    while (!atomic_load(&over)) {
        feedline_loader_reset_stats(arg);
        usleep(700);
    }
    return NULL;
}

TEST_WITH(is_asked_and_reset_from_all_sides, setup, teardown)
{
    struct guest g;
    pthread_t threads[3];
    void *wrong;
    SCOPED_LOADER l = loader_with(&g, 0);
    atomic_store(&over, false);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, l), 0);
    assert_int_equal(pthread_create(&threads[2], NULL, reset, l), 0);
    for (int64_t i = 0; i < 12; i++) {
        assert_ok(feedline_loader_set_int(l, "workers", 1 + i % 4));
        assert_ok(feedline_loader_start(l, 0));
        fixture_run(l, 2);
        if (i % 3 == 2)
            assert_ok(feedline_loader_stop(l));
    }
    atomic_store(&over, true);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
}

TEST_MAIN("monitor")
