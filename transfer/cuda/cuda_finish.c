/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finishing a batch: one kernel over all its images, by a table that is on the
 * device as long as the backend. Images of samples that failed are zeros,
 * whatever a black pixel would become, so a run of them is finished once more,
 * without the table; where images are mixed, the kernel is told of them.
 */
#include "transfer/cuda/cuda_backend.h"

#include <stdio.h>

/* Each kernel comes behind a copy on this stream. The first launch may take
 * long, so it is of nothing. */
static int queue_table(struct fdl_cuda *c)
{
    const struct fdl_cuda_api *cuda = c->device->cuda;
    const uint32_t(*table)[256] = c->config.finish.table;
    size_t bytes = sizeof(c->config.finish.table);
    int error = fdl_cuda_memory_alloc(&c->memory, c->stream, bytes, &c->table);
    if (error == FDL_CUDA_SUCCESS)
        error = cuda->MemcpyHtoDAsync(c->table, table, bytes, c->stream);
    if (error == FDL_CUDA_SUCCESS)
        error = fdl_cuda_warm_up(c->device, c->stream);
    return error;
}

int32_t fdl_cuda_finish_prepare(struct fdl_cuda *c)
{
    char reason[FDL_ERROR_BYTES];
    if (c->config.finish.channels == 0)
        return FEEDLINE_OK;
    int32_t status = fdl_cuda_kernels(c->device);
    if (status >= 0) {
        int error = queue_table(c);
        if (error != FDL_CUDA_SUCCESS)
            status = fdl_cuda_fail(c->device->cuda, error, "the first launch");
    }
    if (status >= 0)
        return FEEDLINE_OK;
    snprintf(reason, sizeof(reason), "%s", fdl_last_error());
    return fdl_fail(status, "finish=device: %s", reason);
}

/* Images begin .. end of the batch, at `to`. */
static struct fdl_finish_args args_of(const struct fdl_cuda *c,
                                      const struct fdl_transfer *t, void *to,
                                      uint32_t begin, uint32_t end)
{
    const struct fdl_finish *f = &c->config.finish;
    uint64_t plane = (uint64_t)f->width * (uint64_t)f->height;
    uint64_t numbers = begin * plane * (uint64_t)f->channels;
    uint32_t size = f->dtype == FEEDLINE_F32 ? 4 : 2;
    const uint8_t *images = t->slab->made;
    if (!images)
        images = (const uint8_t *)t->slab->device + f->images_at;
    return (struct fdl_finish_args){
        .src = images + numbers,
        .dst = (uint8_t *)to + numbers * size,
        .pixels = (end - begin) * plane,
        .plane = (uint32_t)plane,
        .channels = (uint32_t)f->channels,
        .bytes = size,
        .nhwc = f->nhwc,
        .width = (uint32_t)f->width,
    };
}

static int zero_failed(const struct fdl_cuda *c, const struct fdl_transfer *t,
                       void *to, fdl_cuda_stream stream)
{
    int error = FDL_CUDA_SUCCESS;
    uint32_t end;
    for (uint32_t i = 0; i < t->images && error == FDL_CUDA_SUCCESS; i = end) {
        end = i + 1;
        if (t->status[i] >= 0)
            continue;
        while (end < t->images && t->status[end] < 0)
            end++;
        struct fdl_finish_args args = args_of(c, t, to, i, end);
        error = fdl_cuda_run_finish(c->device, &args, stream);
    }
    return error;
}

int fdl_cuda_finish(const struct fdl_cuda *c, const struct fdl_transfer *t,
                    void *to, fdl_cuda_stream stream)
{
    struct fdl_finish_args args = args_of(c, t, to, 0, t->images);
    args.table = c->table;
    if (c->config.finish.mixes_at > 0)
        args.mixes = (const void *)((const uint8_t *)t->slab->device +
                                    c->config.finish.mixes_at);
    int error = fdl_cuda_run_finish(c->device, &args, stream);
    if (error == FDL_CUDA_SUCCESS && t->status && !args.mixes)
        error = zero_failed(c, t, to, stream);
    return error;
}
