/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaders beside CUDA graphs that the program captures, on the double of the
 * CUDA driver: neither the run nor the capture may suffer, whichever calls of
 * the one fall into the other. And errors of the device that are over when the
 * next run begins.
 */
#include "cuda_double.h"
#include "loader/loader.h"
#include "tests/loader/fixture.h"

#include <feedline/exchange.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define IMAGES  16u
#define BATCHES 4u /* of an epoch */
#define OPTIONS "device=cuda:0 batch_size=4 depth=2 workers=1 tuner=off"

static struct fixture images;
static feedline_dataset *dataset;

static void begin(void)
{
    double_reset();
    double_use_device(0);
    fixture_create(&images, IMAGES);
    dataset = fixture_memory(&images);
}

static void end(void)
{
    char faults[2048];
    feedline_dataset_close(dataset);
    fixture_remove(&images);
    if (double_faults(faults, sizeof(faults)) > 0)
        fail_msg("%s", faults);
}

static struct double_counters counters(void)
{
    struct double_counters c;
    double_get_counters(&c);
    return c;
}

static fdl_cuda_stream new_stream(void)
{
    fdl_cuda_stream stream;
    assert_int_equal(cuStreamCreateWithPriority(&stream, 1, 0), 0);
    return stream;
}

/* Waits for each batch of an epoch, reads it and gives it back. */
static void read_epoch(feedline_loader *l, fdl_cuda_stream stream)
{
    feedline_batch *b;
    for (uint32_t i = 0; i < BATCHES; i++) {
        b = fixture_take(l);
        struct feedline_batch_info info = fixture_info(b);
        assert_ok(feedline_batch_wait(b, stream));
        assert_int_equal(
            double_read(stream, info.images.data, info.image_bytes, 0), 0);
        feedline_batch_release(b);
    }
    assert_int_equal(feedline_loader_next(l, -1, &b), FEEDLINE_END);
}

/* All that a program does with a loader, from its creation to its end. */
static void live(fdl_cuda_stream stream)
{
    SCOPED_LOADER l = fixture_open(dataset, OPTIONS);
    read_epoch(l, stream);
    assert_ok(feedline_loader_set_int(l, "depth", 3));
    read_epoch(l, stream);
    (void)fixture_device(l);
    assert_ok(feedline_loader_set_int(l, "depth", 1));
    read_epoch(l, stream);
}

/* ---- Captures of other threads ------------------------------------------ */

/* The calls of a whole life in 64 parts, a capture in each of them in turn. */
TEST(a_capture_at_any_moment)
{
    enum { PARTS = 64 };
    begin();
    fdl_cuda_stream stream = new_stream();
    live(stream); /* measures the bus and so on, once a process */
    uint64_t before = counters().calls;
    live(stream);
    uint64_t part = (counters().calls - before) / PARTS + 1;
    for (uint64_t i = 0; i < PARTS + 8; i++) {
        double_capture_elsewhere(i * part, part);
        live(stream);
        double_capture_elsewhere(0, 0);
        if (counters().broken_captures > 0)
            fail_msg("the loader broke a capture in part %u", (unsigned)i);
    }
    assert_int_equal(cuStreamDestroy(stream), 0);
    end();
}

struct capturer {
    pthread_t thread;
    _Atomic bool stop;
    _Atomic uint32_t captures, broken;
};

static void *capture(void *arg)
{
    struct capturer *c = arg;
    fdl_cuda_event e;
    void *graph;
    double_use_device(0);
    fdl_cuda_stream stream = new_stream();
    cuEventCreate(&e, FDL_CUDA_EVENT_NO_TIMING);
    while (!atomic_load(&c->stop)) {
        int error = cuStreamBeginCapture(stream, DOUBLE_GLOBAL);
        for (int i = 0; i < 5 && !error; i++)
            error = cuEventRecord(e, stream);
        if (cuStreamEndCapture(stream, &graph) || error)
            atomic_fetch_add(&c->broken, 1);
        else
            cuGraphDestroy(graph);
        atomic_fetch_add(&c->captures, 1);
    }
    cuEventDestroy(e);
    cuStreamDestroy(stream);
    return NULL;
}

TEST(captures_all_the_time)
{
    struct capturer c = {.stop = false};
    begin();
    fdl_cuda_stream stream = new_stream();
    assert_int_equal(pthread_create(&c.thread, NULL, capture, &c), 0);
    for (uint32_t n = 0; n < 3 || atomic_load(&c.captures) < 100; n++)
        live(stream);
    atomic_store(&c.stop, true);
    assert_int_equal(pthread_join(c.thread, NULL), 0);
    assert_int_equal(atomic_load(&c.broken), 0);
    assert_int_equal(counters().broken_captures, 0);
    assert_int_equal(cuStreamDestroy(stream), 0);
    end();
}

/* ---- Captures of the consumer's own stream ------------------------------ */

static void capture_with(const char *options)
{
    void *graph, *there;
    begin();
    fdl_cuda_stream stream = new_stream();
    assert_int_equal(cuMemAlloc(&there, 1 << 16), 0);
    feedline_loader *l = fixture_open(dataset, options);
    feedline_batch *b = fixture_take(l);
    assert_int_equal(cuStreamBeginCapture(stream, DOUBLE_GLOBAL), 0);
    assert_error(feedline_batch_wait(b, stream), FEEDLINE_ESTATE,
                 "before the capture");
    assert_error(feedline_batch_copy(b, there, NULL, stream), FEEDLINE_ESTATE,
                 "before the capture");
    assert_int_equal(cuStreamEndCapture(stream, &graph), 0);
    assert_int_equal(cuGraphDestroy(graph), 0);
    assert_ok(feedline_batch_copy(b, there, NULL, stream));
    feedline_batch_release(b);
    feedline_loader_destroy(l);
    assert_int_equal(cuMemFree(there), 0);
    assert_int_equal(cuStreamDestroy(stream), 0);
    end();
}

TEST(a_captured_stream_takes_no_batch)
{
    capture_with(OPTIONS);
    capture_with(OPTIONS " dtype=f32 finish=device handover=copy");
}

/* The slot waits for what reads it on a stream whose capture began later, and
 * the copy stream does not become a part of the graph. */
TEST(a_batch_goes_back_while_its_stream_is_captured)
{
    void *graph;
    begin();
    fdl_cuda_stream stream = new_stream(), other = new_stream();
    feedline_loader *l = fixture_open(dataset, OPTIONS);
    for (uint32_t n = 0; n < 20; n++) {
        feedline_batch *b;
        int32_t status = feedline_loader_next(l, -1, &b);
        if (status == FEEDLINE_END)
            continue;
        assert_ok(status);
        struct feedline_batch_info info = fixture_info(b);
        assert_ok(feedline_batch_wait(b, stream));
        double_read(stream, info.images.data, info.image_bytes, 2000000);
        assert_int_equal(cuStreamBeginCapture(stream, DOUBLE_GLOBAL), 0);
        if (n % 2)
            feedline_batch_release(b);
        else
            feedline_batch_release_on(b, other);
        assert_int_equal(cuStreamEndCapture(stream, &graph), 0);
        assert_int_equal(cuGraphDestroy(graph), 0);
    }
    feedline_loader_destroy(l);
    assert_int_equal(counters().broken_captures, 0);
    double_drain();
    assert_int_equal(cuStreamDestroy(stream), 0);
    assert_int_equal(cuStreamDestroy(other), 0);
    end();
}

/* ---- Errors that pass --------------------------------------------------- */

/* What a capture forbids is tried again, also where it is not to be expected:
 * the thread that waits for copies has the mode that is never refused. */
TEST(not_now_is_not_never)
{
    begin();
    fdl_cuda_stream stream = new_stream();
    feedline_loader *l = fixture_open(dataset, OPTIONS);
    read_epoch(l, stream);
    for (int error = 900; error <= 908; error++)
        if (error != DOUBLE_ERROR_CAPTURED_EVENT)
            assert_true(double_fail("cuEventSynchronize", 1, error, false));
    read_epoch(l, stream);
    read_epoch(l, stream);
    feedline_loader_destroy(l);
    assert_int_equal(cuStreamDestroy(stream), 0);
    end();
}

/* Reads to the end or to an error; which it was. */
static int32_t outcome(feedline_loader *l, fdl_cuda_stream stream)
{
    feedline_batch *b;
    int32_t status;
    while ((status = feedline_loader_next(l, -1, &b)) == FEEDLINE_OK) {
        feedline_batch_wait(b, stream);
        feedline_batch_release(b);
    }
    return status;
}

TEST(an_error_ends_with_its_run)
{
    static const char *const names[] = {"cuMemcpyHtoDAsync", "cuEventRecord",
                                        "cuEventSynchronize",
                                        "cuStreamWaitEvent"};
    begin();
    fdl_cuda_stream stream = new_stream();
    feedline_loader *l = fixture_open(dataset, OPTIONS);
    read_epoch(l, stream);
    uint64_t epoch = 1;
    uint32_t failed = 0;
    for (size_t i = 0; i < FDL_COUNT_OF(names); i++) {
        assert_true(double_fail(names[i], 3, 999, false));
        if (outcome(l, stream) == FEEDLINE_EDEVICE)
            failed++;
        double_fail_no_more(); /* the call may not have come */
        assert_ok(feedline_loader_stop(l));
        assert_ok(feedline_loader_start(l, ++epoch));
        read_epoch(l, stream);
        epoch++;
    }
    assert_true(failed >= 1);
    feedline_loader_destroy(l);
    assert_int_equal(cuStreamDestroy(stream), 0);
    end();
}

/* Batches are handed out before they have landed, so an epoch may end before
 * the error of its last copies shows. A slot is not used again without. */
static int32_t outcome_in_the_end(feedline_loader *l, fdl_cuda_stream stream)
{
    int32_t status = FEEDLINE_END;
    for (int epoch = 0; epoch < 8 && status == FEEDLINE_END; epoch++)
        status = outcome(l, stream);
    return status;
}

/* A context that is broken stays so, and each run reports it, if not its start,
 * which needs memory of the device. */
TEST(a_lost_device_stays_lost)
{
    begin();
    fdl_cuda_stream stream = new_stream();
    feedline_loader *l = fixture_open(dataset, OPTIONS);
    read_epoch(l, stream);
    assert_true(double_fail("copy", 1, 700, false));
    assert_int_equal(outcome_in_the_end(l, stream), FEEDLINE_EDEVICE);
    for (uint64_t epoch = 15; epoch < 18; epoch++) {
        feedline_loader_stop(l);
        int32_t status = feedline_loader_start(l, epoch);
        if (status >= 0)
            status = outcome_in_the_end(l, stream);
        assert_int_equal(status, FEEDLINE_EDEVICE);
    }
    feedline_loader_destroy(l);
    feedline_dataset_close(dataset);
    fixture_remove(&images);
}

TEST_MAIN("device_capture")
