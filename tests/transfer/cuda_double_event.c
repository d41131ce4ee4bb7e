/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of the double. An event is a name for its latest record; each record
 * is an object of its own, held by the event, by the stream that has to reach
 * it, and by every wait that was called meanwhile. So a wait is for the record
 * of that moment, whatever becomes of the event.
 */
#include "cuda_double_own.h"

#include <stdlib.h>

void double_unref_locked(struct double_record *r)
{
    if (r && --r->refs == 0)
        free(r);
}

void double_event_free_locked(struct double_event *e)
{
    struct double_event **at = &double_world.events;
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    double_unref_locked(e->record);
    free(e);
}

int double_error_locked(int device)
{
    return double_world.devices[device].error;
}

static struct double_event *event_locked(fdl_cuda_event handle,
                                         const char *caller)
{
    for (struct double_event *e = double_world.events; e; e = e->next)
        if (e->handle == (uintptr_t)handle)
            return e;
    double_fault_locked("%s: %p is no event, or one that was destroyed", caller,
                        (void *)handle);
    return NULL;
}

int cuEventCreate(fdl_cuda_event *event, unsigned flags)
{
    int error = double_enter(FN_cuEventCreate);
    if (!error && (!event || flags > 3))
        error = DOUBLE_ERROR_INVALID;
    struct double_event *e = error ? NULL : calloc(1, sizeof(*e));
    if (e) {
        e->handle = ++double_world.last_handle;
        e->of_device = double_device_now();
        e->timing = !(flags & FDL_CUDA_EVENT_NO_TIMING);
        e->next = double_world.events;
        double_world.events = e;
        *event = (fdl_cuda_event)(uintptr_t)e->handle;
    } else if (!error) {
        error = FDL_CUDA_ERROR_MEMORY;
    }
    return double_leave(error);
}

int cuEventDestroy(fdl_cuda_event event)
{
    int error = double_enter(FN_cuEventDestroy);
    struct double_event *e = event_locked(event, "cuEventDestroy");
    if (e)
        double_event_free_locked(e);
    return double_leave(error ? error : e ? 0 : DOUBLE_ERROR_HANDLE);
}

static int record_locked(struct double_event *e, struct double_stream *s)
{
    if (e->of_device != s->of_device)
        return DOUBLE_ERROR_HANDLE;
    if (s->capturing)
        return double_capture_record_locked(e, s);
    struct double_record *r = calloc(1, sizeof(*r));
    if (!r)
        return FDL_CUDA_ERROR_MEMORY;
    r->refs = 2; /* the event's, the operation's */
    struct double_op op = {.kind = OP_RECORD, .record = r};
    int error = double_queue_locked(s, &op);
    if (error) {
        free(r);
        return error;
    }
    double_unref_locked(e->record);
    e->record = r;
    e->captured_on = 0;
    return 0;
}

int cuEventRecord(fdl_cuda_event event, fdl_cuda_stream stream)
{
    int error = double_enter(FN_cuEventRecord);
    if (!error) {
        struct double_event *e = event_locked(event, "cuEventRecord");
        struct double_stream *s = double_stream_locked(stream, "cuEventRecord");
        error = e && s ? record_locked(e, s) : DOUBLE_ERROR_HANDLE;
    }
    return double_leave(error);
}

static int wait_event_locked(struct double_stream *s, struct double_event *e)
{
    if (s->capturing || e->captured_on)
        return double_capture_wait_locked(s, e);
    if (!e->record || (e->record->done && !double_world.clock))
        return 0;
    struct double_op op = {.kind = OP_WAIT, .record = e->record};
    int error = double_queue_locked(s, &op);
    if (!error)
        e->record->refs++;
    return error;
}

int cuStreamWaitEvent(fdl_cuda_stream stream, fdl_cuda_event event,
                      unsigned flags)
{
    int error = double_enter(FN_cuStreamWaitEvent);
    if (!error && flags > 1)
        error = DOUBLE_ERROR_INVALID;
    if (!error) {
        struct double_event *e = event_locked(event, "cuStreamWaitEvent");
        struct double_stream *s =
            double_stream_locked(stream, "cuStreamWaitEvent");
        error = e && s ? wait_event_locked(s, e) : DOUBLE_ERROR_HANDLE;
    }
    return double_leave(error);
}

static bool is_done(const struct double_event *e)
{
    return !e->record || e->record->done;
}

int cuEventQuery(fdl_cuda_event event)
{
    int error = double_enter(FN_cuEventQuery);
    if (!error) {
        struct double_event *e = event_locked(event, "cuEventQuery");
        error = e ? double_ask_event_locked(e) : DOUBLE_ERROR_HANDLE;
        if (!error)
            error = is_done(e) ? double_error_locked(e->of_device)
                               : FDL_CUDA_ERROR_NOT_READY;
    }
    return double_leave(error);
}

int cuEventSynchronize(fdl_cuda_event event)
{
    int error = double_enter(FN_cuEventSynchronize);
    struct double_event *e =
        error ? NULL : event_locked(event, "cuEventSynchronize");
    if (e)
        error = double_ask_event_locked(e);
    if (e && !error) {
        int device = e->of_device;
        struct double_record *r = e->record;
        if (r) {
            r->refs++;
            while (!r->done)
                double_wait_locked();
            double_unref_locked(r);
        }
        error = double_error_locked(device);
    } else if (!error) {
        error = DOUBLE_ERROR_HANDLE;
    }
    return double_leave(error);
}

int cuEventElapsedTime(float *ms, fdl_cuda_event from, fdl_cuda_event to)
{
    int error = double_enter(FN_cuEventElapsedTime);
    if (!error) {
        struct double_event *a = event_locked(from, "cuEventElapsedTime");
        struct double_event *b = event_locked(to, "cuEventElapsedTime");
        if (!a || !b || !a->timing || !b->timing || !a->record || !b->record ||
            a->of_device != b->of_device)
            error = DOUBLE_ERROR_HANDLE;
        else if (!a->record->done || !b->record->done)
            error = FDL_CUDA_ERROR_NOT_READY;
        else
            *ms = (float)((double)(b->record->ns - a->record->ns) / 1e6);
    }
    return double_leave(error);
}
