/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The land thread of the CUDA backend: it sleeps in the driver until the oldest
 * copy is done, gives its host memory back, and later tells when all of it
 * happened. And steps: their events, made once and used again.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "transfer/cuda/cuda_backend.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Steps -------------------------------------------------------------- */

static int create_maker_events(const struct fdl_cuda_api *cuda,
                               struct fdl_cuda_step *s)
{
    int error = cuda->EventCreate(&s->told, FDL_CUDA_EVENT_BLOCKING_SYNC);
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->EventCreate(&s->making, 0);
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->EventCreate(&s->made, 0);
    return error;
}

static int create_events(const struct fdl_cuda *c, struct fdl_cuda_step *s)
{
    const struct fdl_cuda_api *cuda = c->device->cuda;
    /* The land thread waits for `ready`: asleep, not spinning. */
    int error = cuda->EventCreate(&s->ready, FDL_CUDA_EVENT_BLOCKING_SYNC);
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->EventCreate(&s->entered, 0);
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->EventCreate(&s->asked, 0);
    if (error == FDL_CUDA_SUCCESS && c->config.makers.n > 0)
        error = create_maker_events(cuda, s);
    for (uint32_t i = 0; i < FDL_CUDA_COPIES && error == FDL_CUDA_SUCCESS;
         i++) {
        error = cuda->EventCreate(&s->from[i], 0);
        if (error == FDL_CUDA_SUCCESS)
            error = cuda->EventCreate(&s->to[i], 0);
    }
    return error;
}

static int32_t create_step(struct fdl_cuda *c, struct fdl_cuda_step **out)
{
    struct fdl_cuda_step *s = calloc(1, sizeof(*s));
    if (!s)
        return fdl_fail_memory(sizeof(*s), "the events of a batch");
    int error = create_events(c, s);
    if (error == FDL_CUDA_SUCCESS) {
        *out = s;
        return FEEDLINE_OK;
    }
    fdl_cuda_step_destroy(c, s);
    return fdl_cuda_fail(c->device->cuda, error, "the events of a batch");
}

void fdl_cuda_step_destroy(struct fdl_cuda *c, struct fdl_cuda_step *s)
{
    const struct fdl_cuda_api *cuda = c->device->cuda;
    for (uint32_t i = 0; i < FDL_CUDA_COPIES; i++) {
        if (s->from[i])
            cuda->EventDestroy(s->from[i]);
        if (s->to[i])
            cuda->EventDestroy(s->to[i]);
    }
    fdl_cuda_event others[] = {s->asked,  s->entered, s->ready,
                               s->making, s->made,    s->told};
    for (uint32_t i = 0; i < FDL_COUNT_OF(others); i++)
        if (others[i])
            cuda->EventDestroy(others[i]);
    free(s);
}

int32_t fdl_cuda_step_take(struct fdl_cuda *c, struct fdl_cuda_step **out)
{
    fdl_lock(&c->lock);
    struct fdl_cuda_step *s = fdl_cuda_pop(&c->free_steps);
    fdl_unlock(&c->lock);
    int32_t status = s ? FEEDLINE_OK : create_step(c, &s);
    if (status < 0)
        return status;
    s->n_copies = 0;
    s->bytes = 0;
    s->has_entered = s->has_asked = s->resumes = false;
    s->let_go = s->reported = false;
    /* relaxed: either base may be the one that the events are measured from. */
    s->clock_epoch =
        atomic_load_explicit(&c->clock_epoch, memory_order_relaxed);
    *out = s;
    return FEEDLINE_OK;
}

/* With both owners gone it is free. */
static void recycle_locked(struct fdl_cuda *c, struct fdl_cuda_step *s)
{
    if (s->let_go && s->reported)
        fdl_cuda_push(&c->free_steps, &s->link);
}

void fdl_cuda_step_let_go(struct fdl_cuda *c, struct fdl_cuda_step *s)
{
    fdl_lock(&c->lock);
    s->let_go = true;
    recycle_locked(c, s);
    fdl_unlock(&c->lock);
}

void fdl_cuda_lose(struct fdl_cuda *c, int32_t status)
{
    fdl_lock(&c->lock);
    if (c->failed == FEEDLINE_OK) {
        c->failed = status;
        snprintf(c->reason, sizeof(c->reason), "cuda:%u: %s", c->config.device,
                 fdl_last_error());
    }
    fdl_unlock(&c->lock);
}

/* ---- Reports ------------------------------------------------------------ */

/* What is to be said of the oldest step. */
struct report {
    struct fdl_cuda_step *step;
    bool full;    /* no longer than now can it wait */
    bool entered; /* a stream waits for it; */
    bool asked;   /* and where its work ended before is known */
    bool resumes;
};

/* false: nothing will be known of the oldest step yet. Only the holder of
 * report_lock takes steps away, so it stays the oldest without the lock. */
static bool oldest_report(struct fdl_cuda *c, struct report *out)
{
    fdl_lock(&c->lock);
    struct fdl_cuda_step *s = (void *)c->reports.first;
    *out = (struct report){.step = s,
                           .full = c->n_reports > FDL_CUDA_REPORTS,
                           .entered = s && s->has_entered,
                           .asked = s && s->has_entered && s->has_asked,
                           .resumes = s && s->has_entered && s->resumes};
    bool known = s && (out->full || s->let_go || s->has_entered);
    fdl_unlock(&c->lock);
    return known;
}

/* Leaves out an event that the device cannot tell of. false: it is not done,
 * and there is time to wait for it. No lock that a worker or the consumer takes
 * is held: the driver may answer late. */
static bool is_done(const struct fdl_cuda *c, const struct report *r,
                    fdl_cuda_event event, bool *known)
{
    if (!*known)
        return true;
    int error = c->device->cuda->EventQuery(event);
    if (error == FDL_CUDA_SUCCESS)
        return true;
    *known = false;
    return r->full ||
           (error != FDL_CUDA_ERROR_NOT_READY && !fdl_cuda_not_now(error));
}

static void take_report(struct fdl_cuda *c)
{
    fdl_lock(&c->lock);
    fdl_cuda_pop(&c->reports);
    c->n_reports--;
    fdl_unlock(&c->lock);
}

/* From `asked` until the batch was handed over the stream was idle, as it was
 * from `entered` to `ready`; what it did in between, if anything, was work. So
 * the first is put in front of the second. The clocks of host and device are a
 * little apart, hence the bound by called_ns; and a stream other than the one
 * that waits may have work until after `entered`. */
static int64_t read_entered(const struct fdl_cuda *c, const struct report *r)
{
    const struct fdl_cuda_step *s = r->step;
    int64_t at = fdl_cuda_clock_read(&c->clock, s->clock_epoch, s->entered);
    int64_t asked =
        r->asked ? fdl_cuda_clock_read(&c->clock, s->clock_epoch, s->asked) : 0;
    if (asked == 0 || at == 0)
        return at;
    asked = FDL_MAX(asked, s->called_ns);
    at = FDL_MAX(at, asked);
    if (asked < s->done_ns)
        at -= FDL_MIN(s->done_ns, at) - asked;
    return at;
}

static void read_times(struct fdl_cuda *c, const struct report *r,
                       struct fdl_device_times *t)
{
    const struct fdl_cuda_step *s = r->step;
    const struct fdl_cuda_clock *clock = &c->clock;
    *t = (struct fdl_device_times){.ticket = s->ticket,
                                   .queued = s->queued_ns,
                                   .bytes = s->bytes,
                                   .copies = s->n_copies,
                                   .finished = c->config.finish.channels > 0,
                                   .resumes = r->resumes};
    for (uint32_t i = 0; i < s->n_copies; i++) {
        int64_t from = fdl_cuda_clock_read(clock, s->clock_epoch, s->from[i]);
        t->end = fdl_cuda_clock_read(clock, s->clock_epoch, s->to[i]);
        t->start = i == 0 ? from : t->start;
        t->copying += t->end - from;
    }
    t->ready = s->finishes || s->makes
                   ? fdl_cuda_clock_read(clock, s->clock_epoch, s->ready)
                   : t->end;
    if (s->makes) {
        t->make_start = fdl_cuda_clock_read(clock, s->clock_epoch, s->making);
        t->make_end = fdl_cuda_clock_read(clock, s->clock_epoch, s->made);
    }
    if (r->entered)
        t->entered = read_entered(c, r);
}

void fdl_cuda_report(struct fdl_cuda *c)
{
    struct report r;
    fdl_lock(&c->report_lock);
    while (oldest_report(c, &r)) {
        struct fdl_cuda_step *s = r.step;
        if (!is_done(c, &r, s->entered, &r.entered) ||
            !is_done(c, &r, s->asked, &r.asked))
            break;
        take_report(c);
        struct fdl_device_times times;
        read_times(c, &r, &times);
        if (c->config.observe && times.start > 0)
            c->config.observe(c->config.observer, &times);
        fdl_lock(&c->lock);
        s->reported = true;
        recycle_locked(c, s);
        fdl_unlock(&c->lock);
    }
    fdl_unlock(&c->report_lock);
}

/* ---- Landing ------------------------------------------------------------ */

static void push_report(struct fdl_cuda *c, struct fdl_cuda_step *s)
{
    fdl_lock(&c->lock);
    fdl_cuda_push(&c->reports, &s->link);
    c->n_reports++;
    fdl_unlock(&c->lock);
}

/* A new base takes the place of the one before the last, from which nothing may
 * be measured any more, nor just now by a report on another thread. */
static void renew_clock(struct fdl_cuda *c)
{
    fdl_lock(&c->report_lock);
    fdl_lock(&c->lock);
    const struct fdl_cuda_step *oldest = (void *)c->reports.first;
    bool idle =
        c->clock.epoch == 0 || !oldest || oldest->clock_epoch == c->clock.epoch;
    fdl_unlock(&c->lock);
    if (idle && fdl_cuda_clock_renew(&c->clock) >= 0)
        atomic_store_explicit(&c->clock_epoch, c->clock.epoch,
                              memory_order_relaxed);
    fdl_unlock(&c->report_lock);
}

void fdl_cuda_settle(struct fdl_cuda *c)
{
    fdl_cuda_wait_stream(c->device->cuda, c->stream);
    if (c->finishing)
        fdl_cuda_wait_stream(c->device->cuda, c->finishing);
    if (c->making)
        fdl_cuda_wait_stream(c->device->cuda, c->making);
}

static void land(struct fdl_cuda *c, void *popped)
{
    struct fdl_cuda_step *s = popped;
    struct fdl_transfer *t = s->transfer;
    int error = fdl_cuda_wait_event(c->device->cuda, s->ready);
    if (error == FDL_CUDA_SUCCESS && s->makes)
        error = fdl_cuda_wait_event(c->device->cuda, s->told);
    if (error != FDL_CUDA_SUCCESS) {
        fdl_cuda_fail(c->device->cuda, error, "a copy to the device failed");
        fdl_cuda_lose(c, FEEDLINE_EDEVICE);
        fdl_cuda_settle(c);
    }
    s->transfer = NULL;
    push_report(c, s);
    t->landed(t);
    fdl_cuda_report(c);
    renew_clock(c);
}

void *fdl_cuda_land_main(void *arg)
{
    struct fdl_cuda *c = arg;
    fdl_cuda_serve(c, &c->landing, &c->landing_changed, land);
    return NULL;
}
