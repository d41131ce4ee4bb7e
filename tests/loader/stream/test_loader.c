/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a loader: epochs, stops, breaks, restarts, held batches, waits
 * that end, forks, and books that balance.
 */
#include "base/clock.h"
#include "loader/loader.h"
#include "loader/stream/engine_own.h"
#include "tests/loader/fixture.h"
#include "tests/transfer/fake.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N 50

FIXTURE_IMAGES(N)

/* ---- Epochs ------------------------------------------------------------- */

TEST_WITH(epochs_follow_each_other, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.ds, "epochs=3 workers=2");
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        uint64_t batches = 0;
        feedline_batch *b;
        /* The stream stands at this epoch: nothing is restarted, which the
         * running count of claimed samples would show. */
        if (epoch > 0) {
            struct feedline_stats before = fixture_stats(l);
            assert_ok(feedline_loader_start(l, epoch));
            struct feedline_stats after = fixture_stats(l);
            assert_true(after.bytes_read >= before.bytes_read);
            assert_true(l->engine->stream.first_epoch == 0);
        }
        while ((b = fixture_next(l))) {
            assert_int_equal(fixture_info(b).epoch, epoch);
            batches++;
            feedline_batch_release(b);
        }
        assert_int_equal(batches, (N + 7) / 8);
    }
    for (int i = 0; i < 3; i++)
        assert_null(fixture_next(l));
    assert_ok(feedline_loader_start(l, 1));
    feedline_batch *again = fixture_next(l);
    assert_int_equal(fixture_info(again).epoch, 1);
    feedline_batch_release(again);
}

TEST_WITH(start_in_the_middle_begins_anew, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.ds, "shuffle=true workers=2");
    uint64_t whole = fixture_run(l, 1);
    assert_ok(feedline_loader_start(l, 0));
    feedline_batch_release(fixture_next(l));
    feedline_batch *held = fixture_next(l);
    assert_ok(feedline_loader_start(l, 0));
    assert_int_equal(fixture_info(held).sequence, 1);
    assert_true(fixture_run(l, 1) == whole);
    feedline_batch_release(held);
}

TEST_WITH(drop_last_drops_the_short_batch, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.ds, "drop_last=true");
    feedline_batch *b;
    int batches = 0;
    while ((b = fixture_next(l))) {
        assert_int_equal(fixture_info(b).count, 8);
        feedline_batch_release(b);
        batches++;
    }
    assert_int_equal(batches, N / 8);
}

/* ---- Ends --------------------------------------------------------------- */

TEST_WITH(ends_cleanly_at_any_point, setup, teardown)
{
    static const char *const readers[] = {"reader=pread", "reader=memory",
                                          "reader=auto"};
    for (int taken = 0; taken < 6; taken++) {
        for (int r = 0; r < 3; r++) {
            char options[64];
            snprintf(options, sizeof(options), "workers=3 depth=2 %s",
                     readers[r]);
            SCOPED_LOADER l = fixture_open(images.files, options);
            for (int i = 0; i < taken; i++)
                feedline_batch_release(fixture_next(l));
            if (taken % 2)
                assert_ok(feedline_loader_stop(l));
        }
    }
}

TEST_WITH(stop_is_an_end_until_start, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.ds, NULL);
    feedline_batch *b;
    feedline_batch_release(fixture_next(l));
    assert_ok(feedline_loader_stop(l));
    assert_ok(feedline_loader_stop(l));
    assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_ESTATE, "start");
    assert_null(b);
    assert_ok(feedline_loader_start(l, 5));
    b = fixture_next(l);
    assert_int_equal(fixture_info(b).epoch, 5);
    feedline_batch_release(b);
}

TEST_WITH(batches_outlive_everything, setup, teardown)
{
    feedline_loader *l = fixture_open(images.ds, "workers=2");
    feedline_batch *first = fixture_next(l);
    feedline_batch *second = fixture_next(l);
    feedline_loader_destroy(l);
    assert_int_equal(fixture_info(second).sample_index[0], 8);
    uint64_t hash = 0;
    fixture_consume(second, &hash);
    assert_int_equal(fixture_info(first).sample_index[7], 7);
    feedline_batch_release(first);
}

TEST_WITH(two_loaders_at_once, setup, teardown)
{
    SCOPED_LOADER a =
        fixture_open(images.files, "shuffle=true seed=1 workers=2");
    SCOPED_LOADER b =
        fixture_open(images.files, "shuffle=true seed=1 workers=3");
    uint64_t hash_a = 0, hash_b = 0;
    for (;;) {
        feedline_batch *x = fixture_next(a), *y = fixture_next(b);
        assert_true(!x == !y);
        if (!x)
            break;
        fixture_consume(x, &hash_a);
        fixture_consume(y, &hash_b);
    }
    assert_true(hash_a == hash_b);
}

/* ---- Held batches and waits --------------------------------------------- */

TEST_WITH(holding_every_batch_is_an_error_not_a_hang, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.ds, "depth=2");
    feedline_batch *held[4], *b;
    for (int i = 0; i < 4; i++)
        held[i] = fixture_next(l);
    assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_ESTATE, "release");
    assert_null(b);
    feedline_batch_release(held[2]);
    b = fixture_next(l);
    assert_int_equal(fixture_info(b).sequence, 4);
    assert_int_equal(fixture_info(held[3]).sequence, 3);
    feedline_batch_release(b);
    for (int i = 0; i < 4; i++)
        if (i != 2)
            feedline_batch_release(held[i]);
}

/* A clock that the test moves ahead of the real one. */
static _Atomic int64_t ahead_ns;

static int64_t own_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec + atomic_load(&ahead_ns);
}

#define HOUR (INT64_C(3600) * 1000000000)
static const struct fdl_fake_step first_late[] = {{.latency_ns = HOUR}, {0}};

/* A loader whose first transfer, that of the first batch, waits for the clock:
 * nothing is ever ready. */
static feedline_loader *stuck_loader(feedline_dataset *ds,
                                     struct fdl_fake_config *fake)
{
    feedline_loader *l;
    struct fdl_pipeline *inner;
    struct fdl_options options;
    struct fdl_backend_config config = {.script = fake};
    assert_ok(fdl_options_init(&options, "loader", fdl_loader_options,
                               FDL_LOADER_OPTIONS));
    assert_ok(fdl_options_set_args(&options,
                                   "dtype=u8 batch_size=8 depth=4 workers=1"));
    assert_ok(fdl_pipeline_create("none", &inner));
    assert_ok(fdl_pipeline_add(inner, "resize", "width=16 height=16"));
    assert_ok(
        fdl_loader_create(&options, ds, inner, &fdl_backend_fake, &config, &l));
    fdl_pipeline_destroy(inner);
    fdl_options_fini(&options);
    return l;
}

/* Its first batch: hours pass until the transfer, whenever it began, is over */
static feedline_batch *first_in_hours(feedline_loader *l)
{
    feedline_batch *b;
    int32_t status = FEEDLINE_TIMEOUT;
    while (status == FEEDLINE_TIMEOUT) {
        atomic_fetch_add(&ahead_ns, HOUR);
        status = feedline_loader_next(l, 10000000, &b);
    }
    assert_int_equal(status, FEEDLINE_OK);
    return b;
}

static void *interrupt_main(void *arg)
{
    assert_ok(feedline_loader_interrupt(arg));
    return NULL;
}

TEST_WITH(waits_end_by_timeout_and_interrupt, setup, teardown)
{
    struct fdl_fake_config fake = {.steps = first_late, .n_steps = 2};
    fdl_clock_replace(own_clock);
    feedline_loader *l = stuck_loader(images.ds, &fake);
    feedline_batch *b;
    pthread_t thread;
    assert_ok(feedline_loader_start(l, 0));
    assert_int_equal(feedline_loader_next(l, 0, &b), FEEDLINE_TIMEOUT);
    assert_null(b);
    assert_int_equal(feedline_loader_next(l, 1000000, &b), FEEDLINE_TIMEOUT);
    /* Before the wait or within it: both end it, and only one wait. */
    assert_ok(feedline_loader_interrupt(l));
    assert_int_equal(feedline_loader_next(l, -1, &b), FEEDLINE_INTERRUPTED);
    assert_int_equal(pthread_create(&thread, NULL, interrupt_main, l), 0);
    assert_int_equal(feedline_loader_next(l, -1, &b), FEEDLINE_INTERRUPTED);
    pthread_join(thread, NULL);
    b = first_in_hours(l);
    assert_int_equal(fixture_info(b).sequence, 0);
    feedline_batch_release(b);
    feedline_loader_destroy(l);
    fdl_clock_replace(NULL);
}

/* An interpreter waits in pieces, to look at its signals: what lies between two
 * batches is one step and one wait, however many calls it took. */
TEST_WITH(calls_without_a_batch_are_part_of_its_wait, setup, teardown)
{
    static const struct timespec work = {.tv_nsec = 20000000};
    struct fdl_fake_config fake = {.steps = first_late, .n_steps = 2};
    fdl_clock_replace(own_clock);
    feedline_loader *l = stuck_loader(images.ds, &fake);
    feedline_batch *b;
    assert_ok(feedline_loader_start(l, 0));
    nanosleep(&work, NULL);
    assert_int_equal(feedline_loader_next(l, 0, &b), FEEDLINE_TIMEOUT);
    assert_int_equal(feedline_loader_next(l, 1000000, &b), FEEDLINE_TIMEOUT);
    b = first_in_hours(l);
    struct feedline_stats stats = fixture_stats(l);
    assert_int_equal(fixture_info(b).wait_ns, stats.wait_ns);
    struct feedline_wait_stats waits = fixture_waits(l);
    assert_int_equal(waits.waits, 1);
    struct feedline_stage_stats step = fixture_stage(l, FEEDLINE_STAGE_CONSUME);
    assert_int_equal(step.items, 1);
    assert_int_equal(step.busy_ns, stats.user_ns);
    assert_true(step.max_ns >= (uint64_t)work.tv_nsec);
    feedline_batch_release(b);
    feedline_loader_destroy(l);
    fdl_clock_replace(NULL);
}

/* ---- Transfers that misbehave ------------------------------------------- */

TEST_WITH(transfers_may_finish_in_any_order, setup, teardown)
{
    static const struct fdl_fake_step steps[] = {
        {.latency_ns = 8000000}, {.latency_ns = 1000000},
        {.latency_ns = 4000000}, {.latency_ns = 0},
        {.latency_ns = 2000000}, {.latency_ns = 0},
    };
    struct fdl_fake_config fake = {.steps = steps, .n_steps = 6};
    SCOPED_LOADER l = stuck_loader(images.ds, &fake);
    feedline_batch *b;
    uint64_t sequence = 0;
    while ((b = fixture_next(l))) {
        assert_int_equal(fixture_info(b).sequence, sequence++);
        feedline_batch_release(b);
    }
    assert_int_equal(sequence, (N + 7) / 8);
}

TEST_WITH(transfer_failures_come_in_place_of_their_batch, setup, teardown)
{
    for (int at_submit = 0; at_submit < 2; at_submit++) {
        struct fdl_fake_step steps[] = {
            {.latency_ns = 0},
            {.latency_ns = 0},
            {.status = at_submit ? 0 : FEEDLINE_EDEVICE,
             .submit_status = at_submit ? FEEDLINE_EDEVICE : 0},
        };
        struct fdl_fake_config fake = {.steps = steps, .n_steps = 3};
        SCOPED_LOADER l = stuck_loader(images.ds, &fake);
        feedline_batch *b;
        int32_t status;
        int delivered = 0;
        while ((status = feedline_loader_next(l, -1, &b)) == FEEDLINE_OK) {
            feedline_batch_release(b);
            delivered++;
        }
        assert_int_equal(status, FEEDLINE_EDEVICE);
        assert_true(delivered <= 2);
        assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_ESTATE, "start");
    }
}

/* ---- fork --------------------------------------------------------------- */

/* Exit status of a child that runs `body`. */
static int in_a_child(int (*body)(feedline_loader *, feedline_dataset *,
                                  feedline_batch *),
                      feedline_loader *l, feedline_dataset *ds,
                      feedline_batch *held)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(body(l, ds, held));
    int status;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int sees_efork(feedline_loader *l, feedline_dataset *ds,
                      feedline_batch *held)
{
    feedline_batch *b;
    uint64_t count;
    struct feedline_batch_info info = {.struct_size = sizeof(info)};
    struct feedline_stats stats = {.struct_size = sizeof(stats)};
    if (feedline_loader_next(l, -1, &b) != FEEDLINE_EFORK ||
        feedline_loader_stop(l) != FEEDLINE_EFORK ||
        feedline_loader_interrupt(l) != FEEDLINE_EFORK ||
        feedline_loader_get_stats(l, &stats) != FEEDLINE_EFORK ||
        feedline_batch_get_info(held, &info) != FEEDLINE_EFORK ||
        feedline_dataset_get_count(ds, &count) != FEEDLINE_EFORK)
        return 1;
    feedline_batch_release(held);
    feedline_loader_destroy(l);
    feedline_dataset_close(ds);
    return 0;
}

static int makes_its_own(feedline_loader *l, feedline_dataset *ds,
                         feedline_batch *held)
{
    feedline_pipeline *p;
    feedline_batch *b;
    (void)held;
    if (feedline_dataset_open(images.folder, &ds) < 0 ||
        feedline_pipeline_create("train", &p) < 0 ||
        feedline_loader_create(NULL, ds, p, &l) < 0 ||
        feedline_loader_next(l, -1, &b) != FEEDLINE_OK)
        return 1;
    feedline_batch_release(b);
    feedline_loader_destroy(l);
    feedline_pipeline_destroy(p);
    feedline_dataset_close(ds);
    return 0;
}

static void with_a_fork(int (*body)(feedline_loader *, feedline_dataset *,
                                    feedline_batch *))
{
    SCOPED_LOADER l = fixture_open(images.files, "workers=3");
    feedline_batch *held = fixture_next(l);
    assert_int_equal(in_a_child(body, l, images.files, held), 0);
    feedline_batch_release(held);
    fixture_pass_epoch(l);
}

TEST_WITH(fork_is_survived_and_refused_in_the_child, setup, teardown)
{
    with_a_fork(sees_efork);
}

static void setup_to_fork(void)
{
    if (!TEST_FORKS_SAFELY)
        test_skip("no threads in a child of fork() under this sanitizer");
    setup();
}

TEST_WITH(a_child_makes_its_own_loader, setup_to_fork, teardown)
{
    with_a_fork(makes_its_own);
}

/* ---- Books -------------------------------------------------------------- */

TEST_WITH(the_books_balance, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.files, "workers=2 shuffle=true");
    struct feedline_stats stats = {.struct_size = sizeof(stats)};
    struct feedline_stage_stats stage = {.struct_size = sizeof(stage)};
    fixture_run(l, 3);
    assert_ok(feedline_loader_get_stats(l, &stats));
    struct feedline_wait_stats w = fixture_waits(l);
    assert_true(stats.wall_ns == stats.wait_ns + stats.user_ns + stats.api_ns);
    uint64_t sum = w.not_issued_ns + w.slot_ns + w.fetch_queue_ns + w.fetch_ns +
                   w.worker_wait_ns + w.prep_ns + w.transfer_queue_ns +
                   w.transfer_ns + w.wake_ns;
    assert_true(sum == stats.wait_ns);
    assert_int_equal(w.residual_ns, 0);
    assert_int_equal(stats.samples, 3 * N);
    assert_int_equal(stats.batches, 3 * ((N + 7) / 8));
    assert_int_equal(stats.failed_samples, 0);
    assert_true(stats.profiler_ns > 0 && stats.memory_bytes > 0);
    for (uint32_t i = 0; i < FEEDLINE_STAGE_COUNT; i++) {
        assert_ok(feedline_loader_get_stage_stats(l, i, &stage));
        assert_true(stage.items >= 3 * ((N + 7) / 8));
        assert_true(stage.p50_ns <= stage.p90_ns &&
                    stage.p90_ns <= stage.p99_ns &&
                    stage.p99_ns <= stage.max_ns);
        if (i == FEEDLINE_STAGE_DECODE)
            assert_true(stage.unpack_ns + stage.transform_ns <=
                        (int64_t)stage.busy_ns);
        else
            assert_true(stage.unpack_ns == -1 && stage.transform_ns == -1);
    }
    assert_ok(feedline_loader_reset_stats(l));
    assert_ok(feedline_loader_get_stats(l, &stats));
    assert_int_equal(stats.samples, 0);
    assert_int_equal(stats.wall_ns, 0);
}

TEST_WITH(the_memory_reader_keeps_its_books_too, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.files, "workers=3 reader=memory");
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < N; i++)
        bytes += images.sizes[i];
    fixture_run(l, 1);
    assert_ok(feedline_loader_stop(l));
    struct feedline_stage_stats stage = fixture_stage(l, FEEDLINE_STAGE_READ);
    assert_true(stage.items >= N);
    assert_int_equal(stage.threads, 3);
    struct feedline_stats stats = fixture_stats(l);
    assert_true(stats.bytes_read >= bytes);
}

TEST_WITH(memory_stays_within_what_is_in_flight, setup, teardown)
{
    SCOPED_LOADER l =
        fixture_open(images.files, "workers=1 depth=2 reader=pread io_depth=2");
    struct feedline_epoch_info epoch = {.struct_size = sizeof(epoch)};
    assert_ok(feedline_loader_get_epoch_info(l, &epoch));
    fixture_run(l, 4);
    struct feedline_stats stats = fixture_stats(l);
    /* 4 slots; 2 x 2 + 1 samples in the window, 16 KiB or less each. */
    uint64_t bound = 4 * epoch.batch_bytes + 5 * 16384 + (1 << 20);
    assert_true(stats.memory_bytes <= bound);
}

TEST_WITH(json_has_what_the_structs_have, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.ds, NULL);
    static char text[1 << 17];
    uint64_t needed;
    fixture_run(l, 1);
    assert_ok(feedline_loader_stats_json(l, NULL, 0, &needed));
    assert_true(needed > 100 && needed < sizeof(text));
    assert_error(feedline_loader_stats_json(l, text, 10, &needed),
                 FEEDLINE_ERANGE, "");
    assert_ok(feedline_loader_stats_json(l, text, sizeof(text), &needed));
    assert_non_null(strstr(text, "\"verdict\""));
    assert_ok(feedline_loader_config_json(l, text, sizeof(text), &needed));
    assert_non_null(strstr(text, "\"reader\":\"memory\""));
    assert_non_null(strstr(text, "random_resized_crop"));
}

TEST_MAIN("loader")
