/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch around somebody else's next. Where it is about numbers the clock is
 * ours and stands still unless it is told to go on, so that each nanosecond is
 * known; everything else is on the real one.
 */
#include "base/clock.h"
#include "loader/loader.h"
#include "tests/loader/fixture.h"

#include <feedline/order.h>
#include <feedline/watch.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS INT64_C(1000000)

static _Atomic int64_t clock_ns;

static int64_t own_clock(void)
{
    return atomic_load(&clock_ns);
}

static void pass(int64_t ns)
{
    atomic_fetch_add(&clock_ns, ns);
}

static feedline_loader *w;

static void setup(void)
{
    static const struct feedline_watch_def def = {.struct_size = sizeof(def),
                                                  .workers = 3,
                                                  .batch_size = 8,
                                                  .name = "DataLoader",
                                                  .option = "num_workers"};
    atomic_store(&clock_ns, 1000 * MS);
    fdl_clock_replace(own_clock);
    assert_ok(feedline_watch_create(NULL, &def, &w));
}

static void teardown(void)
{
    feedline_loader_destroy(w);
    fdl_clock_replace(NULL);
}

/* One call of somebody's next that takes `wait`. */
static void call(int64_t wait, int32_t status)
{
    assert_ok(feedline_watch_begin(w));
    pass(wait);
    assert_ok(feedline_watch_end(w, status, 8, 100));
}

static void turn(int64_t wait, int64_t user)
{
    call(wait, FEEDLINE_OK);
    pass(user);
}

static void assert_in(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("\"%s\" lacks \"%s\"", text, words);
}

/* ---- Numbers ------------------------------------------------------------- */

TEST_WITH(each_nanosecond_is_counted, setup, teardown)
{
    for (int i = 0; i < 100; i++)
        turn(7 * MS, 3 * MS);
    call(2 * MS, FEEDLINE_END);
    struct feedline_stats s = fixture_stats(w);
    assert_int_equal(s.wait_ns, 702 * MS);
    assert_int_equal(s.user_ns, 300 * MS);
    assert_int_equal(s.api_ns, 0);
    assert_int_equal(s.wall_ns, 1002 * MS);
    assert_int_equal(s.batches, 100);
    assert_int_equal(s.samples, 800);
    assert_int_equal(s.workers, 3);
    assert_int_equal(s.first_batch_ns, 7 * MS);

    struct feedline_wait_stats waits = fixture_waits(w);
    assert_int_equal(waits.waits, 101);
    assert_int_equal(waits.residual_ns, 702 * MS);
}

/* A call that brings nothing belongs to the next batch. */
TEST_WITH(empty_calls_join_the_next, setup, teardown)
{
    turn(MS, MS);
    call(2 * MS, FEEDLINE_TIMEOUT);
    pass(3 * MS);
    turn(4 * MS, 0);
    struct feedline_stage_stats s = fixture_stage(w, FEEDLINE_STAGE_CONSUME);
    assert_int_equal(s.items, 2);
    assert_int_equal(s.bytes, 200);
    assert_int_equal(s.busy_ns, 4 * MS);
    assert_int_equal(s.starved_ns, 7 * MS);
    assert_int_equal(fixture_stats(w).batches, 2);
}

TEST_WITH(a_reset_begins_anew, setup, teardown)
{
    turn(7 * MS, 3 * MS);
    assert_ok(feedline_loader_reset_stats(w));
    turn(MS, 2 * MS);
    struct feedline_stats s = fixture_stats(w);
    assert_int_equal(s.batches, 1);
    assert_int_equal(s.wait_ns, MS);
}

/* The clock of phases stands still in somebody's next, where one may be marked
 * all the same. */
TEST_WITH(phases_are_user_time, setup, teardown)
{
    struct feedline_phase_stats p = {.struct_size = sizeof(p)};
    turn(MS, MS);
    assert_ok(feedline_loader_phase_begin(w, "step"));
    pass(2 * MS);
    assert_ok(feedline_watch_begin(w));
    pass(4 * MS);
    assert_ok(feedline_loader_phase_begin(w, "inside"));
    pass(8 * MS);
    assert_ok(feedline_loader_phase_end(w));
    assert_ok(feedline_watch_end(w, FEEDLINE_OK, 8, 0));
    pass(16 * MS);
    assert_ok(feedline_loader_phase_end(w));
    assert_ok(feedline_loader_get_phase(w, 0, &p));
    assert_int_equal(p.total_ns, 18 * MS);
    assert_ok(feedline_loader_get_phase(w, 1, &p));
    assert_string_equal(p.name, "inside");
    assert_int_equal(p.total_ns, 0);
    assert_int_equal(fixture_stats(w).wait_ns, 13 * MS);
}

/* ---- What it says -------------------------------------------------------- */

TEST_WITH(a_consumer_that_never_waits_is_fed, setup, teardown)
{
    for (int i = 0; i < 200; i++)
        turn(MS / 100, 10 * MS);
    struct feedline_verdict v = fixture_verdict(w);
    assert_string_equal(v.code, "FED");
    assert_string_equal(v.level, "FED");
    assert_in(v.sentence, "DataLoader");
}

TEST_WITH(a_starved_consumer_hears_who_took_it, setup, teardown)
{
    for (int i = 0; i < 200; i++)
        turn(9 * MS, MS);
    struct feedline_verdict v = fixture_verdict(w);
    assert_string_equal(v.level, "HIGH");
    assert_in(v.sentence, "The consumer waited 90 % of the time");
    assert_in(v.sentence, "DataLoader");
    assert_true(v.predicted_gain > 8.9 && v.predicted_gain < 9.1);
}

/* Every 25th step of the program takes long, none of the waits does. */
TEST_WITH(gaps_have_their_period, setup, teardown)
{
    for (int i = 0; i < 250; i++)
        turn(MS / 100, i % 25 == 24 ? 200 * MS : 5 * MS);
    struct feedline_gap_stats g = {.struct_size = sizeof(g)};
    assert_ok(feedline_loader_get_gaps(w, &g));
    assert_int_equal(g.period, 25);
    struct feedline_verdict v = fixture_verdict(w);
    assert_string_equal(v.code, "CONSUMER_HOST_BOUND");
    assert_in(v.sentence, "every 25 steps");
}

TEST_WITH(long_waits_have_their_period, setup, teardown)
{
    for (int i = 0; i < 400; i++)
        turn(i % 20 == 19 ? 200 * MS : MS / 10, 5 * MS);
    assert_in(fixture_json(w), "\"PERIODIC_STALL\"");
    assert_in(fixture_json(w), "\"stall_period\":20");
    assert_in(fixture_json(w), "\"cause\":\"iterable\"");
}

TEST_WITH(the_first_batch_is_a_slow_start, setup, teardown)
{
    turn(3000 * MS, 5 * MS);
    for (int i = 0; i < 200; i++)
        turn(MS / 100, 5 * MS);
    assert_string_equal(fixture_verdict(w).code, "SLOW_START");
}

/* A watch and a loader's ledger give one level for the same times. */
TEST_WITH(levels_are_those_of_a_ledger, setup, teardown)
{
    static const int64_t waits[] = {MS / 100, MS / 5, MS, 20 * MS};
    for (size_t k = 0; k < FDL_COUNT_OF(waits); k++) {
        assert_ok(feedline_loader_reset_stats(w));
        for (int i = 0; i < 200; i++)
            turn(waits[k], 10 * MS);
        struct fdl_evidence e;
        struct fdl_verdict all[FDL_VERDICTS_MAX];
        fdl_evidence_init(&e);
        e.batches = e.calls = 200;
        e.workers = 2;
        e.cpus_usable = 4;
        e.ledger.wait_ns = e.ledger.ns[FDL_BUCKET_PREP] = 200 * waits[k];
        e.user_ns = 200 * 10 * MS;
        e.wall_ns = e.user_ns + e.ledger.wait_ns;
        fdl_verdict_judge(&e, all);
        struct feedline_verdict v = fixture_verdict(w);
        assert_string_equal(v.level, all[0].level);
    }
}

TEST_WITH(it_explains_itself, setup, teardown)
{
    char text[4096];
    uint64_t needed;
    turn(7 * MS, 3 * MS);
    turn(7 * MS, 3 * MS);
    call(0, FEEDLINE_END);
    assert_ok(feedline_loader_explain(w, text, sizeof(text), &needed));
    assert_in(text, "DataLoader (num_workers=3): 2 batches, 16 samples");
    assert_in(text, "waited for 70.0 % of it");
    assert_ok(
        feedline_loader_stats_table(w, NULL, 0, text, sizeof(text), &needed));
    assert_in(text, "consume");
    assert_in(fixture_json(w), "\"watch\":{\"name\":\"DataLoader\"");
    assert_ok(feedline_loader_tuner_text(w, text, sizeof(text), &needed));
    assert_in(text, "Watching DataLoader"); /* there is nothing to tune */
}

/* Where most is the program's own time, and it has not said what of. */
TEST_WITH(it_asks_for_phases, setup, teardown)
{
    char text[4096];
    uint64_t needed;
    turn(3 * MS, 7 * MS);
    turn(3 * MS, 7 * MS);
    call(0, FEEDLINE_END);
    assert_ok(feedline_loader_explain(w, text, sizeof(text), &needed));
    assert_in(text, "own work 70.0 %");
    assert_in(text, "name its phases");
    assert_ok(feedline_loader_phase_begin(w, "save"));
    assert_ok(feedline_loader_phase_end(w));
    assert_ok(feedline_loader_explain(w, text, sizeof(text), &needed));
    assert_null(strstr(text, "name its phases"));
}

/* What lies between the caller's clocks and ours is our time, not a wait. */
TEST_WITH(a_caller_may_have_clocks_of_its_own, setup, teardown)
{
    for (int i = 0; i < 10; i++) {
        assert_ok(feedline_watch_begin(w));
        pass(1 * MS);
        int64_t began = own_clock();
        pass(7 * MS);
        int64_t ended = own_clock();
        pass(2 * MS);
        assert_ok(feedline_watch_end_at(w, FEEDLINE_OK, 8, 100, began, ended));
        pass(3 * MS);
    }
    call(0, FEEDLINE_END);
    struct feedline_stats s = fixture_stats(w);
    assert_int_equal(s.wait_ns, 70 * MS);
    assert_int_equal(s.user_ns, 30 * MS);
    assert_int_equal(s.wall_ns, 130 * MS);
    assert_int_equal(s.batches, 10);
    assert_int_equal(s.samples, 80);
}

/* ---- Mistakes ------------------------------------------------------------ */

TEST_WITH(clocks_that_cannot_be, setup, teardown)
{
    int64_t before = own_clock();
    assert_error(feedline_watch_end_at(w, 0, 1, 0, before, before),
                 FEEDLINE_ESTATE, "feedline_watch_begin");
    pass(1 * MS);
    assert_ok(feedline_watch_begin(w));
    int64_t began = own_clock();
    pass(5 * MS);
    int64_t now = own_clock();
    const int64_t wrong[][2] = {
        {before, now}, {now, began}, {began, now + 1}, {0, 0}};
    for (size_t i = 0; i < FDL_COUNT_OF(wrong); i++)
        assert_error(feedline_watch_end_at(w, FEEDLINE_OK, 1, 0, wrong[i][0],
                                           wrong[i][1]),
                     FEEDLINE_EINVAL, "CLOCK_MONOTONIC");
    assert_ok(feedline_watch_end_at(w, FEEDLINE_OK, 1, 0, began, now));
    assert_int_equal(fixture_stats(w).wait_ns, 5 * MS);
    assert_error(feedline_watch_end_at(NULL, 0, 0, 0, 0, 0), FEEDLINE_EINVAL,
                 "watch is NULL");
}

TEST_WITH(calls_out_of_turn_are_refused, setup, teardown)
{
    assert_error(feedline_watch_end(w, FEEDLINE_OK, 1, 0), FEEDLINE_ESTATE,
                 "feedline_watch_begin");
    assert_ok(feedline_watch_begin(w));
    assert_error(feedline_watch_begin(w), FEEDLINE_ESTATE, "already");
    assert_ok(feedline_watch_end(w, FEEDLINE_OK, 1, 0));
    assert_error(feedline_watch_end(w, FEEDLINE_OK, 1, 0), FEEDLINE_ESTATE,
                 "feedline_watch_begin");
    assert_int_equal(fixture_stats(w).batches, 1);
    assert_error(feedline_watch_begin(NULL), FEEDLINE_EINVAL, "watch is NULL");
    assert_error(feedline_watch_end(NULL, 0, 0, 0), FEEDLINE_EINVAL,
                 "watch is NULL");
}

TEST_WITH(it_has_no_engine, setup, teardown)
{
    feedline_batch *b;
    uint64_t needed;
    char text[256];
    uint64_t index = 0, epoch;
    assert_error(feedline_loader_next(w, 0, &b), FEEDLINE_ESTATE, "no engine");
    assert_null(b);
    assert_error(feedline_loader_start(w, 0), FEEDLINE_ESTATE, "no engine");
    assert_error(feedline_loader_set_position(w, 0, 0), FEEDLINE_ESTATE,
                 "no engine");
    assert_error(feedline_loader_begin(w, 0, 0, 0), FEEDLINE_ESTATE,
                 "no engine");
    assert_error(feedline_loader_append(w, &index, NULL, 1), FEEDLINE_ESTATE,
                 "no engine");
    assert_error(feedline_loader_set_int(w, "workers", 2), FEEDLINE_ESTATE,
                 "no engine");
    assert_error(feedline_loader_get_position(w, &epoch, &index),
                 FEEDLINE_ESTATE, "no engine");
    assert_error(feedline_loader_save(w, text, sizeof(text), &needed),
                 FEEDLINE_ESTATE, "no engine");
    assert_ok(feedline_loader_stop(w));
    turn(MS, MS);
    assert_int_equal(fixture_stats(w).batches, 1);
}

/* ---- What its workers do ------------------------------------------------- */

static void spent(const char *what, int64_t wall_ns, int64_t cpu_ns)
{
    assert_ok(feedline_watch_spent(w, what, wall_ns, cpu_ns));
}

static void explain(char text[4096])
{
    uint64_t needed;
    assert_ok(feedline_loader_explain(w, text, 4096, &needed));
}

TEST_WITH(functions_of_its_workers_are_listed, setup, teardown)
{
    char text[4096];
    turn(MS, MS); /* 8 samples */
    spent("data.py:14 in load", 300 * MS, 150 * MS);
    spent(NULL, 150 * MS, 0);
    explain(text);
    assert_null(strstr(text, "data.py")); /* too little was seen */
    spent("data.py:20 in vignette", 250 * MS, 250 * MS);
    spent("data.py:14 in load", 300 * MS, 150 * MS);
    explain(text);
    assert_in(text, "- data.py:14 in load: 75 ms a sample, 50 % on a core, "
                    "60 % of the workers' time\n- data.py:20 in vignette: ");
    assert_in(fixture_json(w), "\"label\":\"data.py:20 in vignette\","
                               "\"samples\":8,\"wall_seconds\":0.25,");
    assert_in(fixture_json(w), "\"worker_fraction\":0.25");
    feedline_loader_reset_stats(w);
    spent(NULL, 1000 * MS, 0);
    explain(text);
    assert_null(strstr(text, "data.py"));
}

TEST_WITH(workers_with_nothing_to_do_are_idle, setup, teardown)
{
    char text[4096];
    turn(MS, MS); /* 8 samples */
    spent("data.py:14 in load", 300 * MS, 150 * MS);
    assert_ok(feedline_watch_idle(w, 600 * MS));
    assert_ok(feedline_watch_idle(w, 100 * MS));
    explain(text);
    assert_in(text, "- data.py:14 in load: 37.5 ms a sample, 50 % on a core, "
                    "30 % of the workers' time\n"
                    "- idle, as enough batches are ready: 70 % of the "
                    "workers' time (the shares of this list are of all of it, "
                    "a verdict's of the rest)\n");
    feedline_loader_reset_stats(w);
    spent("data.py:14 in load", 1000 * MS, 0);
    explain(text);
    assert_null(strstr(text, "idle"));
    assert_error(feedline_watch_idle(w, -1), FEEDLINE_EINVAL, "-1 ns");
}

TEST_WITH(of_many_functions_the_costliest_are_listed, setup, teardown)
{
    char name[16], text[4096];
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof(name), "f%02d", i);
        spent(name, (100 + i) * MS, 0);
    }
    explain(text);
    assert_in(text, "- f63: 0 % on a core, 2 % of the workers' time\n- f62: ");
    assert_in(text, "- f53: ");
    assert_null(strstr(text, "- f52: "));
    assert_null(strstr(text, "- f64: ")); /* the table is full */
}

TEST_WITH(a_core_takes_no_longer_than_it_took, setup, teardown)
{
    assert_error(feedline_watch_spent(w, "f", 10, 11), FEEDLINE_EINVAL,
                 "of 10 ns, 11 on a core");
    assert_error(feedline_watch_spent(w, "f", 10, -1), FEEDLINE_EINVAL,
                 "0 <= cpu_ns");
}

TEST_WITH(what_cannot_be_made_is_refused, setup, teardown)
{
    feedline_loader *other;
    struct feedline_watch_def def = {.struct_size = sizeof(def),
                                     .device = "toaster"};
    assert_error(feedline_watch_create(NULL, &def, &other), FEEDLINE_EINVAL,
                 "toaster");
    assert_null(other);
    def = (struct feedline_watch_def){0};
    assert_error(feedline_watch_create(NULL, &def, &other), FEEDLINE_EINVAL,
                 "struct_size");
    assert_error(feedline_watch_create(NULL, NULL, NULL), FEEDLINE_EINVAL,
                 "out is NULL");
    assert_ok(feedline_watch_create(NULL, NULL, &other));
    feedline_loader_destroy(other);
}

TEST_WITH(a_loader_is_no_watch, setup, teardown)
{
    struct fixture images;
    fixture_create(&images, 3);
    feedline_loader *l = fixture_open(images.ds, "workers=1");
    assert_error(feedline_watch_begin(l), FEEDLINE_ESTATE, "its own batches");
    assert_error(feedline_watch_end(l, 0, 0, 0), FEEDLINE_ESTATE,
                 "its own batches");
    feedline_loader_destroy(l);
    fixture_remove(&images);
}

TEST_WITH(a_child_is_refused, setup, teardown)
{
    turn(MS, MS);
    pid_t child = fork();
    if (child == 0)
        _exit(feedline_watch_begin(w) == FEEDLINE_EFORK &&
                      feedline_watch_end(w, 0, 0, 0) == FEEDLINE_EFORK
                  ? 0
                  : 1);
    int status = -1;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    turn(MS, MS);
}

/* ---- Threads ------------------------------------------------------------- */

#define TURNS 2000

static void *call_often(void *counted)
{
    uint64_t *n = counted;
    for (int i = 0; i < TURNS; i++) {
        int32_t begun = feedline_watch_begin(w);
        int32_t ended = feedline_watch_end(w, FEEDLINE_OK, 1, 0);
        assert_true(begun == FEEDLINE_OK || begun == FEEDLINE_ESTATE);
        assert_true(ended == FEEDLINE_OK || ended == FEEDLINE_ESTATE);
        *n += ended == FEEDLINE_OK;
    }
    return NULL;
}

/* Against the rule, but nothing tears; statistics are asked for meanwhile. */
TEST_WITH(two_threads_tear_nothing, setup, teardown)
{
    uint64_t counted[2] = {0, 0};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, call_often, &counted[i]), 0);
    for (int i = 0; i < 20; i++) {
        fixture_json(w);
        fixture_verdict(w);
        assert_ok(feedline_loader_phase_count(w));
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_true(counted[0] + counted[1] >= 1);
    assert_int_equal(fixture_stats(w).batches, counted[0] + counted[1]);
}

/* ---- Around a loader of ours --------------------------------------------- */

/* The wait outside is the wait inside and what the call costs. */
TEST_WITH(it_agrees_with_a_ledger, setup, teardown)
{
    struct fixture images;
    fdl_clock_replace(NULL);
    fixture_create(&images, 24);
    feedline_loader *l = fixture_open(images.ds, "workers=1 epochs=4");
    assert_ok(feedline_loader_start(l, 0));
    feedline_watch_begin(w); /* the clock of both begins now */
    feedline_watch_end(w, FEEDLINE_TIMEOUT, 0, 0);
    feedline_loader_reset_stats(l);
    feedline_loader_reset_stats(w);
    for (int ends = 0; ends < 4;) {
        feedline_batch *b = NULL;
        assert_ok(feedline_watch_begin(w));
        int32_t status = feedline_loader_next(l, -1, &b);
        assert_ok(feedline_watch_end(w, status, b ? 8 : 0, 0));
        assert_ok(status);
        feedline_batch_release(b);
        ends += status == FEEDLINE_END;
    }
    struct feedline_stats outside = fixture_stats(w);
    struct feedline_stats inside = fixture_stats(l);
    assert_int_equal(outside.batches, inside.batches);
    assert_int_equal(outside.samples, inside.samples);
    assert_true(outside.wait_ns >= inside.wait_ns);
    assert_true(outside.user_ns <= inside.user_ns);
    feedline_loader_destroy(l);
    fixture_remove(&images);
}

TEST_MAIN("watch")
