/* SPDX-License-Identifier: Apache-2.0 */
/* Captures in the CUDA driver's double: who may call what, and what a call in
 * the wrong place does to the capture. */
#include "cuda_desk.h"

#include <pthread.h>

static int end_capture(fdl_cuda_stream stream)
{
    void *graph = NULL;
    int error = cuStreamEndCapture(stream, &graph);
    assert_true((graph != NULL) == (error == 0));
    return error ? error : cuGraphDestroy(graph);
}

static int set_mode(int mode)
{
    ok(cuThreadExchangeStreamCaptureMode(&mode));
    return mode;
}

/* ---- Two threads -------------------------------------------------------- */

struct caller {
    int mode, error;
};

static void *ask(void *arg)
{
    struct caller *c = arg;
    double_use_device(0);
    set_mode(c->mode);
    fdl_cuda_event e = new_event();
    c->error = cuEventQuery(e);
    ok(cuEventDestroy(e));
    return NULL;
}

/* What a thread in mode `mode` gets; *broken: what the capture gets. */
static int asked_beside(fdl_cuda_stream stream, int capture_mode, int mode,
                        int *broken)
{
    struct caller c = {.mode = mode};
    pthread_t thread;
    ok(cuStreamBeginCapture(stream, capture_mode));
    assert_int_equal(pthread_create(&thread, NULL, ask, &c), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    *broken = end_capture(stream);
    return c.error;
}

TEST(another_thread_may_ask_or_not)
{
    double_use_device(0);
    fdl_cuda_stream s = new_stream();
    for (int capture = DOUBLE_GLOBAL; capture <= DOUBLE_RELAXED; capture++)
        for (int mode = DOUBLE_GLOBAL; mode <= DOUBLE_RELAXED; mode++) {
            bool refused = capture == DOUBLE_GLOBAL && mode == DOUBLE_GLOBAL;
            int broken, error = asked_beside(s, capture, mode, &broken);
            assert_int_equal(error, refused ? DOUBLE_ERROR_CAPTURE : 0);
            assert_int_equal(broken, refused ? DOUBLE_ERROR_CAPTURE_BROKEN : 0);
        }
    ok(cuStreamDestroy(s));
    no_faults();
}

TEST(the_capturing_thread_may_ask_or_not)
{
    double_use_device(0);
    fdl_cuda_stream s = new_stream();
    void *p;
    for (int capture = DOUBLE_GLOBAL; capture <= DOUBLE_RELAXED; capture++)
        for (int mode = DOUBLE_GLOBAL; mode <= DOUBLE_RELAXED; mode++) {
            bool refused = capture != DOUBLE_RELAXED && mode != DOUBLE_RELAXED;
            set_mode(mode);
            ok(cuStreamBeginCapture(s, capture));
            int error = cuMemAlloc(&p, 1);
            assert_int_equal(error, refused ? DOUBLE_ERROR_CAPTURE : 0);
            assert_int_equal(end_capture(s),
                             refused ? DOUBLE_ERROR_CAPTURE_BROKEN : 0);
            if (!error)
                ok(cuMemFree(p));
        }
    assert_int_equal(set_mode(DOUBLE_GLOBAL), DOUBLE_RELAXED);
    ok(cuStreamDestroy(s));
    no_faults();
}

/* ---- The graph ---------------------------------------------------------- */

TEST_WITH(what_is_captured_does_not_run, open_desk, close_desk)
{
    int status;
    ok(cuStreamIsCapturing(d.a, &status));
    assert_int_equal(status, 0);
    ok(cuStreamBeginCapture(d.a, DOUBLE_GLOBAL));
    assert_int_equal(cuStreamBeginCapture(d.a, DOUBLE_GLOBAL),
                     DOUBLE_ERROR_INVALID);
    ok(cuStreamIsCapturing(d.a, &status));
    assert_int_equal(status, 1);
    copy_to(d.a);
    ok(double_read(d.a, d.device, BYTES, 0));
    ok(end_capture(d.a));
    ok(cuStreamSynchronize(d.a));
    assert_int_equal(device_byte(d.device), 0xa5);
    no_faults();
}

TEST_WITH(nobody_asks_what_is_captured, open_desk, close_desk)
{
    int status;
    fdl_cuda_event e = new_event();
    set_mode(DOUBLE_RELAXED); /* not even so */
    for (int i = 0; i < 4; i++) {
        ok(cuStreamBeginCapture(d.a, DOUBLE_RELAXED));
        ok(cuEventRecord(e, d.a));
        ok(cuStreamWaitEvent(d.a, e, 0));
        int error = i == 0   ? cuStreamSynchronize(d.a)
                    : i == 1 ? cuStreamQuery(d.a)
                    : i == 2 ? cuEventSynchronize(e)
                             : cuEventQuery(e);
        assert_int_equal(error, i < 2 ? DOUBLE_ERROR_CAPTURE
                                      : DOUBLE_ERROR_CAPTURED_EVENT);
        assert_int_equal(cuEventRecord(e, d.a), DOUBLE_ERROR_CAPTURE_BROKEN);
        ok(cuStreamIsCapturing(d.a, &status));
        assert_int_equal(status, 2);
        assert_int_equal(end_capture(d.a), DOUBLE_ERROR_CAPTURE_BROKEN);
    }
    struct double_counters seen;
    double_get_counters(&seen);
    assert_int_equal(seen.broken_captures, 4);
    ok(cuEventDestroy(e));
    no_faults();
}

TEST_WITH(a_graph_waits_for_nothing_outside, open_desk, close_desk)
{
    fdl_cuda_event e = new_event();
    ok(cuEventRecord(e, d.b));
    ok(cuStreamBeginCapture(d.a, DOUBLE_GLOBAL));
    assert_int_equal(cuStreamWaitEvent(d.a, e, 0), DOUBLE_ERROR_ISOLATION);
    assert_int_equal(end_capture(d.a), DOUBLE_ERROR_CAPTURE_BROKEN);
    no_faults();

    /* A stream that waits for captured work becomes a part of the capture. */
    ok(cuStreamBeginCapture(d.a, DOUBLE_GLOBAL));
    ok(cuEventRecord(e, d.a));
    ok(cuStreamWaitEvent(d.b, e, 0));
    one_fault("becomes a part of its graph");
    ok(end_capture(d.a));
    ok(cuEventDestroy(e));
}

TEST(a_capture_elsewhere_lasts_for_some_calls)
{
    double_use_device(0);
    fdl_cuda_event e = new_event();
    struct double_counters seen;
    double_capture_elsewhere(2, 2);
    assert_int_equal(cuEventQuery(e), 0);
    assert_int_equal(cuEventQuery(e), DOUBLE_ERROR_CAPTURE);
    assert_int_equal(cuEventQuery(e), DOUBLE_ERROR_CAPTURE);
    assert_int_equal(cuEventQuery(e), 0);
    double_get_counters(&seen);
    assert_int_equal(seen.broken_captures, 2);
    ok(cuEventDestroy(e));
    no_faults();
}

TEST_MAIN("cuda_double_capture")
