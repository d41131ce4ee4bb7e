/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend: its life, its slabs, and the workers' side; cuda_backend.h
 * has the picture. */
#include "base/compiler.h"
#include "base/memory.h"
#include "base/status.h"
#include "transfer/cuda/cuda_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Life --------------------------------------------------------------- */

static int32_t create(const struct fdl_backend_config *config, void **backend)
{
    const struct fdl_cuda_api *cuda;
    int32_t status = fdl_cuda_check(config->device, &cuda);
    if (status < 0)
        return status;
    struct fdl_cuda *c = calloc(1, sizeof(*c));
    if (!c)
        return fdl_fail_memory(sizeof(*c), "the CUDA backend");
    c->config = *config;
    fdl_lock_init(&c->lock, FDL_RANK_CUDA_JOBS);
    fdl_lock_init(&c->report_lock, FDL_RANK_CUDA_REPORT);
    fdl_lock_init(&c->ask_lock, FDL_RANK_CUDA_ASK);
    fdl_event_init(&c->jobs_changed);
    fdl_event_init(&c->landing_changed);
    *backend = c;
    return FEEDLINE_OK;
}

static void *take(struct fdl_cuda *c, struct fdl_cuda_queue *q, bool *over)
{
    fdl_lock(&c->lock);
    void *popped = fdl_cuda_pop(q);
    *over = !popped && c->stopping;
    fdl_unlock(&c->lock);
    return popped;
}

static bool enter_or_lose(struct fdl_cuda *c)
{
    bool current = fdl_cuda_enter(c->device) == FEEDLINE_OK;
    if (!current)
        fdl_cuda_lose(c, FEEDLINE_EDEVICE);
    return current;
}

/* A thread that could not enter tries again: it serves the next runs, too. */
void fdl_cuda_serve(struct fdl_cuda *c, struct fdl_cuda_queue *q,
                    struct fdl_event *changed,
                    void (*run)(struct fdl_cuda *, void *))
{
    bool current = enter_or_lose(c), over;
    do {
        uint32_t key = fdl_event_prepare(changed);
        void *popped = take(c, q, &over);
        if (!popped && !over) {
            fdl_event_wait(changed, key, -1);
            continue;
        }
        fdl_event_cancel(changed);
        if (popped && !current)
            current = enter_or_lose(c);
        if (popped)
            run(c, popped);
    } while (!over);
    if (current)
        fdl_cuda_leave(c->device);
}

static void stop_threads(struct fdl_cuda *c)
{
    fdl_lock(&c->lock);
    c->stopping = true;
    fdl_unlock(&c->lock);
    fdl_event_notify(&c->jobs_changed, UINT32_MAX);
    fdl_event_notify(&c->landing_changed, UINT32_MAX);
    fdl_thread_join(&c->copy_thread);
    fdl_thread_join(&c->land_thread);
}

static void destroy_steps(struct fdl_cuda *c, struct fdl_cuda_queue *q)
{
    struct fdl_cuda_step *s;
    while ((s = fdl_cuda_pop(q)))
        fdl_cuda_step_destroy(c, s);
}

static void destroy_streams(struct fdl_cuda *c)
{
    const struct fdl_cuda_api *cuda = c->device->cuda;
    if (c->making)
        fdl_cuda_wait_stream(cuda, c->making);
    if (c->table || c->scratch)
        fdl_cuda_memory_free(&c->memory, c->stream, c->table, c->scratch);
    fdl_cuda_memory_fini(&c->memory);
    if (c->finishing)
        cuda->StreamDestroy(c->finishing);
    if (c->making)
        cuda->StreamDestroy(c->making);
    if (c->stream)
        cuda->StreamDestroy(c->stream);
    if (c->asked)
        cuda->EventDestroy(c->asked);
    c->stream = c->finishing = c->making = NULL;
    c->table = c->scratch = c->asked = NULL;
    c->has_asked = false;
}

/* Undoes open_device, also what that made only in part. */
static void close_device(struct fdl_cuda *c)
{
    stop_threads(c);
    bool current = fdl_cuda_enter(c->device) == FEEDLINE_OK;
    fdl_cuda_report(c);
    destroy_steps(c, &c->reports);
    destroy_steps(c, &c->free_steps);
    fdl_cuda_clock_fini(&c->clock);
    destroy_streams(c);
    if (current)
        fdl_cuda_leave(c->device);
    c->n_reports = 0;
    c->stopping = false;
    c->device = NULL;
}

/* Kernels that finish batches have a stream of their own, so that the next copy
 * goes on beside them, and go before the program's: one that waited for a
 * training step would hold up its batch. Those that make images are longer and
 * may take what the program leaves of the device, batches ahead. */
static int make_streams(struct fdl_cuda *c)
{
    const struct fdl_cuda_api *cuda = c->device->cuda;
    const unsigned flags = FDL_CUDA_STREAM_NON_BLOCKING;
    bool finishes = c->config.finish.bytes > 0, makes = c->config.makers.n > 0;
    int least, greatest;
    int error = cuda->StreamCreateWithPriority(&c->stream, flags, 0);
    if (error != FDL_CUDA_SUCCESS || (!finishes && !makes))
        return error;
    error = cuda->CtxGetStreamPriorityRange(&least, &greatest);
    if (error == FDL_CUDA_SUCCESS && finishes)
        error = cuda->StreamCreateWithPriority(&c->finishing, flags, greatest);
    if (error == FDL_CUDA_SUCCESS && makes)
        error = cuda->StreamCreateWithPriority(&c->making, flags, least);
    return error;
}

static int32_t start_threads(struct fdl_cuda *c)
{
    int error = make_streams(c);
    fdl_cuda_memory_init(&c->memory, c->device);
    if (error == FDL_CUDA_SUCCESS)
        error = c->device->cuda->EventCreate(&c->asked, 0);
    if (error != FDL_CUDA_SUCCESS)
        return fdl_cuda_fail(c->device->cuda, error, "a copy stream");
    int32_t status = fdl_cuda_finish_prepare(c);
    if (status >= 0)
        status = fdl_cuda_makers_prepare(c);
    if (status >= 0)
        status = fdl_cuda_clock_init(&c->clock, c->device);
    if (status >= 0)
        status = fdl_thread_start(&c->copy_thread, "feedline-copy",
                                  fdl_cuda_copy_main, c);
    if (status >= 0)
        status = fdl_thread_start(&c->land_thread, "feedline-land",
                                  fdl_cuda_land_main, c);
    return status;
}

/* The context, the stream and the threads. */
static int32_t open_device(struct fdl_cuda *c)
{
    int32_t status = fdl_cuda_device(c->config.device, &c->device);
    if (status < 0)
        return status;
    status = fdl_cuda_enter(c->device);
    if (status < 0) {
        c->device = NULL;
        return status;
    }
    status = start_threads(c);
    fdl_cuda_leave(c->device);
    if (status < 0) {
        char reason[FDL_ERROR_BYTES];
        snprintf(reason, sizeof(reason), "%s", fdl_last_error());
        close_device(c);
        return fdl_fail(status, "cuda:%u: %s", c->config.device, reason);
    }
    return FEEDLINE_OK;
}

/* ---- Slabs -------------------------------------------------------------- */

/* Of a batch. */
static uint64_t made_bytes(const struct fdl_cuda *c)
{
    return c->config.makers.n > 0
               ? c->config.makers.images * c->config.makers.image_bytes
               : 0;
}

static uint64_t device_bytes(void *backend, uint64_t slab_bytes)
{
    const struct fdl_cuda *c = backend;
    return slab_bytes + c->config.finish.bytes + made_bytes(c);
}

static void count_bytes(struct fdl_cuda *c, uint64_t pinned, uint64_t device,
                        int sign)
{
    fdl_lock(&c->lock);
    c->pinned_bytes += sign > 0 ? pinned : 0 - pinned;
    c->device_bytes += sign > 0 ? device : 0 - device;
    fdl_unlock(&c->lock);
}

/* What the consumer's streams still do with it comes first. No copy waits for
 * that, as no run is on. */
static void free_device_part(struct fdl_cuda *c, struct fdl_slab *slab)
{
    struct fdl_cuda_slab *own = slab->own;
    fdl_cuda_wait_consumers(c, own);
    if (own->step)
        fdl_cuda_step_let_go(c, own->step);
    own->step = NULL;
    own->begun = false;
    own->n_jobs = own->n_moved = own->n_streams = own->n_used = 0;
    if (slab->made)
        fdl_cuda_memory_free(&c->memory, c->stream, slab->made, NULL);
    fdl_cuda_memory_free(&c->memory, c->stream, slab->device, slab->finished);
}

static int32_t alloc_device_part(struct fdl_cuda *c, struct fdl_slab *slab)
{
    int error = fdl_cuda_memory_alloc(&c->memory, c->stream,
                                      (size_t)slab->bytes, &slab->device);
    if (error == FDL_CUDA_SUCCESS && c->config.finish.bytes > 0)
        error = fdl_cuda_memory_alloc(&c->memory, c->stream,
                                      (size_t)c->config.finish.bytes,
                                      &slab->finished);
    if (error == FDL_CUDA_SUCCESS && made_bytes(c) > 0)
        error = fdl_cuda_memory_alloc(&c->memory, c->stream,
                                      (size_t)made_bytes(c), &slab->made);
    if (error != FDL_CUDA_SUCCESS)
        return fdl_cuda_fail(c->device->cuda, error,
                             "device memory for a batch");
    return FEEDLINE_OK;
}

/* The host's part, with its events. */
static void free_host_part(struct fdl_cuda *c, struct fdl_cuda_slab *own)
{
    for (uint32_t i = 0; i < FDL_COUNT_OF(own->used); i++)
        if (own->used[i])
            c->device->cuda->EventDestroy(own->used[i]);
    if (own->pinned.memory)
        count_bytes(c, own->pinned.bytes, 0, -1);
    fdl_cuda_unpin(c->device, &own->pinned);
    fdl_lock_destroy(&own->lock);
    free(own);
}

static int32_t alloc_host_part(struct fdl_cuda *c, uint64_t bytes,
                               struct fdl_cuda_slab **out)
{
    struct fdl_cuda_slab *own = calloc(1, sizeof(*own));
    if (!own)
        return fdl_fail_memory(sizeof(*own), "a batch on a device");
    fdl_lock_init(&own->lock, FDL_RANK_CUDA_SLAB);
    int32_t status =
        fdl_cuda_pin(c->device, &c->config.place, bytes, &own->pinned);
    if (status < 0) {
        free_host_part(c, own);
        return status;
    }
    count_bytes(c, bytes, 0, 1);
    *out = own;
    return FEEDLINE_OK;
}

/* One that a slab left when the run before ended: to pin it again would take
 * tens of ms. All slabs of a loader have one size. */
static struct fdl_cuda_slab *take_spare(struct fdl_cuda *c)
{
    fdl_lock(&c->lock);
    struct fdl_cuda_slab *own = c->spare;
    if (own)
        c->spare = own->next;
    fdl_unlock(&c->lock);
    return own;
}

static void free_spare(struct fdl_cuda *c)
{
    struct fdl_cuda_slab *own;
    while ((own = take_spare(c)))
        free_host_part(c, own);
}

static int32_t alloc_parts(struct fdl_cuda *c, struct fdl_slab *slab)
{
    struct fdl_cuda_slab *own = take_spare(c);
    int32_t status = own ? FEEDLINE_OK : alloc_host_part(c, slab->bytes, &own);
    if (status < 0)
        return status;
    slab->own = own;
    slab->host = own->pinned.memory;
    status = alloc_device_part(c, slab);
    if (status < 0) {
        free_device_part(c, slab);
        free_host_part(c, own);
    }
    return status;
}

/* The first call makes the context, the stream and the threads. */
static int32_t enter(struct fdl_cuda *c)
{
    int32_t status = c->device ? FEEDLINE_OK : open_device(c);
    if (status < 0)
        return status;
    fdl_lock(&c->lock);
    c->open = true;
    fdl_unlock(&c->lock);
    return fdl_cuda_enter(c->device);
}

static int32_t device_free(void *backend, uint64_t *bytes)
{
    struct fdl_cuda *c = backend;
    size_t left = 0, total;
    int32_t status = enter(c);
    if (status < 0)
        return status;
    int error = c->device->cuda->MemGetInfo(&left, &total);
    if (error != FDL_CUDA_SUCCESS)
        status = fdl_cuda_fail(c->device->cuda, error,
                               "how much device memory is free");
    fdl_cuda_leave(c->device);
    *bytes = left;
    return status;
}

static int32_t slab_alloc(void *backend, uint64_t bytes, struct fdl_slab *out)
{
    struct fdl_cuda *c = backend;
    struct fdl_slab slab = {.bytes = bytes};
    int32_t status = enter(c);
    if (status < 0)
        return status;
    status = alloc_parts(c, &slab);
    fdl_cuda_leave(c->device);
    if (status < 0)
        return status;
    count_bytes(c, 0, device_bytes(c, bytes), 1);
    *out = slab;
    return FEEDLINE_OK;
}

static void slab_free(void *backend, struct fdl_slab *slab)
{
    struct fdl_cuda *c = backend;
    if (!slab->own)
        return;
    struct fdl_cuda_slab *own = slab->own;
    count_bytes(c, 0, device_bytes(c, slab->bytes), -1);
    bool current = fdl_cuda_enter(c->device) == FEEDLINE_OK;
    free_device_part(c, slab);
    if (current)
        fdl_cuda_leave(c->device);
    fdl_lock(&c->lock);
    own->next = c->spare;
    c->spare = own;
    fdl_unlock(&c->lock);
    *slab = (struct fdl_slab){.host = NULL};
}

static void destroy(void *backend)
{
    struct fdl_cuda *c = backend;
    if (!c)
        return;
    if (c->device) {
        bool current = fdl_cuda_enter(c->device) == FEEDLINE_OK;
        free_spare(c);
        if (current)
            fdl_cuda_leave(c->device);
        close_device(c);
    }
    fdl_lock_destroy(&c->ask_lock);
    fdl_lock_destroy(&c->report_lock);
    fdl_lock_destroy(&c->lock);
    free(c);
}

/* Memory that the run before left and this one does not need goes. */
static void begin(void *backend)
{
    struct fdl_cuda *c = backend;
    if (c->device && fdl_cuda_enter(c->device) == FEEDLINE_OK) {
        free_spare(c);
        fdl_cuda_leave(c->device);
    }
    fdl_lock(&c->lock);
    c->failed = FEEDLINE_OK;
    fdl_unlock(&c->lock);
}

/* ---- The workers' side -------------------------------------------------- */

static void push_job_locked(struct fdl_cuda *c, struct fdl_transfer *t,
                            struct fdl_cuda_part part)
{
    struct fdl_cuda_slab *own = t->slab->own;
    struct fdl_cuda_job *job = &own->jobs[own->n_jobs++];
    *job = (struct fdl_cuda_job){.transfer = t, .part = part};
    fdl_cuda_push(&c->jobs, &job->link);
}

/* After a failure, too: the copy thread may have parts of the batch still to
 * do, and tells of its end behind them. */
static int32_t submit(void *backend, struct fdl_transfer *t)
{
    struct fdl_cuda *c = backend;
    fdl_lock(&c->lock);
    push_job_locked(c, t, (struct fdl_cuda_part){.bytes = 0});
    fdl_unlock(&c->lock);
    fdl_event_notify(&c->jobs_changed, 1);
    return FEEDLINE_OK;
}

/* What cannot be moved ahead moves with the rest. */
static void part(void *backend, struct fdl_transfer *t, uint64_t at,
                 uint64_t bytes)
{
    struct fdl_cuda *c = backend;
    const struct fdl_cuda_slab *own = t->slab->own;
    fdl_lock(&c->lock);
    bool ahead = bytes > 0 && own->n_jobs < FDL_CUDA_PARTS;
    if (ahead)
        push_job_locked(c, t, (struct fdl_cuda_part){.at = at, .bytes = bytes});
    fdl_unlock(&c->lock);
    if (ahead)
        fdl_event_notify(&c->jobs_changed, 1);
}

/* ---- Statistics --------------------------------------------------------- */

/* Who sees `open` under the lock sees the device. */
static void stats(void *backend, struct fdl_backend_stats *out)
{
    struct fdl_cuda *c = backend;
    fdl_lock(&c->lock);
    *out = (struct fdl_backend_stats){.pinned_bytes = c->pinned_bytes,
                                      .device_bytes = c->device_bytes};
    bool open = c->open;
    if (open && c->config.makers.n > 0)
        out->device_bytes += c->config.makers.scratch_bytes;
    fdl_unlock(&c->lock);
    if (!open || fdl_cuda_enter(c->device) < 0)
        return;
    fdl_cuda_report(c);
    fdl_cuda_leave(c->device);
}

const struct fdl_backend_ops fdl_backend_cuda = {
    .name = "cuda",
    .device = FEEDLINE_CUDA,
    .create = create,
    .destroy = destroy,
    .begin = begin,
    .slab_alloc = slab_alloc,
    .slab_free = slab_free,
    .submit = submit,
    .part = part,
    .set_stream = fdl_cuda_set_stream,
    .ask = fdl_cuda_ask,
    .wait = fdl_cuda_wait,
    .copy = fdl_cuda_copy,
    .finish = fdl_cuda_finish_to,
    .use = fdl_cuda_use,
    .release = fdl_cuda_release,
    .stats = stats,
    .device_bytes = device_bytes,
    .device_free = device_free,
};
