/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture in the double: which calls are refused while a stream is
 * captured into a graph, and what that does to the capture. The graph itself is
 * empty: what is queued on a captured stream is dropped.
 *
 * Each thread has a mode, cuThreadExchangeStreamCaptureMode, and so has each
 * capture. A call of those below that is made in the wrong place fails with
 * 900, and breaks the capture: its thread gets 901 from then on.
 *
 *   mode of the calling thread   refused while
 *   global (what it begins as)   any thread captures with mode global, or this
 *                                one other than relaxed
 *   thread-local                 this thread captures, not relaxed
 *   relaxed                      never
 *
 * In every mode a captured stream or event cannot be waited for or asked (900,
 * 907), nor may a captured stream wait for what was not captured (905).
 */
#include "cuda_double_own.h"

#include <inttypes.h>

static const bool unsafe[FN_COUNT] = {
    [FN_cuMemAlloc] = true,          [FN_cuMemFree] = true,
    [FN_cuMemPoolCreate] = true,     [FN_cuMemPoolDestroy] = true,
    [FN_cuMemPoolTrimTo] = true,     [FN_cuMemHostRegister] = true,
    [FN_cuMemHostUnregister] = true, [FN_cuMemHostAlloc] = true,
    [FN_cuMemFreeHost] = true,       [FN_cuStreamSynchronize] = true,
    [FN_cuStreamQuery] = true,       [FN_cuEventSynchronize] = true,
    [FN_cuEventQuery] = true,        [FN_cuModuleLoadData] = true,
};

/* ---- What is refused ------------------------------------------------ */

static void break_locked(struct double_stream *s)
{
    double_world.counters.broken_captures += !s->broken;
    s->broken = true;
}

static bool forbids(const struct double_stream *s)
{
    int mode = double_self.capture_mode;
    if (!s->capturing)
        return false;
    if (pthread_equal(s->capturer, pthread_self()))
        return mode != DOUBLE_RELAXED && s->capture_mode != DOUBLE_RELAXED;
    return mode == DOUBLE_GLOBAL && s->capture_mode == DOUBLE_GLOBAL;
}

int double_forbidden_locked(enum double_function f)
{
    struct double_world *w = &double_world;
    int error = 0;
    if (!unsafe[f])
        return 0;
    for (struct double_stream *s = w->streams; s; s = s->next)
        if (forbids(s)) {
            break_locked(s);
            error = DOUBLE_ERROR_CAPTURE;
        }
    bool elsewhere =
        w->n_calls >= w->capture_from && w->n_calls < w->capture_until;
    if (elsewhere && double_self.capture_mode == DOUBLE_GLOBAL) {
        w->counters.broken_captures++;
        error = DOUBLE_ERROR_CAPTURE;
    }
    return error;
}

int double_ask_stream_locked(struct double_stream *s)
{
    if (!s->capturing)
        return 0;
    break_locked(s);
    return DOUBLE_ERROR_CAPTURE;
}

static struct double_stream *capture_of_locked(const struct double_event *e)
{
    for (struct double_stream *s = double_world.streams; s; s = s->next)
        if (s->capturing && s->handle == e->captured_on)
            return s;
    return NULL;
}

int double_ask_event_locked(const struct double_event *e)
{
    if (!e->captured_on)
        return 0;
    struct double_stream *s = capture_of_locked(e);
    if (s)
        break_locked(s);
    return DOUBLE_ERROR_CAPTURED_EVENT;
}

/* ---- What is captured ----------------------------------------------- */

int double_captured_locked(struct double_stream *s)
{
    return s->broken ? DOUBLE_ERROR_CAPTURE_BROKEN : 0;
}

int double_capture_record_locked(struct double_event *e,
                                 struct double_stream *s)
{
    if (s->broken)
        return DOUBLE_ERROR_CAPTURE_BROKEN;
    double_unref_locked(e->record);
    e->record = NULL;
    e->captured_on = s->handle;
    return 0;
}

int double_capture_wait_locked(struct double_stream *s,
                               const struct double_event *e)
{
    if (!s->capturing) {
        double_fault_locked("stream %" PRIu64 " waits for an event that was "
                            "captured on stream %" PRIu64 ", and so becomes a "
                            "part of its graph",
                            s->handle, e->captured_on);
        return 0;
    }
    if (s->broken)
        return DOUBLE_ERROR_CAPTURE_BROKEN;
    if (e->captured_on == s->handle)
        return 0;
    break_locked(s);
    return DOUBLE_ERROR_ISOLATION;
}

/* ---- As the program sees it ----------------------------------------- */

int cuThreadExchangeStreamCaptureMode(int *mode)
{
    int error = double_enter(FN_cuThreadExchangeStreamCaptureMode);
    if (!error && (!mode || *mode < DOUBLE_GLOBAL || *mode > DOUBLE_RELAXED))
        error = DOUBLE_ERROR_INVALID;
    if (!error) {
        int before = double_self.capture_mode;
        double_self.capture_mode = *mode;
        *mode = before;
    }
    return double_leave(error);
}

int cuStreamIsCapturing(fdl_cuda_stream stream, int *status)
{
    int error = double_enter(FN_cuStreamIsCapturing);
    if (!error && !status)
        error = DOUBLE_ERROR_INVALID;
    if (!error) {
        struct double_stream *s =
            double_stream_locked(stream, "cuStreamIsCapturing");
        if (s)
            *status = !s->capturing ? 0 : s->broken ? 2 : 1;
        else
            error = DOUBLE_ERROR_HANDLE;
    }
    return double_leave(error);
}

int cuStreamBeginCapture(fdl_cuda_stream stream, int mode)
{
    int error = double_enter(FN_cuStreamBeginCapture);
    struct double_stream *s =
        error ? NULL : double_stream_locked(stream, "cuStreamBeginCapture");
    if (!error && (!s || s->legacy))
        error = DOUBLE_ERROR_HANDLE;
    if (!error &&
        (s->capturing || mode < DOUBLE_GLOBAL || mode > DOUBLE_RELAXED))
        error = DOUBLE_ERROR_INVALID;
    if (!error) {
        s->capturing = true;
        s->broken = false;
        s->capture_mode = mode;
        s->capturer = pthread_self();
    }
    return double_leave(error);
}

int cuStreamEndCapture(fdl_cuda_stream stream, void **graph)
{
    int error = double_enter(FN_cuStreamEndCapture);
    struct double_stream *s =
        error ? NULL : double_stream_locked(stream, "cuStreamEndCapture");
    if (!error && (!s || !s->capturing || !graph))
        error = DOUBLE_ERROR_INVALID;
    if (!error) {
        error = double_captured_locked(s);
        s->capturing = s->broken = false;
        *graph = error ? NULL : (void *)(uintptr_t)++double_world.last_handle;
    }
    return double_leave(error);
}

int cuGraphDestroy(void *graph)
{
    int error = double_enter(FN_cuGraphDestroy);
    if (!error && !graph)
        error = DOUBLE_ERROR_INVALID;
    return double_leave(error);
}

void double_capture_elsewhere(uint64_t from, uint64_t n)
{
    double_enter(FN_COUNT);
    double_world.capture_from = double_world.n_calls + from;
    double_world.capture_until = double_world.capture_from + n;
    double_leave(0);
}
