/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copy thread of the CUDA backend: the only one that issues copies. It
 * queues work and never waits for it, so a worker is never held up by the
 * driver's locks, and copies go out in the order in which batches were filled.
 */
#include "base/clock.h"
#include "base/status.h"
#include "transfer/cuda/cuda_backend.h"
#include "transfer/nvtx.h"

#include <stdio.h>

#define CAPTURE_NS (INT64_C(10) * 1000000000) /* of patience with one */

/* ---- Begin -------------------------------------------------------------- */

/* A mark that the stream's capture kept from being set, set now: later than it
 * could be, which is safe. A capture that goes on for so long ends the run. */
static int mark_late(struct fdl_cuda *c, struct fdl_cuda_slab *own, uint32_t i)
{
    const struct fdl_cuda_api *cuda = c->device->cuda;
    /* The legacy stream waits for those of threads, none of which is ours. */
    fdl_cuda_stream stream =
        own->used_on[i].thread ? FDL_CUDA_LEGACY : own->used_on[i].stream;
    int64_t until = fdl_now_ns() + CAPTURE_NS;
    while (fdl_cuda_captures(cuda, stream)) {
        if (fdl_now_ns() > until)
            return FDL_CUDA_ERROR_CAPTURE_FIRST;
        fdl_cuda_pause();
    }
    int error = FDL_CUDA_SUCCESS;
    if (!own->used[i])
        error = cuda->EventCreate(&own->used[i], FDL_CUDA_EVENT_NO_TIMING);
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->EventRecord(own->used[i], stream);
    own->late[i] = error != FDL_CUDA_SUCCESS;
    return error;
}

int fdl_cuda_wait_consumers(struct fdl_cuda *c, struct fdl_cuda_slab *own)
{
    int error = FDL_CUDA_SUCCESS;
    for (uint32_t i = 0; i < own->n_used && error == FDL_CUDA_SUCCESS; i++) {
        if (own->late[i])
            error = mark_late(c, own, i);
        if (error == FDL_CUDA_SUCCESS)
            error =
                c->device->cuda->StreamWaitEvent(c->stream, own->used[i], 0);
    }
    if (error != FDL_CUDA_SUCCESS)
        return error; /* the next run waits for them */
    own->n_used = 0;
    return error;
}

/* A batch that nobody took (the loader was stopped) still has its step. */
static int32_t begin(struct fdl_cuda *c, struct fdl_transfer *t)
{
    struct fdl_cuda_slab *own = t->slab->own;
    if (own->step)
        fdl_cuda_step_let_go(c, own->step);
    own->step = NULL;
    own->n_moved = 0;
    own->n_streams = 0;
    int32_t status = fdl_cuda_step_take(c, &own->step);
    if (status < 0)
        return status;
    own->step->transfer = t;
    own->step->ticket = t->ticket;
    own->step->queued_ns = fdl_now_ns();
    own->begun = true;
    int error = fdl_cuda_wait_consumers(c, own);
    if (error != FDL_CUDA_SUCCESS)
        return fdl_cuda_fail(c->device->cuda, error, "a copy cannot be queued");
    return FEEDLINE_OK;
}

/* ---- Copies ------------------------------------------------------------- */

static int copy(struct fdl_cuda *c, const struct fdl_transfer *t, uint64_t at,
                uint64_t bytes)
{
    const struct fdl_cuda_api *cuda = c->device->cuda;
    const struct fdl_slab *slab = t->slab;
    struct fdl_cuda_step *s = ((struct fdl_cuda_slab *)slab->own)->step;
    uint32_t i = s->n_copies++;
    fdl_assert(i < FDL_CUDA_COPIES && at + bytes <= slab->bytes);
    int error = cuda->EventRecord(s->from[i], c->stream);
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->MemcpyHtoDAsync((uint8_t *)slab->device + at,
                                      (const uint8_t *)slab->host + at,
                                      (size_t)bytes, c->stream);
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->EventRecord(s->to[i], c->stream);
    s->bytes += bytes;
    return error;
}

static void sort_parts(struct fdl_cuda_part *parts, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k > 0 && parts[k].at < parts[k - 1].at; k--) {
            struct fdl_cuda_part swap = parts[k];
            parts[k] = parts[k - 1];
            parts[k - 1] = swap;
        }
}

/* What was not moved ahead: everything, in one copy, as a rule. */
static int copy_rest(struct fdl_cuda *c, const struct fdl_transfer *t)
{
    struct fdl_cuda_slab *own = t->slab->own;
    uint64_t at = 0;
    int error = FDL_CUDA_SUCCESS;
    sort_parts(own->moved, own->n_moved);
    for (uint32_t i = 0; i < own->n_moved && error == FDL_CUDA_SUCCESS; i++) {
        if (own->moved[i].at > at)
            error = copy(c, t, at, own->moved[i].at - at);
        at = own->moved[i].at + own->moved[i].bytes;
    }
    if (at < t->bytes && error == FDL_CUDA_SUCCESS)
        error = copy(c, t, at, t->bytes - at);
    return error;
}

/* Behind the last copy, or what made the images. The slab's consumers were
 * waited for by the first copy. */
static int finish(struct fdl_cuda *c, const struct fdl_transfer *t,
                  fdl_cuda_event there)
{
    int error = c->device->cuda->StreamWaitEvent(c->finishing, there, 0);
    if (error != FDL_CUDA_SUCCESS)
        return error;
    return fdl_cuda_finish(c, t, t->slab->finished, c->finishing);
}

static int complete(struct fdl_cuda *c, const struct fdl_transfer *t)
{
    struct fdl_cuda_step *s = ((struct fdl_cuda_slab *)t->slab->own)->step;
    s->finishes = c->config.finish.bytes > 0;
    s->makes = c->config.makers.n > 0;
    fdl_cuda_stream last = c->stream;
    int error = copy_rest(c, t);
    fdl_cuda_event there = s->to[s->n_copies - 1];
    if (error == FDL_CUDA_SUCCESS && s->makes) {
        error = fdl_cuda_make(c, t, s, there);
        there = s->made;
        last = c->making;
    }
    if (error == FDL_CUDA_SUCCESS && s->finishes) {
        error = finish(c, t, there);
        last = c->finishing;
    }
    if (error == FDL_CUDA_SUCCESS)
        error = c->device->cuda->EventRecord(s->ready, last);
    if (error == FDL_CUDA_SUCCESS && s->makes)
        error = fdl_cuda_bring_back(c, t, s);
    return error;
}

/* ---- Jobs --------------------------------------------------------------- */

static int32_t move_part(struct fdl_cuda *c, struct fdl_transfer *t,
                         struct fdl_cuda_part part)
{
    struct fdl_cuda_slab *own = t->slab->own;
    int32_t status = own->begun ? FEEDLINE_OK : begin(c, t);
    if (status < 0)
        return status;
    int error = copy(c, t, part.at, part.bytes);
    if (error != FDL_CUDA_SUCCESS)
        return fdl_cuda_fail(c->device->cuda, error, "a copy cannot be queued");
    own->moved[own->n_moved++] = part;
    return FEEDLINE_OK;
}

static int32_t move_rest(struct fdl_cuda *c, struct fdl_transfer *t)
{
    struct fdl_cuda_slab *own = t->slab->own;
    atomic_store_explicit(&t->start_ns, fdl_now_ns(), memory_order_relaxed);
    int32_t status = own->begun ? FEEDLINE_OK : begin(c, t);
    if (status < 0)
        return status;
    int error = complete(c, t);
    if (error != FDL_CUDA_SUCCESS)
        return fdl_cuda_fail(c->device->cuda, error, "a copy cannot be queued");
    return FEEDLINE_OK;
}

static void push_landing(struct fdl_cuda *c, struct fdl_cuda_step *s)
{
    fdl_lock(&c->lock);
    fdl_cuda_push(&c->landing, &s->link);
    fdl_unlock(&c->lock);
    fdl_event_notify(&c->landing_changed, 1);
}

/* A step that nobody will hear of. */
static void abandon(struct fdl_cuda *c, struct fdl_cuda_step *step)
{
    fdl_lock(&c->lock);
    step->reported = true;
    fdl_unlock(&c->lock);
    fdl_cuda_step_let_go(c, step);
}

/* The end of a batch, either way; c->reason does not change any more after a
 * failure, until the next run. After done it may be delivered, and after
 * landed all of it is somebody else's: its step goes to the land thread only
 * between the two. */
static void hand_over(struct fdl_cuda *c, struct fdl_transfer *t,
                      int32_t status)
{
    struct fdl_cuda_slab *own = t->slab->own;
    /* What is there before it begins is the step of the batch before. */
    struct fdl_cuda_step *step = own->begun ? own->step : NULL;
    own->begun = false;
    int64_t now = fdl_now_ns();
    atomic_store_explicit(&t->done_ns, now, memory_order_relaxed);
    if (step)
        step->done_ns = now;
    if (status >= 0) {
        t->done(t, status, "");
        push_landing(c, step);
        return;
    }
    if (step) {
        abandon(c, step);
        own->step = NULL;
    }
    fdl_cuda_settle(c);
    t->done(t, status, c->reason);
    t->landed(t);
}

/* Once the run has failed nothing is moved any more, but each batch still ends,
 * behind its parts. */
static void run_job(struct fdl_cuda *c, void *popped)
{
    const struct fdl_cuda_job *job = popped;
    struct fdl_transfer *t = job->transfer;
    struct fdl_cuda_slab *own = t->slab->own;
    bool is_rest = job->part.bytes == 0;
    fdl_nvtx_push(FDL_NVTX_COPY, t->ticket, t->images);
    fdl_lock(&c->lock);
    if (is_rest)
        own->n_jobs = 0;
    int32_t status = c->failed;
    fdl_unlock(&c->lock);
    if (status >= 0) {
        status = is_rest ? move_rest(c, t) : move_part(c, t, job->part);
        if (status < 0)
            fdl_cuda_lose(c, status);
    }
    if (is_rest)
        hand_over(c, t, status);
    fdl_nvtx_pop();
}

void *fdl_cuda_copy_main(void *arg)
{
    struct fdl_cuda *c = arg;
    fdl_cuda_serve(c, &c->jobs, &c->jobs_changed, run_job);
    return NULL;
}
