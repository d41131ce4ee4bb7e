/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a loader tells the verdict of itself, on runs whose waits are made by a
 * custom operation, and the same numbers in the JSON.
 */
#include "base/compiler.h"
#include "loader/loader.h"
#include "loader/report/evidence.h"
#include "tests/loader/fixture.h"

#include <stdatomic.h>
#include <time.h>

#define N      48
#define BATCH  4
#define EPOCHS 2
#define MS     1000000L
#define SLOWLY (80 * MS)

FIXTURE_IMAGES(N)

static void doze(long ns)
{
    struct timespec t = {.tv_nsec = ns};
    nanosleep(&t, NULL);
}

/* Samples that are through, of those that hold nobody up. */
static _Atomic uint32_t through;

/* Every 16th sample holds up its batch until a later one must be ready; the
 * others are quick, and so is the epoch that nobody asks for. */
#define EVERY 16u
#define FIRST 8u

static int32_t holds_up(const struct feedline_op_call *call)
{
    uint32_t index = (uint32_t)call->sample_index;
    if (index % EVERY != FIRST || call->epoch >= EPOCHS) {
        doze(MS / 10);
        atomic_fetch_add(&through, 1);
        return FEEDLINE_OK;
    }
    /* All quick ones before it, the rest of its batch and two more batches:
     * counted in the order and not from now on, as they may be through. */
    uint32_t epoch = (uint32_t)call->epoch;
    uint32_t before = epoch * (N - N / EVERY) + index - index / EVERY;
    while (atomic_load(&through) < before + 3 * BATCH - 1)
        doze(MS);
    doze(SLOWLY);
    return FEEDLINE_OK;
}

static int32_t dozes(const struct feedline_op_call *call)
{
    (void)call;
    doze(3 * MS);
    return FEEDLINE_OK;
}

static feedline_loader *loader_with(
    int32_t (*run)(const struct feedline_op_call *), const char *workers,
    bool folder)
{
    struct feedline_op_def def = {.struct_size = sizeof(def),
                                  .name = "told",
                                  .run = run,
                                  .label = "told (`work`)"};
    return fixture_with(
        folder ? images.files : images.ds, &def,
        "resize width=16 height=16;told",
        "batch_size=4 workers=%s depth=6 shuffle=false reader=auto", workers);
}

/* With `pause` between batches. */
static void run(feedline_loader *l, uint32_t epochs, long pause)
{
    feedline_batch *b;
    for (uint32_t i = 0; i < epochs; i++) {
        int32_t status;
        while ((status = feedline_loader_next(l, -1, &b)) == FEEDLINE_OK) {
            feedline_batch_release(b);
            if (pause)
                doze(pause);
        }
        assert_int_equal(status, FEEDLINE_END);
    }
}

TEST_WITH(a_later_batch_was_ready, setup, teardown)
{
    struct fdl_evidence e;
    feedline_loader *l = loader_with(holds_up, "4", false);
    run(l, EPOCHS, 0);
    fdl_evidence_gather(&l->sources, &e);
    assert_int_equal(e.batches, EPOCHS * N / BATCH);
    assert_int_equal(e.calls, e.batches - 1); /* but the first of the run */
    assert_int_equal(e.calls, e.ready_calls + e.long_waits);
    assert_true(e.passed_waits > 0);
    assert_true(e.passed_waits <= e.long_waits);
    assert_true(e.ticket_tail_ns >= SLOWLY);
    assert_true(e.first_batch_ns > 0);
    assert_false(e.reads_storage);
    assert_true(e.custom_ns >= SLOWLY);
    assert_int_equal(e.worker_busy_ns, e.worker_cpu_ns + e.worker_runq_ns +
                                           e.worker_throttle_ns +
                                           e.worker_sleep_ns);
    feedline_loader_destroy(l);
}

TEST_WITH(one_worker_passes_nobody, setup, teardown)
{
    struct fdl_evidence e;
    feedline_loader *l = loader_with(dozes, "1", false);
    run(l, 1, 0);
    fdl_evidence_gather(&l->sources, &e);
    assert_true(e.long_waits > 0);
    assert_int_equal(e.passed_waits, 0);
    assert_true(e.worker_sleep_ns > 0);
    assert_true(e.interference_sigma <= 0); /* not known */
    feedline_loader_destroy(l);
}

TEST_WITH(a_slow_consumer_finds_batches_ready, setup, teardown)
{
    struct fdl_evidence e;
    feedline_loader *l = loader_with(dozes, "4", true);
    run(l, 2, 30 * MS);
    fdl_evidence_gather(&l->sources, &e);
    assert_true(e.ready_calls > e.long_waits);
    assert_true(e.worker_blocked_ns > 0);
    assert_true(e.median_step_ns >= 30 * MS);
    assert_true(e.reads_storage);
    assert_true(e.mean_file_bytes > 0 && e.read_rate > 0);
    assert_true(e.read_p50_us > 0 && e.read_p99_us >= e.read_p50_us);
    assert_true(e.first_epoch_fetch >= 0 && e.later_epoch_fetch >= 0);
    assert_true(e.gpu_utilization < 0); /* batches stay on the host */
    assert_ok(feedline_loader_reset_stats(l));
    fdl_evidence_gather(&l->sources, &e);
    assert_int_equal(e.calls + e.batches, 0);
    assert_int_equal(e.ticket_tail_ns, 0);
    feedline_loader_destroy(l);
}

static int32_t reads_nothing(struct feedline_read_call *call)
{
    (void)call;
    return FEEDLINE_EIO;
}

static bool reads_anew(uint32_t flags)
{
    struct fdl_evidence e;
    feedline_dataset *ds;
    struct feedline_source source = {.struct_size = sizeof(source),
                                     .flags = flags,
                                     .name = "store",
                                     .count = 1,
                                     .read = reads_nothing};
    assert_ok(feedline_dataset_open_source(&source, &ds));
    feedline_loader *l = fixture_open(ds, "workers=1");
    fdl_evidence_gather(&l->sources, &e);
    feedline_loader_destroy(l);
    feedline_dataset_close(ds);
    return e.source_anew;
}

TEST_WITH(samples_that_are_others_each_time_cannot_be_kept, setup, teardown)
{
    struct fdl_evidence e;
    assert_false(reads_anew(0));
    assert_true(reads_anew(FEEDLINE_SOURCE_IN_ORDER));
    feedline_loader *l = loader_with(dozes, "1", false);
    fdl_evidence_gather(&l->sources, &e);
    assert_false(e.source_anew);
    feedline_loader_destroy(l);
}

TEST_WITH(is_in_the_json, setup, teardown)
{
    static const char *const keys[] = {
        "\"workers\":",      "\"signals\":",       "\"verdicts\":[",
        "\"evidence\":{",    "\"prep\":{",         "\"worker_wait\":{",
        "\"runq_seconds\":", "\"sleep_seconds\":", "\"parked_seconds\":",
        "\"host_busy\":",    "\"foreign_cores\":", "\"gpu\":null",
    };
    SCOPED_LOADER l = loader_with(dozes, "2", false);
    run(l, 1, 0);
    const char *text = fixture_json(l);
    for (size_t i = 0; i < FDL_COUNT_OF(keys); i++)
        if (!strstr(text, keys[i]))
            fail_msg("%s is not in %s", keys[i], text);
}

TEST_WITH(the_costliest_operation_is_named, setup, teardown)
{
    struct fdl_evidence e;
    feedline_loader *l = loader_with(dozes, "2", false);
    run(l, EPOCHS, 0);
    fdl_evidence_gather(&l->sources, &e);
    assert_string_equal(e.op.name, "told (`work`)");
    assert_true(e.op.samples >= EPOCHS * N); /* they work ahead */
    assert_true(e.op.wall_ns >= (int64_t)e.op.samples * 3 * MS);
    assert_true(e.op.cpu_ns >= 0 && e.op.cpu_ns < e.op.wall_ns / 2);
    assert_true(e.source_pixels >= 1);
    assert_true(e.output_pixels > 255 && e.output_pixels < 257); /* 16 x 16 */
    feedline_loader_destroy(l);
}

TEST_WITH(what_may_change_is_known, setup, teardown)
{
    struct fdl_evidence e;
    feedline_loader *l = loader_with(dozes, "2", false);
    run(l, EPOCHS, 0);
    fdl_evidence_gather(&l->sources, &e);
    assert_false(e.workers_auto);
    assert_false(e.depth_auto);
    assert_true(e.io_auto);
    assert_int_equal(e.workers_max, 2);
    assert_int_equal(e.tried_workers, 0);
    assert_int_equal(e.epoch_batches, N / BATCH);
    assert_true(e.usual_wait_ns > 0);
    assert_string_equal(fdl_term(e.terms, "depth").at, "depth");
    feedline_loader_destroy(l);
}

/* In this order, for the first line is what is read. */
TEST_WITH(the_verdict_comes_first, setup, teardown)
{
    SCOPED_LOADER l = loader_with(dozes, "2", false);
    uint64_t needed = 0;
    char text[8192];
    run(l, EPOCHS, 0);
    assert_ok(feedline_loader_explain(l, text, sizeof(text), &needed));
    struct feedline_verdict v = fixture_verdict(l);
    assert_memory_equal(text, v.code, strlen(v.code));
    char *cost = strstr(text, "told (`work`): ");
    char *tuner = strstr(text, "It began with 2 workers");
    assert_non_null(cost);
    assert_non_null(tuner);
    assert_true(text < cost && cost < tuner);
    assert_ok(feedline_loader_tuner_text(l, text, sizeof(text), &needed));
    assert_null(strstr(text, "told"));
    assert_non_null(strstr(text, "It began with 2 workers"));
    assert_error(feedline_loader_tuner_text(l, text, 8, &needed),
                 FEEDLINE_ERANGE, "");
}

TEST_MAIN("evidence")
